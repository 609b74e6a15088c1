"""MetaTrader histories and Dukascopy candles: written here with struct, and real ones."""

from __future__ import annotations

import gzip
import lzma
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.importers import bi5, records
from dream.bars.importers.bi5 import open_bi5
from dream.bars.importers.container import unpacked
from dream.bars.importers.hst import open_hst
from dream.bars.importers.sheet import BadRow, Chunk, Hints, Opened
from dream.errors import BarsInvalid, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MONDAY_S = 1_704_672_000
"""2024-01-08 00:00."""
RIGHT = b"(C)opyright 2003, MetaQuotes Software Corp."


@pytest.fixture(scope="session")
def samples(real_bars_path: Path) -> Path:
    folder = real_bars_path.parent / "samples"
    if not folder.is_dir():
        pytest.skip(f"no real samples at {folder}")
    return folder


def header(version: int, period_min: int = 15, digits: int = 2, symbol: bytes = b"XAUUSD") -> bytes:
    return struct.pack("<i64s12s4i52x", version, RIGHT, symbol, period_min, digits, 1, 2)


def history(version: int, n: int = 3) -> bytes:
    """Bars of 15 minutes; all fields of all bars differ."""
    parts = [header(version)]
    for k in range(n):
        t, o, h, low, c = MONDAY_S + 900 * k, 2000.25 + k, 2003.5 + k, 1999.0 + k, 2002.75 + k
        if version == 400:
            parts.append(struct.pack("<i5d", t, o, low, h, c, 100.0 + k))
        else:
            parts.append(struct.pack("<q4dqiq", t, o, h, low, c, 100 + k, 25 + k, 7))
    return b"".join(parts)


def candles(n: int = 3, step_s: int = 60) -> bytes:
    return b"".join(
        struct.pack(">5If", step_s * k, 2000250, 2002750, 1999000, 2003500, 1.5 + k)
        for k in range(n)
    )


def packed(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_ALONE)


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def whole(opened: Opened) -> Chunk:
    """The chunks as one."""
    parts = list(opened.chunks)
    names = ("line", "stamp_ns", "px", "volume", "spread")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return Chunk(*columns, bad=tuple(row for part in parts for row in part.bad))


def refusal(open_: Callable[[Path, Hints], Opened], path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught:
        whole(open_(path, Hints()))
    assert str(path) in str(caught.value)
    return str(caught.value)


# MetaTrader


@pytest.mark.parametrize("version", [400, 401])
@pytest.mark.parametrize("at_once", [2, 1 << 18])
def test_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, at_once: int
) -> None:
    monkeypatch.setattr("dream.bars.importers.hst.RECORDS_AT_ONCE", at_once)
    opened = open_hst(put(tmp_path, "x", history(version, 5)), Hints())
    layout, rows = opened.layout, whole(opened)
    assert layout.format == f"MetaTrader 4 history, version {version}"
    assert (layout.clock, layout.symbol, layout.point) == ("wall", "XAUUSD", 0.01)
    assert (layout.bar_ns, layout.spread_unit) == (900 * 10**9, "points")
    assert (layout.has_volume, layout.has_spread) == (True, version == 401)
    assert layout.notes == ()
    assert rows.line.tolist() == [1, 2, 3, 4, 5]
    assert rows.stamp_ns.tolist() == [(MONDAY_S + 900 * k) * 10**9 for k in range(5)]
    assert rows.px[1].tolist() == [2001.25, 2004.5, 2000.0, 2003.75]
    assert rows.volume.tolist() == [100, 101, 102, 103, 104]
    assert rows.spread.tolist() == ([25, 26, 27, 28, 29] if version == 401 else [0] * 5)
    assert rows.px.dtype == rows.volume.dtype == rows.spread.dtype == np.float64
    assert rows.line.dtype == rows.stamp_ns.dtype == np.int64


def test_the_real_history(samples: Path) -> None:
    with unpacked(samples / "mt4_v400_d1.hst") as it:
        assert it.kind == "hst"
        opened = open_hst(it.path, Hints())
    rows = whole(opened)
    days = rows.stamp_ns.astype("M8[ns]")
    assert len(days) == 677
    assert [str(d)[:16] for d in days[[0, -1]]] == ["2018-02-23T08:00", "2020-10-14T08:00"]
    assert (rows.px == rows.px[:, :1]).all()
    assert rows.px[0, 0] == 1328.6801
    assert opened.layout.bar_ns == 86_400 * 10**9
    # Its header says one digit.
    assert opened.layout.point == 0.1
    assert opened.layout.notes[0].startswith("prices have more digits than the point of 0.1")


