"""Bars come from regular files of a bounded length; nothing is waited for and nothing floods."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dream.bars import opening, store
from dream.errors import BarsInvalid
from tests.bars.files import csv_text, good_rows, names, write_csv, write_parquet
from tests.runs import made

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

COMMANDS = {
    "info": ("bars", "info", "bars"),
    "import": ("bars", "import", "bars", "--clock", "utc", "-o", "out.parquet"),
    "run": ("run", "--bars", "bars", "--decisions", "5"),
}


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


THINGS = {
    "a pipe": (os.mkfifo, "expected a regular file, found a pipe or a device"),
    "a folder": (os.mkdir, "expected a regular file, found a folder"),
    "a device": (lambda p: p.symlink_to("/dev/zero"), "found a pipe or a device"),
    "a socket": (listening, "No such device or address"),
    "a link to a pipe": (
        lambda p: (os.mkfifo(p.with_name("pipe")), p.symlink_to("pipe")),
        "found a pipe or a device",
    ),
    "a link to nothing": (lambda p: p.symlink_to("none"), "No such file"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(("make", "says"), THINGS.values(), ids=THINGS)
def test_what_is_no_file_is_refused_at_once(tmp_path, monkeypatch, make, says, command):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "bars")
    before = names(tmp_path)
    said = subprocess.run(
        made.command(*command), cwd=tmp_path, env=made.environment(), check=False, timeout=60,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("dream: cannot read ")
    assert says in said.stderr
    assert said.stderr.count("\n") == 1
    assert names(tmp_path) == before


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_link_to_a_file_is_followed(tmp_path, write):
    write(tmp_path / "file", good_rows())
    (tmp_path / "link").symlink_to("file")
    assert len(store.read(tmp_path / "link")) == 20


def constant(path, rows):
    """A small file of many rows: the stamps count up and the rest is one value."""
    stamps = pa.array(np.arange(rows) * 60_000, pa.timestamp("ms", tz="UTC"))
    one = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), [2000.0])
    table = pa.table({"timestamp": stamps, **dict.fromkeys(("open", "high", "low", "close"), one)})
    pq.write_table(
        table,
        path,
        compression="zstd",
        column_encoding={"timestamp": "DELTA_BINARY_PACKED"},
        use_dictionary=["open", "high", "low", "close"],
    )


MEASURED = """
import pathlib, resource, sys
from dream.bars import store
from dream.bars.reading import Reading
from dream.bars.ingest import ingest
from dream.errors import BarsInvalid
from dream.types import Instrument

path = pathlib.Path(sys.argv[1])
reading = Reading(Instrument(), "utc")
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for read in (store.read, store.source_clock, lambda p: ingest(p, p.with_name("out"), reading)):
    try:
        read(path)
        print("read")
    except BarsInvalid as error:
        print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) // 1024)
"""


def measured(path):
    """What three readers said of a file, and the MiB that they took."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], cwd=made.ROOT, env=made.environment(),
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    *said, used_mib = done.stdout.splitlines()
    return said, int(used_mib)


def test_a_small_file_of_too_many_rows_is_refused_by_its_footer(tmp_path):
    path = tmp_path / "bomb.parquet"
    constant(path, opening.MOST_ROWS + 1)
    assert path.stat().st_size < 2_000_000
    said, used_mib = measured(path)
    assert (
        said
        == [f"{path} has 20,000,001 rows; expected at most 20,000,000 bars; cut it into parts"] * 3
    )
    assert used_mib < 50
    assert names(tmp_path) == ["bomb.parquet"]


@pytest.mark.parametrize("fill", [b"1", b"\0", b",", b'"'])
def test_one_line_without_end_takes_no_memory(tmp_path, fill):
    path = tmp_path / "bars.csv"
    with path.open("wb") as file:
        file.write(csv_text(good_rows(2)).encode())
        for _ in range(256):
            file.write(fill * (1 << 20))
    said, used_mib = measured(path)
    assert " is of no known kind: " in said[0] or "line 4: a line is longer than" in said[0]
    assert said[1] == "read"
    assert used_mib < 100
    assert names(tmp_path) == ["bars.csv"]


def test_a_first_line_without_end(tmp_path):
    path = tmp_path / "bars.csv"
    with path.open("wb") as file:
        file.truncate(2_000_000_000)
    said, used_mib = measured(path)
    assert "is of no known kind: byte 0 is zero, so it is no text; expected CSV" in said[0]
    assert len(said[0]) < 1_000
    assert used_mib < 50


def test_rows_are_counted_where_no_footer_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_ROWS", 19)
    for write in (write_csv, write_parquet):
        path = write(tmp_path / write.__name__, good_rows(20))
        with pytest.raises(BarsInvalid, match="has 20 rows; expected at most 19 bars"):
            store.read(path)
        assert len(store.read(write(Path(path), good_rows(19)))) == 19
