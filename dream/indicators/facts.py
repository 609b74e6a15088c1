"""What is shown to the agent at each bar: one set of arrays per series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dream.indicators.passes import sma, true_range_of, wilder
from dream.indicators.periods import (
    DAY,
    Periods,
    atr_d1,
    atr_h1,
    atr_m15,
    check_periods,
    periods,
)
from dream.indicators.series import jit, once, read_only
from dream.indicators.sessions import sessions
from dream.types import F8, I1, I2, I4, U1, Bars, Indicators

TRENDS = ("unknown", "range", "up", "down")
VOLATILITIES = ("unknown", "low", "normal", "high")

_TRENDING_ADX = 25.0
_LOW_SHARE, _HIGH_SHARE = 0.25, 0.75
_RANK_WINDOW = 20

_WARM_UP = ((15, 200), (60, 28), (DAY, 34))
"""Length of a period in minutes, and how many must be completed: for SMA(200); for ADX(14), whose
first value comes with the 28th; for the rank among 20 values of ATR(14), the first of which comes
with the 15th."""


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything in `Indicators` for every bar, as known at its close.

    Attributes:
        tick: quote currency per tick.
        first: index of the first bar at which every value exists; the number of bars if none.
        atr_m15, atr_h1, atr_d1, sma_50, sma_200, bb_low, bb_mid, bb_high, sma_20_h1: (n,) float64
            ticks, NaN before known.
        rsi, adx_h1: (n,) float64, 0 ... 100, NaN before known.
        atr_d1_pct: (n,) float64, 0 ... 1, NaN before known.
        trend: (n,) int8 index into TRENDS. volatility: (n,) int8 index into VOLATILITIES.
        sessions: (n,) uint8 bit set.
    """

    tick: float
    first: int
    atr_m15: F8
    atr_h1: F8
    atr_d1: F8
    rsi: F8
    sma_50: F8
    sma_200: F8
    bb_low: F8
    bb_mid: F8
    bb_high: F8
    adx_h1: F8
    sma_20_h1: F8
    atr_d1_pct: F8
    trend: I1
    volatility: I1
    sessions: U1

    def at(self, i: int) -> Indicators:
        """The values known at the close of bar i; prices in quote currency (ticks * tick)."""
        assert 0 <= i < len(self.rsi), "a negative index would count from the future's end"
        tick = self.tick
        return Indicators(
            atr_m15=self.atr_m15.item(i) * tick,
            atr_h1=self.atr_h1.item(i) * tick,
            atr_d1=self.atr_d1.item(i) * tick,
            rsi=self.rsi.item(i),
            sma_50=self.sma_50.item(i) * tick,
            sma_200=self.sma_200.item(i) * tick,
            bb_low=self.bb_low.item(i) * tick,
            bb_mid=self.bb_mid.item(i) * tick,
            bb_high=self.bb_high.item(i) * tick,
            adx_h1=self.adx_h1.item(i),
            sma_20_h1=self.sma_20_h1.item(i) * tick,
            atr_d1_pct=self.atr_d1_pct.item(i),
            trend=TRENDS[self.trend.item(i)],
            volatility=VOLATILITIES[self.volatility.item(i)],
            sessions=self.sessions.item(i),
        )


def facts(bars: Bars) -> Facts:
    """What is shown at each bar; the definitions are in `Indicators` and beside each function here.

    Raises:
        BarsInvalid: the bars are coarser than 15 minutes.
    """
    return once(bars, "facts", lambda: _make(bars))


def first_bar(bars: Bars) -> int:
    """`Facts.first` without the facts: it costs a walk up to that bar.

    Raises:
        BarsInvalid: the bars are coarser than 15 minutes.
    """
    first = 0
    for minutes, least in _WARM_UP:
        check_periods(bars, minutes)
        first = max(first, _completed(bars.minute, bars.day, minutes, least))
    return first


def rsi(close: I4, k: int = 14) -> F8:
    """(n,) float64 Wilder's RSI, 0 ... 100; 50 where nothing moved. NaN in the first k rows.

    Source: J. W. Wilder, 1978: 100 - 100 / (1 + average gain / average loss).
    """
    move = np.full(len(close), np.nan)
    move[1:] = np.diff(close)
    gain = wilder(np.maximum(move, 0.0), k)
    moved = gain + wilder(np.maximum(-move, 0.0), k)
    still = moved == 0
    return np.where(still, 50.0, 100.0 * gain / np.where(still, 1.0, moved))


