"""Every jitted line of the bar loop. The rules are stated in docs/fills.md.

Codes that `advance` returns:

    END 0    no bar is left; an open position was closed
    ASK 1    bar `state.bar - 1` has closed and a decision is due
    FULL 2   the event buffer is nearly full: drain it and call again
    RUIN 3   equity is gone; an open position was closed

All of it is one file because numba's disk cache does not notice an edit in another one; records
are described in layout.py.
Prices are int32 ticks, sizes are lot steps, money is float64. No fastmath, no parallel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dream.indicators import jit

END, ASK, FULL, RUIN = 0, 1, 2, 3

DUE_FLAT, DUE_OPEN, DUE_LIVE = 1, 2, 4
"""Bits of `due`: ask when flat, ask while a position is open, some set-up is live."""

FILLED, REFUSED, CLOSED = 1, 2, 3
"""Kinds of event."""

BUY, SELL, CLOSE = 1, -1, 2
"""Kinds of pending order (0 is none)."""

STOP_FIRST, TARGET_FIRST, NEARER_FIRST = 0, 1, 2

MISSING = -(2**31)

END_OF_DATA, END_OF_RUN, RUINED = 8, 9, 10


@jit
def judge(side: int, stop: int, target: int, close: int, buy_only: int) -> int:
    """The reason to refuse an entry's side and levels at the decision, 0 for none."""
    if side < 0 and buy_only:
        return 11
    if stop == MISSING:
        return 13
    if target == MISSING:
        return 14
    if stop <= 0 or target <= 0:
        return 15
    if side > 0 and (stop >= close or target <= close):
        return 16
    if side < 0 and (stop <= close or target >= close):
        return 16
    return 0


@jit
def _refuse(s: Any, e: Any, bar: int, reason: int, needs: float) -> None:
    e.kind = REFUSED
    e.bar = bar
    e.seq = s.pend_seq
    e.action = s.pend
    e.strategy = s.pend_strategy
    e.reason = reason
    e.stop = s.pend_stop
    e.target = s.pend_target
    e.needs = needs
    s.events += 1


@jit
def _filled(s: Any, e: Any, bar: int, action: int, price: int) -> None:
    e.kind = FILLED
    e.bar = bar
    e.seq = s.pend_seq
    e.action = action
    e.strategy = s.strategy
    e.reason = 0
    e.price = price
    e.steps = s.steps
    e.stop = s.stop
    e.target = s.target
    s.events += 1


@jit
def _book(
    s: Any, c: Any, e: Any, bar: int, price: int, spread: int, slip: int, why: int, lo: int, hi: int
) -> float:
    """Close the position at `price`; returns the cash after it."""
    side = s.side
    fee = c.fee * s.steps
    gross = side * (price - s.entry) * s.steps * c.unit
    s.cash += gross - fee
    e.kind = CLOSED
    e.bar = bar
    e.seq = s.seq
    e.action = side
    e.strategy = s.strategy
    e.reason = why
    e.price = price
    e.steps = s.steps
    e.stop = s.stop
    e.target = s.target
    e.entry = s.entry
    e.entry_bar = s.entry_bar
    e.spread = s.entry_spread if side > 0 else spread
    e.slip = slip + c.slip
    e.fee = 2.0 * fee
    e.swap = s.swap
    e.pnl = gross - 2.0 * fee + s.swap
    e.lo = min(lo, price)
    e.hi = max(hi, price)
    e.ambiguous = 0
    e.stop_first = price
    e.target_first = price
    s.events += 1
    s.side = 0
    return s.cash


@jit
def _book_last(
    s: Any, c: Any, events: Any, px: Any, spread: Any, i: int, why: int, lo: int, hi: int
) -> float:
    """Close the position at a bar's close, without slippage, because the run ends there."""
    price = px[i, 3] + (0 if s.side > 0 else spread[i])
    return _book(s, c, events[s.events], i, price, spread[i], 0, why, lo, hi)


@jit
def _refusal(
    s: Any,
    c: Any,
    i: int,
    minute: Any,
    day: Any,
    open_ns: int,
    decided_ns: int,
    fill: int,
    bid: int,
    ask: int,
    limits: Any,
    used: Any,
) -> int:
    """The reason to refuse the pending entry at this open, 0 for none."""
    if c.max_gap_ns >= 0 and open_ns - decided_ns > c.max_gap_ns:
        return 1
    k = s.pend_strategy
    expires = limits[k, 0]
    if expires > 0 and (day[i] != day[s.pend_bar] or minute[i] > expires):
        return 2
    if limits[k, 1] > 0 and used[k, 0] == day[i] and used[k, 1] >= limits[k, 1]:
        return 3
    if s.pend == BUY and (bid <= s.pend_stop or fill >= s.pend_target):
        return 4
    if s.pend == SELL and (ask >= s.pend_stop or fill <= s.pend_target):
        return 4
    return 0


