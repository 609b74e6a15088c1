"""A volume or a spread that begins later in a file, or never."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars import store
from dream.bars.importers import text_blocks
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from tests.bars import faulty

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bars.faulty import Rows

N = 900
VOLUME, SPREAD = 5, 6


@pytest.fixture(scope="module")
def good() -> Rows:
    """Bars of 2024."""
    return faulty.base("2024-01-01")


def without(row: list[object], column: int) -> list[object]:
    """A row with an empty field."""
    return [*row[:column], "", *row[column + 1 :]]


@pytest.mark.parametrize("block", [4 << 20, 3_000])
@pytest.mark.parametrize(("column", "name"), [(VOLUME, "volume"), (SPREAD, "spread")])
def test_column_that_begins_later_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: Rows, block: int, column: int, name: str
) -> None:
    """Before its first value it is 0, which the report says."""
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
    rows = good[:N]
    source, out = tmp_path / "b.csv", tmp_path / "o.parquet"
    text = faulty.write(source, rows, None).read_text(encoding="utf-8").splitlines()
    fields = [line.split(",") for line in text]
    for line in fields[1:501]:
        line[column] = ""
    source.write_text("\n".join(map(",".join, fields)) + "\n", encoding="utf-8")
    report = ingest(source, out, Reading())
    assert f"the column {name} begins in line 502: taken for 0 before" in report.notes
    assert report.unused == ()
    bars = store.read(out)
    read = np.asarray(getattr(bars, name), np.float64)
    assert not read[:500].any()
    assert read[500:].tolist() == [row[column] for row in rows[500 : len(read)]]


def test_a_value_that_is_missing_later_is_still_a_fault(tmp_path: Path, good: Rows) -> None:
    """Only what lies before the first value is taken for 0."""
    rows = [without(row, VOLUME) if k < 300 or k == 600 else row
            for k, row in enumerate(good[:N])]  # fmt: skip
    source = faulty.write(tmp_path / "b.csv", rows, None)
    with pytest.raises(BarsInvalid, match="line 602: volume is missing"):
        ingest(source, tmp_path / "o.parquet", Reading())


def test_column_that_is_always_empty_is_not_used(tmp_path: Path, good: Rows) -> None:
    """Which the report says."""
    rows = [without(row, VOLUME) for row in good[:N]]
    report = ingest(faulty.write(tmp_path / "b.csv", rows, None), tmp_path / "o.parquet", Reading())
    assert "the column volume is empty in all rows: not used" in report.notes
    assert report.unused == ("volume",)
