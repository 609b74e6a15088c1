"""`pytest -n 0 benchmarks`: the figures by pytest-benchmark, each with its result checked.

The limits here are five times what is asked, so that a busy machine does not fail them; whether the
figures themselves are kept is printed by `python -m benchmarks.report`.
"""

from __future__ import annotations

import statistics
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import breakout_run, question, recalling, rule_run, whole
from benchmarks.timing import side_by_side

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.timing import Case

SLACK = 5.0
N, ROUNDS = 50_802, 5


def rounds(benchmark: Any, case: Case) -> float:
    """Times a case on new input each round, checks every result; median seconds."""
    numbers = count(1_000)
    made: list[Any] = []

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        made.append(case.fresh(next(numbers)))
        return (made[-1],), {}

    result = benchmark.pedantic(case.run, setup=fresh, rounds=ROUNDS, warmup_rounds=1)
    case.check(made[-1], result)
    return float(statistics.median(benchmark.stats.stats.data))


@pytest.mark.benchmark(group="rule run")
@pytest.mark.parametrize("name", ["floor", "run"])
def test_rule_run(benchmark: Any, name: str) -> None:
    """The three strategies, by hand and through the engine."""
    rounds(benchmark, rule_run.cases(N)[name])


@pytest.mark.benchmark(group="breakout")
@pytest.mark.parametrize("name", ["floor", "own floor", "run"])
def test_breakout(benchmark: Any, name: str) -> None:
    """A user's strategy, by hand and through the engine."""
    cases = breakout_run.cases(N)
    if name not in cases:
        pytest.skip(f"no published floor at {breakout_run.PUBLISHED}")
    rounds(benchmark, cases[name])


def test_a_rule_run_is_a_few_floors() -> None:
    """Side by side, on bars that nobody has seen."""
    taken = side_by_side(rule_run.cases(N), ROUNDS)
    assert min(taken["run"]) <= SLACK * rule_run.MOST * min(taken["floor"])


def test_a_user_strategy_is_a_few_floors() -> None:
    """The same for the breakout."""
    taken = side_by_side(breakout_run.cases(N), ROUNDS)
    least = min(taken.get("floor", taken["own floor"]))
    assert min(taken["run"]) <= SLACK * rule_run.MOST * least


def test_hand_over_of_a_question() -> None:
    """Kernel and unpacking of arguments."""
    assert question.hand_over_s() <= SLACK * question.HAND_OVER_S


def test_question(tmp_path: Path) -> None:
    """A question of a driven run."""
    question.whole_s(tmp_path / "first", 20)
    assert question.whole_s(tmp_path / "second", 200) <= SLACK * question.QUESTION_S


@pytest.mark.benchmark(group="recall")
def test_recall(benchmark: Any) -> None:
    """Over 100,000 episodes."""
    past = recalling.memory(recalling.SIZES[0]).visible(recalling.NOW_NS)
    recalling.check(benchmark(lambda: recalling.HYBRID(recalling.query(), past)), past)


def test_replay(tmp_path: Path) -> None:
    """Of 2,000 decisions."""
    path = tmp_path / "bars.parquet"
    whole.store.write(rule_run.bars(N, 1), path, source_clock="utc")
    _, replayed = whole.run_and_replay(path, tmp_path / "runs", "none", 2_000)
    assert replayed >= whole.REPLAY_PER_S / SLACK


def test_start(tmp_path: Path) -> None:
    """Help, and the first rule run of a process whose functions were compiled before."""
    assert whole.help_s(2) <= SLACK * whole.HELP_S
    _, warm = whole.first_runs(rule_run.bars(N, 1), tmp_path, 2)
    assert warm <= SLACK * whole.FIRST_RUN_S


def test_import(tmp_path: Path) -> None:
    """A plain Parquet file; what is written is read back and compared."""
    assert whole.import_s(rule_run.bars(20_000, 1), tmp_path, 2) <= SLACK
