"""A reader that has gone, as with `dream run | head -1`: a quiet end, and nothing is lost."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.runs import made

GONE = 128 + 13
"""What a shell says of a program that SIGPIPE ended."""


def unread(*args, cwd=None, closed="stdout"):
    """Runs a command whose pipe has no reader any more; exit code and what the other pipe said."""
    reading, writing = os.pipe()
    os.close(reading)
    kept = "stderr" if closed == "stdout" else "stdout"
    done = subprocess.run(
        made.command(*args), env=made.environment(), cwd=cwd, check=False, text=True, timeout=300,
        **{closed: writing, kept: subprocess.PIPE},
    )  # fmt: skip
    os.close(writing)
    return done.returncode, getattr(done, kept)


@pytest.fixture(scope="module")
def a_run(tmp_path_factory, bars_path):
    folder = tmp_path_factory.mktemp("done")
    made.dream("run", "--bars", bars_path, "--decisions", 5, cwd=folder)
    return made.only_run(folder / "runs")


@pytest.mark.parametrize(
    "words",
    [
        "--help", "--version", "run --help", "models", "models --json", "bars info BARS",
        "bars info BARS --json", "bars synth -o made.parquet --bars 10", "verify RUN",
        "verify RUN --json", "replay RUN", "replay RUN --json",
    ],
)  # fmt: skip
def test_every_command_ends_quietly(tmp_path, bars_path, a_run, words):
    places = {"BARS": str(bars_path), "RUN": str(a_run)}
    typed = [places.get(word, word) for word in words.split()]
    assert unread(*typed, cwd=tmp_path) == (GONE, "")


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_the_run_is_whole_before_it_is_shown(dream, bars_path, extra):
    args = ("run", "--bars", bars_path, "--decisions", 40, *extra)
    assert unread(*args, cwd=dream.folder) == (GONE, "")
    run = made.only_run(dream.folder / "runs")
    assert "finished" in dream("verify", run).out
    assert len(made.of_kind(run, "decision")) == 40
    assert dream(*args).code == 0


def test_an_error_that_nobody_reads_keeps_its_code(tmp_path):
    assert unread("verify", "nosuch", cwd=tmp_path, closed="stderr") == (2, "")


def test_a_note_that_nobody_reads_does_not_cost_the_summary(tmp_path, bars_path):
    args = ("run", "--bars", bars_path, "--decisions", 5)
    made.dream(*args, cwd=tmp_path)
    journal = made.only_run(tmp_path / "runs") / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    code, out = unread(*args, cwd=tmp_path, closed="stderr")
    assert code == 0
    assert "Final equity" in out


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_terminal_that_is_not_there(tmp_path, bars_path, closed):
    """Nothing is shown where there is nothing to show it on; the run is made all the same."""
    command = subprocess.list2cmdline(
        made.command("run", "--bars", bars_path, "--decisions", 5, "--json")
    )
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], env=made.environment(), cwd=tmp_path, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert len(made.of_kind(made.only_run(tmp_path / "runs"), "decision")) == 5
