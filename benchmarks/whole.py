"""Whole commands and runs: questions a second, replay, reading bars, starting up."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.rule_run import bars
from benchmarks.timing import Row, each, in_words
from dream.bars import content_hash, store
from dream.runs import api
from dream.runs.spec import make_spec

REPLAY_PER_S, HELP_S, FIRST_RUN_S = 2_000, 0.3, 1.5
QUESTIONS = 5_000
FIRST_RUN = """
from dream.bars import store
from dream.engine.session import run_rules
from dream.strategies import REGISTRY
from dream.types import Terms
run = run_rules(store.read({path!r}), REGISTRY, Terms())
assert len(run.trades) > 0
"""


def command_s(*arguments: str, env: dict[str, str] | None = None, times: int = 5) -> float:
    """Median seconds of a whole process, the first one not counted."""
    taken: list[float] = []
    for number in range(times + 1):
        started = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=env)
        if number:
            taken.append(perf_counter() - started)
    return statistics.median(taken)


def run_and_replay(path: Path, folder: Path, memory: str) -> list[Row]:
    """A rules run and its replay, which must give the same digest."""
    settings: dict[str, Any] = {"bars": str(path), "decisions": QUESTIONS, "memory": memory}
    done = api.run(make_spec(settings), options=api.Options(folder=folder))
    assert done.summary["decisions"] == QUESTIONS
    again = api.replay(done.folder)
    assert again.complete
    assert again.digest == done.digest
    asked, replayed = QUESTIONS / done.summary["wall_s"], QUESTIONS / again.wall_s
    met = replayed >= REPLAY_PER_S
    return [
        Row(f"questions a second, rules, memory {memory}", f"{asked:,.0f}"),
        Row(
            f"replayed a second, memory {memory}", f"{replayed:,.0f}", None,
            f"{REPLAY_PER_S:,} or more", met,
        ),
    ]  # fmt: skip


def rows() -> list[Row]:
    """The lines of the report."""
    made = bars(50_802, 1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path = folder / "bars.parquet"
        store.write(made, path, source_clock="utc")
        assert content_hash(store.read(path)) == content_hash(made)
        out = [Row("read 50,802 bars of Parquet", in_words(each(lambda: store.read(path), 5)))]
        for memory in ("none", "hybrid"):
            out += run_and_replay(path, folder / "runs", memory)
        asked = command_s("-m", "dream", "--help")
        out.append(Row("dream --help", in_words(asked), None, in_words(HELP_S), asked <= HELP_S))
        code = FIRST_RUN.format(path=str(path))
        warm = command_s("-c", code)
        met = warm <= FIRST_RUN_S
        out.append(
            Row("import and first rule run, warm", in_words(warm), None, in_words(FIRST_RUN_S), met)
        )
        empty = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
        started = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=empty)
        out.append(Row("the same, nothing compiled yet", in_words(perf_counter() - started)))
    return out
