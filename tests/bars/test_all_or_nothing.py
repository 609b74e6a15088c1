"""Writing: all of a file or nothing of it, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dream.bars import store, synth
from dream.errors import BarsInvalid, InputError
from tests.bars.files import names


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    path.write_bytes(b"mine")
    with pytest.raises(InputError, match="exists; nothing was written; replace it with --force"):
        store.write(synth.make(10, 1), path, source_clock="utc")
    assert path.read_bytes() == b"mine"
    store.write(synth.make(10, 1), path, source_clock="utc", force=True)
    assert len(store.read(path)) == 10
    assert names(tmp_path) == ["b.parquet"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, said in (
        (tmp_path / "file" / "b.parquet", "Not a directory"),
        (tmp_path / "none" / "b.parquet", "No such file"),
        (tmp_path, "not a regular file"),
        (Path("/dev/full"), "not a regular file"),
        (tmp_path / ("x" * 300), "File name too long"),
        (Path(), "not a regular file"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            store.write(synth.make(10, 1), path, source_clock="utc", force=True)
        assert f"cannot write {path}" in str(caught.value)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_midway_leaves_the_old_file(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "b.parquet"
    path.write_bytes(b"old")

    def fail() -> None:
        with store.replacing(path, force=True) as file:
            file.write(b"half of the new")
            raise failure

    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        fail()
    assert isinstance(caught.value, KeyboardInterrupt) or "No space left" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["b.parquet"]


def test_bars_that_could_not_be_read_back_are_not_written(tmp_path: Path) -> None:
    bars = synth.make(10, 1)
    impossible = bars.px.copy()
    impossible[3, 1] = 1
    for wrong, said in (
        (bars.prefix(0), "there are no bars"),
        (replace(bars, px=impossible), "row 4 .* high is below"),
        (replace(bars, volume=np.full(10, np.nan)), "row 1 "),
        (replace(bars, t_close_ns=bars.t_close_ns[::-1].copy()), "row 2 .* earlier"),
        (replace(bars, t_close_ns=bars.t_close_ns + 1), "row 1 .* off the grid"),
    ):
        with pytest.raises(BarsInvalid, match=said):
            store.write(wrong, tmp_path / "b.parquet", source_clock="utc")
    assert names(tmp_path) == []


def child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=root, env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


FULL_DISK = """
import resource, sys
from dream.bars import store, synth
from dream.errors import InputError
bars = synth.make(20_000, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    store.write(bars, sys.argv[1], source_clock="utc")
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [1, 5_000, 150_000])
def test_a_disk_that_fills_up(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "b.parquet"
    done = child(FULL_DISK, path, limit)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(f"cannot write {path}: File too large; nothing was written")
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from dream.bars import store
with store.replacing(Path(sys.argv[1]), force=True) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_midway_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    path.write_bytes(b"old")
    assert child(KILLED, path).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
