"""The reference breakout by hand: a bare numba floor, and a slow statement that checks both.

The floor has the form that others were measured with: rolling maximum by doubling, one pass for the
averages, one for the loop with a trade log and an equity curve.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.floor import STOP, STOP_GAP, TARGET, TARGET_GAP, Result, jit

if TYPE_CHECKING:
    from dream.types import Bars, Terms

END_OF_DATA = 8


def run(bars: Bars, terms: Terms, first: int) -> Result:
    """Indicators and loop; no decision before bar `first`."""
    n, inst = len(bars), bars.instrument
    highest = _rolling_max(np.ascontiguousarray(bars.px[:, 1]), 20)
    atr, average = np.empty(n), np.empty(n)
    _averages(bars.px, atr, average)
    spread = np.maximum(bars.spread, np.int32(inst.to_ticks(terms.spread)))
    out = (np.empty((n // 2 + 1, 7), np.int64), np.empty(n // 2 + 1), np.empty(n))
    money = (terms.equity, terms.risk, terms.leverage, inst.money_per_tick_step)
    m = _loop((bars.px, spread), (highest, atr, average), money, first, out)
    return Result(out[0][:m], out[1][:m], out[2])


@jit
def _rolling_max(x: Any, k: int) -> Any:
    """Row i: the highest of the k values up to and including i (garbage in the first k - 1)."""
    n = len(x)
    best, other, width = x.copy(), np.empty_like(x), 1
    while 2 * width <= k:
        for i in range(width, n):
            other[i] = max(best[i], best[i - width])
        best, other = other, best
        width *= 2
    for i in range(k, n):
        other[i] = max(best[i], best[i - (k - width)])
    return other


@jit
def _averages(px: Any, atr: Any, average: Any) -> None:
    """SMA(14) of the true range, and SMA(100) of that; NaN before known."""
    n = len(px)
    reach = np.empty(n, np.int32)
    reach[0] = 0
    for i in range(1, n):
        reach[i] = max(px[i, 1], px[i - 1, 3]) - min(px[i, 2], px[i - 1, 3])
    total, total_of_totals = 0, 0
    totals = np.empty(n, np.int64)
    for i in range(n):
        total += reach[i]
        if i > 14:
            total -= reach[i - 14]
        totals[i] = total
        atr[i] = total / 14 if i >= 14 else np.nan
        if i >= 14:
            total_of_totals += total
            if i >= 114:
                total_of_totals -= totals[i - 100]
        average[i] = total_of_totals / 1400 if i >= 113 else np.nan


@jit
def _loop(market: Any, known: Any, money: Any, first: int, out: Any) -> int:
    px, spread = market
    highest, atr, average = known
    trades, pnls, curve = out
    cash, risk, leverage, unit = money
    n, m = len(px), 0
    curve[:first] = cash
    pending, held = False, False
    stop, target, entry, steps, entry_bar = 0, 0, 0, 0, 0
    for i in range(first, n):
        if pending:
            pending = False
            fill = px[i, 0] + spread[i]
            if px[i, 0] > stop and fill < target:
                steps = min(math.floor(risk * cash / ((fill - stop) * unit) + 1e-9), 100_000)
                if steps >= 1 and unit * steps * fill / leverage <= cash + 1e-9:
                    held, entry, entry_bar = True, fill, i
        if held:
            why, price = 0, 0
            if px[i, 0] <= stop:
                why, price = STOP_GAP, px[i, 0]
            elif px[i, 0] >= target:
                why, price = TARGET_GAP, target
            elif px[i, 2] <= stop:
                why, price = STOP, stop
            elif px[i, 1] >= target:
                why, price = TARGET, target
            elif i == n - 1:
                why, price = END_OF_DATA, px[i, 3]
            if why != 0:
                pnls[m] = (price - entry) * steps * unit
                cash += pnls[m]
                trades[m, 0], trades[m, 1], trades[m, 2], trades[m, 3] = 0, entry_bar, i, steps
                trades[m, 4], trades[m, 5], trades[m, 6] = entry, price, why
                m += 1
                held = False
        curve[i] = cash + (px[i, 3] - entry) * steps * unit if held else cash
        if not held and px[i, 3] > highest[i - 1] and atr[i] > average[i] and i < n - 1:
            stop = math.floor(px[i, 3] - 2 * atr[i] + 0.5)
            target = px[i, 3] + 2 * (px[i, 3] - stop)
            pending = 0 < stop < px[i, 3]
    return m


def slow(bars: Bars, terms: Terms, first: int) -> list[tuple[int, int, int, int, int]]:
    """Entry bar, exit bar, lot steps, entry and exit in ticks of every trade, in plain Python.

    Averages are whole sums of whole ticks: nothing is carried from bar to bar.
    """
    o, h, l, c = (column.tolist() for column in bars.px.T)
    spread = [max(s, bars.instrument.to_ticks(terms.spread)) for s in bars.spread.tolist()]
    unit, cash = bars.instrument.money_per_tick_step, terms.equity
    reach = [0] + [max(h[i], c[i - 1]) - min(l[i], c[i - 1]) for i in range(1, len(c))]
    totals = [sum(reach[i - 13 : i + 1]) if i >= 14 else 0 for i in range(len(c))]
    trades: list[tuple[int, int, int, int, int]] = []
    order: tuple[int, int] | None = None
    position: tuple[int, int, int, int, int] | None = None
    for i in range(first, len(c)):
        if order is not None:
            position = _filled(order, i, o[i], o[i] + spread[i], (cash, unit, terms))
            order = None
        if position is not None:
            price = _left((o[i], h[i], l[i], c[i]), position, i == len(c) - 1)
            if price is not None:
                bar, steps, entry, _, _ = position
                cash += (price - entry) * steps * unit
                trades.append((bar, i, steps, entry, price))
                position = None
        grows = 100 * totals[i] > sum(totals[i - 99 : i + 1])
        if position is None and i < len(c) - 1 and grows and c[i] > max(h[i - 20 : i]):
            stop = math.floor(c[i] - 2 * (totals[i] / 14) + 0.5)
            order = (stop, c[i] + 2 * (c[i] - stop)) if 0 < stop < c[i] else None
    return trades


def _filled(
    order: tuple[int, int], bar: int, bid: int, ask: int, money: tuple[float, float, Terms]
) -> tuple[int, int, int, int, int] | None:
    """Entry bar, lot steps, entry, stop and target; None where the order is refused."""
    (stop, target), (cash, unit, terms) = order, money
    if bid <= stop or ask >= target:
        return None
    steps = min(math.floor(terms.risk * cash / ((ask - stop) * unit) + 1e-9), 100_000)
    if steps < 1 or unit * steps * ask / terms.leverage > cash + 1e-9:
        return None
    return bar, steps, ask, stop, target


def _left(
    bar: tuple[int, int, int, int], position: tuple[int, int, int, int, int], is_last: bool
) -> int | None:
    """The price at which the bar ends the position, None while it is held."""
    o, h, l, c = bar
    _, _, _, stop, target = position
    if o <= stop:
        return o
    if o >= target:
        return target
    if l <= stop:
        return stop
    if h >= target:
        return target
    return c if is_last else None
