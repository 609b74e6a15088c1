"""When lines reach the disk, who may write them, and how much memory that takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dream.errors import JournalBusy, JournalCorrupt
from dream.runs.journal import Journal, read_records
from dream.runs.stores import Disk
from tests.runs.journal_samples import (
    decision,
    opened,
    put,
    reply,
    run_python,
    small_run,
    write_run,
)


class Counting:
    """Real calls, counted."""

    def __init__(self):
        self.writes, self.syncs = [], 0

    def write(self, fd, data):
        self.writes.append(len(data))
        return os.write(fd, data)

    def sync(self, fd):
        self.syncs += 1

    @property
    def disk(self):
        return Disk(self.write, self.sync)


def test_a_paid_reply_is_on_the_disk_before_it_is_acted_on(tmp_path):
    count = Counting()
    with Journal.open(tmp_path, disk=count.disk) as journal:
        before = count.syncs
        journal.emit(opened())
        journal.add_reply(reply(0), paid=False)
        assert (len(count.writes), count.syncs) == (0, before)
        journal.add_reply(reply(0, turn=1), paid=True)
        assert (len(count.writes), count.syncs) == (1, before + 1)
        assert [record.kind for record in read_records(tmp_path)] == ["opened", "reply", "reply"]
        journal.emit(decision(0))
        assert (len(count.writes), count.syncs) == (1, before + 1)
    assert (len(count.writes), count.syncs) == (2, before + 2)


def test_sync_each_puts_every_line_on_the_disk(tmp_path):
    count = Counting()
    with Journal.open(tmp_path, sync="each", disk=count.disk) as journal:
        before = count.syncs
        for n, record in enumerate(small_run(), 1):
            put(journal, [record])
            assert (len(count.writes), count.syncs) == (n, before + n)
            assert list(read_records(tmp_path)) == small_run()[:n]


def test_free_lines_are_synced_in_batches(tmp_path):
    count = Counting()
    with Journal.open(tmp_path, disk=count.disk) as journal:
        before = count.syncs
        journal.emit(opened())
        for seq in range(2500):
            journal.emit(decision(seq, time="2024-01-02T10:00:00Z"))
        assert (len(count.writes), count.syncs) == (2, before + 2)
        journal.emit(decision(2500, time="2024-01-02T10:00:00Z", reasoning="x" * 2_000_000))
        assert len(count.writes) == 3
    assert len(list(read_records(tmp_path))) == 2502


def test_a_new_file_and_its_folder_are_synced(tmp_path):
    names = []

    def sync(fd):
        names.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        os.fsync(fd)

    if sys.platform != "linux":
        pytest.skip("/proc tells which file a descriptor is")
    with Journal.open(tmp_path / "run", disk=Disk(sync=sync)) as journal:
        journal.emit(opened())
    folder = str(tmp_path / "run")
    assert names == [folder, str(tmp_path), f"{folder}/journal.jsonl"]


LONG_JOURNAL = """
import pathlib, resource, sys
from dream.runs.journal import Journal, read_records
from tests.runs.journal_samples import decision, opened

folder = pathlib.Path(sys.argv[1])
record = decision(0, reasoning="x" * 100_000)
for _ in range(2):
    with Journal.open(folder) as journal:
        journal.emit(opened())
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(400):
            journal.emit(record)
assert sum(1 for _ in read_records(folder)) == 401
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)
"""


def test_a_long_journal_is_not_held_in_memory(tmp_path):
    pytest.importorskip("resource")
    done = run_python(LONG_JOURNAL, tmp_path)
    assert (tmp_path / "journal.jsonl").stat().st_size > 40_000_000
    assert int(done.stdout) < 15_000, "KiB"


def test_one_writer(tmp_path):
    with Journal.open(tmp_path / "run"):
        with pytest.raises(JournalBusy, match=f"{tmp_path}/run: another process"):
            Journal.open(tmp_path / "run")
        with Journal.open(tmp_path / "other"):
            pass
    with Journal.open(tmp_path / "run"):
        pass


def test_a_journal_that_cannot_be_opened_is_not_kept_locked(tmp_path):
    raw = write_run(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(b"x" + raw)
    for _ in range(2):
        with pytest.raises(JournalCorrupt, match="line 1 at byte 0"):
            Journal.open(tmp_path)


def test_closing_twice_is_harmless(tmp_path):
    journal = Journal.open(tmp_path)
    put(journal, small_run())
    journal.close()
    journal.close()
    assert list(read_records(tmp_path)) == small_run()