def test_prices_that_were_single_precision_fit_their_digits(tmp_path: Path) -> None:
    price = float(np.float32(2063.01))
    record = struct.pack("<i5d", MONDAY_S, *[price] * 4, 1.0)
    opened = open_hst(put(tmp_path, "x", header(400) + record), Hints())
    assert opened.layout.notes == ()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (header(402), "version 402 at byte 0; expected a MetaTrader 4 history of version 400"),
        (header(405), "version 405 at byte 0 (test data of MetaTrader's tester)"),
        (header(400)[:147], "ends at byte 147 inside its header of 148 bytes"),
        (b"\x90\x01\0\0\0", "ends at byte 5 inside its header"),
        (header(400), "a header and no records"),
        (header(400, period_min=0) + bytes(44), "a period of 0 minutes at byte 80"),
        (header(400, period_min=43_201) + bytes(44), "a period of 43201 minutes"),
        (header(401, digits=-1) + bytes(60), "-1 digits at byte 84; expected 0 to 8"),
        (history(400)[:-1], "ends at byte 279 inside record 3, of which 43 of 44 bytes are there"),
        (history(401) + b"x", "inside record 4, of which 1 of 60 bytes"),
    ],
)
def test_histories_that_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in refusal(open_hst, put(tmp_path, "x", data))


def test_what_a_history_may_have(tmp_path: Path) -> None:
    odd = struct.pack("<i64s12s4i52x", 400, b"", b"GOLD\xff\0old", 60, 0, 0, 0) + history(400)[148:]
    layout = open_hst(put(tmp_path, "x", odd), Hints()).layout
    assert layout.notes[0] == (
        "the header has no copyright of MetaQuotes: another program wrote the file"
    )
    assert (layout.symbol, layout.point) == ("GOLD\ufffd", 1.0)
    unnamed = header(400, symbol=b"\x01") + history(400)[148:]
    assert open_hst(put(tmp_path, "x", unnamed), Hints()).layout.symbol is None


def test_stamps_of_no_time_are_bad_rows(tmp_path: Path) -> None:
    good = history(401, 2)
    bad = b"".join(
        struct.pack("<q4dqiq", t, 1, 1, 1, 1, 1, 1, 1) for t in (2**62, -(2**62), 7_258_118_400)
    )
    rows = whole(open_hst(put(tmp_path, "x", good + bad + good[148:]), Hints()))
    assert rows.line.tolist() == [1, 2, 6, 7]
    assert [row.line for row in rows.bad] == [3, 4, 5]
    assert rows.bad[2] == BadRow(
        5, "unreadable", "the stamp is 7258118400, which is outside 1900 to 2199"
    )


def test_hints_without_a_use(tmp_path: Path) -> None:
    path = put(tmp_path, "x", history(400))
    with pytest.raises(SpecInvalid, match="columns cannot be named"):
        open_hst(path, Hints(columns={"open": "2"}))
    with pytest.raises(SpecInvalid, match="holds prices"):
        open_hst(path, Hints(price_divisor=100))
    records.refuse_hints(Hints(price_divisor=100), "x", divisor=True)


# Dukascopy


