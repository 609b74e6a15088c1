"""PullbackEntry: each condition at its edge. ATR D1 is 200 ticks: 0.35 of it is 70, 0.30 is 60.

The session runs from BASE to BASE + 70: just wide enough.
"""

from __future__ import annotations

import pytest

from dream.strategies import pullback_entry
from dream.types import MISSING
from tests.strategies.days import BASE, at, live_minutes, made_day


def after(swing, level, **later):
    """The session, a breakout bar at 07:15 with that high, then flat at a level but for `later`.

    Args:
        swing: high of the breakout bar; it closes at 75, above the session's high of 70.
        level: of all bars after it.
        later: m600 = (high, low) and so on.
    """
    day = {75: (0, 70, 0, 0), 435: (75, swing, 75, 75)}
    day |= dict.fromkeys(range(450, 1441, 15), (level, level, level, level))
    return day | {int(m[1:]): (level, high, low, level) for m, (high, low) in later.items()}


# swing 170: a low must be under 170 - 60 = 110, and at or under 170 - 0.6 * 100 = 110
# swing 270: under 270 - 60 = 210, and at or under 270 - 0.6 * 200 = 150
# swing 100: under 100 - 60 = 40, and at or under 100 - 0.6 * 30 = 82
@pytest.mark.parametrize(
    ("day", "minutes"),
    [
        ({}, []),
        (after(170, 120), []),
        (after(170, 120, m600=(130, 109)), [600]),
        (after(170, 120, m600=(130, 110)), []),
        (after(270, 200, m600=(210, 150)), [600]),
        (after(270, 200, m600=(210, 151)), []),
        (after(100, 90, m600=(90, 39)), [600]),
        (after(100, 90, m600=(90, 40)), []),
        (after(170, 120, m600=(130, 109), m615=(130, 80)), [600]),  # then done for the day
        (after(170, 120, m450=(130, 109)), [450]),
        (after(170, 120, m945=(130, 109)), [945]),
        (after(170, 120, m960=(130, 109)), []),  # the window has ended
        # closed below the session and the stop under it; the day is done all the same
        (after(170, 120, m615=(130, 80)) | {600: (120, 130, -400, -400)}, []),
        # the breakout bar itself is not tested, however low it was
        (after(270, 200) | {435: (75, 270, 1, 75)}, []),
        # tested against 170 first; then the swing is 400, which 120 is far enough under
        (after(170, 120, m600=(400, 115)), [615]),
        # the first close above, not the first high above, nor a close at the high
        (after(70, 65, m600=(270, 60)) | {435: (70, 300, 70, 70)}, []),
        (after(170, 120, m600=(130, 109)) | {75: (0, 69, 0, 0)}, []),  # the range is under 0.35 ATR
        (after(170, 120, m600=(130, 109)) | {420: None}, [600]),  # the session ends by the clock
        (after(170, 120, m600=(130, 109)) | dict.fromkeys(range(75, 435, 15)), []),  # no session
    ],
)
def test_live(day, minutes):
    bars = made_day(day)
    assert live_minutes(bars, pullback_entry(bars)) == minutes


def test_levels_by_hand():
    bars = made_day(after(170, 120, m600=(300, 109)))
    setups = pullback_entry(bars, stop_atr=0.0)
    before, seven, broken, live, done = (at(bars, m) for m in (405, 420, 435, 600, 615))
    assert setups.stop[[before, seven, live]].tolist() == [MISSING, BASE, BASE]
    assert setups.target[[before, seven, broken, live]].tolist() == [
        MISSING,
        BASE,  # at the stop itself: no risk, no target
        BASE + 225,  # 75 + 2 * 75
        BASE + 360,  # 120 + 2 * 120
    ]
    swing = setups.levels["swing_high"]
    assert swing[[seven, broken, live, done]].tolist() == [MISSING, BASE + 170, BASE + 170, MISSING]
    assert setups.trigger[[seven, broken, live, done]].tolist() == [
        MISSING,
        BASE + 110,
        BASE + 110,
        MISSING,
    ]
    assert {name: int(v[live]) for name, v in setups.levels.items()} == {
        "session_high": BASE + 70,
        "session_low": BASE,
        "session_range": 70,
        "swing_high": BASE + 170,
        "atr_d1": 200,
    }
    assert (setups.expires_minute, setups.entries_per_day) == (960, 1)


def test_the_trigger_is_the_lower_of_both_levels_until_the_window_ends():
    deep, near = made_day(after(270, 200)), made_day(after(100, 90))
    assert pullback_entry(deep).trigger[at(deep, 600)] == BASE + 150
    assert pullback_entry(near).trigger[at(near, 600)] == BASE + 40
    for bars in (deep, near):
        trigger = pullback_entry(bars).trigger
        assert trigger[at(bars, 945)] != MISSING
        assert trigger[at(bars, 960)] == MISSING


def test_every_number_is_a_parameter():
    day = after(170, 165, m150=(165, 140), m960=(165, 140)) | {75: (0, 20, 0, 0)}
    day |= dict.fromkeys(range(90, 435, 15), (0, 0, 0, 0))
    day |= {135: (25, 170, 20, 25), 150: (165, 165, 140, 165)}
    bars = made_day(day)
    setups = pullback_entry(
        bars,
        range_atr=0.05,
        dip_atr=0.10,
        dip_retrace=0.20,
        stop_atr=0.0,
        target_risk=3.0,
        session_from=60,
        session_to=120,
        window_to=180,
        expires_minute=1000,
        entries_per_day=2,
    )
    # the session is 01:15 to 02:00; swing 170, so under 150 and at or under 140
    assert live_minutes(bars, setups) == [150]
    assert setups.stop[at(bars, 150)] == BASE
    assert setups.target[at(bars, 150)] == BASE + 660
    assert (setups.expires_minute, setups.entries_per_day) == (1000, 2)
    assert live_minutes(bars, pullback_entry(bars, session_to=120, dip_retrace=0.21)) == []
