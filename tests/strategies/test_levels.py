"""Reference levels are made when somebody reads them, and once."""

from __future__ import annotations

import numpy as np
import pytest

from dream.engine.gate import Board
from dream.strategies import REGISTRY
from dream.strategies.levels import Levels, no_level
from dream.types import MISSING
from tests.indicators.series import bars_of, walk


def test_a_level_is_made_when_it_is_read_and_once():
    made = []

    def make():
        made.append(1)
        return np.zeros(3, np.int32)

    levels = Levels(high=make, low=make)
    assert list(levels) == ["high", "low"]
    assert len(levels) == 2
    assert made == []
    assert levels["high"] is levels["high"]
    assert made == [1]
    with pytest.raises(KeyError):
        levels["range"]


@pytest.mark.parametrize("name", REGISTRY)
def test_a_strategy_makes_no_level_by_itself(name):
    bars = bars_of(walk(1, 20))
    setups = REGISTRY[name](bars)
    assert not any(key.startswith("ticks") for key in bars.memo)
    before = set(bars.memo)
    Board({name: setups}, 100)
    assert set(bars.memo) - before == {"ticks:atr_d1"}


def test_a_price_that_does_not_exist_takes_no_memory():
    trigger = no_level(1_000)
    assert trigger.shape == (1_000,)
    assert trigger.dtype == np.int32
    assert (trigger == MISSING).all()
    assert trigger.strides == (0,)
    assert not trigger.flags.writeable
    assert len(no_level(0)) == 0
