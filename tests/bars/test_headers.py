"""A first line that is no header, or another one: the message says what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dream.bars import store
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

ROW = "2024-01-02T01:00:00Z,2000.5,2001,1999.75,2000.25"
MISSING, HEADER = "the header is missing", "timestamp,open,high,low,close"


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (ROW, [MISSING, "2024-01-02T01:00:00Z, 2000.5", HEADER]),
        ("2024.01.02,01:00," + ROW.partition(",")[2], [MISSING, HEADER]),
        (f"{ROW},12,0.30", [MISSING, HEADER]),
        ("1704157200,1e3,+1.,.5,-2", [MISSING]),
        ("\ufeff" + ROW, [MISSING]),
        (HEADER.replace(",", ";"), ["separated by a semicolon", "expected commas", HEADER]),
        (HEADER.replace(",", "\t"), ["separated by a tab"]),
        (ROW.replace(",", "|"), ["separated by a bar"]),
        ("time,open,high,low,close", ["no column timestamp", "found time, open", "rename"]),
        ("Date,Time,O,H,L,C", ["no column timestamp, open", "found Date, Time, O"]),
        ("timestamp,1,2,3,close", ["no column open, high, low"]),  # three are no row
        ("hello", ["no column timestamp", "found hello"]),
    ],
)  # fmt: skip
def test_the_message_says_what_is_wrong_with_the_first_line(
    tmp_path: Path, first: str, words: list[str]
) -> None:
    path = tmp_path / "b.csv"
    path.write_text(f"{first}\n{ROW}\n", encoding="utf-8")
    with pytest.raises(BarsInvalid) as caught:
        store.read(path)
    said = str(caught.value)
    assert [word for word in (str(path), *words) if word not in said] == [], said
    assert len(said) < 400