@pytest.mark.parametrize(
    ("name", "start", "bar_s", "symbol"),
    [
        ("XAUUSD/2019/01/04/BID_candles_min_1.bi5", "2019-02-04", 60, "XAUUSD"),
        ("xauusd/2024/11/31/ASK_candles_min_5.bi5", "2024-12-31", 300, "XAUUSD"),
        ("XAUUSD/2024/00/BID_candles_hour_1.bi5", "2024-01-01", 3600, "XAUUSD"),
        ("XAUUSD/2024/BID_candles_day_1.bi5", "2024-01-01", 86_400, "XAUUSD"),
        ("dukascopy_xauusd_2019-01-04_bid_min_1.bi5", "2019-02-04", 60, "XAUUSD"),
        ("XAUUSD_2019_11_04_BID_candles_min_1.bi5.lzma", "2019-12-04", 60, "XAUUSD"),
        ("XAUUSD-2019-11-BID_candles_hour_1", "2019-12-01", 3600, "XAUUSD"),
    ],
)
def test_candles(tmp_path: Path, name: str, start: str, bar_s: int, symbol: str) -> None:
    opened = open_bi5(put(tmp_path, name, packed(candles(3, bar_s))), Hints())
    layout, rows = opened.layout, whole(opened)
    assert (layout.format, layout.clock) == ("Dukascopy candles", "utc")
    assert (layout.symbol, layout.bar_ns) == (symbol, bar_s * 10**9)
    first = np.datetime64(start, "ns").astype(np.int64)
    assert rows.stamp_ns.tolist() == [first + bar_s * 10**9 * k for k in range(3)]
    # Stored as open, close, low, high.
    assert rows.px.tolist() == [[2000.25, 2003.5, 1999.0, 2002.75]] * 3
    assert rows.volume.tolist() == [1.5, 2.5, 3.5]
    assert (rows.line.tolist(), rows.spread.tolist(), rows.bad) == ([1, 2, 3], [0, 0, 0], ())
    assert ("counts from 00" in layout.notes[0]) == ("2024/BID" not in name)
    assert layout.notes[1] == "prices are integers, divided by 1,000 as usual for XAUUSD"
    assert layout.notes[2] == f"prices are {'ask' if 'ASK' in name else 'bid'} prices"


def test_the_real_candles(samples: Path) -> None:
    """The prices agree with Monday the 4th of February, not with Friday the 4th of January.

    A Friday has no candles with volume after 22:00 UTC; here all 1,440 have some.
    """
    with unpacked(samples / "dukascopy_eurusd_2019-01-04_bid_min_1.bi5") as it:
        opened = open_bi5(it.path, Hints(), it.named)
    rows = whole(opened)
    assert [str(d)[:16] for d in rows.stamp_ns.astype("M8[ns]")[[0, -1]]] == [
        "2019-02-04T00:00",
        "2019-02-04T23:59",
    ]
    assert len(rows.line) == 1_440
    assert rows.px[0].tolist() == [1.14543, 1.1457, 1.14542, 1.14569]
    assert (rows.px[:, 1] >= rows.px.max(axis=1)).all()
    assert (rows.px[:, 2] <= rows.px.min(axis=1)).all()
    assert (rows.volume > 0).all()
    assert opened.layout.notes[1] == "prices are integers, divided by 100,000 as usual for EURUSD"


def test_candles_that_were_packed_once_more(tmp_path: Path) -> None:
    name = "XAUUSD/2019/01/04/BID_candles_min_1.bi5.gz"
    with unpacked(put(tmp_path, name, gzip.compress(packed(candles())))) as it:
        rows = whole(open_bi5(it.path, Hints(price_divisor=100), it.named))
    assert str(rows.stamp_ns.astype("M8[ns]")[0])[:10] == "2019-02-04"
    assert rows.px[0, 0] == 20002.5


@pytest.mark.parametrize(
    ("symbol", "divisor"), [("USDJPY", 1000), ("XAGUSD", 1000), ("GBPUSD", 10**5)]
)
def test_divisors(tmp_path: Path, symbol: str, divisor: int) -> None:
    path = put(tmp_path, f"{symbol}/2019/01/04/BID_candles_min_1.bi5", packed(candles()))
    assert whole(open_bi5(path, Hints())).px[0, 0] == 2000250 / divisor