@jit
def _enter(
    s: Any, c: Any, e: Any, i: int, fill: int, spread: int, day: Any, used: Any, reason: int
) -> None:
    """Fill or refuse the pending entry; `reason` is what is known against it so far."""
    needs = math.nan
    steps = 0
    if reason == 0:
        per_step = abs(fill - s.pend_stop) * c.unit
        size = c.risk * s.cash / per_step + 1e-9
        steps = c.max_steps if size >= c.max_steps else math.floor(size)
        if steps < c.min_steps:
            reason = 5
            by_risk, by_margin = per_step / c.risk, c.unit * fill / c.leverage
            needs = c.min_steps * max(by_risk, by_margin)
            if needs >= (c.min_steps + 1) * by_risk:  # so much money buys more: margin never fits
                needs = c.max_steps * max(by_risk, by_margin)
        elif c.unit * steps * fill / c.leverage > s.cash + 1e-9:
            reason = 6
    if reason != 0:
        _refuse(s, e, i, reason, needs)
        return
    k = s.pend_strategy
    used[k, 1] = used[k, 1] + 1 if used[k, 0] == day[i] else 1
    used[k, 0] = day[i]
    s.side = s.pend
    s.strategy = k
    s.seq = s.pend_seq
    s.steps = steps
    s.stop = s.pend_stop
    s.target = s.pend_target
    s.entry = fill
    s.entry_spread = spread
    s.entry_bar = i
    s.entry_day = day[i]
    s.swap_day = day[i]
    s.swap = 0.0
    s.cash -= c.fee * steps
    _filled(s, e, i, s.pend, fill)


@jit
def _exit_price(
    side: int, stop: int, target: int, o: int, h: int, l: int, intrabar: int, late: bool
) -> tuple[int, int, int]:
    """Which exit the bar gives: (index into EXITS or 0, price before slippage, ambiguous).

    o, h, l are the prices that the position exits at: bid for a long, ask for a short.
    """
    if side * (o - stop) <= 0:
        return 2, o, 0
    if side * (o - target) >= 0:
        return 4, target, 0
    if late:
        return 7, o, 0
    hit_stop = l <= stop if side > 0 else h >= stop
    hit_target = h >= target if side > 0 else l <= target
    if hit_stop and hit_target:
        first = intrabar == STOP_FIRST or (
            intrabar == NEARER_FIRST and abs(o - stop) <= abs(target - o)
        )
        return (1, stop, 1) if first else (3, target, 1)
    if hit_stop:
        return 1, stop, 0
    if hit_target:
        return 3, target, 0
    return 0, 0, 0


@jit
def _take_live(
    s: Any, c: Any, e: Any, i: int, n: int, close: int, day: Any, live_bars: Any, setups: Any,
    limits: Any, used: Any,
) -> None:  # fmt: skip
    """What the `rules` decider would order at this close, by registry order."""
    row = np.searchsorted(live_bars, i)
    s.pend = 0  # the last order is still in the record
    for k in range(setups.shape[1]):
        live = setups[row, k, 0]
        if live == 0:
            continue
        if limits[k, 1] > 0 and used[k, 0] == day[i] and used[k, 1] >= limits[k, 1]:
            continue
        s.pend = live
        s.pend_strategy = k
        s.pend_stop = setups[row, k, 1]
        s.pend_target = setups[row, k, 2]
        s.pend_bar = i
        s.pend_seq = -1
        reason = 9 if i == n - 1 else judge(live, s.pend_stop, s.pend_target, close, c.buy_only)
        if reason != 0:
            _refuse(s, e, i, reason, math.nan)
            s.pend = 0
        return


