"""From a foreign file to a dream file: checked row by row, in bounded memory, all or nothing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq

from dream.bars import check, importers, opening, store
from dream.bars.check import Reading, Rows, Stamps
from dream.bars.clocks import CLOCKS
from dream.errors import BarsInvalid, InputError, SpecInvalid

ROWS_AT_ONCE: Final = 1 << 18
SYMBOL_LENGTH: Final = 32


@dataclass(frozen=True, slots=True)
class Report:
    """What an import did.

    Attributes:
        rows: read and kept; rows are never dropped, a wrong one stops the import.
        rows_rounded: rows in which rounding to the tick grid changed a price.
        bar_ns: length of a bar. from_ns, to_ns: open of the first bar and close of the last.
        unused: columns of the source that were not used.
    """

    rows: int
    rows_rounded: int
    bar_ns: int
    from_ns: int
    to_ns: int
    unused: tuple[str, ...]


@dataclass(slots=True)
class _Tally:
    """What has passed so far."""

    steps: Counter[int] = field(default_factory=Counter[int])
    rows: int = 0
    rounded: int = 0
    first_ns: int = 0
    last_ns: int | None = None
    unused: tuple[str, ...] = ()

    def add(self, rows: Rows, unused: tuple[str, ...]) -> None:
        t = rows.at.t_open_ns
        if self.last_ns is None:
            self.first_ns = int(t[0])
        else:
            t = np.concatenate((np.array([self.last_ns]), t))
        self.steps.update(check.steps(t))
        self.rows += len(rows.spread)
        self.rounded += rows.rounded
        self.last_ns = int(t[-1])
        self.unused = unused


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
    clock = _clock(reading)
    if _same(source, out):
        raise InputError(f"{out} is the source itself; give another output")
    tally = _Tally()
    with store.replacing(out, force=force) as file:
        with store.writer(file) as parquet:
            for raw in importers.read(source, clock):
                rows = check.in_ticks(raw, reading)
                check.check_rows(rows, tally.last_ns)
                tally.add(rows, raw.unused)
                opening.check_rows(tally.rows, source)
                parquet.write_table(store.table(rows))
            if tally.last_ns is None:
                raise BarsInvalid(f"{source} has no rows; export it again")
            bar_ns = check.bar_length(tally.steps, str(source))
            label = store.Label(reading.instrument, bar_ns, clock)
            parquet.add_key_value_metadata(store.metadata(label))
        file.flush()
        _check_stamps(Path(file.name), str(source), bar_ns)
    end_ns = tally.last_ns + bar_ns
    return Report(tally.rows, tally.rounded, bar_ns, tally.first_ns, end_ns, tally.unused)


def _clock(reading: Reading) -> str:
    """The source clock, once it and the instrument make sense."""
    if reading.clock not in CLOCKS:
        raise SpecInvalid(
            f"the source clock {reading.clock!r} is not known; accepted: {', '.join(CLOCKS)};"
            " convert the times to UTC first"
        )
    symbol, tick = reading.instrument.symbol, reading.instrument.tick
    if not (math.isfinite(tick) and tick > 0):
        raise SpecInvalid(f"the tick is {tick:g}; expected a positive number such as 0.01")
    if not (symbol.isprintable() and 0 < len(symbol) <= SYMBOL_LENGTH):
        raise SpecInvalid(f"the symbol {symbol[:40]!r} is no name; expected one such as XAUUSD")
    return reading.clock


def _same(source: Path, out: Path) -> bool:
    try:
        return source.samefile(out)
    except OSError:
        return False


def _check_stamps(written: Path, source: str, bar_ns: int) -> None:
    """The checks that need the bar length, which only the whole file tells."""
    tail = np.empty(0, np.int64)
    row = 1
    with pq.ParquetFile(written) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=["timestamp"]):
            t = np.concatenate((tail, batch.column(0).to_numpy().astype(np.int64)))
            at = Stamps(source, row - len(tail), t)
            check.check_grid(at, bar_ns)
            check.check_one_length(at, bar_ns)
            row += batch.num_rows
            tail = t[-check.STEPS_OF_ANOTHER_LENGTH :]
