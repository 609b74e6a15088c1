"""From a foreign file to a dream file: checked row by row, in bounded memory, all or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import numpy as np
import pyarrow.parquet as pq

from dream.bars import check, importers, store
from dream.bars.check import Reading, Rows
from dream.bars.clocks import CLOCKS
from dream.errors import BarsInvalid, InputError, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.types import I8

ROWS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Report:
    """What an import did. from_ns: open of the first bar; to_ns: close of the last one."""

    rows_read: int
    rows_kept: int
    rows_rounded: int
    rows_dropped: int
    bar_ns: int
    from_ns: int
    to_ns: int


def ingest(source: Path, out: Path, reading: Reading, *, force: bool = False) -> Report:
    """Read a plain Parquet or CSV file, check every row, and write a dream file.

    Args:
        source: timestamp (open time), open, high, low, close and perhaps volume, spread.
        out: the dream file to write.
        reading: instrument, source clock, rounding and the unit of the spread.
        force: replace an existing file.

    Raises:
        BarsInvalid: the source is unreadable or a row is wrong; nothing is written.
        SpecInvalid: the clock is not known.
        InputError: the output cannot be written or is the source.
    """
    if reading.clock not in CLOCKS:
        raise SpecInvalid(
            f"the source clock {reading.clock!r} is not known; accepted: {', '.join(CLOCKS)};"
            " convert the times to UTC first"
        )
    if source.exists() and out.exists() and source.samefile(out):
        raise InputError(f"{out} is the source itself; give another output with -o")
    read = rounded = 0
    steps = Counter[int]()
    first_ns: int | None = None
    last_ns: int | None = None
    with store.replacing(out, force=force) as file:
        with store.writer(file) as parquet:
            for raw in importers.read(source, reading.clock):
                rows = check.in_ticks(raw, reading)
                check.check_rows(rows, last_ns)
                before = rows.t_open_ns[:1] if last_ns is None else np.array([last_ns])
                steps.update(check.steps(np.concatenate((before, rows.t_open_ns))))
                ...
    return Report(read, read, rounded, 0, 0, 0, 0)
