"""Sessions of the trading clock (New York + 7 h), by the minute at which a bar closes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators.periods import DAY
from dream.indicators.series import jit, once, read_only
from dream.types import ASIA, I2, I4, LONDON, MINUTE_NS, MISSING, NEW_YORK, U1, Bars

WINDOWS: dict[int, tuple[int, int]] = {ASIA: (0, 600), LONDON: (600, 1140), NEW_YORK: (900, DAY)}
"""Session to the minutes (from, to]: London and New York overlap from 15:00 to 19:00."""


def sessions_at(minute: int) -> int:
    """The bit set of sessions in which a bar that closes at this minute of the day lies."""
    bits = 0
    for bit, (start, end) in WINDOWS.items():
        if start < minute <= end:
            bits |= bit
    return bits


def sessions(bars: Bars) -> U1:
    """(n,) uint8: `sessions_at` for every bar."""

    def make() -> U1:
        bits = np.zeros(len(bars), dtype=np.uint8)
        for bit, (start, end) in WINDOWS.items():
            bits[(start < bars.minute) & (bars.minute <= end)] |= bit
        return read_only(bits)

    return once(bars, "sessions", make)


@dataclass(frozen=True, slots=True, eq=False)
class SessionRange:
    """One session of the day, as known at each bar's close; (n,) int32 ticks each.

    MISSING until the session is over and on days without a bar in it.

    Attributes:
        open, high, low, close: first open, extremes and last close of its bars.
        range: high - low.
    """

    open: I4
    high: I4
    low: I4
    close: I4
    range: I4


def session_range(bars: Bars, from_minute: int, to_minute: int) -> SessionRange:
    """The day's bars that lie wholly within [from, to] by the trading clock.

    Known from the first bar of the day that closes at or after `to`. Gold opens at 01:00 on this
    clock, so its 00:00-07:00 session has bars from 01:00.

    Raises:
        SpecInvalid: not 0 <= from < to <= 1440.
    """
    if not 0 <= from_minute < to_minute <= DAY:
        raise SpecInvalid(
            f"session: expected minutes 0 <= from < to <= {DAY}, found from {from_minute} to "
            f"{to_minute}; correct the strategy's session"
        )

    def make() -> SessionRange:
        out = np.empty((5, len(bars)), dtype=np.int32)
        bar_minutes = bars.bar_ns // MINUTE_NS
        _walk(bars.px, bars.minute, bars.day, (from_minute, to_minute, bar_minutes), out)
        return SessionRange(*(read_only(row) for row in out))

    return once(bars, f"session_range:{from_minute}:{to_minute}", make)


@jit
def _walk(px: I4, minute: I2, day: I4, window: tuple[int, int, int], out: I4) -> None:
    start, end, bar_minutes = window
    over = False
    held = False
    o = h = l = c = 0
    for i in range(len(px)):
        if i == 0 or day[i] != day[i - 1]:
            over = False
            held = False
        if not over and minute[i] - bar_minutes >= start and minute[i] <= end:
            if not held:
                held = True
                o, h, l = px[i, 0], px[i, 1], px[i, 2]
            h = max(h, px[i, 1])
            l = min(l, px[i, 2])
            c = px[i, 3]
        over = over or minute[i] >= end
        if over and held:
            out[0, i] = o
            out[1, i] = h
            out[2, i] = l
            out[3, i] = c
            out[4, i] = h - l
        else:
            for j in range(5):
                out[j, i] = MISSING
