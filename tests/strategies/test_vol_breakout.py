"""VolBreakout: each condition at its edge. ATR D1 is 200 ticks: 0.30 of it is 60, 0.15 is 30."""

from __future__ import annotations

import numpy as np
import pytest

from dream.strategies import vol_breakout
from dream.types import MISSING
from tests.strategies.days import BASE, at, live_minutes, made_day

ASIA = {75: (0, 60, 0, 0)}
"""A session of range 60: just wide enough. Its high is BASE + 60, so a close must be above 90."""


def up(close):
    return (0, close, 0, close)


@pytest.mark.parametrize(
    ("day", "minutes"),
    [
        ({}, []),
        ({600: up(91)}, [600]),
        ({600: up(90)}, []),  # not above the high by more than 0.15 ATR
        ({600: (0, 500, 0, 90)}, []),  # the high does not count, the close does
        ({75: (0, 59, 0, 0), 600: up(200)}, []),  # the range is under 0.30 ATR
        ({435: up(91)}, [435]),
        ({825: up(91)}, [825]),
        ({840: up(91)}, []),  # the window has ended
        ({420: (0, 60, 0, 91)}, []),  # still the session itself
        ({600: up(91), 615: up(95), 705: up(99)}, [600, 615, 705]),  # live, not only its edge
        ({420: None, 435: up(91)}, [435]),  # the session's last bar is missing
        (dict.fromkeys(range(75, 435, 15)) | {600: up(500)}, []),  # no session at all
    ],
)
def test_live(day, minutes):
    bars = made_day(ASIA | day)
    assert live_minutes(bars, vol_breakout(bars)) == minutes


def test_levels_by_hand():
    """From 07:00 on, whether live or not. The 22 flat bars before shrink ATR M15 from 200."""
    bars = made_day(ASIA | {435: up(91), 1_200: up(40)})
    setups = vol_breakout(bars, m5_factor=0.0)
    before, seven, live, later = (at(bars, m) for m in (405, 420, 435, 1_200))
    for array in (setups.stop, setups.target, setups.trigger, setups.levels["session_high"]):
        assert array[before] == MISSING
    assert setups.stop[[seven, live, later]].tolist() == [BASE] * 3
    assert setups.target[[seven, live, later]].tolist() == [
        BASE + 210,  # 0 + 3.5 * 60
        BASE + 301,  # 91 + 210
        BASE + 250,
    ]
    assert (setups.trigger[seven:] == BASE + 90)[:-1].all()
    assert {name: int(v[live]) for name, v in setups.levels.items()} == {
        "session_high": BASE + 60,
        "session_low": BASE,
        "session_range": 60,
        "atr_d1": 200,
    }
    assert (setups.expires_minute, setups.entries_per_day) == (1260, 1)


def test_room_under_the_stop_by_hand():
    """ATR M15 is 200, then 13/14 of it a bar plus a fourteenth of each new range."""
    average = 200.0
    for true_range in [60] + [0] * 23 + [91]:  # 01:15, then flat to 07:00, then the breakout
        average = (average * 13 + true_range) / 14
    bars = made_day(ASIA | {435: up(91)})
    expected = np.floor(BASE - 0.25 * average * 3**-0.5 + 0.5)
    assert vol_breakout(bars).stop[at(bars, 435)] == expected
    assert 1 < BASE - expected < 20


def test_before_the_daily_average_is_known_nothing_is_live():
    bars = made_day(ASIA | {600: up(500)}).prefix(14 * 92 + 60)
    setups = vol_breakout(bars)
    assert not setups.live.any()
    assert (setups.trigger == MISSING).all()
    assert (setups.stop != MISSING).any()


def test_every_number_is_a_parameter():
    bars = made_day({75: (0, 60, 0, 0), 90: (0, 80, -20, 0), 600: up(96), 900: up(96)})
    setups = vol_breakout(
        bars,
        range_atr=0.25,
        break_atr=0.05,
        stop_atr=0.0,
        target_range=1.0,
        session_from=75,
        session_to=120,
        window_to=901,
        expires_minute=0,
        entries_per_day=3,
    )
    assert live_minutes(bars, setups) == [600, 900]
    assert setups.stop[at(bars, 600)] == BASE - 20
    assert setups.target[at(bars, 600)] == BASE + 96 + 100
    assert setups.trigger[at(bars, 600)] == BASE + 90
    assert (setups.expires_minute, setups.entries_per_day) == (0, 3)
    assert live_minutes(bars, vol_breakout(bars)) == []
