"""What must hold of every run, whatever the series, the terms and the answers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from dream.engine.session import Asked, Session
from dream.types import Decision, Trade
from tests.engine.driving import Run, drive, drive_scene, follow, rule_run
from tests.engine.twin import digest
from tests.gen import Scene, fixed, rule_scene, scene

AT_THE_OPEN = {"stop_gap", "target_gap", "close", "forced_late"}
AT_THE_CLOSE = {"forced", "end_of_data", "end_of_run", "ruin"}


@pytest.fixture(scope="module")
def runs() -> list[tuple[Scene, Run]]:
    """600 drawn scenes and their runs; more with the nightly profile."""
    drawn = [scene(seed) for seed in range(10 * settings().max_examples)]
    found = [(s, drive_scene(s)) for s in drawn]
    assert sum(len(run.trades) for _, run in found) > len(found) // 2
    return found


def ticks(drawn: Scene, price: float) -> int:
    return round(price / drawn.bars.instrument.tick)


def spread_at(drawn: Scene, bar: int) -> int:
    return max(int(drawn.bars.spread[bar]), ticks(drawn, drawn.terms.spread))


def units(drawn: Scene, t: Trade) -> float:
    return t.entry.lots * drawn.bars.instrument.contract


def test_money_is_neither_made_nor_lost(runs) -> None:
    for drawn, run in runs:
        change = run.equity[-1] - drawn.terms.equity
        assert np.isclose(change, sum(t.pnl for t in run.trades), atol=1e-6), drawn.seed
        for t in run.trades:
            moved = t.side * (t.exit.price - t.entry.price) * units(drawn, t)
            paid = t.costs.commission + t.costs.swap
            assert np.isclose(t.pnl, moved - paid, atol=1e-6), drawn.seed
            at_risk = abs(t.entry.price - t.stop) * units(drawn, t)
            assert np.isclose(t.r * at_risk, t.pnl, atol=1e-6), drawn.seed


def test_no_fill_is_outside_its_bar(runs) -> None:
    """In bid prices, with spread and slippage taken off again, and never better than the bar."""
    for drawn, run in runs:
        for t in run.trades:
            slip = ticks(drawn, drawn.terms.slippage)
            o, h, l, c = drawn.bars.px[t.entry.bar].tolist()
            paid = spread_at(drawn, t.entry.bar) if t.side > 0 else 0
            assert ticks(drawn, t.entry.price) == o + t.side * (paid + slip), drawn.seed
            o, h, l, c = drawn.bars.px[t.exit.bar].tolist()
            slipped = 0 if t.exit.why in {"target", "target_gap"} else slip
            slipped = 0 if t.exit.why in {"end_of_data", "end_of_run", "ruin"} else slipped
            bid = ticks(drawn, t.exit.price) + t.side * slipped
            bid -= 0 if t.side > 0 else spread_at(drawn, t.exit.bar)
            if t.exit.why == "target_gap":
                assert t.side * (o - bid) >= 0, "the level is no better than the open"
            elif t.exit.why in AT_THE_OPEN:
                assert bid == o, drawn.seed
            elif t.exit.why in AT_THE_CLOSE:
                assert bid == c, drawn.seed
            else:
                assert l <= bid <= h, drawn.seed


def test_nothing_fills_on_the_bar_that_decided_it(runs) -> None:
    for drawn, run in runs:
        asked = dict(enumerate(run.asked))
        for o in run.orders:
            at_once = o.bar == asked[o.seq]
            assert at_once or o.bar == asked[o.seq] + 1, drawn.seed
            assert o.reason is not None or not at_once, drawn.seed
            assert o.t_ns >= run.snapshots[o.seq].now_ns, drawn.seed
        for t in run.trades:
            assert t.entry.bar == asked[t.seq] + 1, drawn.seed
            assert run.snapshots[t.seq].now_ns <= t.entry.t_ns <= t.exit.t_ns <= t.known_ns


def test_one_exit_for_each_entry_and_one_position_at_a_time(runs) -> None:
    for drawn, run in runs:
        filled = [o for o in run.orders if o.reason is None and o.action != "CLOSE"]
        assert [o.seq for o in filled] == [t.seq for t in run.trades], drawn.seed
        assert all(a.exit.bar < b.entry.bar for a, b in pairwise(run.trades)), drawn.seed
        closed = [o.seq for o in run.orders if o.reason is None and o.action == "CLOSE"]
        assert len(closed) == sum(t.exit.why == "close" for t in run.trades), drawn.seed
        for snapshot in run.snapshots:
            open_now = [
                t for t in run.trades if t.entry.t_ns < snapshot.now_ns and t.seq < snapshot.seq
            ]
            held = [t.seq for t in open_now if t.known_ns > snapshot.now_ns]
            if snapshot.position is not None:
                assert snapshot.position.seq in [t.seq for t in open_now], drawn.seed
            else:
                assert held == [], drawn.seed


def test_no_position_is_ever_without_its_stop(runs) -> None:
    """No bar before the exit bar reached either level, and a stop costs what was planned."""
    for drawn, run in runs:
        cash = drawn.terms.equity
        for t in run.trades:
            side = t.side
            assert side * (t.entry.price - t.stop) > 0, drawn.seed
            assert side * (t.target - t.entry.price) > 0, drawn.seed
            stop, target = ticks(drawn, t.stop), ticks(drawn, t.target)
            for bar in range(t.entry.bar, t.exit.bar):
                _, h, l, _ = drawn.bars.px[bar].tolist()
                s = spread_at(drawn, bar)
                worst, best = (l, h) if side > 0 else (h + s, l + s)
                assert side * (worst - stop) > 0, drawn.seed
                assert side * (target - best) > 0, drawn.seed
            at_risk = abs(t.entry.price - t.stop) * units(drawn, t)
            assert at_risk <= drawn.terms.risk * cash * (1 + 1e-9) + 1e-6, drawn.seed
            margin = t.entry.price * units(drawn, t) / drawn.terms.leverage
            assert margin <= cash + 1e-6, drawn.seed
            cash += t.pnl


def test_moves_hold_the_realised_move(runs) -> None:
    for drawn, run in runs:
        for t in run.trades:
            moved = t.side * (t.exit.price - t.entry.price)
            assert t.mfe >= max(moved, 0.0) - 1e-9, drawn.seed
            assert t.mae >= max(-moved, 0.0) - 1e-9, drawn.seed
            if t.ambiguous:
                assert t.exit.why in {"stop", "target"}, drawn.seed
                assert t.pnl_stop_first < t.pnl_target_first, drawn.seed
                assert t.pnl in (t.pnl_stop_first, t.pnl_target_first), drawn.seed
            else:
                assert t.pnl_stop_first == t.pnl_target_first == t.pnl, drawn.seed


def unnumbered(run: Run) -> tuple[list, list, list]:
    """Trades, orders and equity without the numbers of the questions."""
    trades = [replace(t, seq=-1) for t in run.trades]
    return trades, [replace(o, seq=-1) for o in run.orders], run.equity.tolist()


def test_asking_more_often_changes_nothing_when_the_answers_are_the_same() -> None:
    for seed in range(5 * settings().max_examples):
        drawn = replace(scene(seed), limit=None)

        def quiet(bar: int, flat: bool, drawn: Scene = drawn) -> Decision:
            due = drawn.asks[bar] & (1 if flat else 2)
            return drawn.answer(bar, flat) if due else Decision()

        often = drive(drawn.bars, drawn.setups, drawn.terms, answer=quiet, asks=3)
        assert unnumbered(often) == unnumbered(drive_scene(drawn)), seed
        assert len(often.asked) >= len(often.equity) - 1


def like_the_rules(asked: Asked) -> Decision:
    if asked.snapshot.position is None:
        for row in asked.snapshot.board:
            if row.live and not row.exhausted:
                return Decision("BUY" if row.live > 0 else "SELL", row.strategy)
    return Decision()


@pytest.mark.parametrize("seed", range(25))
def test_a_rule_run_is_the_asked_run_that_answers_like_the_rules(seed) -> None:
    """Splitting the one call of an unasked run at every question changes no bit of it."""
    drawn = rule_scene(seed)
    whole = rule_run(drawn.bars, drawn.setups, drawn.terms)
    session = Session(
        drawn.bars,
        {name: fixed(s) for name, s in drawn.setups.items()},
        drawn.terms,
        asks=lambda bars, setups, first: np.uint8(3) * (np.arange(len(bars)) >= first),
    )
    split = follow(session, like_the_rules)
    assert unnumbered(split) == unnumbered(whole)


def test_the_interpreted_twin_gives_the_same_bits() -> None:
    """The same code without a compiler; the digest is over every float's exact value."""
    code = "from tests.engine.twin import digest; print(digest())"
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
        env={"NUMBA_DISABLE_JIT": "1", "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"},
        text=True,
    )
    assert out.stdout.strip() == digest()
