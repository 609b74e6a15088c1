"""A plain Parquet file: timestamp (open time) open high low close, perhaps volume and spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dream.bars import importers, opening
from dream.bars.check import MEND, nanoseconds, refuse
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.bars.check import Raw, Stamps
    from dream.types import F8

ROWS_AT_ONCE: Final = 1 << 18
UTC_NAMES: Final = ("UTC", "Etc/UTC", "Z", "+00:00")
UNIT_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def read(path: Path, clock: str | None) -> Iterator[Raw]:
    """The rows in stretches; see `importers.read`."""
    try:
        with opening.parquet(path) as file:
            found: list[str] = file.schema_arrow.names
            columns = importers.locate(found, path)
            names = {name: found[k] for name, k in columns.index.items()}
            _check_types(file.schema_arrow, names, path, clock)
            row = 1
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(names.values())):
                at = _stamps(batch.column(names["timestamp"]), path, row)
                numbers = {
                    p: _numbers(batch.column(c)) for p, c in names.items() if p != "timestamp"
                }
                yield importers.raw(at, numbers, columns.unused)
                row += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        reason = str(e).split("\n", maxsplit=1)[0]
        raise BarsInvalid(f"{path} is not a readable Parquet file: {reason}; copy it again") from e


def _check_types(schema: Any, columns: dict[str, str], path: Path, clock: str | None) -> None:
    stamp = schema.field(columns["timestamp"]).type
    if not pa.types.is_timestamp(stamp):
        raise BarsInvalid(
            f"{path}: column timestamp is {stamp}; expected a timestamp type, best with zone UTC"
        )
    if stamp.tz is None and clock is None:
        raise BarsInvalid(
            f"{path}: column timestamp has no time zone; import it with --clock utc"
            " (dream bars import) if its times are UTC"
        )
    if stamp.tz is not None and stamp.tz not in UTC_NAMES:
        raise BarsInvalid(
            f"{path}: column timestamp has the zone {stamp.tz}; expected UTC; convert it first"
        )
    for name, column in columns.items():
        kind = schema.field(column).type
        number = (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )
        if name != "timestamp" and not number:
            raise BarsInvalid(f"{path}: column {name} is {kind}; expected a number type")


def _numbers(column: Any) -> F8:
    """float64 values, NaN where there is none."""
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, np.float64)


def _stamps(column: Any, path: Path, first_row: int) -> Stamps:
    if column.null_count:
        row = int(np.asarray(column.is_null()).argmax())
        refuse(str(path), first_row + row, "timestamp is missing", MEND)
    values = np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
    return nanoseconds(values, UNIT_NS[column.type.unit], str(path), first_row)
