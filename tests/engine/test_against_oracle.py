"""The engine and the slow broker agree on everything, series by series."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings

from dream.bars.store import read
from dream.indicators import facts
from dream.strategies import REGISTRY
from dream.types import Terms
from tests import oracle
from tests.engine.driving import Comparison, Difference, Run, drive_scene, oracle_scene, rule_run
from tests.gen import (
    MARKET,
    Scene,
    make_bars,
    make_setups,
    rule_scene,
    scene,
    seeds,
)

SERIES, PARTS = 42, 4
"""Per example and part: with the 60 examples of the default profile 10,080 series, nightly 336,000.

In parts, so that they run beside each other.
"""

RUN_ALL = settings(phases=(Phase.explicit, Phase.generate))
"""A smaller seed is no simpler series, so nothing is shrunk; the message names the seed."""


@pytest.mark.parametrize("part", range(PARTS))
@RUN_ALL
@given(seeds())
def test_every_drawn_series(part, start) -> None:
    first = (start * PARTS + part) * SERIES
    for seed in range(first, first + SERIES):
        drawn = scene(seed)
        Comparison(drawn.bars, f"seed {seed}").run(drive_scene(drawn), oracle_scene(drawn))


def rule_pair(drawn: Scene) -> tuple[Run, oracle.Outcome]:
    """The unasked run of the engine, and of the slow broker."""
    found = rule_run(drawn.bars, drawn.setups, drawn.terms)
    first = facts(drawn.bars).first
    asks = [0] * first + [1] * (len(drawn.bars) - first)
    wanted = oracle.run(drawn.bars, drawn.setups, drawn.terms, answer=None, asks=asks)
    return found, wanted


@settings(RUN_ALL, max_examples=RUN_ALL.max_examples // 3)
@given(seeds())
def test_every_rule_run(start) -> None:
    for seed in range(start * 5, start * 5 + 5):
        drawn = rule_scene(seed)
        Comparison(drawn.bars, f"seed {seed}").money_and_orders(*rule_pair(drawn))


def test_the_drawn_rule_runs_trade() -> None:
    trades = [len(rule_pair(rule_scene(seed))[1].trades) for seed in range(30)]
    assert sum(trades) > 300
    assert sum(n > 0 for n in trades) > 15


def test_the_drawn_series_reach_every_rule() -> None:
    """Of 2,000 series: each exit on both sides, each refusal, each end, doubt under each order."""
    exits, doubts, refusals, ends = Counter(), Counter(), Counter(), Counter()
    for seed in range(2_000):
        drawn = scene(seed)
        out = oracle_scene(drawn)
        exits.update((t.why, t.side) for t in out.trades)
        doubts.update((drawn.terms.intrabar, t.side) for t in out.trades if t.ambiguous)
        refusals.update(o.reason for o in out.orders)
        ends[out.why] += 1
    whys = (
        "stop", "stop_gap", "target", "target_gap", "close",
        "forced", "forced_late", "end_of_data", "end_of_run", "ruin",
    )  # fmt: skip
    assert min(exits[why, side] for why in whys for side in (1, -1)) >= 3, exits
    assert min(
        doubts[order, side]
        for order in ("stop_first", "target_first", "nearer_first")
        for side in (1, -1)
    ) >= 5, doubts  # fmt: skip
    reasons = (
        "max_gap", "expired", "day_limit", "bracket", "min_lot", "margin", "flat",
        "position_open", "no_next_bar", "unknown_strategy", "buy_only", "not_live", "no_stop",
        "no_target", "not_finite", "wrong_side", None,
    )  # fmt: skip
    assert min(refusals[reason] for reason in reasons) >= 50, refusals
    assert min(ends[why] for why in ("end_of_data", "decisions", "ruin")) >= 20, ends


def looser(terms) -> dict:
    """Terms that differ from the given ones in one thing each."""
    order = "target_first" if terms.intrabar == "stop_first" else "stop_first"
    return {
        "spread": replace(terms, spread=terms.spread + 0.50),
        "slippage": replace(terms, slippage=terms.slippage + 0.01),
        "commission": replace(terms, commission=terms.commission + 0.5),
        "swap": replace(terms, swap=terms.swap - 1.0),
        "risk": replace(terms, risk=terms.risk * 1.5),
        "leverage": replace(terms, leverage=terms.leverage / 1_000),
        "intrabar": replace(terms, intrabar=order),
        "buy_only": replace(terms, buy_only=not terms.buy_only),
        "autonomy": replace(terms, autonomy="filter" if terms.autonomy == "free" else "free"),
        "max_gap_ns": replace(terms, max_gap_ns=None if terms.max_gap_ns is not None else 0),
        "equity": replace(terms, equity=terms.equity * 1.01),
    }


@pytest.mark.parametrize("term", list(looser(scene(0).terms)))
def test_a_broker_under_another_term_is_told_apart(term) -> None:
    """The comparison has teeth: changing any one term for one side only is noticed."""
    for seed in range(400):
        drawn = scene(seed)
        other = replace(drawn, terms=looser(drawn.terms)[term])
        try:
            Comparison(drawn.bars, "other").run(drive_scene(other), oracle_scene(drawn))
        except Difference:
            return
    pytest.fail(f"no series of 400 shows a difference in {term}")


def test_more_events_than_the_engines_buffer_holds() -> None:
    """Every bar of a long unasked run fills and closes: nothing is lost when the buffer is full."""
    n = 6_000
    bars = make_bars([(100, 100.02, 99.99, 100)] * n, opens=MARKET[:n])
    live = dict.fromkeys(range(n), 1)
    setups = {"always": make_setups(n, live=live, stop=9_500, target=10_002)}
    drawn = replace(scene(0), bars=bars, setups=setups, terms=Terms(spread=0.0))
    found, wanted = rule_pair(drawn)
    assert len(wanted.trades) > 2_100
    Comparison(bars, "full").money_and_orders(found, wanted)
    assert np.isclose(found.equity[-1], 10_000 + sum(t.pnl for t in found.trades))


@pytest.mark.parametrize("terms", [Terms(), Terms(spread=0.0, slippage=0.05, swap=-30.0)])
def test_the_real_series_under_the_shipped_strategies(real_bars_path, terms) -> None:
    bars = read(real_bars_path)
    setups = {name: strategy(bars) for name, strategy in REGISTRY.items()}
    drawn = replace(scene(0), bars=bars, setups=setups, terms=terms)
    found, wanted = rule_pair(drawn)
    assert len(wanted.trades) > 100
    Comparison(bars, "real").money_and_orders(found, wanted)
