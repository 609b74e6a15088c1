"""Longer bars made of shorter ones, on the trading clock.

A longer bar is a period of the trading day as `dream.indicators` has them: H1 begins at every full
hour, H4 at 00:00, 04:00 ..., D1 at 00:00 of the trading clock, which is New York + 7 h. A period
without bars does not exist; one with bars opens where the period does, not at its first bar.

Which periods are complete is read from the bars, since no calendar knows every early close:

- the first and the last period of the series are left out where the series begins or ends inside
  them, because a later export would give another bar;
- a period in which bars are missing is kept, as a broker's own longer bar is, and counted;
- the last period of a day may be short (a half day, an early close on Friday): it is complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars import series, with_atr_m5
from dream.bars.clock.clocks import iso
from dream.bars.overview import CLOSED_MIN
from dream.errors import BarsInvalid, SpecInvalid
from dream.indicators import atr
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import F8, I4, I8, Bars

PERIODS: Final = {"M5": 5, "M15": 15, "M30": 30, "H1": 60, "H4": 240, "D1": 1440}
"""Name to minutes."""
M5_MIN: Final = 5
_NONE: Final = np.int32(np.iinfo(np.int32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What of a series did not make whole periods.

    Attributes:
        head: bars at its begin that were left out, because it begins inside their period.
        tail: bars at its end that were left out, because it ends inside their period.
        holed: (k,) int64, rows of the longer bars in which shorter ones are missing.
        missing: how many are missing in these.
    """

    head: int
    tail: int
    holed: I8
    missing: int


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Longer bars, and what of the shorter ones did not make whole periods."""

    bars: Bars
    partial: Partial


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """Bars by period. start: (m + 1,) int64, first bar of each period, and the end of the last.

    t_open_ns: (m,) int64, where each period opens.
    """

    start: I8
    t_open_ns: I8


def resample(bars: Bars, minutes: int) -> Resampled:
    """Bars of 5, 15, 30, 60, 240 or 1440 minutes made of shorter ones.

    Open first, high highest, low lowest, close last, volume summed; the spread is the smallest of
    those that are known, 0 where none is. Made of bars of 5 minutes or less, or of bars that have
    it, longer bars carry ATR(14, M5).

    Raises:
        SpecInvalid: there are no bars of so many minutes.
        BarsInvalid: the bars are not shorter, do not fit into such periods a whole number of times,
            or do not fill one of them.
    """
    _check(bars, minutes)
    if not len(bars):
        raise BarsInvalid(f"bars of {minutes} minutes: there are no bars to make them of")
    groups = _grouped(bars, minutes)
    whole = _whole(bars, groups, minutes)
    if whole.start >= whole.stop:
        first, last = iso(int(bars.t_close_ns[0]) - bars.bar_ns), iso(int(bars.t_close_ns[-1]))
        raise BarsInvalid(
            f"bars of {minutes} minutes: the series from {first} to {last} does not fill one; give"
            " a longer one"
        )
    inner = _Grouped(groups.start[whole.start : whole.stop + 1], groups.t_open_ns[whole])
    made = _joined(bars, inner, minutes)
    first, end = int(inner.start[0]), int(inner.start[-1])
    holed, missing = _holes(bars, inner, minutes)
    average = _average(bars, made, inner, minutes)
    partial = Partial(first, len(bars) - end, holed, missing)
    return Resampled(with_atr_m5(made, average), partial)


def _check(bars: Bars, minutes: int) -> None:
    """Refuse what cannot be made of these bars.

    Raises:
        SpecInvalid, BarsInvalid: as `resample`.
    """
    if minutes not in PERIODS.values():
        names = ", ".join(f"{name} ({m})" for name, m in PERIODS.items())
        raise SpecInvalid(f"bars of {minutes} minutes: expected {names}")
    bar_min, rest = bars.bar_ns // MINUTE_NS, minutes * MINUTE_NS % bars.bar_ns
    if bar_min >= minutes or rest:
        raise BarsInvalid(
            f"bars of {minutes} minutes: expected shorter bars that fit into them a whole number of"
            f" times, found bars of {bar_min} minutes; give a finer series of"
            f" {bars.instrument.symbol}"
        )
    across = (bars.minute - 1) % minutes < bar_min - 1
    if across.any():
        row = int(across.argmax())
        raise BarsInvalid(
            f"bars of {minutes} minutes: the bar of {bar_min} minutes that opens at"
            f" {iso(int(bars.t_close_ns[row]) - bars.bar_ns)} lies in two of them by the trading"
            " clock (New York + 7 h); give a finer series"
        )


def _grouped(bars: Bars, minutes: int) -> _Grouped:
    """The bars by period: those that close after its begin and not after its end by the clock.

    Where New York sets its clock back, an hour comes twice and a period begins anew.
    """
    minute, day = bars.minute, bars.day
    slot = (minute - 1) // minutes
    new = (slot[1:] != slot[:-1]) | (day[1:] != day[:-1]) | (minute[1:] <= minute[:-1])
    start = np.concatenate(([0], np.flatnonzero(new) + 1, [len(bars)]))
    first = start[:-1]
    since_min = minute[first] - slot[first] * minutes
    return _Grouped(start, bars.t_close_ns[first] - since_min.astype(np.int64) * MINUTE_NS)


def _whole(bars: Bars, groups: _Grouped, minutes: int) -> slice:
    """The periods between a first and a last one that the series does not fill."""
    begins = _expected_begin(bars, groups.start[:1], minutes)[0]
    head = int(bars.minute[0]) - bars.bar_ns // MINUTE_NS > begins
    tail = int(bars.minute[-1]) % minutes != 0
    return slice(int(head), len(groups.t_open_ns) - int(tail))


def _expected_begin(bars: Bars, first: I8, minutes: int) -> I8:
    """(m,) minute of the day at which the first bar of a period should open.

    Where the period does or, in the closed hour at the head of a day, where the first bar does.
    """
    opens = bars.minute[first].astype(np.int64) - bars.bar_ns // MINUTE_NS
    begins = opens // minutes * minutes
    return np.where(begins < CLOSED_MIN, np.minimum(opens, CLOSED_MIN), begins)


def _holes(bars: Bars, groups: _Grouped, minutes: int) -> tuple[I8, int]:
    """Periods in which bars are missing, and how many are; the end of a day may come early."""
    start, last = groups.start[:-1], groups.start[1:] - 1
    begins = _expected_begin(bars, start, minutes)
    closes = bars.minute[last].astype(np.int64)
    goes_on = bars.day[np.minimum(last + 1, len(bars) - 1)] == bars.day[last]
    ends = np.where(goes_on, -(-closes // minutes) * minutes, closes)
    missing = (ends - begins) // (bars.bar_ns // MINUTE_NS) - (last + 1 - start)
    return np.flatnonzero(missing > 0), int(np.maximum(missing, 0).sum())


def _joined(bars: Bars, groups: _Grouped, minutes: int) -> Bars:
    """One bar for each group.

    Raises:
        BarsInvalid: a period holds the hour in which New York changes its clock.
    """
    start, last = groups.start[:-1], groups.start[1:] - 1
    cut = slice(int(start[0]), int(last[-1]) + 1)
    at = start - start[0]
    px = np.empty((len(start), 4), np.int32)
    px[:, 0] = bars.px[start, 0]
    px[:, 1] = np.maximum.reduceat(bars.px[cut, 1], at)
    px[:, 2] = np.minimum.reduceat(bars.px[cut, 2], at)
    px[:, 3] = bars.px[last, 3]
    volume = np.add.reduceat(bars.volume[cut], at)
    spread = _smallest_known(bars.spread[cut], at)
    bar_ns = minutes * MINUTE_NS
    made = series(bars.instrument, bar_ns, groups.t_open_ns, px, spread, volume)
    off = made.minute % minutes != 0
    off[1:] |= np.diff(groups.t_open_ns) <= 0
    if off.any():
        row = int(off.argmax())
        raise BarsInvalid(
            f"bars of {minutes} minutes: New York changes its clock inside the one with the bar"
            f" that opens at {iso(int(bars.t_close_ns[start[row]]) - bars.bar_ns)}, a Sunday;"
            " expected no bars at the weekend; leave them out"
        )
    return made


def _smallest_known(spread: I4, at: I8) -> I4:
    """(m,) the smallest spread above 0 of each group, 0 where there is none."""
    known = np.where(spread > 0, spread, _NONE)
    least = np.minimum.reduceat(known, at)
    return np.where(least == _NONE, np.int32(0), least)


def _average(bars: Bars, made: Bars, groups: _Grouped, minutes: int) -> F8 | None:
    """(m,) ATR(14, M5) as known at each longer bar's close, None where no M5 bars are to be had."""
    if minutes <= M5_MIN:
        return None
    if bars.atr_m5 is not None:
        return bars.atr_m5[groups.start[1:] - 1]
    if M5_MIN * MINUTE_NS % bars.bar_ns:
        return None
    if bars.bar_ns < M5_MIN * MINUTE_NS:
        bars = resample(bars, M5_MIN).bars
    row = np.searchsorted(bars.t_close_ns, made.t_close_ns, side="right") - 1
    known = atr(bars, M5_MIN)[np.maximum(row, 0)]
    return np.where(row < 0, np.nan, known)
