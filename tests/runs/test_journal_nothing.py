"""A file without a whole line is no run, whoever reads it."""

from __future__ import annotations

import pytest

from dream.errors import JournalCorrupt
from dream.runs.verify import verify
from tests.cli.typed import dream
from tests.runs.journal_samples import small_run, write_run

__all__ = ["dream"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "found nothing: no run is recorded here"),
        (b"\n", "found 1 bytes and no whole line"),
        (b"garbage", "found 7 bytes and no whole line"),
        (b'{"v":1,"kind":"opened"}\n', "found 24 bytes and no whole line"),
        (b"\0" * 4096, "found 4096 bytes and no whole line"),
    ],
)
def test_it_is_not_called_good(dream, raw, says):
    (dream.folder / "journal.jsonl").write_bytes(raw)
    with pytest.raises(JournalCorrupt, match=says):
        verify(dream.folder)
    for more in ((), ("--json",)):
        said = dream("verify", dream.folder, *more)
        assert (said.code, said.out) == (4, "")
        assert says in said.err
        assert "run its command again to begin it" in said.err
        assert said.err.count("\n") == 1


def test_no_folder_and_no_journal_are_the_users_mistake(dream):
    for where in (dream.folder / "none", dream.folder):
        said = dream("verify", where)
        assert (said.code, said.out) == (2, "")
        assert "expected the folder of a run" in said.err


def test_an_unfinished_run_is_counted(tmp_path):
    write_run(tmp_path, small_run()[:8], closed=False)
    found = verify(tmp_path)
    assert (found.closed, found.decisions, found.lines) == (False, 2, 8)