DAY = "XAUUSD/2019/01/04/BID_candles_min_1.bi5"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("BID_candles_min_1.bi5", packed(candles()), "do not say which day they are of"),
        ("04/BID_candles_min_1.bi5", packed(candles()), "such as XAUUSD/2019/01/04/BID_candles"),
        ("XAUUSD/2019/12/04/BID_candles_min_1.bi5", packed(candles()), "no day 04 in month 13"),
        ("XAUUSD/2019/01/30/BID_candles_min_1.bi5", packed(candles()), "no day 30 in month 2"),
        ("XAUUSD/2019/01/00/BID_candles_min_1.bi5", packed(candles()), "no day 00 in month 2"),
        ("XAUUSD/2019/01/04/BID_candles_min_0.bi5", packed(candles()), "do not say which day"),
        ("XAUUSD/2019/01/04/09h_ticks.bi5", packed(bytes(40)), "holds ticks by its name"),
        (DAY, b"", "is empty, as Dukascopy serves a day without trading"),
        (DAY, packed(b""), "unpacks to 0 bytes"),
        (DAY, packed(bytes(40)), "expected records of 24 (20 would be ticks)"),
        (DAY, packed(bytes(25)), "unpacks to 25 bytes; expected records of 24;"),
        (DAY, packed(candles())[:-6], "is cut off at byte"),
        (DAY, packed(candles()) + b"xy", "2 bytes follow the candles"),
        (DAY, b"time,open\n", "is no LZMA or is damaged"),
        (DAY, lzma.compress(candles()), "is no LZMA or is damaged"),
        (DAY, packed(candles(2, 86_400)), "record 2: it opens 86,400 seconds after the start"),
    ],
)
def test_candles_that_are_refused(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    assert said in refusal(open_bi5, put(tmp_path, name, data))


def test_a_bomb_of_candles(tmp_path: Path) -> None:
    data = packed(bytes(bi5.MOST_BYTES + 1))
    assert len(data) < 1 << 14
    assert "more than 16 MiB" in refusal(open_bi5, put(tmp_path, DAY, data))
    # A dictionary of 4 GiB is refused before memory is taken for it.
    greedy = b"\x5d\xff\xff\xff\xff" + packed(candles())[5:]
    assert "Memory usage limit" in refusal(open_bi5, put(tmp_path, DAY, greedy))


# Damage


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "a folder" in refusal(open_hst, tmp_path)
    assert "No such file" in refusal(open_hst, tmp_path / "none")
    (tmp_path / DAY).mkdir(parents=True)
    assert "a folder" in refusal(open_bi5, tmp_path / DAY)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = put(tmp_path, "x", history(400, 9))
    opened = open_hst(path, Hints())
    path.write_bytes(history(400, 8))
    with pytest.raises(BarsInvalid, match="became shorter"):
        list(opened.chunks)
    opened = open_hst(path, Hints())
    path.unlink()
    with pytest.raises(BarsInvalid, match="No such file"):
        list(opened.chunks)


WHOLE = {
    "h400": history(400, 40),
    "h401": history(401, 40),
    "bi5": packed(candles(400)),
}


def ends_well(folder: Path, name: str, data: bytes) -> bool:
    """Whether the bytes are read; False where they are refused."""
    path = put(folder, DAY if name == "bi5" else name, data)
    try:
        whole((open_bi5 if name == "bi5" else open_hst)(path, Hints()))
    except BarsInvalid:
        return False
    return True


@pytest.mark.parametrize("name", WHOLE)
def test_every_cut(tmp_path: Path, name: str) -> None:
    data = WHOLE[name]
    record = {"h400": 44, "h401": 60, "bi5": 1 << 20}[name]
    for end in range(0, len(data), 7):
        records_, rest = divmod(end - 148, record)
        assert ends_well(tmp_path, name, data[:end]) == (records_ > 0 and not rest)


def test_every_cut_of_the_real_files(samples: Path, tmp_path: Path) -> None:
    for name, real in (
        ("h400", "mt4_v400_d1.hst"),
        ("bi5", "dukascopy_eurusd_2019-01-04_bid_min_1.bi5"),
    ):
        data = (samples / real).read_bytes()
        assert ends_well(tmp_path, name, data)
        for end in range(0, len(data), 37):
            fits = name == "h400" and end > 148 and (end - 148) % 44 == 0
            assert ends_well(tmp_path, name, data[:end]) == fits


@given(
    name=st.sampled_from(sorted(WHOLE)),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=9),
)
def test_changed_bytes_never_end_otherwise(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[float, int]]
) -> None:
    data = bytearray(WHOLE[name])
    for place, value in changes:
        data[int(place * len(data))] = value
    ends_well(tmp_path_factory.getbasetemp() / "changed_binary", name, bytes(data))


@given(data=st.binary(max_size=120 * 20))
def test_records_of_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    for name, size in (("h400", 44), ("h401", 60)):
        some = data[: len(data) // size * size]
        assert ends_well(folder, name, header(int(name[1:])) + some) == bool(some)
