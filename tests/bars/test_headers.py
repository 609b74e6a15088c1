"""The first line: a header of any kind or none; else the message says what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dream.bars import store
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

ROW = "2024-01-02T01:00:00Z,2000.5,2001,1999.75,2000.25"
NEXT = "2024-01-02T01:15:00Z,2000.25,2001,1999.75,2000.5"
EXPECTED = "expected timestamp, open, high, low, close"
HEADER = "timestamp,open,high,low,close"


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (HEADER.replace(",", ";"), ["line 1: the fields are separated by a semicolon", "a comma"]),
        (HEADER.replace(",", "\t"), ["separated by a tab", "expected a comma"]),
        (ROW.replace(",", "|"), ["separated by a bar", "write all lines with one separator"]),
        ("O,H,L,C,V", ["line 1: no column timestamp", EXPECTED, "found O, H, L, C, V", "rename"]),
        ("Date,Time,O,H,L", ["no column close", EXPECTED, "found Date, Time, O", "--column"]),
        ("timestamp,1,2,3,close", ["no column open, high, low", EXPECTED]),  # three are no row
        ("hello", ["line 1: this is a line without a tab", "found 'hello'"]),
        ("time,bid,ask", ["no column open", "export bars, not ticks"]),
        ("timestamp,high,low,open,open", ["two columns open", "each name once", "rename one"]),
    ],
)  # fmt: skip
def test_the_message_says_what_is_wrong_with_the_first_line(
    tmp_path: Path, first: str, words: list[str]
) -> None:
    path = tmp_path / "b.csv"
    path.write_text(f"{first}\n{ROW}\n{NEXT}\n", encoding="utf-8")
    with pytest.raises(BarsInvalid) as caught:
        store.read(path)
    said = str(caught.value)
    assert [word for word in (str(path), *words) if word not in said] == [], said
    assert len(said) < 400 + len(str(path))


@pytest.mark.parametrize(
    "first",
    ["", HEADER, "\ufeff" + HEADER, "time,o,h,l,c", "Gmt time,Open,High,Low,Close", "# " + HEADER],
)
def test_first_lines_that_say_the_same_or_nothing(tmp_path: Path, first: str) -> None:
    path = tmp_path / "b.csv"
    path.write_text("\n".join(filter(None, (first, ROW, NEXT))) + "\n", encoding="utf-8")
    bars = store.read(path)
    assert bars.px.tolist() == [
        [200_050, 200_100, 199_975, 200_025],
        [200_025, 200_100, 199_975, 200_050],
    ]
    assert bars.t_close_ns[0] == 1_704_158_100 * 10**9


def test_a_row_where_the_header_should_be_is_no_header(tmp_path: Path) -> None:
    """It is counted as a row, not read as names."""
    path = tmp_path / "b.csv"
    path.write_text(f"\ufeff{ROW}\n{NEXT}\n", encoding="utf-8")
    assert len(store.read(path)) == 2
    path.write_text("1704157200,1e3,+1.,.5,-2\n1704158100,1,1,1,1\n", encoding="utf-8")
    with pytest.raises(BarsInvalid, match="line 1: close -2 is negative"):
        store.read(path)
    path.write_text("1704157200,1,3,4,2\n1704158100,1,3,4,2\n", encoding="utf-8")
    with pytest.raises(BarsInvalid, match="there is no header, and columns 2, 3, 4, 5 are not"):
        store.read(path)
