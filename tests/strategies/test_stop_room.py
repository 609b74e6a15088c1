"""The room under a stop is a share of the five-minute average wherever that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dream.errors import BarsInvalid
from dream.indicators import atr
from dream.strategies import REGISTRY
from dream.strategies.levels import M5_FACTOR, stop_room
from dream.types import MISSING
from tests.indicators.series import bars_of, walk


def test_bars_of_15_minutes_take_the_average_that_they_carry():
    bars = bars_of(walk(1, 20))
    average = np.linspace(10.0, 90.0, len(bars))
    share, found = stop_room(replace(bars, atr_m5=average, memo={}), 0.25, M5_FACTOR)
    assert (share, found is average) == (0.25, True)
    share, found = stop_room(bars, 0.25, M5_FACTOR)
    assert share == pytest.approx(0.25 * 3**-0.5)
    assert found is atr(bars, 15)


def test_finer_bars_have_their_own():
    bars = bars_of(walk(1, 2, step=5), 5)
    share, found = stop_room(replace(bars, atr_m5=np.ones(len(bars)), memo={}), 0.25, M5_FACTOR)
    assert share == 0.25
    assert np.array_equal(found, atr(bars, 5), equal_nan=True)


def test_coarser_bars_need_it():
    bars = bars_of(walk(1, 20, step=60), 60)
    with pytest.raises(BarsInvalid, match="periods of 15 minutes"):
        stop_room(bars, 0.25, M5_FACTOR)
    average = np.ones(len(bars))
    assert stop_room(replace(bars, atr_m5=average, memo={}), 0.25, M5_FACTOR)[1] is average


@pytest.mark.parametrize("name", REGISTRY)
def test_the_stops_of_every_strategy(name):
    """b = 0.25 * average, without the factor for a random walk; no stop while it is not known."""
    bars = bars_of(walk(4, 30, holes=False))
    average = np.full(len(bars), 400.0)
    average[: len(bars) // 2] = np.nan
    carrying = replace(bars, atr_m5=average, memo={})
    with_it, without = REGISTRY[name](carrying), REGISTRY[name](bars)
    same = REGISTRY[name](carrying, m5_factor=0.0)
    assert np.array_equal(with_it.stop, same.stop)
    half = len(bars) // 2
    assert (with_it.stop[:half] == MISSING).all()
    said = np.flatnonzero(with_it.stop[half:] != MISSING) + half
    assert len(said) > 100
    floor = np.floor(without.stop + 0.25 * 3**-0.5 * atr(bars, 15) + 0.5)  # the stop without room
    assert np.abs(with_it.stop[said] - (floor[said] - 100)).max() <= 1
    assert np.array_equal(with_it.live, without.live)
