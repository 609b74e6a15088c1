"""Disks that fill up and fail, processes that are killed: nothing acknowledged is lost."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from dream.errors import JournalBusy, JournalUnwritable
from dream.runs.journal import Journal, read_records
from dream.runs.records import ReplyRecord
from dream.runs.stores import Disk
from tests.runs.journal_samples import (
    Failing,
    closing,
    decision,
    long_run,
    opened,
    put,
    reply,
    run_python,
    small_run,
    start_python,
    write_run,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def attempt(folder, disk, sync):
    """The small run on a disk that may fail: what was acknowledged, and whether it was done."""
    acknowledged = []
    try:
        with Journal.open(folder, sync=sync, disk=disk) as journal:
            for record in small_run():
                put(journal, [record])
                if sync == "each" or isinstance(record, ReplyRecord):
                    acknowledged.append(record)
            journal.emit(closing(journal))
    except JournalUnwritable as error:
        assert "again to go on" in str(error)  # noqa: PT017 - the rest of the test needs the disk
        return acknowledged, False
    return acknowledged, True


@pytest.mark.parametrize("sync", ["each", "batch"])
@pytest.mark.parametrize("dead", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("name", ["write", "sync"])
def test_the_nth_call_fails_and_the_next_opening_goes_on(tmp_path, name, dead, sync):
    whole = write_run(tmp_path / "whole")
    expected = list(read_records(tmp_path / "whole"))
    for n in itertools.count(1):
        folder = tmp_path / str(n)
        failing = Failing(name, n, dead)
        acknowledged, done = attempt(folder, failing.disk, sync)
        if not failing.failed:
            break
        assert not done
        if (folder / "journal.jsonl").exists():
            records = list(read_records(folder))
            assert records == expected[: len(records)]
            assert [r for r in records if r in acknowledged] == acknowledged
            if not dead:
                with Journal.read(folder) as journal:
                    assert journal.torn_bytes == 0, "what was not acknowledged was cut off"
        assert write_run(folder) == whole
    assert done
    assert n > (12 if sync == "each" else 5)


@pytest.mark.parametrize("name", ["write", "sync", "cut"])
def test_the_nth_call_fails_while_a_torn_tail_is_set_aside(tmp_path, name):
    whole = write_run(tmp_path / "whole")
    for n in itertools.count(1):
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(whole[:-30])
        failing = Failing(name, n)
        attempt(folder, failing.disk, "batch")
        if not failing.failed:
            break
        assert write_run(folder) == whole
        tail = whole[whole[:-1].rindex(b"\n") + 1 : -30]
        assert tail in (folder / "journal.torn").read_bytes()
    assert n > 1


def test_after_a_failure_nothing_more_is_written(tmp_path):
    failing = Failing("write", 1)
    journal = Journal.open(tmp_path, sync="each", disk=failing.disk)
    with pytest.raises(JournalUnwritable, match="No space left on device"):
        journal.emit(opened())
    for write in (
        lambda: journal.emit(opened()),
        lambda: journal.add_reply(reply(0), paid=True),
    ):
        with pytest.raises(JournalUnwritable, match="earlier write failed"):
            write()
    assert (journal.counts, journal.live) == ({}, True)
    journal.close()
    assert (tmp_path / "journal.jsonl").read_bytes() == b""


def test_a_failure_at_the_end_is_not_silent_and_gives_the_lock_back(tmp_path):
    journal = Journal.open(tmp_path, disk=Failing("write", 1).disk)
    journal.emit(opened())
    with pytest.raises(JournalUnwritable, match="No space left on device"):
        journal.close()
    with Journal.open(tmp_path) as again:
        assert again.live


def test_an_interrupt_in_a_write_leaves_a_good_journal(tmp_path):
    whole = write_run(tmp_path / "whole")

    class Interrupted(Failing):
        def write(self, fd, data):
            self.calls += 1
            if self.calls == 3:
                os.write(fd, data[:40])
                raise KeyboardInterrupt
            return os.write(fd, data)

    with (
        pytest.raises(KeyboardInterrupt),
        Journal.open(tmp_path / "run", sync="each", disk=Interrupted("write", 0).disk) as journal,
    ):
        put(journal, small_run())
    assert list(read_records(tmp_path / "run")) == small_run()[:2]
    assert write_run(tmp_path / "run") == whole


def test_an_interrupt_between_a_line_and_its_chain_leaves_a_good_journal(tmp_path):
    whole = write_run(tmp_path / "whole")
    with Journal.open(tmp_path / "run") as journal:
        put(journal, small_run()[:5])
        add = journal._tally.add

        def interrupt(*line):
            raise KeyboardInterrupt

        journal._tally.add = interrupt
        with pytest.raises(KeyboardInterrupt):
            put(journal, small_run()[5:6])
        journal._tally.add = add
        with pytest.raises(JournalUnwritable, match="earlier write failed"):
            put(journal, small_run()[5:6])
    records = list(read_records(tmp_path / "run"))
    assert len(records) >= 5
    assert records == small_run()[: len(records)]
    assert write_run(tmp_path / "run") == whole


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_them_all(tmp_path):
    whole = write_run(tmp_path / "whole")
    slow = Disk(write=lambda fd, data: os.write(fd, data[:7]))
    assert attempt(tmp_path / "run", slow, "batch")[1]
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == whole


def test_a_disk_that_takes_nothing_is_full(tmp_path):
    journal = Journal.open(tmp_path, sync="each", disk=Disk(write=lambda fd, data: 0))
    with pytest.raises(JournalUnwritable, match="No space left on device"):
        journal.emit(opened())
    journal.close()


def test_a_failure_after_a_torn_tail_was_set_aside_leaves_the_whole_lines(tmp_path):
    raw = write_run(tmp_path, small_run()[:3], closed=False)
    (tmp_path / "journal.jsonl").write_bytes(raw + b"x" * 500)
    failing = Failing("write", 2)
    with Journal.open(tmp_path, sync="each", disk=failing.disk) as journal:
        put(journal, small_run()[:3])
        with pytest.raises(JournalUnwritable, match="No space left on device"):
            put(journal, small_run()[3:4])
    assert (tmp_path / "journal.jsonl").read_bytes() == raw


def test_a_line_that_is_too_long_is_not_written(tmp_path):
    with Journal.open(tmp_path, sync="each") as journal:
        journal.emit(opened())
        with pytest.raises(
            JournalUnwritable, match=r"a line of 17,\d{3},\d{3} bytes; at most 16,777,216"
        ):
            journal.emit(decision(0, reasoning="x" * 17_000_000))
    assert list(read_records(tmp_path)) == [opened()]


@linux
def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalUnwritable, match="Not a directory"):
        Journal.open(tmp_path / "file" / "run")
    with pytest.raises(JournalUnwritable, match="/proc/none"):
        Journal.open(Path("/proc/none/run"))


LIMITED = """
import pathlib, resource, sys
from dream.errors import JournalUnwritable
from dream.runs.journal import Journal
from tests.runs.journal_samples import put, small_run

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    with Journal.open(pathlib.Path(sys.argv[1])) as journal:
        put(journal, small_run())
