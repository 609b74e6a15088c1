"""Every jitted line of the strategies: what is live where, and with which levels.

All of it is one file because numba's disk cache does not notice an edit in another one.
Prices, averages and levels are in ticks; MISSING and NaN stand for what is not known.
A session is given by its days: (m, 4) int32 open, high, low, close, and (m, 2) int64 the bars
[from, to) at which it is known. Loops over these bars do one thing each, so that they run several
bars at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dream.indicators import jit
from dream.types import F8, I1, I2, I4, I8, MISSING

_I4_MAX = 2**31 - 1


@jit
def _ticks(x: float) -> Any:
    """floor(x + 0.5), MISSING where x is NaN or not representable."""
    whole = np.floor(x + 0.5)
    return np.int32(whole) if abs(whole) <= _I4_MAX else np.int32(MISSING)


@jit
def _stops(session: I4, known: I8, average: F8, room: float) -> I4:
    """(n,) stop: the session's low - room x average."""
    out = np.full(len(average), np.int32(MISSING))
    for j in range(len(known)):
        low = session[j, 2]
        for i in range(known[j, 0], known[j, 1]):
            out[i] = _ticks(low - room * average[i])
    return out


@jit
def _targets(px: I4, stop: I4, risks: float) -> I4:
    """(n,) target: so many times close - stop above the close."""
    out = np.empty(len(stop), np.int32)
    for i in range(len(stop)):
        goal = _ticks(px[i, 3] + risks * (px[i, 3] - stop[i]))
        out[i] = goal if stop[i] != MISSING else np.int32(MISSING)
    return out


@jit
def break_out(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    px: I4, minute: I2, session: I4, known: I8, day_atr: F8, average: F8,
    window: tuple[int, int], shares: tuple[float, float, float, float],
) -> tuple[I1, I4, I4, I4]:  # fmt: skip
    """VolBreakout: (n,) live, stop, target, trigger.

    Args:
        px: (n, 4) int32.
        minute: (n,) int16.
        session: of the reference, by day.
        known: likewise.
        day_atr: (n,) float64 ATR D1.
        average: (n,) float64 ATR that the room under a stop is a share of.
        window: minutes between which a bar may be live.
        shares: range and break as shares of day_atr, room as a share of average, target in ranges.
    """
    n = len(px)
    live, target, trigger = (
        np.zeros(n, np.int8),
        np.full(n, np.int32(MISSING)),
        np.full(n, np.int32(MISSING)),
    )
    after, before = window
    range_share, break_share, room, target_range = shares
    for j in range(len(known)):
        reach = target_range * (session[j, 1] - session[j, 2])
        for i in range(known[j, 0], known[j, 1]):
            target[i] = _ticks(px[i, 3] + reach)
    for j in range(len(known)):
        high = session[j, 1]
        for i in range(known[j, 0], known[j, 1]):
            trigger[i] = _ticks(high + break_share * day_atr[i])
    for j in range(len(known)):
        high, width = session[j, 1], session[j, 1] - session[j, 2]
        for i in range(known[j, 0], known[j, 1]):
            if after < minute[i] < before and px[i, 3] > high + break_share * day_atr[i]:
                live[i] = width >= range_share * day_atr[i]
    return live, _stops(session, known, average, room), target, trigger


@jit
def follow_morning(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    px: I4, minute: I2, session: I4, known: I8, day_atr: F8, average: F8, end: int,
    shares: tuple[float, float, float, float],
) -> tuple[I1, I4, I4]:  # fmt: skip
    """IntradayMomentum: (n,) live, stop, target; it has no level that a price has to reach.

    Args:
        px: (n, 4) int32.
        minute: (n,) int16.
        session: of the morning, by day.
        known: likewise.
        day_atr: (n,) float64 ATR D1.
        average: (n,) float64 ATR that the room under a stop is a share of.
        end: minute at which the session ends.
        shares: move as a share of the range and of day_atr, room as a share of average, target in
            risks.
    """
    live = np.zeros(len(px), np.int8)
    direction, momentum, room, risks = shares
    for j in range(len(known)):
        move, width = session[j, 3] - session[j, 0], session[j, 1] - session[j, 2]
        # quotients, not products: a move of exactly the share then compares equal to it
        if move > 0 and move / width > direction:
            for i in range(known[j, 0], known[j, 1]):
                if minute[i] == end:
                    live[i] = day_atr[i] == 0.0 or move / day_atr[i] > momentum
    stop = _stops(session, known, average, room)
    return live, stop, _targets(px, stop, risks)


@jit
def pull_back(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    px: I4, minute: I2, session: I4, known: I8, day_atr: F8, average: F8,
    window: tuple[int, int], shares: tuple[float, float, float, float, float],
) -> tuple[I1, I4, I4, I4, I4]:  # fmt: skip
    """PullbackEntry: (n,) live, stop, target, trigger, and the swing that a low is measured by.

    Args:
        px: (n, 4) int32.
        minute: (n,) int16.
        session: of the reference, by day.
        known: likewise.
        day_atr: (n,) float64 ATR D1.
        average: (n,) float64 ATR that the room under a stop is a share of.
        window: minutes between which a bar counts.
        shares: range and dip as shares of day_atr, dip as a share of the swing's height, room as a
            share of average, target in risks.
    """
    n = len(px)
    live, trigger, swing = (
        np.zeros(n, np.int8),
        np.full(n, np.int32(MISSING)),
        np.full(n, np.int32(MISSING)),
    )
    after, before = window
    range_share, dip_atr, dip_retrace, room, risks = shares
    stop = _stops(session, known, average, room)
    for j in range(len(known)):
        high, width = session[j, 1], session[j, 1] - session[j, 2]
        top = 0
        broken = False
        for i in range(known[j, 0], known[j, 1]):
            if not after < minute[i] < before:
                continue
            deep, part = dip_atr * day_atr[i], dip_retrace * (top - high)
            dips = broken and px[i, 2] < top - deep and px[i, 2] <= top - part
            if dips:
                # a close at the stop or below it has gone through the session: no set-up
                live[i] = width >= range_share * day_atr[i] and px[i, 3] > stop[i]
            elif broken:
                top = max(top, px[i, 1])
            elif px[i, 3] > high:
                broken = True
                top = px[i, 1]
            if broken:
                swing[i] = top
                part = dip_retrace * (top - high)
                trigger[i] = _ticks(top - (part if part > deep else deep))  # noqa: FURB136 - NaN stays NaN
            if dips:
                break
    return live, stop, _targets(px, stop, risks), trigger, swing
