"""IntradayMomentum: a morning that rose far and straight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dream.indicators import atr_d1, read_only, session_range
from dream.strategies.levels import (
    M5_FACTOR,
    bracket,
    check_factors,
    day_atr_ticks,
    no_level,
    stop_buffer,
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
    b = 0.25 * ATR(14, M5); on M15 bars alone b = 0.25 * ATR(14, M15) * sqrt(1/3).
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
        BarsInvalid: the bars are coarser than 15 minutes.
    """
    check_factors(_NAME, direction=direction, momentum=momentum)
    check_factors(_NAME, stop_atr=stop_atr, m5_factor=m5_factor, target_risk=target_risk)
    end = whole(_NAME, "session_to", session_to)
    session = session_range(bars, whole(_NAME, "session_from", session_from), end)
    day_atr = atr_d1(bars)
    at = np.flatnonzero(bars.minute == end)
    move = (session.close[at] - session.open[at]).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        # quotients, not products: a move of exactly the share then compares equal to it;
        # and no share is negative, so what passes has risen
        far = (move / session.range[at] > direction) & (move / day_atr[at] > momentum)
    live = np.zeros(len(bars), np.int8)
    live[at] = far
    room = stop_buffer(bars, stop_atr, m5_factor)
    stop, target = bracket(bars, session.low, room, target_risk)
    return Setups(
        live=read_only(live),
        stop=stop,
        target=target,
        trigger=no_level(bars),
        levels={
            "session_open": session.open,
            "session_high": session.high,
            "session_low": session.low,
            "session_close": session.close,
            "session_range": session.range,
            "atr_d1": day_atr_ticks(bars),
        },
        expires_minute=whole(_NAME, "expires_minute", expires_minute),
        entries_per_day=whole(_NAME, "entries_per_day", entries_per_day),
    )
