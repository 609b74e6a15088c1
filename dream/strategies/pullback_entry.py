"""PullbackEntry: a deep dip after a break of the morning's high."""

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

_NAME = "PullbackEntry"


def pullback_entry(  # noqa: PLR0913 - every number of the rule is a named parameter
    bars: Bars,
    *,
    range_atr: float = 0.35,
    dip_atr: float = 0.30,
    dip_retrace: float = 0.60,
    stop_atr: float = 0.25,
    m5_factor: float = M5_FACTOR,
    target_risk: float = 2.0,
    session_from: float = 0,
    session_to: float = 420,
    window_to: float = 960,
    expires_minute: float = 960,
    entries_per_day: float = 1,
) -> Setups:
    """Long at the first deep dip after a close above the session's high. Buy only.

    The swing is the highest high since and including the first close above the session's high, in
    session_to < close minute < window_to. Each later bar is tested first and then updates it. A bar
    is live where low < swing - dip_atr * ATR(14, D1) and
    low <= swing - dip_retrace * (swing - session high); then the day is done. A day whose range is
    under range_atr * ATR(14, D1) has no live bar, nor has one whose dip
    closes at the stop or below.
    Stop: low of the session - b, in ticks. Target: close + target_risk * (close - stop).
    b = 0.25 * ATR(14, M5); on M15 bars without it b = 0.25 * ATR(14, M15) * sqrt(1/3).
    Trigger and swing_high are what the next low is measured by; on a live bar, what its own was.

    Args:
        bars: a series of 15 minutes or finer.
        range_atr: narrowest range, as a share of ATR D1.
        dip_atr: how far under the swing a low must be, as a share of ATR D1.
        dip_retrace: the same, as a share of the swing's height above the session's high.
        stop_atr: the 0.25 of b.
        m5_factor: the sqrt(1/3) of b, ATR M5 as a share of ATR M15.
        target_risk: distance of the target from the close, in risks.
        session_from: minute at which the session starts.
        session_to: minute at which the session ends and the window starts.
        window_to: minute at which the window ends.
        expires_minute: forced close, 0 for never.
        entries_per_day: fills allowed per trading day, 0 for no limit.

    Raises:
        SpecInvalid: a parameter is out of range.
        BarsInvalid: the bars are coarser than 15 minutes and have no M5 average.
    """
    check_factors(_NAME, range_atr=range_atr, dip_atr=dip_atr, dip_retrace=dip_retrace)
    check_factors(_NAME, stop_atr=stop_atr, m5_factor=m5_factor, target_risk=target_risk)
    end = whole(_NAME, "session_to", session_to)
    session = session_range(bars, whole(_NAME, "session_from", session_from), end)
    until = whole(_NAME, "window_to", window_to, least=end + 1)
    room, average = stop_room(bars, stop_atr, m5_factor)
    live, stop, target, trigger, swing = walks.pull_back(
        bars.px, bars.minute, session.px, session.known, atr_d1(bars), average, (end, until),
        (float(range_atr), float(dip_atr), float(dip_retrace), room, float(target_risk)),
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
            swing_high=lambda: read_only(swing),
            atr_d1=lambda: day_atr_ticks(bars),
        ),
        expires_minute=whole(_NAME, "expires_minute", expires_minute),
        entries_per_day=whole(_NAME, "entries_per_day", entries_per_day),
    )
