"""What is no file of bars at all: empty, damaged, no text, no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from dream.bars import store
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from tests.bars.files import csv_text, good_rows, write_csv, write_parquet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; expected a file of bars"),
        (b"timestamp,open,high,low,close", "has a header and no rows"),
        (b"timestamp,open,high,low,close\n", "has a header and no rows"),
        (b"timestamp,open,high,low,close\n\n\n", "has a header and no rows"),
        (b"\n\n", "has no rows"),
        (b"PAR1", "is damaged: "),
        (b"PAR1" + bytes(100) + b"PAR1", "is damaged: "),
        (b"\xff\xfet\x00i\x00m\x00e\x00", "line 1: this is a line without"),
        (b"timestamp,open,high,low,close\n\xff,1,1,1,1\n", "line 2: timestamp is '"),
        (b"timestamp,open,high,low,close\n" + b"1" * 5_000_000, "has a header and no rows"),
        (
            csv_text(good_rows()).encode() + b"x" * 5_000_000,
            "line 22: a line is longer than 1,048,576 bytes",
        ),
        (b"x" * 200_000, "line 1: this is a line without"),
        (b"x" * 5_000_000, "line 1: a line is longer than"),
        (bytes(range(256)) * 100, "is of no known kind: byte 0 is zero, so it is no text"),
    ],
)
def test_what_is_not_a_bar_file(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bars.csv"
    path.write_bytes(content)
    message = message_of(path)
    assert said in message
    assert len(message) < 600


def message_of(path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught:
        store.read(path)
    with pytest.raises(BarsInvalid):
        ingest(path, path.with_name("out.parquet"), Reading(clock="utc"))
    assert not path.with_name("out.parquet").exists()
    return str(caught.value)


def test_an_empty_parquet(tmp_path: Path) -> None:
    path = tmp_path / "bars.parquet"
    pl.DataFrame(good_rows(2)).clear().write_parquet(path)
    assert "has no rows" in message_of(path)


def test_a_cut_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "bars.parquet", good_rows())
    path.write_bytes(path.read_bytes()[:-200])
    assert "is damaged: " in message_of(path)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    below = write_csv(tmp_path / "bars.csv", good_rows()) / "bars.csv"
    for path, said in (
        (tmp_path, "found a folder"),
        (tmp_path / "none.csv", "No such file"),
        (below, "Not a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(BarsInvalid, match=said) as caught:
            store.read(path)
        assert str(path) in str(caught.value)
        with pytest.raises(BarsInvalid, match=said):
            ingest(path, tmp_path / "out.parquet", Reading(clock="utc"))


def test_a_path_that_is_no_utf_8(tmp_path: Path) -> None:
    for write, name in ((write_csv, "\udcff.csv"), (write_parquet, "\udcff.parquet")):
        path = write(tmp_path / "bars", good_rows()).rename(tmp_path / name)
        if write is write_parquet:
            with pytest.raises(BarsInvalid, match="the path is not UTF-8"):
                ingest(path, tmp_path / "out.parquet", Reading(clock="utc"))
        else:
            assert ingest(path, tmp_path / "out", Reading(clock="utc")).rows_kept == 20
    with pytest.raises(BarsInvalid, match="cannot read"):
        ingest(tmp_path / "a\0b", tmp_path / "out.parquet", Reading(clock="utc"))
    assert not (tmp_path / "out.parquet").exists()
