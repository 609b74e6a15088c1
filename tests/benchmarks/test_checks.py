"""Each benchmark checks its result: the check passes what is right and refuses what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import breakout_floor, breakout_run, floor, question, recalling, report, rule_run
from benchmarks.breakout import breakout
from benchmarks.timing import Case, Row, each, in_words, machine, ratio, side_by_side
from dream.engine.session import run_rules
from dream.strategies import REGISTRY

N = 9_000


@pytest.fixture(scope="module")
def bars():
    return rule_run.bars(N, 3)


@pytest.mark.parametrize("seed", range(4))
def test_floor_and_engine_agree(seed):
    given = rule_run.bars(N, seed)
    run = run_rules(given, REGISTRY, rule_run.TERMS)
    rule_run.check(given, run)
    by_hand = floor.run(given, rule_run.TERMS)
    rule_run.check_floor(given, by_hand)
    reasons = {t.exit.why for t in run.trades}
    assert len(by_hand.trades) > 5
    assert reasons >= {"stop", "forced"}


def test_floor_and_engine_agree_on_real_bars(real_bars_path):
    from dream.bars import store  # noqa: PLC0415 - pyarrow, only where there is a file

    given = store.read(real_bars_path)
    rule_run.check(given, run_rules(given, REGISTRY, rule_run.TERMS))


def test_a_run_with_one_trade_less_is_refused(bars):
    run = run_rules(bars, REGISTRY, rule_run.TERMS)
    with pytest.raises(AssertionError):
        rule_run.check(bars, replace(run, events=run.events[:-1]))


def test_a_run_with_another_equity_is_refused(bars):
    run = run_rules(bars, REGISTRY, rule_run.TERMS)
    equity = run.equity.copy()
    equity[-1] += 1e-9
    with pytest.raises(AssertionError):
        rule_run.check(bars, replace(run, equity=equity))


def test_money_that_does_not_add_up_is_refused(bars):
    by_hand = floor.run(bars, rule_run.TERMS)
    with pytest.raises(AssertionError):
        rule_run.check_floor(bars, by_hand._replace(pnl=by_hand.pnl + 0.01))


@pytest.mark.parametrize("seed", range(3))
def test_the_breakout_is_what_its_slow_statement_says(seed):
    given = rule_run.bars(N, seed)
    run = run_rules(given, breakout_run.STRATEGIES, rule_run.TERMS)
    breakout_run.check(given, run)
    by_hand = breakout_floor.run(given, rule_run.TERMS, breakout_run.WARM_BARS)
    breakout_run.check_floor(given, by_hand)
    breakout_run.check_setups(given, breakout(given))
    assert len(by_hand.trades) > 20
    assert {t.exit.why for t in run.trades} >= {"stop", "target"}


def test_a_breakout_of_another_lookback_is_refused(bars, monkeypatch):
    monkeypatch.setattr("benchmarks.breakout.LOOKBACK", 19)
    run = run_rules(bars, breakout_run.STRATEGIES, rule_run.TERMS)
    with pytest.raises(AssertionError):
        breakout_run.check(bars, run)


def test_the_published_floor_runs_on_the_same_bars(bars):
    if breakout_run.published() is None:
        pytest.skip(f"no published floor at {breakout_run.PUBLISHED}")
    given = breakout_run.columns(bars)
    equity, trades = breakout_run.run_published(given)
    breakout_run.check_published(given, (equity, trades))
    with pytest.raises(AssertionError):
        breakout_run.check_published(given, (equity + 1.0, trades))


def test_bars_of_a_round_are_nobody_elses():
    fresh = [rule_run.unseen(500, lane)(number) for lane in (0, 1) for number in (0, 1, 1)]
    first = [tuple(b.px[-1]) for b in fresh]
    assert len(set(first)) == 4
    assert first[1] == first[2]
    assert fresh[1] is not fresh[2]
    assert all(b.memo == {} for b in fresh)


def test_recall_is_checked_against_every_score():
    past = recalling.memory(3_000).visible(recalling.NOW_NS)
    found = recalling.HYBRID(recalling.query(), past)
    recalling.check(found, past)
    wrong = [replace(found[0], score=found[0].score + 1e-3), *found[1:]]
    for refused in (found[:4], found[::-1], wrong):
        with pytest.raises(AssertionError):
            recalling.check(refused, past)
    losers = [i for i in range(len(past)) if past[i].pnl < 0]
    worse = min(losers, key=lambda i: past.column("atr_d1")[i])
    with pytest.raises(AssertionError):
        recalling.check([*found[:4], replace(found[4], row=worse, id=past[worse].id)], past)


def test_a_question_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(question, "BARS", 5_000)
    monkeypatch.setattr(question, "EPISODES", 500)
    assert 0 < question.whole_s(tmp_path, 20) < 1


def test_cases_take_turns_and_the_first_round_does_not_count():
    seen: list[tuple[str, int]] = []

    def case(name):
        return Case(
            run=lambda given: seen.append((name, given)) or given,
            fresh=lambda number: number,
            check=lambda given, result: None if given == result else pytest.fail("not checked"),
        )

    taken = side_by_side({"a": case("a"), "b": case("b")}, 2)
    assert seen == [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    assert {name: len(seconds) for name, seconds in taken.items()} == {"a": 2, "b": 2}
    assert ratio({"x": [2.0, 9.0, 4.0], "y": [1.0, 3.0, 4.0]}, "x", "y") == 2.0


def test_a_result_that_is_wrong_stops_the_round():
    def refuse(_given, result):
        assert np.isfinite(result)

    wrong = Case(lambda _given: float("nan"), lambda number: number, refuse)
    with pytest.raises(AssertionError):
        side_by_side({"wrong": wrong}, 1)


def test_a_call_is_the_mean_of_its_round():
    calls: list[int] = []
    assert each(lambda: calls.append(1), 10, rounds=3) >= 0.0
    assert len(calls) == 1 + 30


@pytest.mark.parametrize(
    ("seconds", "words"), [(12.345, "12.3 s"), (0.25, "250 ms"), (4.2e-6, "4.2 µs")]
)
def test_seconds_in_words(seconds, words):
    assert in_words(seconds) == words


def test_a_line_of_the_report_says_what_is_asked_and_whether_it_is_kept():
    kept = report.line(Row("run", "2 ms", 2.5, "3 x", True))
    assert kept.split() == ["run", "2", "ms", "2.50", "x", "asked", "3", "x:", "yes"]
    assert report.line(Row("run", "4 ms", 3.5, "3 x", False)).endswith("asked 3 x: NO")
    assert report.line(Row("read", "1 ms")).split() == ["read", "1", "ms"]


def test_the_machine_is_named():
    assert "Python 3." in machine()
    assert "numba" in machine()