@jit
def advance(
    t_close: Any, minute: Any, day: Any, px: Any, spread: Any, due: Any, live_bars: Any,
    setups: Any, limits: Any, used: Any, cfg: Any, state: Any, events: Any, curve: Any,
) -> int:  # fmt: skip
    """Walk on until a decision is due, the data end, the buffer fills or the money is gone.

    Args:
        t_close: (n,) int64 nanoseconds UTC.
        minute: (n,) int16 of the trading day.
        day: (n,) int32 trading-day number.
        px: (n, 4) int32 ticks, bid.
        spread: (n,) int32 ticks, the floor applied.
        due: (n,) uint8 of DUE bits.
        live_bars: (q,) int64 bars with a live set-up; read only when cfg.auto is set.
        setups: (q, m, 3) int32 live, stop, target there; likewise.
        limits: (m, 2) int32 forced-close minute and entries a day, 0 for none.
        used: (m, 2) int32 trading day and entries in it; written.
        cfg: (1,) CONFIG.
        state: (1,) STATE; loaded into locals, stored at the end.
        events: (k,) EVENT; appended from state.events.
        curve: (n,) float64 equity at each close; written.

    Returns:
        END, ASK, FULL or RUIN.
    """
    s = state[0]
    c = cfg[0]
    n = len(t_close)
    i = s.bar
    cash = s.cash
    side = s.side
    pend = s.pend
    stop, target, entry, lo, hi = s.stop, s.target, s.entry, s.lo, s.hi
    expires = limits[s.strategy, 0] if side != 0 else 0
    when_flat = DUE_LIVE if c.auto else DUE_FLAT
    slip = c.slip
    code = END
    while i < n:
        if side == 0 and pend == 0:
            while i < n and due[i] & when_flat == 0:
                curve[i] = cash
                i += 1
            if i == n:
                break
        if side != 0 and c.swap != 0.0 and day[i] != s.swap_day:
            cost = c.swap * s.steps * (day[i] - s.swap_day)
            s.cash += cost
            s.swap += cost
            s.swap_day = day[i]
            cash = s.cash
        if pend == CLOSE:
            out = px[i, 0] if side > 0 else px[i, 0] + spread[i]
            _filled(s, events[s.events], i, CLOSE, out - side * slip)
            cash = _book(s, c, events[s.events], i, out - side * slip, spread[i], slip, 5,
                         min(lo, out), max(hi, out))  # fmt: skip
            side = 0
        elif pend != 0:
            ask = px[i, 0] + spread[i]
            fill = ask + slip if pend == BUY else px[i, 0] - slip
            reason = _refusal(s, c, i, minute, day, t_close[i] - c.bar_ns, t_close[s.pend_bar],
                              fill, px[i, 0], ask, limits, used)  # fmt: skip
            _enter(s, c, events[s.events], i, fill, spread[i], day, used, reason)
            side = s.side
            if side != 0:
                stop, target, entry = s.stop, s.target, s.entry
                lo = hi = entry
                expires = limits[s.strategy, 0]
                cash = s.cash
        pend = 0
        equity = cash
        if side != 0:
            up = 0 if side > 0 else spread[i]
            h, l = px[i, 1] + up, px[i, 2] + up
            hit = (l <= stop or h >= target) if side > 0 else (h >= stop or l <= target)
            late = expires > 0 and (minute[i] > expires or day[i] > s.entry_day)
            if hit or late:
                o = px[i, 0] + up
                why, price, ambiguous = _exit_price(side, stop, target, o, h, l, c.intrabar, late)
                paid = 0 if why in (3, 4) else slip
                e = events[s.events]
                cash = _book(s, c, e, i, price - side * paid, spread[i], paid, why,
                             min(lo, o), max(hi, o))  # fmt: skip
                if ambiguous:
                    e.ambiguous = 1
                    e.stop_first = stop - side * slip
                    e.target_first = target
                side = 0
            else:
                lo, hi = min(lo, l), max(hi, h)
                if expires > 0 and minute[i] == expires:
                    cash = _book(s, c, events[s.events], i, px[i, 3] + up - side * slip,
                                 spread[i], slip, 6, lo, hi)  # fmt: skip
                    side = 0
            equity = cash
            if side != 0:
                equity += side * (px[i, 3] + up - entry) * s.steps * c.unit
        curve[i] = equity
        i += 1
        if equity <= 0.0:
            if side != 0:
                curve[i - 1] = _book_last(s, c, events, px, spread, i - 1, RUINED, lo, hi)
                side = 0
            code = RUIN
            break
        if side == 0:
            if due[i - 1] & when_flat:
                if not c.auto:
                    code = ASK
                    break
                _take_live(s, c, events[s.events], i - 1, n, px[i - 1, 3], day, live_bars, setups,
                           limits, used)  # fmt: skip
                pend = s.pend
            if s.events > len(events) - 4:
                code = FULL
                break
        elif due[i - 1] & DUE_OPEN:
            code = ASK
            break
    if code == END and side != 0:
        curve[n - 1] = _book_last(s, c, events, px, spread, n - 1, END_OF_DATA, lo, hi)
    s.bar = i
    s.lo = lo
    s.hi = hi
    s.pend = pend
    return code


@jit
def finish(px: Any, spread: Any, cfg: Any, state: Any, events: Any, curve: Any) -> None:
    """End the run at the bar that closed last: an open position is closed there, `end_of_run`."""
    s = state[0]
    i = s.bar - 1
    if s.side != 0:
        curve[i] = _book_last(s, cfg[0], events, px, spread, i, END_OF_RUN, s.lo, s.hi)
    s.pend = 0
