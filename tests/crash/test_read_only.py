"""Runs on a medium that is only read can be verified, replayed and asked for again."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

import pytest

from tests.crash.mounts import UNSHARE, needs_mounts
from tests.runs import made

pytestmark = needs_mounts


@pytest.fixture
def place(bars_path, tmp_path):
    """A folder with bars, a finished run and one that was killed in a line."""
    shutil.copy(bars_path, tmp_path / "gold.parquet")
    run = made.run(made.spec(tmp_path / "gold.parquet", model="random:0.3"), tmp_path / "runs")
    killed = tmp_path / "killed"
    killed.mkdir()
    lines = (run.folder / made.JOURNAL).read_bytes().splitlines(keepends=True)
    (killed / made.JOURNAL).write_bytes(b"".join(lines[:30]) + b"torn")
    return tmp_path


def read_only(place, *args):
    """A command in a folder that is mounted read-only."""
    here = shlex.quote(str(place))
    code = f"mount --bind {here} {here} && mount -o remount,bind,ro {here} && cd {here} && "
    return subprocess.run(
        [*UNSHARE, "sh", "-c", code + shlex.join(made.command(*args))], env=made.environment(),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


RUN = ("run", "--bars", "gold.parquet", "--decisions", 60, "--model", "random:0.3", "--json")


def test_verify_and_replay(place):
    run = made.only_run(place / "runs")
    for folder, closed in ((run, True), (place / "killed", False)):
        verified = read_only(place, "verify", folder, "--json")
        assert (verified.returncode, verified.stderr) == (0, "")
        found = json.loads(verified.stdout)
        assert (found["closed"], found["torn_bytes"]) == (closed, 0 if closed else 4)
        replayed = read_only(place, "replay", folder, "--json")
        assert (replayed.returncode, replayed.stderr) == (0, "")
        assert json.loads(replayed.stdout)["digest"] == found["digest"]
        assert json.loads(replayed.stdout)["complete"] is closed


def test_a_finished_run_is_shown_also_where_its_summary_must_be_derived_again(place):
    run = made.only_run(place / "runs")
    kept = read_only(place, *RUN)
    assert (kept.returncode, kept.stderr) == (0, "")
    (run / "summary.json").unlink()
    derived = read_only(place, *RUN)
    assert derived.returncode == 0
    assert {**json.loads(derived.stdout), "wall_s": 0} == {**json.loads(kept.stdout), "wall_s": 0}
    assert derived.stderr.startswith(
        "note: the summary was derived again and could not be kept in "
    )
    assert "Read-only file system" in derived.stderr


def test_nothing_new_is_begun(place):
    for more in (("--fresh",), ("--seed", 3)):
        said = read_only(place, *RUN, *more)
        assert (said.returncode, said.stdout) == (4, "")
        assert "cannot be written: Read-only file system" in said.stderr
        assert said.stderr.count("\n") == 1
    assert len(list((place / "runs").iterdir())) == 1