except JournalUnwritable as error:
    print(error)
"""


@linux
@pytest.mark.parametrize("limit", [100, 2000])
def test_a_file_that_may_not_grow(tmp_path, limit):
    done = run_python(LIMITED, tmp_path / "run", limit)
    assert "journal.jsonl: cannot be written: File too large" in done.stdout
    assert (tmp_path / "run" / "journal.jsonl").stat().st_size <= limit
    assert write_run(tmp_path / "run") == write_run(tmp_path / "whole")


HOLDER = """
import pathlib, sys, time
from dream.runs.journal import Journal
from tests.runs.journal_samples import put, small_run

journal = Journal.open(pathlib.Path(sys.argv[1]))
put(journal, small_run()[:2])
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_writer_gives_the_lock_back(tmp_path):
    with start_python(HOLDER, tmp_path) as process:
        try:
            assert process.stdout.readline() == "held\n"
            with pytest.raises(JournalBusy, match=str(tmp_path)):
                Journal.open(tmp_path)
            assert list(read_records(tmp_path)) == small_run()[:2]
        finally:
            process.kill()
            process.wait(10)
        with Journal.open(tmp_path) as journal:
            put(journal, small_run())
            journal.emit(closing(journal))
    assert list(read_records(tmp_path))[:-1] == small_run()


WRITER = """
import pathlib, sys
from dream.runs.journal import Journal
from tests.runs.journal_samples import long_run, put

with Journal.open(pathlib.Path(sys.argv[1]), sync="each") as journal:
    for number, record in enumerate(long_run(), 1):
        put(journal, [record])
        print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_again_and_again_nothing_acknowledged_is_lost(tmp_path):
    draw = random.Random(7)
    expected = list(long_run())
    kept, kills = 0, 0
    while kept < len(expected):
        with start_python(WRITER, tmp_path) as process:
            acknowledged = list(itertools.islice(process.stdout, kept + draw.randrange(40, 70)))
            process.kill()
            acknowledged += process.stdout.readlines()
        kills += process.returncode == -signal.SIGKILL
        records = list(read_records(tmp_path))
        assert records == expected[: len(records)]
        assert len(records) >= sum(line.endswith("\n") for line in acknowledged) > kept
        kept = len(records)
    assert kills >= 2
    write_run(tmp_path / "whole", expected, closed=False)
    assert (tmp_path / "journal.jsonl").read_bytes() == (
        tmp_path / "whole" / "journal.jsonl"
    ).read_bytes()
