"""Somebody deletes, replaces or cuts a run's files while it goes on: it says so, and stops."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from dream.errors import JournalBusy, JournalUnwritable
from dream.runs.journal import Journal, read_records
from dream.runs.spending import Spend, spent_usd
from tests.runs import made
from tests.runs.journal_samples import Failing, closing, put, reply, small_run, write_run

DECIDER = """
import pathlib, time

def decide(ask, shown):
    if ask.seq == 30:
        pathlib.Path("waiting").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.005)
    return {"action": "HOLD", "reasoning": f"answer {ask.seq}"}
"""


def deleted(path):
    path.unlink()


def folder_deleted(path):
    shutil.rmtree(path.parent)


def replaced(path):
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.replace(path)


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def emptied(path):
    path.write_bytes(b"")


def added_to(path):
    path.write_bytes(path.read_bytes() + b"theirs\n")


@pytest.mark.parametrize(
    ("take", "says"),
    [
        (folder_deleted, "it is not there any more"),
        (replaced, "another file is in its place"),
        (cut, "bytes, not the "),
    ],
)
def test_while_a_run_goes_on(bars_path, tmp_path, take, says):
    (tmp_path / "mine.py").write_text(DECIDER)
    command = made.command(
        "run", "--model", "mine:decide", "--bars", bars_path, "--decisions", 60,
        "--sync", "each", "--json",
    )  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, env=made.environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        until = time.monotonic() + 120
        while not (tmp_path / "waiting").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.005)
        journal = made.only_run(tmp_path / "runs") / made.JOURNAL
        take(journal)
        left = journal.read_bytes() if journal.exists() else None
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (4, "")
    assert "journal.jsonl: changed by somebody else while the run was going on" in err
    assert says in err
    assert "run the same command again" in err
    assert err.count("\n") == 1
    assert (journal.read_bytes() if journal.exists() else None) == left
    assert not journal.with_name("summary.json").exists()


@pytest.mark.parametrize("take", [deleted, folder_deleted, replaced, cut, emptied, added_to])
def test_what_lies_there_is_left_to_the_byte(tmp_path, take):
    path = tmp_path / "run" / made.JOURNAL
    with Journal.open(tmp_path / "run") as journal:
        put(journal, small_run()[:5])
        take(path)
        left = path.read_bytes() if path.exists() else None
        with pytest.raises(JournalUnwritable, match="changed by somebody else"):
            journal.add_reply(reply(1, turn=1), paid=True)
        with pytest.raises(JournalUnwritable, match="earlier write failed"):
            journal.add_reply(reply(1, turn=1), paid=True)
    assert (path.read_bytes() if path.exists() else None) == left
    if take is not added_to:
        whole = write_run(tmp_path / "whole")
        assert write_run(tmp_path / "run") == whole


def test_a_file_that_was_emptied_is_not_filled_with_zeros(tmp_path):
    """The write fails just after somebody emptied the file: nothing is cut to a longer length."""
    path = tmp_path / made.JOURNAL

    class EmptiedFirst(Failing):
        def write(self, fd, data):
            if path.stat().st_size:
                emptied(path)
                self.n = self.calls + 1
            return super().write(fd, data)

    journal = Journal.open(tmp_path, sync="each", disk=EmptiedFirst("write", 0).disk)
    put(journal, small_run()[:1])
    with pytest.raises(JournalUnwritable, match="No space left"):
        put(journal, small_run()[1:2])
    journal.close()
    assert b"\0" not in path.read_bytes()


@pytest.mark.parametrize("take", [deleted, folder_deleted, replaced, emptied])
def test_a_change_behind_the_last_write_is_found_at_the_end(tmp_path, take):
    journal = Journal.open(tmp_path / "run", sync="each")
    put(journal, small_run())
    journal.emit(closing(journal))
    take(tmp_path / "run" / made.JOURNAL)
    with pytest.raises(JournalUnwritable, match="changed by somebody else"):
        journal.close()


@pytest.mark.parametrize("take", [deleted, replaced, emptied])
def test_money_is_not_spent_when_it_cannot_be_written_down(tmp_path, take):
    spend = Spend.open(tmp_path)
    spend.before(0, 0, 0, 0.5)
    take(tmp_path / "spend.jsonl")
    with pytest.raises(JournalUnwritable, match=r"spend\.jsonl: changed by somebody else"):
        spend.before(0, 0, 1, 0.5)
    assert spend.total() == 0.5
    spend.close()
    assert spent_usd(tmp_path) == (0.5 if take is replaced else 0.0)


def test_the_lock_file_deleted_under_a_run_lets_no_second_writer_in(tmp_path):
    with Journal.open(tmp_path) as journal:
        put(journal, small_run()[:3])
        (tmp_path / "journal.lock").unlink()
        with pytest.raises(JournalBusy, match="another process is writing this run"):
            Journal.open(tmp_path)
        put(journal, small_run()[3:])
    assert list(read_records(tmp_path)) == small_run()
