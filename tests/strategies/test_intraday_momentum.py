"""IntradayMomentum: each condition at its edge. ATR D1 is 200 ticks, so a move must be above 60."""

from __future__ import annotations

import numpy as np
import pytest

from dream.strategies import intraday_momentum
from dream.types import MISSING
from tests.strategies.days import BASE, at, live_minutes, made_day


def morning(move, width, low=0):
    """A session of that move and range: one bar spans it, the last one closes at the move."""
    return {300: (0, low + width, low, 0), 600: (0, move, 0, move)}


@pytest.mark.parametrize(
    ("day", "minutes"),
    [
        ({}, []),  # a range of nothing
        (morning(61, 80), [600]),
        (morning(60, 80), []),  # exactly 0.30 ATR
        (morning(66, 119), [600]),
        (morning(66, 120), []),  # exactly 0.55 of the range
        (morning(66, 119, low=-40), [600]),
        ({300: (0, 0, -80, 0), 600: (0, 0, -70, -70)}, []),  # a fall as straight
        (morning(61, 80) | {600: None, 615: (0, 61, 0, 61)}, []),  # the bar of 10:00 is missing
        (morning(61, 80) | {75: None}, [600]),  # the session opens with the first bar there is
        (morning(61, 80) | {75: (-1, 0, -1, 0)}, [600]),
        (morning(60, 80) | {75: (-1, 0, -1, 0)}, [600]),  # 61 from the first open
        (morning(61, 80) | {75: (1, 1, 0, 0)}, []),  # 60 from the first open
        (morning(61, 80) | {900: (0, 300, 0, 300)}, [600]),  # decided at one bar only
    ],
)
def test_live(day, minutes):
    bars = made_day(day)
    assert live_minutes(bars, intraday_momentum(bars)) == minutes


def test_levels_by_hand():
    bars = made_day(morning(61, 100, low=-20) | {1_200: (50, 50, 50, 50)})
    setups = intraday_momentum(bars, stop_atr=0.0)
    before, ten, later = (at(bars, m) for m in (585, 600, 1_200))
    assert setups.stop[[before, ten, later]].tolist() == [MISSING, BASE - 20, BASE - 20]
    assert setups.target[[before, ten, later]].tolist() == [
        MISSING,
        BASE + 264,  # 61 + 2.5 * 81 = 263.5
        BASE + 225,  # 50 + 2.5 * 70
    ]
    assert (setups.trigger == MISSING).all()
    assert {name: int(v[ten]) for name, v in setups.levels.items()} == {
        "session_open": BASE,
        "session_high": BASE + 80,
        "session_low": BASE - 20,
        "session_close": BASE + 61,
        "session_range": 100,
        "atr_d1": 200,
    }
    assert (setups.expires_minute, setups.entries_per_day) == (1260, 1)


def test_the_target_is_measured_from_the_stop_in_ticks():
    bars = made_day(morning(61, 80))
    setups, ten = intraday_momentum(bars), at(bars, 600)
    risk = BASE + 61 - int(setups.stop[ten])
    assert 61 < risk < 81
    assert setups.target[ten] == np.floor(BASE + 61 + 2.5 * risk + 0.5)


def test_every_number_is_a_parameter():
    bars = made_day({120: (0, 40, -10, 21), 135: (0, 90, -50, -50)})
    setups = intraday_momentum(
        bars,
        direction=0.4,
        momentum=0.1,
        stop_atr=0.0,
        target_risk=1.0,
        session_from=60,
        session_to=120,
        expires_minute=960,
        entries_per_day=0,
    )
    assert live_minutes(bars, setups) == [120]
    assert setups.stop[at(bars, 120)] == BASE - 10
    assert setups.target[at(bars, 120)] == BASE + 52
    assert (setups.expires_minute, setups.entries_per_day) == (960, 0)
