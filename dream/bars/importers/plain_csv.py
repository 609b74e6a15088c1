"""A plain CSV file: a header, then timestamp (open time, ISO 8601) open high low close and more."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv

from dream.bars import importers
from dream.bars.check import MEND, nanoseconds, refuse
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.bars.check import Raw, Stamps
    from dream.types import F8

BLOCK_BYTES: Final = 2 << 20
HEADER_BYTES: Final = 64 << 10
LINE: Final = re.compile(r"Row #(\d+): ([^\n]*)")
FAULT_CHARS: Final = 120
ZERO_OFFSET: Final = r"(?:[Zz]|[+-]00:?00)$"
ANY_OFFSET: Final = r":\d\d(?:\.\d+)?\s?[+-]\d\d:?\d\d$"
STAMP_FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")


def read(path: Path, clock: str | None) -> Iterator[Raw]:
    """The rows in stretches; see `importers.read`. Empty lines are not rows."""
    try:
        names = _header(path)
        columns = importers.locate(names, path)
        row = 1
        for batch in _batches(path, len(names)):
            text = {name: _text(batch.column(k)) for name, k in columns.index.items()}
            at = _stamps(text.pop("timestamp"), path, row, clock)
            numbers = {name: _numbers(name, column, at) for name, column in text.items()}
            yield importers.raw(at, numbers, columns.unused)
            row += batch.num_rows
    except (pa.ArrowException, UnicodeDecodeError, csv.Error, OSError) as e:
        raise _unreadable(path, str(e)) from e


def _unreadable(path: Path, reason: str) -> BarsInvalid:
    """What pyarrow says, its line (the header is 1) turned into our row."""
    place = LINE.search(reason)
    if place is None:
        fault = f"a line is longer than {BLOCK_BYTES:,} bytes" if "straddling" in reason else reason
        fault = fault.split("\n", maxsplit=1)[0]
        return BarsInvalid(f"{path} is not a readable CSV file: {fault}; export it again")
    row, fault = int(place[1]) - 1, place[2][:FAULT_CHARS]
    return BarsInvalid(f"{path}, row {row}: {fault}; expected fields as in the header; {MEND}")


def _header(path: Path) -> list[str]:
    with path.open("rb") as f:
        line = f.readline(HEADER_BYTES)
        rest = f.read(1)
    text = line.decode("utf-8-sig")
    names = next(csv.reader([text], strict=True), [])
    if not rest:
        importers.locate(names, path)
        raise BarsInvalid(f"{path} has a header and no rows; download or export it again")
    return names


def _batches(path: Path, columns: int) -> Iterator[Any]:
    """Blocks of text columns: nothing is guessed, so that a bad value can be named."""
    names = [str(k) for k in range(columns)]
    return pa_csv.open_csv(
        path,
        pa_csv.ReadOptions(
            use_threads=False, block_size=BLOCK_BYTES, skip_rows=1, column_names=names
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )


def _text(column: Any) -> pl.Series:
    series = pl.from_arrow(column)
    assert isinstance(series, pl.Series)
    return series.str.strip_chars()


def _numbers(name: str, column: pl.Series, at: Stamps) -> F8:
    values = column.cast(pl.Float64, strict=False)
    if values.null_count():
        row = values.is_null().arg_max() or 0
        at.refuse(row, f"{name} is {column[row]!r}", "expected a number")
    return values.to_numpy()


def _stamps(column: pl.Series, path: Path, first_row: int, clock: str | None) -> Stamps:
    local = column.str.replace(ZERO_OFFSET, "")
    plain = local.str.strip_chars().str.replace("T", " ", literal=True)
    parsed = [plain.str.to_datetime(form, time_unit="us", strict=False) for form in STAMP_FORMATS]
    values = pl.select(pl.coalesce(parsed)).to_series()
    if values.null_count():
        row = values.is_null().arg_max() or 0
        text = column[row]
        offset = pl.Series([text]).str.contains(ANY_OFFSET)[0]
        expected = (
            "its offset is not zero; expected UTC"
            if offset
            else "expected an ISO 8601 time such as 2024-01-02T23:00:00Z"
        )
        refuse(str(path), first_row + row, f"timestamp is {text!r}", expected)
    naive = local == column
    if clock is None and naive.any():
        row = naive.arg_max() or 0
        refuse(
            str(path),
            first_row + row,
            f"timestamp {column[row]!r} has no time zone",
            "import it with --clock utc (dream bars import) if its times are UTC",
        )
    return nanoseconds(values.cast(pl.Int64).to_numpy(), 1000, str(path), first_row)
