"""A series against another of the same market whose clock is known: how far its stamps are ahead.

Returns from one hour to the next are compared at every shift, week by week. On the right shift two
feeds of gold agree almost perfectly, an hour beside it not at all; data that is invented, or of
another instrument, agrees at none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import day_text
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import F8, I4, I8, Bars

HOUR_NS: Final = 60 * MINUTE_NS
MOST_HOURS: Final = 14
WEEK_NS: Final = 7 * 24 * HOUR_NS
FIRST_SUNDAY_NS: Final = 3 * 24 * HOUR_NS
"""1970-01-04: weeks are cut on Sunday, when gold does not trade before the evening."""
FIRST_MONDAY: Final = 4
"""1970-01-05, in days since 1970."""
ENOUGH: Final = 40
"""Returns in both series that a week must have at every shift: with few of them chance wins."""
AGREES: Final = 0.8
"""Correlation from which on a week's shift is believed: twenty real files of gold reached 0.96 in
every week, the best of all shifts of random series with heavy tails at most 0.65."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Weeks in a row with one shift.

    Attributes:
        first, last: dates of the Mondays of its first and last week.
        shift_min: minutes by which the stamps are ahead of the reference.
        weeks: how many agree. correlation: the median of theirs.
    """

    first: str
    last: str
    shift_min: int
    weeks: int
    correlation: float


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """How far stamps are ahead of a reference.

    Attributes:
        monday: (w,) int64, the weeks that could be compared, as days since 1970.
        shift_min: (w,) int64, the shift at which each agrees best.
        correlation: (w,) float64, of the returns at that shift.
        stretches: weeks that agree, joined while the shift stays the same.
        whole_min: the one shift at which the whole range agrees best. whole: the correlation there.
            Both are 0 where nothing could be compared.
    """

    monday: I8
    shift_min: I8
    correlation: F8
    stretches: tuple[Stretch, ...]
    whole_min: int
    whole: float

    @property
    def median(self) -> float:
        """Median over the weeks of the correlation at the best shift, 0 without weeks.

        Below `AGREES` this is not the market of the reference, whatever the clock.
        """
        return float(np.median(self.correlation)) if len(self.correlation) else 0.0


def shift(t_open_ns: I8, close: F8, bar_ns: int, ref: Bars) -> Shift:
    """By how much stamps are ahead of a reference: hours, half hours where both series allow it.

    Args:
        t_open_ns: (n,) int64, open times as the stamps say, ascending.
        close: (n,) float64, closes, in any unit.
        bar_ns: length of a bar; nothing can be compared with more than an hour.
        ref: the same market with open times that are right.
    """
    lengths = (bar_ns, ref.bar_ns)
    if not len(t_open_ns) or max(lengths) > HOUR_NS:
        return _found(np.empty((0, 6, 1)), np.zeros(1, np.int64), 0)
    half_ns = HOUR_NS // 2
    step_ns = HOUR_NS if any(half_ns % length_ns for length_ns in lengths) else half_ns
    most = MOST_HOURS * HOUR_NS // step_ns
    week = WEEK_NS // step_ns
    first, last = (
        (int(t) - FIRST_SUNDAY_NS) // WEEK_NS for t in (t_open_ns[0], t_open_ns[-1] + bar_ns - 1)
    )
    start = (first * WEEK_NS + FIRST_SUNDAY_NS) // step_ns
    n = (last - first + 1) * week
    own = _returns((t_open_ns + (bar_ns - 1)) // step_ns - start, close, n)
    theirs = _returns((ref.t_close_ns - 1) // step_ns - (start - most), ref.px[:, 3], n + 2 * most)
    shifts = np.arange(-most, most + 1)
    x = _powers(own).reshape(3, -1, week)
    y = _powers(theirs)
    sums = np.stack([_sums(x, y[:, most - s : most - s + n].reshape(x.shape)) for s in shifts], 2)
    return _found(sums, shifts * (step_ns // MINUTE_NS), first * 7 + FIRST_MONDAY)


def _returns(slot: I8, close: F8 | I4, n: int) -> F8:
    """(n,) log returns from each slot's last close to the next slot's, NaN where one is missing."""
    ends = np.append(slot[1:] != slot[:-1], True) & (slot >= 0) & (slot < n)
    closes = np.full(n, np.nan)
    closes[slot[ends]] = close[ends]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(closes)
        returns = np.diff(logs, prepend=np.nan)
    return np.where(np.isfinite(returns), returns, np.nan)


def _powers(returns: F8) -> F8:
    """(3, n) whether there is a return, the return, and its square; 0 where there is none."""
    there = np.isfinite(returns)
    value = np.where(there, returns, 0.0)
    return np.stack([there.astype(np.float64), value, value * value])


def _sums(x: F8, y: F8) -> F8:
    """(weeks, 6) sums over the returns that both have: n, x, xx, y, yy, xy."""
    pairs = ((0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1))
    return np.stack([np.einsum("wk,wk->w", x[a], y[b]) for a, b in pairs], axis=1)


def _correlation(sums: F8) -> F8:
    """(..., k) from (..., 6, k) sums, -1 where there is too little to compare."""
    n, x, xx, y, yy, xy = np.moveaxis(sums, -2, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    known = (n >= ENOUGH) & (spread > 0)
    root = np.sqrt(np.where(known, spread, 1.0))
    return np.where(known, (n * xy - x * y) / root, -1.0)


def _found(sums: F8, shifts_min: I8, first_monday: int) -> Shift:
    by_week, whole = _correlation(sums), _correlation(sums.sum(axis=0))
    best = by_week.argmax(axis=1)
    correlation = by_week[np.arange(len(best)), best]
    kept = (sums[:, 0].min(axis=1) >= ENOUGH) & (correlation > -1)
    monday = first_monday + 7 * np.flatnonzero(kept)
    shift_min, correlation = shifts_min[best[kept]], correlation[kept]
    top = int(whole.argmax())
    return Shift(
        monday,
        shift_min,
        correlation,
        _stretches(monday, shift_min, correlation),
        int(shifts_min[top]) if whole[top] > -1 else 0,
        max(float(whole[top]), 0.0),
    )


def _stretches(monday: I8, shift_min: I8, correlation: F8) -> tuple[Stretch, ...]:
    agree = correlation >= AGREES
    monday, shift_min, correlation = monday[agree], shift_min[agree], correlation[agree]
    if not len(monday):
        return ()
    cuts = np.flatnonzero(np.diff(shift_min)) + 1
    parts = np.split(np.arange(len(monday)), cuts)
    return tuple(
        Stretch(
            day_text(int(monday[rows[0]])),
            day_text(int(monday[rows[-1]])),
            int(shift_min[rows[0]]),
            len(rows),
            float(np.median(correlation[rows])),
        )
        for rows in parts
    )
