"""The hash of a file while it is read, and a file that changes meanwhile."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from dream.bars.checks import market
from dream.bars.fingerprint import hashing
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from tests.bars.files import good_rows, write_csv

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def test_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    """Of several blocks and of none."""
    for data in (b"", b"abc", os.urandom(3_000_001)):
        path = tmp_path / "f"
        path.write_bytes(data)
        with hashing(path) as hashed:
            assert hashed() == hashlib.sha256(data).hexdigest()


def grow(path: Path) -> None:
    """A line more."""
    with path.open("a") as file:
        file.write("\n")


def touch(path: Path) -> None:
    """The same length, written later."""
    at = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns + 1_000_000_000))


def swap(path: Path) -> None:
    """Another file under the name, of the same length and age."""
    other, at = path.with_suffix(".new"), path.stat()
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(at.st_atime_ns, at.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [grow, touch, swap])
def test_file_that_changes_is_refused(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash would not be that of the rows; nothing is written."""
    source, out = write_csv(tmp_path / "b.csv", good_rows(50)), tmp_path / "b.parquet"
    looked = market.look

    def look(*args: Any) -> None:
        change(source)
        looked(*args)

    monkeypatch.setattr(market, "look", look)
    with pytest.raises(BarsInvalid, match="changed while it was read; import it when nothing"):
        ingest(source, out, Reading(clock="utc"))
    assert not out.exists()


def test_file_that_goes_away_is_refused(tmp_path: Path) -> None:
    """By its name."""
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with hashing(path) as hashed:
        path.unlink()
        with pytest.raises(BarsInvalid, match=r"cannot read .*: No such file"):
            hashed()
