"""A pipe, a device or a folder in place of a run's files is refused, not waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from dream.errors import InputError, JournalUnwritable
from dream.runs.journal import Journal, read_records
from dream.runs.spending import Spend, spent_usd
from dream.runs.verify import verify
from tests.runs import made
from tests.runs.journal_samples import put, small_run, write_run

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

MAKE = {
    "a pipe": (os.mkfifo, "found a pipe or a device"),
    "a folder": (os.mkdir, "found a folder|Is a directory"),
    "a device": (lambda p: p.symlink_to("/dev/null"), "found a pipe or a device"),
}
each = pytest.mark.parametrize(("make", "says"), MAKE.values(), ids=MAKE)


@pytest.fixture(scope="module")
def finished(bars_path, tmp_path_factory):
    place = tmp_path_factory.mktemp("finished")
    return made.run(made.spec(bars_path), place).folder


@each
def test_in_place_of_the_journal(bars_path, finished, tmp_path, make, says):
    folder = tmp_path / "runs" / finished.name
    folder.mkdir(parents=True)
    make(folder / made.JOURNAL)
    again = ("run", "--bars", bars_path, "--decisions", 60)
    for command in (("verify", folder), ("replay", folder), again):
        said = subprocess.run(
            made.command(*command), cwd=tmp_path, env=made.environment(), check=False,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert (said.returncode, said.stdout) == (2, "")
        assert "journal.jsonl: cannot be read: expected a regular file" in said.stderr
        assert said.stderr.count("\n") == 1
    assert [p.name for p in folder.iterdir()] == [made.JOURNAL]


LOOKS = """
import pathlib, sys
from dream.errors import DreamError
from dream.runs.journal import Journal
from dream.runs.spending import Spend, spent_usd

folder = pathlib.Path(sys.argv[1])
for look in (Journal.open, Spend.open, spent_usd):
    try:
        look(folder)
        print("read")
    except DreamError as error:
        print(error)
"""


@each
@pytest.mark.parametrize("name", ["journal.jsonl", "journal.lock", "spend.jsonl"])
def test_in_place_of_a_file_that_is_written(tmp_path, make, says, name):
    make(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, str(tmp_path)], cwd=made.ROOT, env=made.environment(),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    journal, spend, spent = done.stdout.splitlines()
    refused = [line for line in (journal, spend, spent) if name in line]
    assert refused == ([journal] if name.startswith("journal") else [spend, spent])
    for line in refused:
        assert any(word in line for word in says.split("|"))
    assert done.stderr == ""


@each
def test_in_place_of_what_is_set_aside(tmp_path, make, says):
    raw = write_run(tmp_path, small_run()[:5], closed=False)
    (tmp_path / made.JOURNAL).write_bytes(raw + b"torn")
    make(tmp_path / "journal.torn")
    with pytest.raises(JournalUnwritable, match=rf"journal\.torn: cannot be written: .*({says})"):
        Journal.open(tmp_path)
    assert (tmp_path / made.JOURNAL).read_bytes() == raw + b"torn"


def test_links_to_files_are_followed(tmp_path, finished):
    kept, run = tmp_path / "kept", tmp_path / "run"
    shutil.copytree(finished, kept)
    run.mkdir()
    (run / made.JOURNAL).symlink_to(kept / made.JOURNAL)
    assert verify(run).closed
    assert len(list(read_records(run))) == verify(kept).lines
    (tmp_path / "new").mkdir()
    for name in (made.JOURNAL, "spend.jsonl"):
        (tmp_path / "new" / name).symlink_to(tmp_path / name)
    with Journal.open(tmp_path / "new") as journal:
        put(journal, small_run())
        spend = Spend.open(tmp_path / "new")
        spend.before(0, 0, 0, 0.5)
        spend.close()
    assert list(read_records(tmp_path / "new")) == small_run()
    assert spent_usd(tmp_path / "new") == 0.5
    assert not (tmp_path / made.JOURNAL).is_symlink()


def test_a_name_that_no_file_can_have(tmp_path):
    with pytest.raises(InputError, match="null"):
        verify(tmp_path / "a\0b")
