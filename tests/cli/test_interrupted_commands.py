"""Ctrl-C in any command, wherever it is: one line, the exit code of an interrupt, nothing left."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.runs import made

INTERRUPTED = (130, -signal.SIGINT)
"""Python ends itself by the signal where it came inside an exec(); a shell says 130 to both."""

AT_AN_EVENT = """
import os, signal, sys
event, word, command = sys.argv[1], sys.argv[2], sys.argv[3:]
sent = False

def interrupt(name, args):
    global sent
    if not sent and name == event and word in str(args[0]):
        sent = True
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(interrupt)
from dream.cli import main
sys.argv[1:] = command
sys.exit(main())
"""


def interrupted_at(event, word, *command, cwd):
    """A real signal at the first such event: a module begins to be imported, a file is opened."""
    return subprocess.run(
        [sys.executable, "-c", AT_AN_EVENT, event, word, *map(str, command)],
        env=made.environment(), cwd=cwd, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def a_run(tmp_path_factory, bars_path):
    folder = tmp_path_factory.mktemp("done")
    made.dream("run", "--bars", bars_path, "--decisions", 5, cwd=folder)
    return made.only_run(folder / "runs")


MOMENTS = [
    ("import", "typer", "--help"),
    ("import", "dream.cli.settings", "--version"),
    ("import", "pydantic", "bars info BARS"),
    ("import", "dream.llm.catalog", "models"),
    ("import", "genai_prices", "models --json"),
    ("import", "pyarrow", "bars info BARS"),
    ("import", "numpy", "bars synth -o made.parquet --bars 100"),
    ("open", ".part", "bars synth -o made.parquet --bars 100"),
    ("import", "polars", "bars import CSV --clock utc -o made.parquet"),
    ("open", ".part", "bars import CSV --clock utc -o made.parquet"),
    ("import", "dream.runs.verify", "verify RUN"),
    ("open", "journal.jsonl", "verify RUN"),
    ("import", "numba", "replay RUN"),
    ("open", "journal.jsonl", "replay RUN"),
    ("import", "dream.runs.spec", "run --bars BARS --decisions 5"),
    ("open", "dream.toml", "run --bars BARS --decisions 5"),
]


@pytest.mark.parametrize(("event", "word", "words"), MOMENTS)
def test_one_line_and_nothing_left(tmp_path, bars_path, a_run, event, word, words):
    csv = tmp_path / "gold.csv"
    csv.write_text(
        "timestamp,open,high,low,close\n"
        "2024-01-02T01:00Z,2060,2062,2059,2061\n2024-01-02T01:15Z,2061,2061,2058,2059\n"
    )
    (tmp_path / "dream.toml").write_text("")
    places = {"BARS": bars_path, "RUN": a_run, "CSV": csv}
    typed = [places.get(word, word) for word in words.split()]
    done = interrupted_at(event, word, *typed, cwd=tmp_path)
    assert done.returncode in INTERRUPTED, done
    assert (done.stdout, done.stderr) == ("", "dream: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dream.toml", "gold.csv"]


def test_when_all_is_done_an_interrupt_changes_nothing(tmp_path):
    """As it would come while Python itself ends."""
    code = (
        "import atexit, os, signal, sys; from dream.cli import main\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv[1:] = ['--version']; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=made.environment(), cwd=tmp_path, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout[0].isdigit()


def test_a_python_that_calls_the_command_line_can_still_be_interrupted(dream):
    before = signal.getsignal(signal.SIGINT)
    dream("--version")
    assert signal.getsignal(signal.SIGINT) is before
