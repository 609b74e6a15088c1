"""Completed, clock-aligned periods of the trading clock, and the average true range of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dream.errors import BarsInvalid, SpecInvalid
from dream.indicators.passes import average_true_range, window
from dream.indicators.series import jit, once, read_only
from dream.types import F8, I2, I4, I8, MINUTE_NS, Bars

S = TypeVar("S", bound=np.generic)

DAY = 1440
"""Minutes of a trading day."""


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """Completed periods of a series; one that is still forming at its end is not among them.

    Attributes:
        minutes: length of a period: 60 for H1, 1440 for D1.
        px: (m, 4) int32, open, high, low, close of each period in ticks. A period holds the bars
            that exist; one without bars does not exist.
        last: (n,) int64, for each bar the last period completed at its close, -1 for none.
        each_bar: whether every bar is a period of its own.
    """

    minutes: int
    px: I4
    last: I8
    each_bar: bool

    def on_bars(self, values: npt.NDArray[S], unknown: float) -> npt.NDArray[S]:
        """Carries a value of each period to the bars.

        Args:
            values: (m,) one value per period.
            unknown: stands where no period is completed yet.

        Returns:
            (n,) of the same dtype: the value of the last period completed at each bar's close.
        """
        if self.each_bar:
            return read_only(values)
        padded: npt.NDArray[S] = np.empty(len(values) + 1, dtype=values.dtype)
        padded[:-1] = values
        padded[-1:] = np.array([unknown]).astype(values.dtype)
        return read_only(padded[self.last])


def periods(bars: Bars, minutes: int) -> Periods:
    """Groups bars into periods aligned to the trading clock.

    A period is complete at a bar that closes exactly at the period's end by the clock, or at the
    first bar after it, whichever comes first.

    Args:
        bars: a series whose bar length divides `minutes`.
        minutes: length of a period; divides a day.

    Raises:
        SpecInvalid: a day cannot be cut into such periods.
        BarsInvalid: the bars are too coarse for such periods.
    """
    return once(bars, f"periods:{minutes}", lambda: _make(bars, minutes))


def atr(bars: Bars, minutes: int, k: int = 14) -> F8:
    """(n,) float64 Wilder average true range in ticks of completed periods, NaN before known.

    The first period has no true range, so the first value comes with period k (k + 1 periods).

    Raises:
        SpecInvalid: as `periods` and `wilder`.
        BarsInvalid: as `periods`.
    """

    def make() -> F8:
        if each_bar_is_one(bars, minutes):
            return average_true_range(bars.px, k)
        check_periods(bars, minutes)
        out = np.empty(len(bars))
        _atr(bars.px, bars.minute, bars.day, minutes, window(k), out)
        return read_only(out)

    return once(bars, f"atr:{minutes}:{k}", make)


def atr_m15(bars: Bars) -> F8:
    """(n,) float64 ATR(14) of completed M15 periods, ticks."""
    return atr(bars, 15)


def atr_h1(bars: Bars) -> F8:
    """(n,) float64 ATR(14) of completed H1 periods, ticks."""
    return atr(bars, 60)


def atr_d1(bars: Bars) -> F8:
    """(n,) float64 ATR(14) of completed trading days, ticks. Today is never in it."""
    return atr(bars, DAY)


def each_bar_is_one(bars: Bars, minutes: int) -> bool:
    """Whether every bar is a completed period of so many minutes by itself."""
    return minutes * MINUTE_NS == bars.bar_ns and bool(
        (bars.minute // minutes * minutes == bars.minute).all()
    )


def check_periods(bars: Bars, minutes: int) -> None:
    """Refuses periods that cannot be made of these bars.

    Raises:
        SpecInvalid, BarsInvalid: as `periods`.
    """
    if minutes < 1 or DAY % minutes:
        raise SpecInvalid(
            f"length of a period: expected minutes that divide a day of {DAY}, found {minutes}; "
            "take 5, 15, 60, 240 or 1440"
        )
    if minutes * MINUTE_NS % bars.bar_ns:
        raise BarsInvalid(
            f"periods of {minutes} minutes: expected bars whose length divides them, found bars of "
            f"{bars.bar_ns / MINUTE_NS:g} minutes; use a finer series of {bars.instrument.symbol}"
        )


def _make(bars: Bars, minutes: int) -> Periods:
    check_periods(bars, minutes)
    n = len(bars)
    if each_bar_is_one(bars, minutes):
        return Periods(minutes, bars.px, read_only(np.arange(n)), each_bar=True)
    px, last = np.empty((n, 4), dtype=np.int32), np.empty(n, dtype=np.int64)
    _group(bars.px, bars.minute, bars.day, minutes, px, last)
    completed = int(last[-1]) + 1 if n else 0
    return Periods(minutes, read_only(px[:completed].copy()), read_only(last), each_bar=False)


@jit
def _group(px: I4, minute: I2, day: I4, minutes: int, out: I4, last: I8) -> None:
    row = -1
    closed = True
    at_day = 0
    at_slot = 0
    for i in range(len(px)):
        slot = (minute[i] - 1) // minutes
        # a closed period takes no more bars, even where the clock is set back and repeats an hour
        if closed or day[i] != at_day or slot != at_slot:
            row += 1
            at_day = day[i]
            at_slot = slot
            out[row, 0] = px[i, 0]
            out[row, 1] = px[i, 1]
            out[row, 2] = px[i, 2]
        else:
            out[row, 1] = max(out[row, 1], px[i, 1])
            out[row, 2] = min(out[row, 2], px[i, 2])
        out[row, 3] = px[i, 3]
        closed = minute[i] % minutes == 0
        last[i] = row if closed else row - 1


@jit
def _atr(px: I4, minute: I2, day: I4, minutes: int, k: int, out: F8) -> None:
    """The average of the periods that `_group` makes, without keeping them."""
    value = 0.0  # a sum up to the k-th true range
    completed = 0
    closed = True
    at_day = end = 0
    high = low = close = before = 0
    for i in range(len(px)):
        if closed or day[i] != at_day or minute[i] > end or minute[i] <= end - minutes:
            if not closed:
                value = _grown(value, completed, k, max(high, before) - min(low, before))
                completed += 1
                before = close
            at_day = day[i]
            end = ((minute[i] - 1) // minutes + 1) * minutes
            high, low = px[i, 1], px[i, 2]
        else:
            high, low = max(high, px[i, 1]), min(low, px[i, 2])
        close = px[i, 3]
        closed = minute[i] == end
        if closed:
            value = _grown(value, completed, k, max(high, before) - min(low, before))
            completed += 1
            before = close
        out[i] = value if completed > k else np.nan


@jit
def _grown(value: float, completed: int, k: int, true_range: int) -> float:
    """The average with one more period, which is the first when none was completed before."""
    if completed == 0:
        return 0.0
    if completed > k:
        return (value * (k - 1) + true_range) / k
    return (value + true_range) / k if completed == k else value + true_range
