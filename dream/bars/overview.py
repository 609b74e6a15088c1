"""What a bar series holds, at a glance: range, days, holes, prices, spreads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars import content_hash
from dream.bars.clock.clocks import DAY_MIN
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import Bars

CLOSED_MIN: Final = 60
"""The closed hour at the head of a trading day (17:00 to 18:00 New York)."""
QUANTILES: Final = (0.05, 0.5, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class Overview:
    """A series in figures; prices and spreads in quote currency.

    Attributes:
        bars: how many. bar_min: length of a bar in minutes.
        from_ns, to_ns: open of the first bar, close of the last.
        days: trading days with a bar. full_days: no bar is missing. half_days: the last bar closes
            before the day does (the first and the last day of the series are not counted).
        missing_bars: holes between 18:00 New York, or the series' first bar, and a day's last bar.
        closed_hour_bars: bars that open in the closed hour: not 0 means a wrong source clock.
        low, high: lowest and highest price.
        spread: 5 %, 50 %, 95 % and 100 % quantile, None where no bar has one.
        content_hash: see dream.bars.content_hash.
    """

    bars: int
    bar_min: int
    from_ns: int
    to_ns: int
    days: int
    full_days: int
    half_days: int
    missing_bars: int
    closed_hour_bars: int
    low: float
    high: float
    spread: tuple[float, ...] | None
    content_hash: str


def overview(bars: Bars) -> Overview:
    """Look a series over; days are trading days, of 23 hours."""
    bar_min = bars.bar_ns // MINUTE_NS
    opens = bars.minute.astype(np.int64) - bar_min
    day, first, counts = np.unique(bars.day, return_index=True, return_counts=True)
    last_close = bars.minute[np.append(first[1:], len(bars)) - 1]
    head = np.minimum(opens[first], CLOSED_MIN)
    head[0] = opens[0]
    missing = np.maximum((last_close - head) // bar_min - counts, 0)
    inner = np.ones(len(day), np.bool_)
    inner[[0, -1]] = False
    full = (last_close >= DAY_MIN) & (counts >= (DAY_MIN - CLOSED_MIN) // bar_min)
    tick = bars.instrument.tick
    known = bars.spread[bars.spread > 0]
    return Overview(
        bars=len(bars),
        bar_min=bar_min,
        from_ns=int(bars.t_close_ns[0]) - bars.bar_ns,
        to_ns=int(bars.t_close_ns[-1]),
        days=len(day),
        full_days=int(full.sum()),
        half_days=int(((last_close < DAY_MIN) & inner).sum()),
        missing_bars=int(missing.sum()),
        closed_hour_bars=int((opens < CLOSED_MIN).sum()),
        low=float(bars.px[:, 2].min() * tick),
        high=float(bars.px[:, 1].max() * tick),
        spread=tuple((np.quantile(known, QUANTILES) * tick).tolist()) if len(known) else None,
        content_hash=content_hash(bars),
    )
