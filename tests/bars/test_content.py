"""What files are, told by their bytes: text in its encodings, foreign files, real ones."""

from __future__ import annotations

import gzip
import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from dream.bars.importers.container import unpacked
from tests.bars.packed_files import CSV, REPORT, put, refusal, zipped

if TYPE_CHECKING:
    from pathlib import Path

# Real files


def test_every_real_sample_is_found_beside_a_report(real_bars_path: Path, tmp_path: Path) -> None:
    """What they are, by their content; of the text all but the empty download hold rows."""
    folder = real_bars_path.parent / "samples"
    if not folder.is_dir():
        pytest.skip(f"no real samples at {folder}")
    kinds = {".hst": "hst", ".bi5": "bi5", ".parquet": "parquet", ".csv": "text"}
    marked = []
    for sample in sorted(folder.iterdir()):
        data = sample.read_bytes()
        with unpacked(sample) as it:
            assert it.kind == kinds[sample.suffix]
            if it.notes:
                marked.append(sample.name)
        path = put(tmp_path, zipped({"report": REPORT, "bars": data}, zipfile.ZIP_STORED))
        if sample.name == "yahoo_gcf_header_only.csv":
            assert "no file of bars among report, bars" in refusal(path)
            continue
        with unpacked(path) as it:
            assert (it.kind, it.member) == (kinds[sample.suffix], "bars")
            assert it.path.read_bytes() == data.removeprefix(b"\xef\xbb\xbf")
    assert marked == ["investing_com_d1.csv"]


# Text


@pytest.mark.parametrize(
    ("encoding", "mark", "said"),
    [
        ("utf-16-le", b"\xff\xfe", "UTF-16 (little-endian)"),
        ("utf-16-be", b"\xfe\xff", "UTF-16 (big-endian)"),
        ("utf-16-le", b"", "UTF-16 (little-endian)"),
        ("utf-16-be", b"", "UTF-16 (big-endian)"),
        ("utf-32-le", b"\xff\xfe\0\0", "UTF-32 (little-endian)"),
        ("utf-32-be", b"\0\0\xfe\xff", "UTF-32 (big-endian)"),
        ("utf-8", b"\xef\xbb\xbf", "mark of UTF-8"),
        ("cp1252", b"", "Windows-1252"),
    ],
)
def test_text_becomes_utf_8(tmp_path: Path, encoding: str, mark: bytes, said: str) -> None:
    text = "Zeit;Währung\r\n" + "2024.01.02;1,25\r\n" * 70_000
    path = put(tmp_path, mark + text.encode(encoding))
    with unpacked(path) as it:
        assert it.path.read_bytes() == text.encode()
        assert (it.kind, it.named) == ("text", path)
        assert said in it.notes[0]
        assert len(list(it.path.parent.iterdir())) == 1
    assert not it.path.parent.exists()


def test_utf_16_that_is_cut_off(tmp_path: Path) -> None:
    data = CSV.decode().encode("utf-16")[:-1]
    said = refusal(put(tmp_path, data))
    assert f"begins as utf-16-le, but truncated data before byte {len(data)}" in said


# What is nothing of the sort


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty (0 bytes)"),
        (b"PARE1234", "encrypted footer"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\x80\x04\x95", "pickle, which is never opened"),
        (b"7z\xbc\xaf\x27\x1c", "7z archive"),
        (b"BZh91AY&SY", "bzip2"),
        (b"x" * 257 + b"ustar", "tar archive"),
        (b"  <!DOCTYPE html><p>", "a web page"),
        (b"\xef\xbb\xbf<?xml", "XML"),
        (b"a,b\n1,\0002\n", "byte 6 is zero"),
        (bytes(100), "byte 0 is zero"),
    ],
)
def test_other_files(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in refusal(put(tmp_path, data))
    if data:
        assert said in refusal(put(tmp_path, gzip.compress(data)))


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in (
        ("none", "No such file"),
        ("pipe", "pipe or a device"),
        (".", "a folder"),
        ("x\0", "null"),
    ):
        assert said in refusal(tmp_path / name)
