"""A strategy that looks like one of this package is cut and checked like any other of a user's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, update_wrapper, wraps
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.engine import causality
from dream.engine.causality import checked_setups
from dream.errors import LeakError, SpecInvalid
from dream.strategies import REGISTRY, vol_breakout
from tests.gen import MARKET, make_bars, walk

if TYPE_CHECKING:
    from dream.types import Bars, Setups

N = 6_000


@pytest.fixture(scope="module")
def bars() -> Bars:
    px = walk(np.random.default_rng(6), N, base=200_000, scale=40)
    return make_bars(px, opens=MARKET[:N], in_ticks=True)


@wraps(vol_breakout)
def one_row_early(bars: Bars, **_: float) -> Setups:
    setups = vol_breakout(bars)
    return replace(setups, live=np.roll(setups.live, -1))


class Wrapping:
    """An object with the names of a strategy of this package."""

    def __init__(self) -> None:
        update_wrapper(self, vol_breakout)

    def __call__(self, bars: Bars) -> Setups:
        return one_row_early(bars)


class Bound(partial):
    """A partial that does not call what it is made of."""

    def __call__(self, bars: Bars) -> Setups:
        return one_row_early(bars)


class Swelling(float):
    """A number that sees what it is multiplied with."""


LEAKS = {
    "wraps": one_row_early,
    "wraps, bound": partial(one_row_early, range_atr=0.3),
    "wraps twice": wraps(vol_breakout)(partial(one_row_early)),
    "object": Wrapping(),
    "kind of partial": Bound(vol_breakout),
}


@pytest.mark.parametrize("way", LEAKS)
def test_a_leak_under_a_name_of_ours_is_found(bars, way) -> None:
    with pytest.raises(LeakError, match=r"strategy planted sees the future: live at bar \d+"):
        checked_setups({"planted": LEAKS[way]}, bars, 0)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda _: None, "strategy broken returned NoneType, expected dream.types.Setups"),
        (lambda s: replace(s, live=s.live[:-5]), r"broken: live is int8\(\d+,\), expected int8"),
        (lambda s: replace(s, stop=s.stop.astype(float)), r"broken: stop is float64\(\d+,\)"),
        (lambda s: replace(s, live=s.live + np.int8(7)), r"broken: live at bar 0 is 7"),
    ],
)
def test_what_is_broken_is_told_as_of_a_plain_one(bars, broken, told) -> None:
    @wraps(vol_breakout)
    def wrapped(bars: Bars) -> Setups:
        return broken(vol_breakout(bars))

    with pytest.raises(SpecInvalid, match=told):
        checked_setups({"broken": wrapped}, bars, 0)


def test_ours_are_those_of_the_registry_with_numbers_bound() -> None:
    ours = causality._is_ours
    for strategy in REGISTRY.values():
        assert ours(strategy)
        assert ours(partial(partial(strategy, stop_atr=1.0), entries_per_day=2))
    assert not ours(partial(vol_breakout, range_atr=Swelling(0.3)))
    assert not ours(partial(vol_breakout, range_atr=np.array([0.3, 0.4])))
    assert not ours(partial(vol_breakout, None))
    with pytest.raises(TypeError):
        REGISTRY["Mine"] = one_row_early