def bollinger(close: I4, k: int = 20, width: float = 2.0) -> tuple[F8, F8, F8]:
    """Low, middle and high band, (n,) float64 each: mean and population deviation of k closes."""
    middle = sma(close, k)
    away = np.full(len(close), np.nan)
    if k <= len(close):
        squares = np.zeros(len(close) - k + 1)
        for j in range(k):
            gap = close[j : j + len(squares)] - middle[k - 1 :]
            squares += gap * gap
        away[k - 1 :] = width * np.sqrt(squares / k)
    return middle - away, middle, middle + away


def adx(px: I4, k: int = 14) -> F8:
    """(m,) float64 Wilder's average directional index of (m, 4) int32 periods, 0 ... 100.

    The first value comes with period 2k - 1. Where nothing moved in a direction, DX is 0.
    Source: J. W. Wilder, 1978.
    """
    up, down = np.full(len(px), np.nan), np.full(len(px), np.nan)
    rise, fall = np.diff(px[:, 1]), -np.diff(px[:, 2])
    up[1:] = np.where((rise > fall) & (rise > 0), rise, 0)
    down[1:] = np.where((fall > rise) & (fall > 0), fall, 0)
    plus, minus = wilder(up, k), wilder(down, k)
    # both directional indicators are divided by the same true range, which cancels in DX
    moved = plus + minus
    still = moved == 0
    dx = np.where(still, 0.0, 100.0 * np.abs(plus - minus) / np.where(still, 1.0, moved))
    return wilder(dx, k)


def rank(x: F8, k: int = _RANK_WINDOW) -> F8:
    """(m,) float64 share of the last k values, the present one included, at or below it."""
    out = np.full(len(x), np.nan)
    if k <= len(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, k)
        known = ~np.isnan(windows[:, 0])
        share = (windows <= windows[:, -1:]).sum(axis=1) / k
        out[k - 1 :] = np.where(known, share, np.nan)
    return out


def _trend(hours: Periods, strength: F8, average: F8) -> I1:
    """(m,) int8 index into TRENDS: the side of the average where ADX says that there is a trend."""
    close = hours.px[:, 3]
    strong = strength >= _TRENDING_ADX
    word = np.full(len(close), TRENDS.index("range"), dtype=np.int8)
    word[strong & (close > average)] = TRENDS.index("up")
    word[strong & (close < average)] = TRENDS.index("down")
    word[np.isnan(strength) | np.isnan(average)] = TRENDS.index("unknown")
    return word


def _volatility(share: F8) -> I1:
    """(n,) int8 index into VOLATILITIES."""
    word = np.full(len(share), VOLATILITIES.index("normal"), dtype=np.int8)
    word[share <= _LOW_SHARE] = VOLATILITIES.index("low")
    word[share > _HIGH_SHARE] = VOLATILITIES.index("high")
    word[np.isnan(share)] = VOLATILITIES.index("unknown")
    return word


def _make(bars: Bars) -> Facts:
    quarters, hours, days = periods(bars, 15), periods(bars, 60), periods(bars, DAY)
    close = np.ascontiguousarray(quarters.px[:, 3])
    strength, average = adx(hours.px), sma(hours.px[:, 3], 20)
    share = days.on_bars(rank(wilder(true_range_of(days.px), 14)), np.nan)
    numbers = {
        "atr_m15": atr_m15(bars),
        "atr_h1": atr_h1(bars),
        "atr_d1": atr_d1(bars),
        "rsi": quarters.on_bars(rsi(close), np.nan),
        "sma_50": quarters.on_bars(sma(close, 50), np.nan),
        "sma_200": quarters.on_bars(sma(close, 200), np.nan),
        "adx_h1": hours.on_bars(strength, np.nan),
        "sma_20_h1": hours.on_bars(average, np.nan),
        "atr_d1_pct": share,
    }
    for name, band in zip(("bb_low", "bb_mid", "bb_high"), bollinger(close), strict=True):
        numbers[name] = quarters.on_bars(band, np.nan)
    # each value is NaN up to some bar and a number ever after
    first = max(int(np.isnan(value).sum()) for value in numbers.values())
    return Facts(
        tick=bars.instrument.tick,
        first=first,
        trend=hours.on_bars(_trend(hours, strength, average), 0),
        volatility=read_only(_volatility(share)),
        sessions=sessions(bars),
        **numbers,
    )


@jit
def _completed(minute: I2, day: I4, minutes: int, least: int) -> int:
    """Index of the first bar at whose close so many periods are completed, n if there is none."""
    completed = end = 0
    closed = True
    for i in range(len(minute)):
        new = closed or day[i] != day[i - 1] or minute[i] > end or minute[i] <= end - minutes
        if new:
            completed += not closed
            end = ((minute[i] - 1) // minutes + 1) * minutes
        closed = minute[i] == end
        completed += closed
        if completed >= least:
            return i
    return len(minute)
