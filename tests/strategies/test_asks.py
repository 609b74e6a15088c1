"""When the agent is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dream.errors import SpecInvalid
from dream.strategies.asks import policy, rising_edges
from dream.types import MISSING, Setups
from tests.indicators.series import FIRST_DAY, bars_of


def live(*values):
    empty = np.full(len(values), MISSING, dtype=np.int32)
    return Setups(np.array(values, dtype=np.int8), empty, empty, empty, {})


def ask(name, setups, first, *, manage=False, n=8):
    bars = bars_of([(FIRST_DAY, 75 + 15 * i, 1, 1, 1, 1) for i in range(n)])
    asked = policy(name, manage)(bars, setups, first)
    assert asked.dtype == np.uint8
    assert not asked.flags.writeable
    return asked.tolist()


def test_every_bar_from_the_first():
    assert ask("bar", {}, 3) == [0, 0, 0, 3, 3, 3, 3, 3]
    assert ask("bar", {}, 3, manage=True) == [0, 0, 0, 3, 3, 3, 3, 3]


def test_every_nth_bar_counts_from_the_first():
    assert ask("every:3", {}, 1) == [0, 3, 0, 0, 3, 0, 0, 3]
    assert ask("every:1", {}, 6) == [0, 0, 0, 0, 0, 0, 3, 3]
    assert ask("every:999999999", {}, 2) == [0, 0, 3, 0, 0, 0, 0, 0]


def test_managing_asks_at_every_bar_while_a_position_is_open():
    assert ask("every:3", {}, 1, manage=True) == [0, 3, 2, 2, 3, 2, 2, 3]


def test_where_a_setup_appears():
    setups = {"one": live(0, 1, 1, 0, 1, 1, 0, 0), "two": live(0, 0, 0, 0, 0, 1, -1, -1)}
    assert ask("setup", setups, 0) == [0, 1, 0, 0, 1, 1, 1, 0]
    assert ask("setup", setups, 0, manage=True) == [2, 3, 2, 2, 3, 3, 3, 2]


def test_a_setup_of_one_strategy_does_not_hide_anothers():
    setups = {"one": live(1, 1, 1, 1, 1, 1, 1, 1), "two": live(0, 0, 0, 1, 1, 1, 1, 1)}
    assert ask("setup", setups, 0) == [1, 0, 0, 1, 0, 0, 0, 0]


def test_an_edge_before_the_first_bar_is_not_asked_about_later():
    setups = {"one": live(0, 1, 1, 1, 0, 1, 1, 1)}
    assert ask("setup", setups, 2) == [0, 0, 0, 0, 0, 1, 0, 0]
    assert ask("setup", setups, 2, manage=True) == [0, 0, 2, 2, 2, 3, 2, 2]


@pytest.mark.parametrize("name", ["bar", "every:2", "setup"])
@pytest.mark.parametrize("n", [0, 5])
def test_a_series_that_ends_before_the_first_bar_asks_nothing(name, n):
    setups = {"one": live(*[1] * n)}
    assert ask(name, setups, n, n=n, manage=True) == [0] * n


def test_rising_edges_are_the_bars_where_a_side_appears():
    setups = live(1, 1, 0, -1, -1, 1, 0, 1)
    assert np.flatnonzero(rising_edges(setups)).tolist() == [0, 3, 5, 7]
    assert not rising_edges(setups).flags.writeable
    assert rising_edges(replace(setups, live=np.zeros(0, dtype=np.int8))).shape == (0,)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bars",
        " bar",
        "Setup",
        "every",
        "every:",
        "every:0",
        "every:-4",
        "every:1.5",
        "every:٣",
        "every:4\n",
        "every:1000000000",
    ],
)
@pytest.mark.parametrize("manage", [False, True])
def test_an_unknown_policy_is_refused(name, manage):
    with pytest.raises(SpecInvalid, match="expected bar, setup or every:N") as caught:
        policy(name, manage)
    assert repr(name) in str(caught.value)
