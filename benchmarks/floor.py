"""The floor under a rule run: the three strategies and the loop by hand, with no generality.

What one would write who needs these three long-only strategies on M15 bars under the default terms
of trade, and nothing else: no board, no levels where nothing is live, no shorts, no cost but the
spread, no refusals kept, no excursions. Separate passes and a lean loop over int32 ticks, which is
the fastest form known. Formulas and rounding are those of the docs, so that its trades and its
equity are the engine's to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

if TYPE_CHECKING:
    from dream.types import F8, I8, Bars, Terms

jit = numba.njit(cache=True, nogil=True)

WARM_DAYS = 34
"""Completed days before the first decision."""
BUFFER = 0.25 * math.sqrt(1 / 3)
"""Room under a stop, as a share of ATR(14, M15)."""
EXPIRES = np.array([1260, 1260, 960])
"""Forced close of VolBreakout, IntradayMomentum, PullbackEntry, as minutes of the trading day."""
STOP, STOP_GAP, TARGET, TARGET_GAP, FORCED, FORCED_LATE, END_OF_DATA = 1, 2, 3, 4, 6, 7, 8
"""Why a position was closed, numbered as the engine does."""


class Result(NamedTuple):
    """What a run gave.

    Attributes:
        trades: (m, 7) int64, strategy, entry bar, exit bar, lot steps, entry, exit (ticks), why.
        pnl: (m,) float64.
        curve: (n,) float64, equity at each close.
    """

    trades: I8
    pnl: F8
    curve: F8


def run(bars: Bars, terms: Terms) -> Result:
    """Indicators, set-ups and the loop; everything is allocated here, as the engine does."""
    n, inst = len(bars), bars.instrument
    rows = (bars.px, bars.minute, bars.day)
    m15, d1 = np.empty(n), np.empty(n)
    _atr_m15(bars.px, m15)
    first = _atr_d1(rows, d1)
    live, levels = np.zeros(n, np.uint8), np.empty((3, n, 2), np.int32)
    _vol_breakout(rows, (m15, d1), live, levels[0])
    _intraday_momentum(rows, (m15, d1), live, levels[1])
    _pullback_entry(rows, (m15, d1), live, levels[2])
    spread = np.maximum(bars.spread, np.int32(inst.to_ticks(terms.spread)))
    out = (np.empty((n // 8 + 1, 7), np.int64), np.empty(n // 8 + 1), np.empty(n))
    money = (terms.equity, terms.risk, terms.leverage, inst.money_per_tick_step)
    m = _loop((*rows, spread), (live, levels, EXPIRES), money, first, out)
    return Result(out[0][:m], out[1][:m], out[2])


@jit
def _atr_m15(px: Any, out: Any) -> None:
    out[:14] = np.nan
    value = 0.0
    for i in range(1, len(px)):
        before = px[i - 1, 3]
        reach = max(px[i, 1], before) - min(px[i, 2], before)
        value = value + reach / 14 if i < 14 else (value * 13 + reach) / 14
        out[i] = value


@jit
def _day_over(days: int, value: float, day: Any) -> tuple[int, float]:
    """One more completed day: (days, ATR so far: a sum up to the 14th true range)."""
    high, low, before, _ = day
    reach = max(high, before) - min(low, before)
    if days == 0:
        return 1, 0.0
    if days <= 14:
        value += reach
        return days + 1, value / 14 if days == 14 else value
    return days + 1, (value * 13 + reach) / 14


@jit
def _atr_d1(rows: Any, out: Any) -> int:
    """ATR(14) of the days completed at each close; returns the first bar with WARM_DAYS of them."""
    px, minute, day = rows
    n = len(px)
    first, days, value = n, 0, 0.0
    high, low, before = px[0, 1], px[0, 2], px[0, 3]
    for i in range(n):
        if i > 0 and day[i] != day[i - 1]:
            if minute[i - 1] != 1440:
                days, value = _day_over(days, value, (high, low, before, 0))
                before = px[i - 1, 3]
            high, low = px[i, 1], px[i, 2]
        else:
            high, low = max(high, px[i, 1]), min(low, px[i, 2])
        if minute[i] == 1440:
            days, value = _day_over(days, value, (high, low, before, 0))
            before = px[i, 3]
        if days == WARM_DAYS and first == n:
            first = i
        out[i] = value if days >= 15 else np.nan
    return first


@jit
def _ticks(x: float) -> int:
    return math.floor(x + 0.5)


@jit
def _vol_breakout(rows: Any, atr: Any, live: Any, levels: Any) -> None:
    px, minute, day = rows
    m15, d1 = atr
    high, low, held = 0, 0, False
    for i in range(len(px)):
        if i == 0 or day[i] != day[i - 1]:
            held = False
        if minute[i] <= 420:
            high = max(high, px[i, 1]) if held else px[i, 1]
            low = min(low, px[i, 2]) if held else px[i, 2]
            held = True
        elif held and minute[i] < 840:
            close = px[i, 3]
            if high - low >= 0.30 * d1[i] and close > high + 0.15 * d1[i]:
                live[i] |= 1
                levels[i, 0] = _ticks(low - BUFFER * m15[i])
                levels[i, 1] = _ticks(close + 3.5 * (high - low))


@jit
def _intraday_momentum(rows: Any, atr: Any, live: Any, levels: Any) -> None:
    px, minute, day = rows
    m15, d1 = atr
    start, high, low, held = 0, 0, 0, False
    for i in range(len(px)):
        if i == 0 or day[i] != day[i - 1]:
            held = False
        if minute[i] > 600:
            continue
        if not held:
            held = True
            start, high, low = px[i, 0], px[i, 1], px[i, 2]
        high, low = max(high, px[i, 1]), min(low, px[i, 2])
        move = px[i, 3] - start
        if minute[i] == 600 and move > 0 and move / (high - low) > 0.55 and move / d1[i] > 0.30:
            live[i] |= 2
            levels[i, 0] = _ticks(low - BUFFER * m15[i])
            levels[i, 1] = _ticks(px[i, 3] + 2.5 * (px[i, 3] - levels[i, 0]))


@jit
def _pullback_entry(rows: Any, atr: Any, live: Any, levels: Any) -> None:
    px, minute, day = rows
    m15, d1 = atr
    high, low, top = 0, 0, 0
    held, broken, done = False, False, False
    for i in range(len(px)):
        if i == 0 or day[i] != day[i - 1]:
            held, broken, done = False, False, False
        if minute[i] <= 420:
            high = max(high, px[i, 1]) if held else px[i, 1]
            low = min(low, px[i, 2]) if held else px[i, 2]
            held = True
        elif held and not done and minute[i] < 960:
            if not broken:
                if px[i, 3] > high:
                    broken = True
                    top = px[i, 1]
            elif px[i, 2] < top - 0.30 * d1[i] and px[i, 2] <= top - 0.60 * (top - high):
                done = True
                if high - low >= 0.35 * d1[i]:
                    live[i] |= 4
                    levels[i, 0] = _ticks(low - BUFFER * m15[i])
                    levels[i, 1] = _ticks(px[i, 3] + 2.0 * (px[i, 3] - levels[i, 0]))
            else:
                top = max(top, px[i, 1])


@jit
def _exit(bar: Any, stop: int, target: int, late: bool, forced: bool) -> tuple[int, int]:
    """(why, price) of a long position on a bar, (0, 0) while it is held."""
    if bar[0] <= stop:
        return STOP_GAP, bar[0]
    if bar[0] >= target:
        return TARGET_GAP, target
    if late:
        return FORCED_LATE, bar[0]
    if bar[2] <= stop:
        return STOP, stop
    if bar[1] >= target:
        return TARGET, target
    if forced:
        return FORCED, bar[3]
    return 0, 0


@jit
def _size(fill: int, stop: int, cash: float, money: Any) -> int:
    """Lot steps, 0 where risk or margin allows none."""
    _, risk, leverage, unit = money
    steps = math.floor(risk * cash / ((fill - stop) * unit) + 1e-9)
    steps = min(steps, 100_000)
    return steps if unit * steps * fill / leverage <= cash + 1e-9 else 0


@jit
def _loop(market: Any, setups: Any, money: Any, first: int, out: Any) -> int:
    px, minute, day, spread = market
    live, levels, expires = setups
    trades, pnls, curve = out
    n, unit, cash, m = len(px), money[3], money[0], 0
    curve[:first] = cash
    used = np.full(3, -1)
    pend, held = -1, -1
    stop, target, entry, steps, entry_bar = 0, 0, 0, 0, 0
    i = first
    while i < n:
        if held < 0 and pend < 0:
            while i < n and live[i] == 0:
                curve[i] = cash
                i += 1
            if i == n:
                break
        if pend >= 0:
            fill = px[i, 0] + spread[i]
            on_time = day[i] == day[i - 1] and minute[i] <= expires[pend]
            if on_time and px[i, 0] > stop and fill < target:
                steps = _size(fill, stop, cash, money)
                if steps > 0:
                    held, entry, entry_bar = pend, fill, i
                    used[held] = day[i]
            pend = -1
        if held >= 0:
            late = minute[i] > expires[held] or day[i] != day[entry_bar]
            why, price = _exit(px[i], stop, target, late, minute[i] == expires[held])
            if why == 0 and i == n - 1:
                why, price = END_OF_DATA, px[i, 3]
            if why != 0:
                pnls[m] = (price - entry) * steps * unit
                cash += pnls[m]
                trades[m, 0], trades[m, 1], trades[m, 2], trades[m, 3] = held, entry_bar, i, steps
                trades[m, 4], trades[m, 5], trades[m, 6] = entry, price, why
                m += 1
                held = -1
        curve[i] = cash if held < 0 else cash + (px[i, 3] - entry) * steps * unit
        if held < 0 and live[i] != 0 and i < n - 1:
            for k in range(3):
                if live[i] >> k & 1 and used[k] != day[i]:
                    stop, target = levels[k, i]
                    if 0 < stop < px[i, 3] < target:
                        pend = k
                    break
        i += 1
    return m
