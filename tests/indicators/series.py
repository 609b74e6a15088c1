"""Series for tests of indicators and strategies, made without any code of the package's clocks.

A series is a list of rows (day, minute, open, high, low, close): trading day, close minute, ticks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dream.types import MINUTE_NS, Bars, Instrument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Row = tuple[int, int, int, int, int, int]

FIRST_DAY = 19_751
"""2024-01-29, a Monday: in winter the trading clock is two hours ahead of UTC."""

GRID = range(75, 1441, 15)
"""Close minutes of the 92 bars of gold's day, 01:00 to 24:00."""


def bars_of(rows: Sequence[Row], bar_minutes: int = 15, tick: float = 0.01) -> Bars:
    """Read-only bars of the rows."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 6)
    arrays = (
        (table[:, 0] * 1440 + table[:, 1] - 120) * MINUTE_NS,
        table[:, 1].astype(np.int16),
        table[:, 0].astype(np.int32),
        table[:, 2:].astype(np.int32),
        np.zeros(len(table), dtype=np.int32),
        np.ones(len(table)),
    )
    for array in arrays:
        array.flags.writeable = False
    return Bars(Instrument(tick=tick), bar_minutes * MINUTE_NS, *arrays)


def rows_of(bars: Bars) -> list[Row]:
    """The rows of the bars, as plain numbers."""
    table = np.column_stack([bars.day, bars.minute, bars.px]).tolist()
    return [tuple(row) for row in table]


def trading_days(count: int) -> Iterable[int]:
    """Day numbers of so many weekdays."""
    day, given = FIRST_DAY, 0
    while given < count:
        if (day - FIRST_DAY) % 7 < 5:
            given += 1
            yield day
        day += 1


def walk(
    seed: int, days: int, *, holes: bool = True, step: int = 15, scale: int = 120
) -> list[Row]:
    """A seeded walk with gaps; with holes: missing bars, half days and days without a last bar."""
    rng = np.random.default_rng(seed)
    price, rows = 190_000, []
    for day in trading_days(days):
        minutes = list(range(60 + step, 1441, step))
        if holes and rng.random() < 0.15:
            minutes = minutes[: int(rng.integers(1, len(minutes)))]
        if holes and rng.random() < 0.15:
            minutes = minutes[int(rng.integers(1, len(minutes) + 1)) - 1 :]
        drift, wild = rng.normal(0, scale / 8), rng.choice([0.5, 1.0, 2.5])
        for minute in minutes:
            if holes and rng.random() < 0.03:
                continue
            o = price + int(rng.normal(0, scale / 3))
            c = o + int(rng.normal(drift, scale * wild))
            h, l = max(o, c) + int(rng.integers(0, scale)), min(o, c) - int(rng.integers(0, scale))
            rows.append((day, minute, o, h, l, c))
            price = c
    return rows


@lru_cache(maxsize=1)
def real(path: Path) -> Bars:
    """The real series; its trading clock is worked out by polars' time zones."""
    import polars as pl  # noqa: PLC0415 - only where the data are

    frame = pl.read_parquet(path).with_columns(
        clock=pl.col("timestamp")
        .dt.convert_time_zone("America/New_York")
        .dt.replace_time_zone(None)
        .dt.offset_by("7h")
        .dt.epoch("s")
        // 60
    )
    opened = frame["clock"].to_numpy()
    prices = frame.select("open", "high", "low", "close").to_numpy()
    arrays = (
        frame["timestamp"].dt.epoch("ns").to_numpy() + 15 * MINUTE_NS,
        (opened % 1440 + 15).astype(np.int16),
        (opened // 1440).astype(np.int32),
        np.ascontiguousarray(np.floor(prices * 100 + 0.5).astype(np.int32)),
        np.zeros(len(frame), dtype=np.int32),
        frame["volume"].to_numpy().astype(np.float64),
    )
    for array in arrays:
        array.flags.writeable = False
    return Bars(Instrument(), 15 * MINUTE_NS, *arrays)
