"""Numba's disk cache is dispensable: damaged, full or nowhere to be kept, runs are the same."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
from itertools import cycle

import pytest

from tests.crash.mounts import UNSHARE, needs_mounts
from tests.runs import made

pytestmark = pytest.mark.slow  # each run compiles everything

RUN = ("run", "--model", "random:0.3", "--decisions", "60", "--quiet")
KINDS = (
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: random.Random(1).randbytes(len(data)),
)


def run(folder, cache, bars, *, before=(), **more):
    """The journal's lines but the wall-clock facts, of a run in a process of its own."""
    folder.mkdir()
    env = made.environment(NUMBA_CACHE_DIR=str(cache), **more)
    command = [*before, *made.command(*RUN, "--bars", bars)]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made.bodies(made.only_run(folder / "runs"))


def files(cache):
    return sorted(cache.rglob("*.nb[ic]"))


def check_whole(path):
    """An index is two pickles, numba's version first; a compiled function is one."""
    with path.open("rb") as file:
        for _ in range(2 if path.suffix == ".nbi" else 1):
            assert pickle.load(file)
        assert file.read() == b""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    home = tmp_path_factory.mktemp("compiled")
    bars = made.series(home / "bars.parquet")
    cache = home / "cache"
    return bars, cache, run(home / "run", cache, bars)


def test_a_damaged_cache_is_made_anew(whole, tmp_path):
    """Its files in turn emptied, truncated and filled with noise."""
    bars, cache, expected = whole
    before = files(cache)
    assert len(before) > 10
    for path, damaged in zip(before, cycle(KINDS), strict=False):
        path.write_bytes(damaged(path.read_bytes()))
    assert run(tmp_path / "run", cache, bars) == expected
    assert files(cache) == before
    for path in before:
        check_whole(path)


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "nightly", reason="nightly only")
@needs_mounts
def test_a_full_disk_under_the_cache_is_done_without(whole, tmp_path):
    bars, _, expected = whole
    cache = tmp_path / "cache"
    cache.mkdir()
    mount = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    before = (*UNSHARE, "sh", "-c", mount, str(cache))
    home = str(cache / "home")  # what numba falls back to is on the same disk
    assert (
        run(tmp_path / "run", cache, bars, before=before, HOME=home, XDG_CACHE_HOME=home)
        == expected
    )
