"""The three rules a second time, read from their table: plain Python, a day at a time, decimals."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from dream.types import MISSING
from tests.indicators import slow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.indicators.series import Row

ROOM = Decimal("0.25") * (Decimal(1) / 3).sqrt()
"""b as a share of ATR M15."""


@dataclass
class Moment:
    """What is known at the close of one bar, and what a strategy says about it."""

    minute: int
    high: int
    low: int
    close: int
    session: slow.Price4 | None
    atr: Decimal | None
    room: Decimal | None
    live: int = 0
    stop: int = MISSING
    target: int = MISSING
    trigger: int = MISSING
    swing: int = MISSING


def moments(rows: Sequence[Row], end: int) -> list[list[Moment]]:
    """The bars, day by day, with the session from 00:00 to `end`."""
    quarters = iter(slow.wilder(slow.true_range([r[2:] for r in rows]), 14))
    days = [list(part) for _, part in groupby(rows, key=lambda row: row[0])]
    ends = [(day[0][0] + 1) * 1440 for day in days]
    daily = slow.wilder(
        slow.true_range(
            [(d[0][2], max(r[3] for r in d), min(r[4] for r in d), d[-1][5]) for d in days]
        ),
        14,
    )
    out = []
    for day in days:
        session, said = None, []
        for i, (number, minute, _, high, low, close) in enumerate(day):
            if session is None:
                session = slow.session(day[: i + 1], 0, end)
            over = bisect_right(ends, number * 1440 + minute)
            quarter = next(quarters)
            room = None if quarter is None else ROOM * quarter
            atr = daily[over - 1] if over else None
            said.append(Moment(minute, high, low, close, session, atr, room))
        out.append(said)
    return out


def tick(x: Decimal) -> int:
    """floor(x + 1/2)."""
    return math.floor(x + Decimal("0.5"))


def bracket(at: Moment, times: str) -> None:
    """The stop under the session and a target of so many risks."""
    if at.session and at.room is not None:
        at.stop = tick(at.session[2] - at.room)
        at.target = tick(at.close + Decimal(times) * (at.close - at.stop))


def vol_breakout(rows: Sequence[Row]) -> list[Moment]:
    """VolBreakout with its default numbers."""
    days = moments(rows, 420)
    for at in (m for day in days for m in day):
        if not at.session:
            continue
        bracket(at, "0")
        _, high, low, _ = at.session
        at.target = tick(at.close + Decimal("3.5") * (high - low))
        if at.atr is not None:
            trigger = high + Decimal("0.15") * at.atr
            at.trigger = tick(trigger)
            wide = high - low >= Decimal("0.30") * at.atr
            at.live = int(wide and 420 < at.minute < 840 and at.close > trigger)
    return [m for day in days for m in day]


def intraday_momentum(rows: Sequence[Row]) -> list[Moment]:
    """IntradayMomentum with its default numbers."""
    days = moments(rows, 600)
    for at in (m for day in days for m in day):
        bracket(at, "2.5")
        if at.session and at.atr is not None and at.minute == 600:
            first, high, low, _ = at.session
            move = Decimal(at.close - first)
            straight = high > low and abs(move) / (high - low) > Decimal("0.55")
            at.live = int(straight and abs(move) / at.atr > Decimal("0.30") and move > 0)
    return [m for day in days for m in day]


def pullback_entry(rows: Sequence[Row]) -> list[Moment]:
    """PullbackEntry with its default numbers."""
    days = moments(rows, 420)
    for day in days:
        since: list[Moment] = []
        done = False
        for at in day:
            bracket(at, "2.0")
            if not at.session or not 420 < at.minute < 960 or done:
                continue
            _, top, low, _ = at.session
            swing = max((m.high for m in since), default=None)
            hit = False
            if swing is not None and at.atr is not None:
                near = swing - Decimal("0.30") * at.atr
                deep = swing - Decimal("0.60") * (swing - top)
                hit = at.low < near and at.low <= deep
                wide = top - low >= Decimal("0.35") * at.atr
                at.live = int(hit and wide and at.close > at.stop)
                done = hit
            if since or at.close > top:
                since.append(at)
                at.swing = swing if hit else max(m.high for m in since)
                if at.atr is not None:
                    depth = (Decimal("0.30") * at.atr, Decimal("0.60") * (at.swing - top))
                    at.trigger = tick(at.swing - max(depth))
    return [m for day in days for m in day]
