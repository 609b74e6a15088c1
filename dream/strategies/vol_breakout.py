"""VolBreakout: a close well above a wide enough morning range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.indicators import atr_d1, read_only, session_range
from dream.strategies import walks
from dream.strategies.levels import (
    M5_FACTOR,
    Levels,
    check_factors,
    day_atr_ticks,
    stop_room,
    whole,
)
from dream.types import Setups

if TYPE_CHECKING:
    from dream.types import Bars

_NAME = "VolBreakout"


def vol_breakout(  # noqa: PLR0913 - every number of the rule is a named parameter
    bars: Bars,
    *,
    range_atr: float = 0.30,
    break_atr: float = 0.15,
    stop_atr: float = 0.25,
    m5_factor: float = M5_FACTOR,
    target_range: float = 3.5,
    session_from: float = 0,
    session_to: float = 420,
    window_to: float = 840,
    expires_minute: float = 1260,
    entries_per_day: float = 1,
) -> Setups:
    """Long where a bar closes above the session's high by a share of ATR D1. Buy only.

    Live: session_to < close minute < window_to, range >= range_atr * ATR(14, D1) and
    close > high + break_atr * ATR(14, D1), all of the same trading day's session.
    Stop: low - b. Target: close + target_range * range.
    b = 0.25 * ATR(14, M5); on M15 bars without it b = 0.25 * ATR(14, M15) * sqrt(1/3).

    Args:
        bars: a series of 15 minutes or finer.
        range_atr: narrowest range, as a share of ATR D1.
        break_atr: how far above the high a close must be, as a share of ATR D1.
        stop_atr: the 0.25 of b.
        m5_factor: the sqrt(1/3) of b, ATR M5 as a share of ATR M15.
        target_range: distance of the target from the close, in ranges.
        session_from: minute at which the session starts.
        session_to: minute at which the session ends and the window starts.
        window_to: minute at which the window ends.
        expires_minute: forced close, 0 for never.
        entries_per_day: fills allowed per trading day, 0 for no limit.

    Raises:
        SpecInvalid: a parameter is out of range.
        BarsInvalid: the bars are coarser than 15 minutes and have no M5 average.
    """
    check_factors(_NAME, range_atr=range_atr, break_atr=break_atr, target_range=target_range)
    check_factors(_NAME, stop_atr=stop_atr, m5_factor=m5_factor)
    end = whole(_NAME, "session_to", session_to)
    session = session_range(bars, whole(_NAME, "session_from", session_from), end)
    until = whole(_NAME, "window_to", window_to, least=end + 1)
    room, average = stop_room(bars, stop_atr, m5_factor)
    live, stop, target, trigger = walks.break_out(
        bars.px, bars.minute, session.px, session.known, atr_d1(bars), average, (end, until),
        (float(range_atr), float(break_atr), room, float(target_range)),
    )  # fmt: skip
    return Setups(
        live=read_only(live),
        stop=read_only(stop),
        target=read_only(target),
        trigger=read_only(trigger),
        levels=Levels(
            session_high=lambda: session.high,
            session_low=lambda: session.low,
            session_range=lambda: session.range,
            atr_d1=lambda: day_atr_ticks(bars),
        ),
        expires_minute=whole(_NAME, "expires_minute", expires_minute),
        entries_per_day=whole(_NAME, "entries_per_day", entries_per_day),
    )
