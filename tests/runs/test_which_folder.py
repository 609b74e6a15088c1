"""The same command finds the run that was begun with what is there now, among several folders."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import dream
from dream.errors import InputError
from dream.runs.drive import Stopped, Watch
from tests.runs import made

if TYPE_CHECKING:
    from pathlib import Path


def test_bars_put_back_find_their_run_behind_a_fresh_one(tmp_path: Path) -> None:
    bars, kept, runs = tmp_path / "bars.parquet", tmp_path / "kept.parquet", tmp_path / "runs"
    spec = made.spec(made.series(bars, seed=2), decisions=5)
    shutil.copy(bars, kept)
    first = made.run(spec, runs)
    made.series(tmp_path / "other.parquet", seed=3).replace(bars)
    with pytest.raises(InputError, match="bars changed since the run began"):
        made.run(spec, runs)
    second = made.run(spec, runs, options={"fresh": True})
    assert second.folder.name == f"{first.folder.name}-2"
    shutil.copy(kept, bars)
    found = made.run(spec, runs)
    assert (found.folder, found.already_done) == (first.folder, True)
    made.series(bars.with_name("third.parquet"), seed=4).replace(bars)
    with pytest.raises(InputError, match="bars changed since the run began"):
        made.run(spec, runs)


def test_a_run_that_goes_on_says_after_how_many(tmp_path: Path) -> None:
    spec = made.spec(made.series(tmp_path / "bars.parquet"), decisions=9)
    left = iter([False] * 3 + [True])
    watch = Watch(stop=lambda: next(left))
    with pytest.raises(Stopped):
        made.run(spec, tmp_path, options={"watch": watch})
    done = made.run(spec, tmp_path)
    assert done.notes == ("went on after 4 recorded decisions, derived again",)
    assert made.run(spec, tmp_path).notes == ()


def test_replay_says_how_moved_bars_are_named(tmp_path: Path) -> None:
    bars = made.series(tmp_path / "bars.parquet")
    run = made.run(made.spec(bars, decisions=5), tmp_path)
    moved = bars.rename(tmp_path / "moved.parquet")
    with pytest.raises(InputError, match=r"are not there; say where they are now with --bars"):
        dream.replay(run.folder)
    assert dream.replay(run.folder, bars=str(moved)).digest == run.digest
