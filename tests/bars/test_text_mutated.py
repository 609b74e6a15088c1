"""Whatever is done to a text file: it is opened, refused, or its bad rows are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.importers import text_blocks
from dream.bars.importers.sheet import Hints
from dream.bars.importers.text import open_text
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    "time,open,high,low,close,volume\n"
    + "".join(f"2024-01-08 01:{m:02d}:00,2000.5,2003,1999.25,2001,{m}\n" for m in range(12)),
    "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\r\n"
    + "".join(
        f"2024.01.{d:02d}\t23:15:00\t2000.50\t2003.00\t1999.25\t2001.00\t{d}\t0\t30\r\n"
        for d in range(1, 13)
    ),
    "".join(f"20240108 01{m:02d}00;2000.5;2003;1999.25;2001;0\n" for m in range(12)),
    "".join(f"170467{m:02d}00,2000.5,2003,1999.25,2001\n" for m in range(12)),
    "\ufeffDate,Price,Open,High,Low,Vol.,Change %\n"
    + "".join(f'01/{d:02d}/2024,"2,001.00","2,000.5","2,003","1,999.25",1.2K,-0.6%\n'
              for d in range(8, 20)),
    "Local time,Open,High,Low,Close,Volume\n"
    + "".join(
        f"08.01.2024 01:{m:02d}:00.000 GMT+0{m % 3}00,2000.5,2003,1999.25,2001,0.5\n"
        for m in range(12)
    ),
    "Price,Close,High,Low,Open,Volume\nTicker,GC=F,GC=F,GC=F,GC=F,GC=F\nDate,,,,,\n"
    + "".join(f"2024-01-{d:02d},2001,2003,1999.25,2000.5,7\n" for d in range(8, 20)),
    "# a\nDatum;Time;o;h;l;c\n"
    + "".join(f"08.01.2024;1:{m:02d} PM;2000,5;2003,0;1999,25;2001,0\n" for m in range(12)),
]  # fmt: skip
PIECES = [
    "", ",", ";", "\t", '"', '""', '","', "\n", "\r", "\r\n", "\0", "-", "+", ".", "NaN", "inf",
    "1e999", "0", "60", "24:00", "Feb", "Z", "+05:30", "-25:00", "9" * 30, "K", "#", "=======",
    "<<<<<<< HEAD", " ", "\ufeff", "\u0664", "\ud7ff", "x" * 300, "2563", "12/13/2024", "|",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file with pieces put in, cut out, doubled or swapped, and perhaps a byte of no text."""
    text = draw(st.sampled_from(FILES))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.sampled_from([0, 0, 1, 2, 5, 40]))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + cut :]
    lines = text.split("\n")
    if draw(st.booleans()):
        k = draw(st.integers(0, len(lines) - 1))
        lines.insert(draw(st.integers(0, len(lines))), lines[k])
    raw = "\n".join(lines).encode()
    at = draw(st.integers(0, len(raw)))
    return raw[:at] + draw(st.sampled_from([b"", b"", b"\xff", b"\x1a", b"\xc3"])) + raw[at:]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated") / "bars.csv"


@given(mutated(), st.sampled_from([None, True, False]), st.sampled_from([64, 700, 1 << 20]))
def test_no_other_exception(place: Path, raw: bytes, day_first: bool | None, size: int) -> None:
    place.write_bytes(raw)
    last = text_blocks.BLOCK_BYTES
    text_blocks.BLOCK_BYTES = size
    try:
        opened = open_text(place, Hints(day_first=day_first))
        chunks = list(opened.chunks)
    except BarsInvalid as e:
        said = str(e)
        assert str(place) in said
        assert "\n" not in said
        assert len(said) < 700
        return
    finally:
        text_blocks.BLOCK_BYTES = last
    text = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = text.split(b"\n")
    named = [n for c in chunks for n in [*c.line.tolist(), *(bad.line for bad in c.bad)]]
    assert len(named) == len(set(named))
    assert all(0 < n <= len(lines) for n in named)
    # from the first row on, every line that is not blank is a row or a bad one
    full = [n for n, line in enumerate(lines, 1) if line.decode("utf-8", "replace").strip()]
    assert sorted(named) == [n for n in full if n >= min(named, default=len(lines) + 1)]
    for c in chunks:
        assert len(c.line) == len(c.stamp_ns) == len(c.px) == len(c.volume) == len(c.spread)
        assert not np.isinf(c.px).any()
        assert all(len(bad.found) <= 120 for bad in c.bad)
