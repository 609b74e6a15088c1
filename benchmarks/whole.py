"""Whole runs and commands: questions a second, replay, import, help, the first run of a process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.rule_run import bars
from benchmarks.timing import Row, each, in_words
from dream.bars import content_hash, store
from dream.bars.checks.faults import Policy
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.runs import api
from dream.runs.spec import make_spec
from dream.runs.verify import verify

if TYPE_CHECKING:
    from dream.types import Bars

ROOT = Path(__file__).resolve().parents[1]
REPLAY_PER_S, HELP_S, FIRST_RUN_S = 2_000, 0.3, 1.5
BARS, IMPORTED, QUESTIONS = 50_802, 118_000, 20_000
FIRST_RUN = """
import sys
from dream.bars import store
from dream.engine.session import run_rules
from dream.strategies import REGISTRY
from dream.types import Terms
run = run_rules(store.read(sys.argv[1]), REGISTRY, Terms())
print(len(run.trades))
"""


def process(*arguments: str, cache: Path | None = None) -> tuple[float, str]:
    """Seconds and output of a new Python process, its start included."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = str(cache)
    started = perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, env=env
    )
    return perf_counter() - started, done.stdout


def help_s(times: int = 5) -> float:
    """`dream --help`; the first one fills the disk cache and is not counted."""
    taken: list[float] = []
    for _ in range(times + 1):
        seconds, said = process("-m", "dream", "--help")
        assert "replay" in said
        taken.append(seconds)
    return statistics.median(taken[1:])


def first_runs(made: Bars, folder: Path, times: int = 5) -> tuple[float, float]:
    """A process that reads bars and runs the rules: with nothing compiled, and with all of it."""
    path, cache = folder / "first.parquet", folder / "cache"
    store.write(made, path, source_clock="utc")
    cold, said = process("-c", FIRST_RUN, str(path), cache=cache)
    assert int(said) > 0
    warm: list[float] = []
    for _ in range(times):
        seconds, again = process("-c", FIRST_RUN, str(path), cache=cache)
        assert again == said
        warm.append(seconds)
    return cold, statistics.median(warm)


def import_s(made: Bars, folder: Path, times: int = 5) -> float:
    """A plain Parquet file of prices checked row by row and written as ticks."""
    source, out = folder / "plain.parquet", folder / "imported.parquet"
    stamps = pa.array(made.t_close_ns - made.bar_ns).cast(pa.timestamp("ns", tz="UTC"))
    columns = {"timestamp": stamps}
    for k, name in enumerate(("open", "high", "low", "close")):
        columns[name] = pa.array(made.px[:, k] / 100)
    columns |= {"volume": pa.array(made.volume), "spread": pa.array(made.spread / 100)}
    pq.write_table(pa.table(columns), source)
    wandered = Policy({"level": "keep"})  # made-up prices leave those of their year
    reading = Reading(made.instrument, clock="utc", policy=wandered)
    seconds = each(lambda: ingest(source, out, reading, force=True), 1, times)
    assert content_hash(store.read(out)) == content_hash(made)
    return seconds


def run_and_replay(path: Path, folder: Path, memory: str, questions: int) -> tuple[float, float]:
    """Questions a second of a rules run, and of its replay, which must come out the same."""
    settings: dict[str, Any] = {"bars": str(path), "decisions": questions, "memory": memory}
    done = api.run(make_spec(settings), options=api.Options(folder=folder))
    assert done.summary["decisions"] == questions
    assert done.summary["trades"] > 0
    again = api.replay(done.folder)
    assert again.complete
    assert again.digest == done.digest == verify(done.folder).digest
    return questions / done.summary["wall_s"], questions / again.wall_s


def rows() -> list[Row]:
    """The lines of the report."""
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path = folder / "bars.parquet"
        store.write(bars(BARS, 1), path, source_clock="utc")
        for memory in ("none", "hybrid"):
            # once without counting: it compiles
            run_and_replay(path, folder / "first", memory, 100)
            asked, again = run_and_replay(path, folder / "runs", memory, QUESTIONS)
            least = f"at least {REPLAY_PER_S:,}"
            out += [
                Row(f"rules asked a second, memory {memory}", f"{asked:,.0f}"),
                Row(f"replayed a second, memory {memory}", f"{again:,.0f}", None, least,
                    again >= REPLAY_PER_S),
            ]  # fmt: skip
        read_s = each(lambda: store.read(path), 3)
        taken_s = import_s(bars(IMPORTED, 1), folder)
        cold, warm = first_runs(bars(BARS, 1), folder)
    asked_s = help_s()
    return [
        *out,
        Row(f"read {BARS:,} bars", in_words(read_s)),
        Row(f"import {IMPORTED:,} bars of plain Parquet", in_words(taken_s)),
        Row("dream --help", in_words(asked_s), None, in_words(HELP_S), asked_s <= HELP_S),
        Row("first rule run of a process, compiled before", in_words(warm), None,
            in_words(FIRST_RUN_S), warm <= FIRST_RUN_S),
        Row("the same, nothing compiled yet", in_words(cold)),
    ]  # fmt: skip
