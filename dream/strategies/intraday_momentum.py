"""IntradayMomentum: a morning that rose far and straight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.indicators import atr_d1, read_only, session_range
from dream.strategies import walks
from dream.strategies.levels import (
    M5_FACTOR,
    Levels,
    check_factors,
    day_atr_ticks,
    no_level,
    stop_room,
    whole,
)
from dream.types import Setups

if TYPE_CHECKING:
    from dream.types import Bars

_NAME = "IntradayMomentum"


def intraday_momentum(  # noqa: PLR0913 - every number of the rule is a named parameter
    bars: Bars,
    *,
    direction: float = 0.55,
    momentum: float = 0.30,
    stop_atr: float = 0.25,
    m5_factor: float = M5_FACTOR,
    target_risk: float = 2.5,
    session_from: float = 0,
    session_to: float = 600,
    expires_minute: float = 1260,
    entries_per_day: float = 1,
) -> Setups:
    """Long at the bar that closes the session, where the session rose far and straight. Buy only.

    Live: close minute = session_to, and for the session's move = last close - first open:
    move > 0, move / range > direction and move / ATR(14, D1) > momentum.
    Stop: low - b, in ticks. Target: close + target_risk * (close - stop).
    b = 0.25 * ATR(14, M5); on M15 bars without it b = 0.25 * ATR(14, M15) * sqrt(1/3).
    There is no trigger: the rule is decided at one bar.

    Args:
        bars: a series of 15 minutes or finer.
        direction: how straight the move must be, as a share of the session's range.
        momentum: how far the move must be, as a share of ATR D1.
        stop_atr: the 0.25 of b.
        m5_factor: the sqrt(1/3) of b, ATR M5 as a share of ATR M15.
        target_risk: distance of the target from the close, in risks.
        session_from: minute at which the session starts.
        session_to: minute at which the session ends.
        expires_minute: forced close, 0 for never.
        entries_per_day: fills allowed per trading day, 0 for no limit.

    Raises:
        SpecInvalid: a parameter is out of range.
        BarsInvalid: the bars are coarser than 15 minutes and have no M5 average.
    """
    check_factors(_NAME, direction=direction, momentum=momentum)
    check_factors(_NAME, stop_atr=stop_atr, m5_factor=m5_factor, target_risk=target_risk)
    end = whole(_NAME, "session_to", session_to)
    session = session_range(bars, whole(_NAME, "session_from", session_from), end)
    room, average = stop_room(bars, stop_atr, m5_factor)
    live, stop, target = walks.follow_morning(
        bars.px, bars.minute, session.px, session.known, atr_d1(bars), average, end,
        (float(direction), float(momentum), room, float(target_risk)),
    )  # fmt: skip
    return Setups(
        live=read_only(live),
        stop=read_only(stop),
        target=read_only(target),
        trigger=no_level(len(bars)),
        levels=Levels(
            session_open=lambda: session.open,
            session_high=lambda: session.high,
            session_low=lambda: session.low,
            session_close=lambda: session.close,
            session_range=lambda: session.range,
            atr_d1=lambda: day_atr_ticks(bars),
        ),
        expires_minute=whole(_NAME, "expires_minute", expires_minute),
        entries_per_day=whole(_NAME, "entries_per_day", entries_per_day),
    )
