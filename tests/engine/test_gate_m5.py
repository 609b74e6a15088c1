"""The average of finer bars is hidden like the bars themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dream.engine.causality import checked_setups
from dream.engine.session import run_rules
from dream.errors import LeakError
from dream.strategies import REGISTRY
from dream.types import Bars, Setups, Terms
from tests.gen import MARKET, make_bars, make_setups, walk

N = 3_000


@pytest.fixture(scope="module")
def bars() -> Bars:
    rng = np.random.default_rng(8)
    px = walk(rng, N, base=200_000, scale=40)
    bars = make_bars(px, opens=MARKET[:N], in_ticks=True)
    average = rng.uniform(20, 60, N)
    average[:14] = np.nan
    return replace(bars, atr_m5=average)


def average_of(bars: Bars) -> np.ndarray:
    assert bars.atr_m5 is not None
    return np.nan_to_num(bars.atr_m5)


def under_the_close(bars: Bars) -> Setups:
    room = average_of(bars).astype(np.int32)
    return replace(make_setups(len(bars)), stop=bars.px[:, 3] - room)


def next_average(bars: Bars) -> Setups:
    later = np.append(average_of(bars)[1:], 0.0)
    return replace(make_setups(len(bars)), live=(later > average_of(bars)).astype(np.int8))


def mean_average(bars: Bars) -> Setups:
    stop = np.full(len(bars), int(average_of(bars).mean() * 1e6), np.int32)
    return replace(make_setups(len(bars)), stop=stop)


def test_an_honest_use_passes(bars: Bars) -> None:
    setups = checked_setups({"mine": under_the_close, **REGISTRY}, bars, 1)
    assert (setups["mine"].stop[14:] < bars.px[14:, 3]).all()


@pytest.mark.parametrize("strategy", [next_average, mean_average])
def test_a_look_ahead_is_found(bars: Bars, strategy) -> None:
    for seed in range(3):
        with pytest.raises(LeakError, match=r"strategy cheat sees the future"):
            checked_setups({"cheat": strategy}, bars, seed)


def test_parts_are_copies(bars: Bars) -> None:
    part = bars.between(100, 200)
    assert part.atr_m5 is not None
    assert part.atr_m5.base is None
    assert not part.atr_m5.flags.writeable
    assert np.array_equal(part.atr_m5, average_of(bars)[100:200])
    assert bars.prefix(3).atr_m5 is not None
    assert replace(bars, atr_m5=None).prefix(3).atr_m5 is None


def test_a_strategy_is_given_it_up_to_the_cut_only(bars: Bars) -> None:
    seen: list[tuple[int, int]] = []

    def mine(part: Bars) -> Setups:
        assert part.atr_m5 is not None
        assert part.atr_m5 is not bars.atr_m5
        seen.append((len(part), len(part.atr_m5)))
        return under_the_close(part)

    run_rules(bars, {"mine": mine}, Terms(), seed=1)
    assert len(seen) > 10
    assert all(a == b for a, b in seen)
