"""A whole rule run of the three strategies against the floor, each on bars nobody has seen.

New bars for every case and round: on the same ones the branch predictor learns and flatters.
"""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from benchmarks import floor
from benchmarks.timing import Case, Row, in_words, ratio, side_by_side
from dream.bars import synth
from dream.engine import session
from dream.engine.session import run_rules
from dream.strategies import REGISTRY
from dream.types import Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dream.engine.session import RuleRun
    from dream.types import Bars, Instrument, Setups, Strategy

MOST = 3.0
TERMS = Terms()
NAMES = tuple(REGISTRY)


@cache
def bars(n: int, seed: int) -> Bars:
    """A made series; made once, whoever asks."""
    return synth.make(n, seed)


def unseen(n: int, lane: int) -> Callable[[int], Bars]:
    """Makes bars that no other lane or round has; each call gives a copy without memo."""
    return lambda number: bars(n, 100 * number + lane).prefix(n)


def as_rows(run: RuleRun, inst: Instrument) -> list[list[int]]:
    """The engine's trades in the form of the floor's: entry bar, exit bar, steps, ticks."""
    return [
        [
            t.entry.bar,
            t.exit.bar,
            round(t.entry.lots / inst.lot_step),
            inst.to_ticks(t.entry.price),
            inst.to_ticks(t.exit.price),
        ]
        for t in run.trades
    ]


def check(given: Bars, run: RuleRun) -> None:
    """The same trades, money and equity at every close as the floor's."""
    by_hand = floor.run(given, TERMS)
    assert len(by_hand.trades) > 0, "a run without trades proves nothing"
    assert as_rows(run, given.instrument) == by_hand.trades[:, 1:6].tolist()
    assert [NAMES.index(t.strategy) for t in run.trades] == by_hand.trades[:, 0].tolist()
    assert [t.pnl for t in run.trades] == by_hand.pnl.tolist()
    assert np.array_equal(run.equity, by_hand.curve)


def check_floor(given: Bars, result: floor.Result) -> None:
    """The floor's money adds up: what the engine is compared with is checked by `check`."""
    change = result.curve[-1] - TERMS.equity
    assert len(result.curve) == len(given)
    assert abs(result.pnl.sum() - change) < 1e-6


def trusted(
    strategies: Mapping[str, Strategy], given: Bars, _seed: int, **_: int
) -> dict[str, Setups]:
    """The set-ups of the whole series alone."""
    return {name: strategy(given) for name, strategy in strategies.items()}


def unchecked(given: Bars, strategies: Mapping[str, Strategy] = REGISTRY) -> RuleRun:
    """A run whose set-ups are not checked on shorter series, to see what the check costs."""
    with patch.object(session, "checked_setups", trusted):
        return run_rules(given, strategies, TERMS)


def check_setups(given: Bars, setups: dict[str, Setups]) -> None:
    """They are there; what they lead to is checked by the run."""
    for found in setups.values():
        assert len(found.live) == len(given)
        assert found.live.any()


def cases(n: int) -> dict[str, Case]:
    """The floor, the whole run, the run without its check on prefixes, the strategies alone."""
    return {
        "floor": Case(lambda b: floor.run(b, TERMS), unseen(n, 0), check_floor),
        "run": Case(lambda b: run_rules(b, REGISTRY, TERMS), unseen(n, 1), check),
        "unchecked": Case(unchecked, unseen(n, 2), check),
        "set-ups": Case(
            lambda b: {name: strategy(b) for name, strategy in REGISTRY.items()},
            unseen(n, 3),
            check_setups,
        ),
    }


def rows(n: int, rounds: int) -> list[Row]:
    """The lines of the report for series of n bars."""
    taken = side_by_side(cases(n), rounds)
    median = {name: in_words(statistics.median(seconds)) for name, seconds in taken.items()}
    times = {name: ratio(taken, name, "floor") for name in taken}
    return [
        Row("floor, by hand", median["floor"], 1.0),
        Row("run_rules", median["run"], times["run"], f"{MOST:g} x", times["run"] <= MOST),
        Row("  without the check for leaks", median["unchecked"], times["unchecked"]),
        Row("  the strategies alone", median["set-ups"], times["set-ups"]),
    ]
