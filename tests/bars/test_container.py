"""What bars lie in: zip, gz and text encodings, told by content, unpacked within bounds."""

from __future__ import annotations

import gzip
import io
import os
import resource
import stat
import struct
import tempfile
import tracemalloc
import zipfile
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.importers import container
from dream.bars.importers.container import unpacked
from dream.errors import BarsInvalid
from tests.bars.files import csv_text, good_rows, write_parquet

CSV = csv_text(good_rows()).encode()
REPORT = (
    b"HistData.com (c) 2024\nFile: DAT_ASCII_XAUUSD_M1_2024.zip Status Report\n\n"
    b"Average gap: 60s\nGap of 3600s found between 20240102165900 and 20240102175900.\n"
)
HST = struct.pack("<i64s12siiii52x", 400, b"(C)opyright", b"XAUUSD", 15, 2, 0, 0)
LZMA = b"\x5d\x00\x00\x40\x00" + struct.pack("<q", 24) + bytes(20)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def put(folder: Path, data: bytes, name: str = "gold.dat") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of a test, to see that nothing stays in it."""
    folder = tmp_path / "room"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refusal(path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught, unpacked(path):
        pass
    assert str(path) in str(caught.value)
    return str(caught.value)


# What is plain


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (CSV, "text"),
        ("Zeit;Währung\n".encode(), "text"),
        (b"\n", "text"),
        (b"PAR1" + bytes(8) + b"PAR1", "parquet"),
        (HST, "hst"),
        (b"\x91\x01\0\0", "hst"),
        (b"\x95\x01\0\0" + HST[4:], "hst"),
        (LZMA, "bi5"),
    ],
)
def test_what_is_plain_is_handed_on(tmp_path: Path, room: Path, data: bytes, kind: str) -> None:
    path = put(tmp_path, data, "named.zip")
    with unpacked(path) as it:
        assert (it.path, it.kind, it.notes, it.member, it.named) == (path, kind, (), None, path)
        assert not list(room.iterdir())


# Packed files


@pytest.mark.parametrize(
    ("pack", "member"),
    [
        (lambda data: zipped({"in/gold": data}), "in/gold"),
        (lambda data: zipped({"in/gold": data}, zipfile.ZIP_STORED), "in/gold"),
        (lambda data: zipped({"in\\gold": data}), "in/gold"),
        (gzip.compress, None),
        (lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]) + bytes(512), None),
    ],
)
@pytest.mark.parametrize(("data", "kind"), [(CSV, "text"), (HST, "hst"), (LZMA, "bi5")])
def test_packed_files(tmp_path: Path, room: Path, pack, member, data: bytes, kind: str) -> None:
    path = put(tmp_path, pack(data), "gold.csv")
    with unpacked(path) as it:
        assert it.path.read_bytes() == data
        assert (it.kind, it.member) == (kind, member)
        assert it.named == (tmp_path / member if member else path)
        assert it.notes == (f"unpacked from zip: {member}" if member else "unpacked from gz",)
        assert it.path.is_relative_to(room)
        assert stat.S_IMODE(it.path.parent.stat().st_mode) == 0o700
    assert not list(room.iterdir())


def test_parquet_in_gz(tmp_path: Path) -> None:
    plain = write_parquet(tmp_path / "b.parquet", good_rows()).read_bytes()
    with unpacked(put(tmp_path, gzip.compress(plain), "b.parquet.GZ")) as it:
        assert (it.kind, it.path.read_bytes()) == ("parquet", plain)
        assert it.named == PurePath(tmp_path, "b.parquet")


def test_reports_beside_the_bars_are_named(tmp_path: Path) -> None:
    members = {"a.txt": REPORT, "DAT_2024.csv": CSV, "__MACOSX/._x": b"\0\5\x16\7", "empty": b""}
    with unpacked(put(tmp_path, zipped(members))) as it:
        assert it.path.read_bytes() == CSV
        assert it.member == "DAT_2024.csv"
        assert it.notes[1] == "3 other files in the zip hold no bars: a.txt, __MACOSX/._x, empty"


@pytest.mark.parametrize(
    "row",
    [
        "20240101 180000;2062.598000;2064.525000;2062.405000;2064.235000;0",
        "2024.01.02\t01:00:00\t2062.6\t2064.5\t2062.4\t2064.2\t12\t0\t25",
        '"11/21/2022","1,737.81","1,750.10","1,753.26","1,732.62","","-0.73%"',
        "2024.01.02 01:00 2062.6 2064.5 2062.4 2064.2 12",
        "01.01.2024 00:00:00;2.062,59;2.064,52;2.062,40;2.064,23;0",
        "01.01.2024 00:00:00.000 GMT+0100,2062.59,2064.52,2062.40,2064.23,0",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
def test_rows_of_many_makers_are_bars(tmp_path: Path, row: str, encoding: str) -> None:
    bars = f"Währung a header\n{row}\n".encode(encoding)
    readme = f"Bars of gold.\nEach line:\n{row}\nwhich\nmeans\nmuch.\n".encode()
    with unpacked(put(tmp_path, zipped({"readme": readme, "b": bars}))) as it:
        assert it.member == "b"
        assert it.path.read_text(encoding="utf-8") == f"Währung a header\n{row}\n"


def test_several_files_of_bars_are_refused(tmp_path: Path) -> None:
    said = refusal(put(tmp_path, zipped({"1.csv": CSV, "2.csv": CSV, "r.txt": REPORT})))
    assert "2 files that may hold bars: 1.csv, 2.csv; expected one; unpack it" in said
    said = refusal(put(tmp_path, zipped({"a.csv": CSV, "b.zip": zipped({"c": CSV})})))
    assert "2 files that may hold bars: a.csv, b.zip" in said
    said = refusal(put(tmp_path, zipped({"a.txt": REPORT, "b.txt": b"hello"})))
    assert "no file of bars among a.txt, b.txt" in said


@pytest.mark.parametrize("name", ["../x.csv", "a/../../x", "..\\x", "/etc/x", "C:\\x.csv", "a\nb"])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    assert "leads out of the zip" in refusal(put(tmp_path, zipped({name: CSV})))


def test_what_is_packed_twice(tmp_path: Path) -> None:
    for inner in (zipped({"c": CSV}), gzip.compress(CSV)):
        for outer in (zipped({"x": inner}), gzip.compress(inner)):
            assert "packed twice" in refusal(put(tmp_path, outer))


def flagged(data: bytes, flags: int) -> bytes:
    """The zip with flags set in the header and in the directory of its only member."""
    place = data.rfind(b"PK\x01\x02") + 8
    both = data[:6] + struct.pack("<H", flags) + data[8:]
    return both[:place] + struct.pack("<H", flags) + both[place + 2 :]


def test_archives_that_cannot_be_unpacked(tmp_path: Path) -> None:
    one = zipped({"gold.csv": CSV})
    assert "gold.csv) is encrypted" in refusal(put(tmp_path, flagged(one, 1)))
    bzip2 = zipped({"gold.csv": CSV}, zipfile.ZIP_BZIP2)
    assert "method 12; expected deflate" in refusal(put(tmp_path, bzip2))
    assert "without a file" in refusal(put(tmp_path, zipped({})))
    assert "without a file" in refusal(put(tmp_path, zipped({"folder/": b""})))
    book = {"[Content_Types].xml": b"<", "xl/workbook.xml": b"<"}
    assert "Excel workbook" in refusal(put(tmp_path, zipped(book)))
    many = zipped({str(k): b"" for k in range(1_001)})
    assert "1,001 files" in refusal(put(tmp_path, many))


# Bounds


def bomb(mebibytes: int, kind: str) -> bytes:
    file = io.BytesIO()
    if kind == "gz":
        with gzip.GzipFile(fileobj=file, mode="wb") as stream:
            for _ in range(mebibytes):
                stream.write(bytes(1 << 20))
    else:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("gold.csv", "w") as stream,
        ):
            for _ in range(mebibytes):
                stream.write(b"1" * (1 << 20))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_a_bomb_is_refused_early(tmp_path: Path, room: Path, kind: str) -> None:
    path = put(tmp_path, bomb(32, kind))
    tracemalloc.start()
    try:
        said = refusal(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "more than 200 times its size" in said
    assert most < 8 << 20
    assert not list(room.iterdir())


def test_sizes_are_counted_whatever_an_archive_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = zipped({"gold.csv": CSV})
    place = data.rfind(b"PK\x01\x02") + 24
    lying = data[:place] + struct.pack("<I", 0xFFFF_FFFE) + data[place + 4 :]
    monkeypatch.setattr(container, "MOST_BYTES", 1 << 30)
    assert "unpacks to more than 1 GiB" in refusal(put(tmp_path, lying))
    monkeypatch.setattr(container, "MOST_BYTES", len(CSV) - 1)
    assert "unpacks to more than" in refusal(put(tmp_path, gzip.compress(CSV)))
    monkeypatch.setattr(container, "MOST_BYTES", len(CSV))
    with unpacked(put(tmp_path, gzip.compress(CSV))) as it:
        assert it.path.read_bytes() == CSV


def test_a_full_disk_is_said(tmp_path: Path, room: Path) -> None:
    path = put(tmp_path, gzip.compress(os.urandom(1 << 17).hex().encode()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(BarsInvalid) as caught, unpacked(path):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value).startswith(f"cannot unpack into {room}: File too large; make room")
    assert not list(room.iterdir())


def test_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, gzip.compress(CSV))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(BarsInvalid, match=r"no temporary folder .* TMPDIR"), unpacked(path):
        pass


def test_everything_is_deleted_after_an_error(tmp_path: Path, room: Path) -> None:
    path = put(tmp_path, zipped({"gold.csv": CSV.decode().encode("utf-16")}))
    with pytest.raises(BarsInvalid) as caught, unpacked(path) as it:
        raise BarsInvalid(f"{it.path}, line 3: high is 'x'")
    assert str(caught.value) == f"{path} (gold.csv), line 3: high is 'x'"
    with pytest.raises(KeyboardInterrupt), unpacked(path):
        raise KeyboardInterrupt
    assert not list(room.iterdir())


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
def test_text_becomes_utf_8(
    tmp_path: Path, room: Path, encoding: str, mark: bytes, said: str
) -> None:
    text = "Zeit;Währung\r\n" + "2024.01.02;1,25\r\n" * 70_000
    path = put(tmp_path, mark + text.encode(encoding))
    with unpacked(path) as it:
        assert it.path.read_bytes() == text.encode()
        assert (it.kind, it.named) == ("text", path)
        assert said in it.notes[0]
        assert len(list(it.path.parent.iterdir())) == 1
    assert not list(room.iterdir())


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


# Damage

PACKED = {
    "gz": gzip.compress(CSV),
    "zip": zipped({"r.txt": REPORT, "gold.csv": CSV}),
    "stored": zipped({"gold.csv": CSV}, zipfile.ZIP_STORED),
    "utf-16": CSV.decode().encode("utf-16"),
}


@pytest.mark.parametrize("name", PACKED)
def test_every_cut(tmp_path: Path, room: Path, name: str) -> None:
    whole = PACKED[name]
    for end in range(0, len(whole), 37):
        path = put(tmp_path, whole[:end])
        try:
            with unpacked(path) as it:
                assert name == "utf-16"
                assert CSV.startswith(it.path.read_bytes())
        except BarsInvalid as e:
            assert str(path) in str(e)  # noqa: PT017 - either ending is right
    assert not list(room.iterdir())


@given(
    name=st.sampled_from(sorted(PACKED)),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
)
def test_changed_bytes_never_end_otherwise(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[float, int]]
) -> None:
    data = bytearray(PACKED[name])
    for place, value in changes:
        data[int(place * len(data))] = value
    path = put(tmp_path_factory.getbasetemp(), bytes(data), "mutated.bytes")
    try:
        with unpacked(path) as it:
            it.path.read_bytes()
    except BarsInvalid:
        pass
