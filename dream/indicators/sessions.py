"""Sessions of the trading clock (New York + 7 h), by the minute at which a bar closes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators.periods import DAY
from dream.indicators.series import jit, once, read_only
from dream.types import ASIA, I2, I4, I8, LONDON, MINUTE_NS, MISSING, NEW_YORK, U1, Bars

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


@dataclass(frozen=True, eq=False)
class SessionRange:
    """One session of the day, as known at each bar's close; open ... range are (n,) int32 ticks.

    They are MISSING until the session is over and on days without a bar in it.

    Attributes:
        px: (m, 4) int32, of each day that has one: first open, extremes and last close of its bars.
        known: (m, 2) int64, the day's bars [from, to) at whose closes it is known.
        n: number of bars.
    """

    px: I4
    known: I8
    n: int

    @cached_property
    def open(self) -> I4:
        """First open."""
        return self._on_bars(self.px[:, 0])

    @cached_property
    def high(self) -> I4:
        """Highest high."""
        return self._on_bars(self.px[:, 1])

    @cached_property
    def low(self) -> I4:
        """Lowest low."""
        return self._on_bars(self.px[:, 2])

    @cached_property
    def close(self) -> I4:
        """Last close."""
        return self._on_bars(self.px[:, 3])

    @cached_property
    def range(self) -> I4:
        """From the lowest low to the highest high."""
        return self._on_bars(self.px[:, 1] - self.px[:, 2])

    def _on_bars(self, values: I4) -> I4:
        return read_only(_spread(values, self.known, self.n))


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
        window = (from_minute, to_minute, bars.bar_ns // MINUTE_NS)
        px, known = _walk(bars.px, bars.minute, bars.day, window)
        return SessionRange(read_only(px), read_only(known), len(bars))

    return once(bars, f"session_range:{from_minute}:{to_minute}", make)


@jit
def _walk(px: I4, minute: I2, day: I4, window: tuple[int, int, int]) -> tuple[I4, I8]:
    start, end, bar_minutes = window
    n = len(px)
    days = min(n, 1)
    for i in range(1, n):
        days += day[i] != day[i - 1]
    out, known = np.empty((days, 4), np.int32), np.empty((days, 2), np.int64)
    m = i = 0
    while i < n:
        today = day[i]
        held = over = False
        o = h = l = c = 0
        while i < n and day[i] == today and not over:
            if minute[i] - bar_minutes >= start and minute[i] <= end:
                if not held:
                    held = True
                    o, h, l = px[i, 0], px[i, 1], px[i, 2]
                h, l, c = max(h, px[i, 1]), min(l, px[i, 2]), px[i, 3]
            over = minute[i] >= end
            i += 1
        known[m, 0] = i - 1
        while i < n and day[i] == today:
            i += 1
        known[m, 1] = i
        out[m, 0], out[m, 1], out[m, 2], out[m, 3] = o, h, l, c
        m += held and over
    return out[:m].copy(), known[:m].copy()


@jit
def _spread(values: I4, known: I8, n: int) -> I4:
    out = np.full(n, np.int32(MISSING))
    for j in range(len(values)):
        out[known[j, 0] : known[j, 1]] = values[j]
    return out
