"""Whatever bytes: they are read, or refused in words that say where; never another exception.

DREAM_TEST_FUZZ sets the number of cases, DREAM_TEST_FUZZ_SEED where they begin.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from dream.bars import ingest, store, synth
from dream.bars.checks import report
from dream.bars.checks.faults import KINDS, Policy
from dream.bars.clock import clocks
from dream.bars.importers.sheet import Hints
from dream.bars.reading import Reading
from dream.bars.resample import resample
from dream.errors import BarsInvalid, SchemaUnknown, SpecInvalid
from dream.types import Instrument
from tests.bars import export
from tests.conftest import REAL_BARS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = int(os.environ.get("DREAM_TEST_FUZZ", "80"))
FIRST = int(os.environ.get("DREAM_TEST_FUZZ_SEED", "0"))
SAMPLES = REAL_BARS.parent / "samples"
MOST_BYTES = 20_000
"""Of a sample: its beginning, or all where only the whole can be read."""
MOST_CHARS = 1_500
"""Of a message: a path, a place, what was found, what can be done about each fault."""
PLACE = re.compile(r"\b(lines?|rows?|records?|bytes?) [\d,]+|[\d,]+ (bytes|rows?)\b")
WHOLE = re.compile(
    r"carry no zone|packed (twice|by method)|leads out|encrypted|may hold bars|no file of bars|"
    r"has no rows?|no records|a header and no rows|is no LZMA|not a readable Parquet|is damaged|"
    r"no column |cut off or damaged|their path does|two columns|are not open, high, low, close|"
    r"no row is left|carries its own offset|tell the length of a bar|unpacks to|version \d+|"
    r"is empty|week of |column \S+ is "
)
"""Of messages that are of the file as a whole."""
PIECES = [
    b"", b",", b";", b"\t", b'"', b'""', b"\n", b"\r", b"\r\n", b"\0", b"-", b"+", b".", b"NaN",
    b"inf", b"1e308", b"-1", b"0", b"1e-320", b"24:00", b"2023-02-29", b"Z", b"+05:30", b"-25:00",
    b"9" * 40, b"K", b"#", b"<<<<<<< HEAD", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\x1a",
    b"x" * 5_000, b"1" * 5_000, b"2563", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\xd9\xa4", b"|",
    b"1900-01-01", b"2199-12-31 23:59:00", b"99999999999999999999", b"1700000000", b"0001-01-01",
]  # fmt: skip


def generated() -> dict[str, bytes]:
    """A few days of bars in every format."""
    bars, clock = synth.make(120, 3), "eet-eu"
    made = {name: form.write(bars, clock) for name, form in export.FORMS.items()}
    days = resample(synth.make(1_500, 3), 1440).bars
    made |= {name: form.write(days, "ny+7") for name, form in export.DAILY.items()}
    made["candles"] = export.candles(export.split(bars, 15).between(0, 120))
    return made


def real() -> dict[str, bytes]:
    """The real samples, where they are to be had; the heads of long ones."""
    found = {path.name: path.read_bytes() for path in sorted(SAMPLES.glob("*"))}
    short = (".csv", ".hst")
    return {
        name: data[:MOST_BYTES] if name.endswith(short) else data
        for name, data in found.items()
        if len(data) < 1_000_000 or name.endswith(short)
    }


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flip(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def put_in(data: bytes, rng: random.Random) -> bytes:
    at, gone = rng.randrange(len(data) + 1), rng.choice([0, 0, 1, 2, 7, 60])
    return data[:at] + rng.choice(PIECES) + data[at + gone :]


def noise(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice([1, 4, 100, 3_000])) + data[at:]


def lines(data: bytes, rng: random.Random) -> bytes:
    """Lines swapped, doubled, left out, or in another order."""
    parts = data.split(b"\n")
    a, b = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(5):
        case 0:
            parts[a], parts[b] = parts[b], parts[a]
        case 1:
            parts.insert(b, parts[a])
        case 2:
            del parts[min(a, b) : max(a, b) + 1]
        case 3:
            parts[a:b] = parts[a:b][::-1]
        case _:
            rng.shuffle(parts)
    return b"\n".join(parts)


def cells(data: bytes, rng: random.Random) -> bytes:
    """A field of a line replaced, doubled or left out, of one line or of all."""
    parts = data.split(b"\n")
    mark = max((b",", b";", b"\t", b"|"), key=data.count)
    every = rng.random() < 0.3
    k, what, piece = rng.randrange(8), rng.randrange(3), rng.choice(PIECES)
    for row in range(len(parts)) if every else [rng.randrange(len(parts))]:
        row_cells = parts[row].split(mark)
        at = k % len(row_cells)
        if what == 0:
            row_cells[at] = piece
        elif what == 1:
            row_cells.insert(at, row_cells[at])
        else:
            del row_cells[at]
        parts[row] = mark.join(row_cells)
    return b"\n".join(parts)


def digits(data: bytes, rng: random.Random) -> bytes:
    """One digit in many turned into another, which keeps the layout and spoils the values."""
    share = rng.choice([0.0005, 0.01, 0.2])
    made = bytearray(data)
    for k, byte in enumerate(made):
        if 48 <= byte <= 57 and rng.random() < share:
            made[k] = 48 + rng.randrange(10)
    return bytes(made)


def pack(data: bytes, rng: random.Random) -> bytes:
    """In an archive, or in several."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        if rng.random() < 0.5:
            data = gzip.compress(data)
            continue
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_LZMA, 8])) as to:
            for name in rng.sample(["a.csv", "../b", "c/d.txt", "read.me"], rng.choice([1, 1, 2])):
                to.writestr(name, data)
        data = out.getvalue()
    return data


