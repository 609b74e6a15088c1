"""The reference breakout through the engine, against the published floor where that is at hand.

Two conventions of that floor are not the engine's (it sizes at the signal, and a gapped target
fills at the open), so trades are checked against a slow statement of our own.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import breakout_floor
from benchmarks.breakout import breakout
from benchmarks.rule_run import MOST, TERMS, as_rows, unchecked, unseen
from benchmarks.timing import Case, Row, in_words, ratio, side_by_side
from dream import indicators
from dream.engine.session import run_rules

if TYPE_CHECKING:
    from types import ModuleType

    from benchmarks.floor import Result
    from dream.engine.session import RuleRun
    from dream.types import Bars, Setups

PUBLISHED = Path(__file__).resolve().parents[2] / "shared" / "floor"
"""Where the floor that other engines were measured with lies, if it does."""

STRATEGIES = {"Breakout": breakout}
WARM_BARS = 3_130
"""Our own floor decides from here on; the engine, from the first bar that shows every value."""


@cache
def published() -> ModuleType | None:
    """The published floor, None where it is not at hand."""
    if not (PUBLISHED / "floor_numba.py").is_file():
        return None
    os.environ.setdefault("PEER_BT_DIR", tempfile.gettempdir())
    sys.path.insert(0, str(PUBLISHED))
    try:
        return import_module("floor_numba")
    finally:
        sys.path.remove(str(PUBLISHED))


def columns(bars: Bars) -> tuple[Any, ...]:
    """What the published floor takes: float64 columns, and room for what it writes."""
    n = len(bars)
    prices = [np.ascontiguousarray(column / 100) for column in bars.px.T]
    return (*prices, *(np.empty(n) for _ in range(6)), np.empty((n // 2 + 10, 7)))


def run_published(given: tuple[Any, ...]) -> Any:
    """Its best form: separate passes, the rolling maximum by doubling. Nothing is allocated."""
    of = published()
    assert of is not None
    o, h, l, c, highest, spare_a, spare_b, atr, average, curve, log = given
    of.roll_max_double(h, 20, highest, spare_a, spare_b)
    of.atr_and_filter(h, l, c, atr, average)
    return of.loop(o, h, l, c, highest, atr, average, 2.0, 2.0, 0.0025, 10_000.0, curve, log, True)


def check_published(given: tuple[Any, ...], result: Any) -> None:
    """Its money adds up."""
    equity, trades = result
    assert trades > 0
    assert abs(given[-1][:trades, 5].sum() - (equity - 10_000.0)) < 1e-6


def check(given: Bars, run: RuleRun) -> None:
    """The trades are those of the slow statement."""
    expected = breakout_floor.slow(given, TERMS, indicators.facts(given).first)
    assert len(expected) > 0
    assert as_rows(run, given.instrument) == [list(trade) for trade in expected]


def check_floor(given: Bars, result: Result) -> None:
    """So are our own floor's."""
    expected = breakout_floor.slow(given, TERMS, WARM_BARS)
    assert result.trades[:, 1:6].tolist() == [list(trade) for trade in expected]


def check_setups(given: Bars, setups: Setups) -> None:
    """They are there; what they lead to is checked by the run."""
    assert len(setups.live) == len(given)
    assert setups.live.any()


def cases(n: int) -> dict[str, Case]:
    """The floors, the whole run, the strategy alone."""
    fresh = unseen(n, 11)

    def by_hand(bars: Bars) -> Result:
        return breakout_floor.run(bars, TERMS, WARM_BARS)

    found = {
        "own floor": Case(by_hand, unseen(n, 12), check_floor),
        "run": Case(lambda b: unchecked(b, STRATEGIES), unseen(n, 13), check),
        "checked": Case(lambda b: run_rules(b, STRATEGIES, TERMS), unseen(n, 15), check),
        "set-ups": Case(breakout, unseen(n, 14), check_setups),
    }
    if published() is not None:
        found["floor"] = Case(run_published, lambda r: columns(fresh(r)), check_published)
    return found


def rows(n: int, rounds: int) -> list[Row]:
    """The lines of the report for series of n bars."""
    taken = side_by_side(cases(n), rounds)
    median = {name: statistics.median(seconds) for name, seconds in taken.items()}
    to = "own floor" if published() is None else "floor"
    times = {name: ratio(taken, name, to) for name in taken}
    return [
        Row("published floor", in_words(median["floor"]), 1.0)
        if to == "floor"
        else Row(f"published floor: not at {PUBLISHED}", "-"),
        Row("our own floor for it", in_words(median["own floor"]), times["own floor"]),
        Row("run_rules without the check for leaks", in_words(median["run"]), times["run"],
            f"{MOST:g} x", times["run"] <= MOST),
        Row("  the strategy alone", in_words(median["set-ups"]), times["set-ups"]),
        Row("run_rules, a strategy that is not ours checked at some hundred cuts",
            in_words(median["checked"]), times["checked"]),
    ]  # fmt: skip
