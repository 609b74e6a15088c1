"""What happens to a run's files between two calls: a cut journal, an edited one, a full disk."""

from __future__ import annotations

import resource
import subprocess

import pytest

from tests.cli.typed import dream
from tests.runs import made

__all__ = ["dream"]


@pytest.fixture
def finished(dream, bars_path):
    """A finished run and its command."""
    args = ("run", "--bars", bars_path, "--decisions", 30, "--json", "--model", "random:0.2")
    assert dream(*args).code == 0
    return made.only_run(dream.folder / "runs"), args


def test_a_torn_tail_is_noted_and_the_run_goes_on(dream, finished):
    folder, args = finished
    path = folder / made.JOURNAL
    whole, lines = made.bodies(folder), path.read_bytes().splitlines(keepends=True)
    for keep, more in ((0, 7), (1, 1), (12, 200), (len(lines) - 1, 30)):
        cut = b"".join(lines[:keep]) + lines[keep][:more]
        path.write_bytes(cut)
        torn = len(cut) - len(b"".join(lines[:keep]))
        said = dream("verify", folder)
        assert said.code == (0 if keep else 4)
        whole_lines = f"a torn tail of {torn} byte"
        assert (whole_lines if keep else f"{torn} bytes and no whole line") in said.out + said.err
        said = dream(*args)
        assert said.code == 0
        recorded = sum(b'"kind":"decision"' in line for line in lines[:keep])
        went_on = f"note: went on after {recorded} recorded decisions, derived again\n"
        assert said.err == (went_on if recorded else "") + (
            f"note: a torn last line of {torn} byte{'s' * (torn != 1)} was set aside in "
            f"journal.torn\n"
        )
        assert made.bodies(folder) == whole
    kept = (folder / "journal.torn").read_bytes()
    assert kept.endswith(lines[-1][:30])


@pytest.mark.parametrize("command", ["run", "replay", "verify"])
def test_an_edited_journal_is_refused_with_its_place(dream, finished, command):
    folder, args = finished
    path = folder / made.JOURNAL
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if b'"action":"BUY"' in line)
    lines[number] = lines[number].replace(b'"BUY"', b'"HOLD"', 1)
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    said = dream(*(args if command == "run" else (command, folder)))
    offset = len(b"".join(lines[:number]))
    assert (said.code, said.out) == (4, "")
    assert f"journal.jsonl: line {number + 1} at byte {offset}: " in said.err
    assert said.err.count("\n") == 1
    assert path.read_bytes() == before
    path.write_bytes(whole)
    assert dream("verify", folder).code == 0


def test_a_line_that_is_taken_out_is_missed(dream, finished):
    folder, _ = finished
    path = folder / made.JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9] + lines[10:]))
    said = dream("verify", folder)
    assert said.code == 4
    assert f"line 10 at byte {len(b''.join(lines[:9]))}: edited" in said.err


def limited(size):
    """For a child: files may not grow beyond so many bytes, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("sync", ["each", "batch"])
def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(dream, bars_path, sync):
    args = (
        "run", "--bars", bars_path, "--decisions", 400, "--json", "--sync", sync,
        "--model", "random:0.2",
    )  # fmt: skip
    full = subprocess.run(
        made.command(*args), cwd=dream.folder, env=made.environment(), capture_output=True,
        text=True, check=False, preexec_fn=limited(60_000),
    )  # fmt: skip
    assert (full.returncode, full.stdout) == (4, "")
    assert "journal.jsonl: cannot be written: File too large" in full.stderr
    assert "run the same command again" in full.stderr
    assert "Traceback" not in full.stderr
    folder = made.only_run(dream.folder / "runs")
    assert (folder / made.JOURNAL).stat().st_size <= 60_000
    recorded = made.bodies(folder)
    assert (len(recorded) > 50) == (sync == "each")
    done = dream(*args)
    assert done.code == 0, done.err
    assert made.bodies(folder)[: len(recorded)] == recorded
    assert len(made.of_kind(folder, "decision")) == 400