def recode(data: bytes, rng: random.Random) -> bytes:
    return data.decode("cp1252", "replace").encode(rng.choice(["utf-16", "utf-16-be", "utf-32"]))


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    cut, flip, put_in, noise, lines, cells, digits, pack, recode,
]  # fmt: skip


def reading(rng: random.Random) -> Reading:
    """A policy, a clock and hints at random, as a user might give them."""
    kinds = rng.sample(list(KINDS), rng.randrange(len(KINDS)))
    chosen: Any = {kind: rng.choice(KINDS[kind].actions) for kind in kinds}
    columns: dict[str, str] = {}
    if rng.random() < 0.1:
        columns = {rng.choice(["timestamp", "open", "volume"]): rng.choice(["1", "2", "9", "time"])}
    hints = Hints(rng.choice([None, True, False]), rng.choice([None, None, None, 100]), columns)
    clock = rng.choice([None, "utc", "eet-eu", "ny+7", "per-row", "Asia/Kolkata"])
    tick = rng.choice([0.01, 0.01, 0.001, 1.0])
    unit: Any = rng.choice([None, None, None, "ticks", "price", "points"])
    return Reading(Instrument(tick=tick), clock, Policy(chosen), hints, unit)


def says_where(error: Exception, path: Path) -> None:
    """One line of a bearable length that names the file, and a place in it unless all is meant."""
    said = str(error)
    if not isinstance(error, SpecInvalid):
        assert path.name in said, said
        assert PLACE.search(said) or WHOLE.search(said), said
    assert "\n" not in said, said
    assert len(said) < MOST_CHARS, said


def tried(path: Path, rng: random.Random) -> None:
    """Both ways in: the import, and the reading of a file by a run."""
    given = reading(rng)
    known = rng.choice([None, synth.make(200, 1)])
    try:
        made, bars = ingest.read(path, given, known)
    except (BarsInvalid, SpecInvalid) as e:
        says_where(e, path)
    else:
        assert 0 < len(bars) == made.rows_kept <= made.rows_read
        assert made.to_ns > made.from_ns
        assert clocks.iso(made.from_ns)
        made.as_json()
        if made.refused:
            said = report.refusal(made)  # of the series: its faults may have instants as places
            assert path.name in said
            assert "--on" in said
            assert "\n" not in said
            assert len(said) < MOST_CHARS
        else:
            out = path.with_name("out.parquet")
            store.write(bars, out, source_clock="utc", force=True)
            assert len(store.read(out)) == len(bars)
    try:
        store.read(path, given.instrument)
    except (BarsInvalid, SchemaUnknown) as e:
        says_where(e, path)


@pytest.fixture(scope="module")
def sources() -> list[tuple[str, bytes]]:
    return sorted((generated() | real()).items())


def place(folder: Path, name: str) -> Path:
    """A path for the case; a candle's day stands in its path."""
    folder = folder / "XAUUSD" / "2024" / "00" / "02"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ("BID_candles_min_1.bi5" if "candles" in name else "bars")


@pytest.mark.parametrize("part", range(8))
def test_mutated_files(part: int, sources: list[tuple[str, bytes]], tmp_path: Path) -> None:
    for case in range(FIRST + part, FIRST + CASES, 8):
        rng = random.Random(case)
        name, data = rng.choice(sources)
        for _ in range(rng.choice([1, 1, 2, 3])):
            data = rng.choice(CHANGES)(data, rng)
        path = place(tmp_path, name)
        path.write_bytes(data)
        try:
            tried(path, rng)
        except Exception as e:
            e.add_note(f"case {case}, made of {name}")
            raise


def test_random_bytes(tmp_path: Path) -> None:
    """Behind the marks by which files are told, and without one."""
    marks = [b"", b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x5d\0\0\x80\0", b"\x90\x01\0\0",
             b"\x91\x01\0\0", b"\xff\xfe", b"time,open,high,low,close\n"]  # fmt: skip
    for case in range(FIRST, FIRST + CASES // 2):
        rng = random.Random(case)
        path = place(tmp_path, rng.choice(["candles", "bars"]))
        size = rng.choice([0, 1, 10, 148, 400, 5_000])
        path.write_bytes(rng.choice(marks) + rng.randbytes(size) + rng.choice([b"", b"PAR1"]))
        try:
            tried(path, rng)
        except Exception as e:
            e.add_note(f"case {case}")
            raise
