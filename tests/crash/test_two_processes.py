"""Two processes on one run, at every phase: one writes, none is lost, readers disturb nobody."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time

import pytest

from dream.errors import JournalBusy, JournalUnwritable
from dream.runs import api
from dream.runs.journal import Journal
from dream.runs.stores import Disk
from dream.runs.verify import verify
from tests.runs import made
from tests.runs.journal_samples import put, small_run

PAIRS = 10

BOTH = """
import os, pathlib, sys, time
from dream.errors import JournalError
from tests.runs import made

bars, place, fresh, late_s, rounds = sys.argv[1:]
place = pathlib.Path(place)
spec = made.spec(pathlib.Path(bars), decisions=40, model="random:0.3")
made.run(spec, place / "warm" / str(os.getpid()))
for n in range(int(rounds)):
    (place / f"ready-{n}.{os.getpid()}").touch()
    while not (place / f"go-{n}").exists():
        pass
    time.sleep(n * float(late_s))
    try:
        run = made.run(spec, place / str(n), options={"fresh": fresh == "True"})
        print("done", run.id, run.digest, flush=True)
    except JournalError as error:
        print(type(error).__name__, error, flush=True)
"""


def at_the_same_moment(bars, place, *, fresh=False):
    """Two processes that wait for each other and run the same spec, again and again.

    The second one starts a little later each time: what both said, round by round.
    """
    both = [
        subprocess.Popen(
            [sys.executable, "-c", BOTH, *map(str, (bars, place, fresh, late, PAIRS))],
            cwd=made.ROOT, text=True, env=made.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for late in (0.0, 0.01)
    ]  # fmt: skip
    for n in range(PAIRS):
        while len(list(place.glob(f"ready-{n}.*"))) < 2:
            assert all(process.poll() is None for process in both), [p.stderr.read() for p in both]
            time.sleep(0.002)
        (place / f"go-{n}").touch()
    said = [process.communicate(timeout=120) for process in both]
    assert [err for _, err in said] == ["", ""]
    rounds = zip(*(out.splitlines() for out, _ in said), strict=True)
    return [sorted(line.split(maxsplit=2) for line in lines) for lines in rounds]


@pytest.fixture(scope="module")
def alone(bars_path, tmp_path_factory):
    spec = made.spec(bars_path, decisions=40, model="random:0.3")
    return made.run(spec, tmp_path_factory.mktemp("alone"))


def test_started_at_the_same_moment_one_writes(bars_path, tmp_path, alone):
    rounds = at_the_same_moment(bars_path, tmp_path)
    assert len(rounds) == PAIRS
    for n, (first, second) in enumerate(rounds):
        folder = made.only_run(tmp_path / str(n))
        if first[0] == "JournalBusy":
            assert "another process is writing this run" in first[2]
        else:  # the other one had ended when this one opened the journal
            assert first == second
        assert second == ["done", alone.id, alone.digest]
        assert made.bodies(folder) == made.bodies(alone.folder)
        assert sorted(p.name for p in folder.iterdir()) == [
            "journal.jsonl", "journal.lock", "summary.json",
        ]  # fmt: skip


def test_two_fresh_runs_at_the_same_moment_are_two_runs(bars_path, tmp_path, alone):
    for n, said in enumerate(at_the_same_moment(bars_path, tmp_path, fresh=True)):
        assert said == [["done", name, alone.digest] for name in (alone.id, f"{alone.id}-2")]
        for folder in (tmp_path / str(n)).iterdir():
            assert made.bodies(folder) == made.bodies(alone.folder)


def test_a_fresh_run_that_cannot_begin_leaves_no_folder(bars_path, tmp_path):
    def ask():
        spec = made.spec(bars_path, model="mine:nothing")
        made.run(spec, tmp_path / "runs", options={"fresh": True})

    with pytest.raises(api.InputError, match="mine"):
        ask()
    assert not list((tmp_path / "runs").iterdir())


def test_an_empty_folder_is_no_newer_run(bars_path, tmp_path, alone):
    spec = made.spec(bars_path, decisions=40, model="random:0.3")
    first = made.run(spec, tmp_path)
    (tmp_path / f"{alone.id}-2").mkdir()
    assert made.run(spec, tmp_path).id == first.id
    assert made.run(spec, tmp_path, options={"fresh": True}).id == f"{first.id}-3"
    assert made.run(spec, tmp_path).id == f"{first.id}-3"


WATCHED = """
import pathlib, time

def decide(ask, shown):
    if ask.seq in (5, 30):
        pathlib.Path(f"at-{ask.seq}").touch()
        while not pathlib.Path(f"on-{ask.seq}").exists():
            time.sleep(0.005)
    return {"action": "HOLD"}
"""


def test_replay_and_verify_beside_the_writer(bars_path, tmp_path):
    (tmp_path / "mine.py").write_text(WATCHED)
    command = made.command(
        "run", "--model", "mine:decide", "--bars", bars_path, "--decisions", 60,
        "--sync", "each", "--json",
    )  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, env=made.environment(), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        for seq in (5, 30):
            until = time.monotonic() + 120
            while not (tmp_path / f"at-{seq}").exists():
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.005)
            folder = made.only_run(tmp_path / "runs")
            before = (folder / made.JOURNAL).read_bytes()
            found = verify(folder)
            assert (found.decisions, found.closed, found.torn_bytes) == (seq, False, 0)
            again = made.dream("replay", folder, "--json", cwd=tmp_path)
            said = json.loads(again.stdout)
            assert (said["decisions"], said["complete"]) == (seq, False)
            assert (folder / made.JOURNAL).read_bytes() == before
            (tmp_path / f"on-{seq}").touch()
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["decisions"] == 60
    assert verify(folder).closed


def test_a_journal_that_is_read_while_it_grows_and_is_cut(tmp_path):
    """A reader has the lines that were there when it opened; a writer may take back a batch."""
    with Journal.open(tmp_path, sync="each") as journal:
        put(journal, small_run()[:5])
        with Journal.read(tmp_path) as reader:
            put(journal, small_run()[5:])
            put(reader, small_run()[:5])
            assert reader.live
    with Journal.read(tmp_path) as reader:
        raw = (tmp_path / made.JOURNAL).read_bytes()
        os.truncate(tmp_path / made.JOURNAL, len(raw.splitlines(keepends=True)[0]))
        put(reader, small_run()[:1])


def test_a_file_system_without_locks_is_named(tmp_path):
    def none(fd):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with pytest.raises(JournalUnwritable, match=r"takes no locks \(No locks .*--runs"):
        Journal.open(tmp_path, disk=Disk(lock=none))
    with Journal.open(tmp_path), pytest.raises(JournalBusy):
        Journal.open(tmp_path)
