"""Parquet from anywhere: written here with pyarrow, and a real one with integer cents."""

from __future__ import annotations

import random
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from dream.bars.importers import parquet
from dream.bars.importers.parquet import open_parquet
from dream.bars.importers.parquet_columns import roles
from dream.bars.importers.sheet import Hints
from dream.errors import BarsInvalid, SpecInvalid
from tests.bars.parquet_files import (
    CLOSE,
    HIGH,
    LOW,
    OPEN,
    SECONDS,
    WALL,
    N,
    bars,
    is_right,
    load,
    put,
    refusal,
    utc,
)

if TYPE_CHECKING:
    from pathlib import Path

# Columns


def test_roles() -> None:
    assert roles(["Time", "O", "H", "L", "C", "Tick_Volume", "Spread", "Symbol", "TF", "x"]) == {
        "timestamp": "Time", "open": "O", "high": "H", "low": "L", "close": "C",
        "volume": "Tick_Volume", "spread": "Spread", "symbol": "Symbol", "period": "TF",
    }  # fmt: skip
    assert roles(["<DATE>", "<TIME>", "bid_open"]) == {
        "timestamp": "<DATE>", "clock_time": "<TIME>", "open": "bid_open",
    }  # fmt: skip
    assert roles(["date", "timestamp"]) == {"timestamp": "timestamp"}
    assert roles(["volume", "real_volume", "tick_volume"]) == {"volume": "tick_volume"}
    assert roles(["('Close', 'GC=F')", "__index_level_0__"]) == {
        "timestamp": "__index_level_0__", "close": "('Close', 'GC=F')",
    }  # fmt: skip
    assert roles([]) == {}


def test_other_columns_are_named(tmp_path: Path) -> None:
    odd = {"EMA": OPEN, "info.x": ["a"] * N, "nest": [{"open": 1}] * N, "period": ["London"] * N}
    path = put(tmp_path, {**odd, **bars(utc(), "__index_level_0__", spread=OPEN)})
    layout, rows = load(path)
    is_right(rows)
    assert layout.unused == ("EMA", "info.x", "nest", "period")
    assert rows.spread.tolist() == OPEN
    assert (layout.has_spread, layout.spread_unit) == (True, "price")


def test_columns_that_the_user_names(tmp_path: Path) -> None:
    table = {"when": utc(), "time": OPEN, "a.b": OPEN, "h": HIGH, "l": LOW, "3": CLOSE}
    path = put(tmp_path, table)
    assert "no column open, close; expected" in refusal(path)
    hints = Hints(columns={"timestamp": "1", "open": "a.b", "close": "3"})
    layout, rows = load(path, hints)
    is_right(rows)
    assert (layout.has_volume, layout.unused) == (False, ("time",))
    for columns, said in (
        ({"open": "x"}, "open=x: no such column in .* found when, time"),
        ({"open": "0"}, "no such column"),
        ({"open": "7"}, "no such column"),
        ({"price": "x"}, "no such role; there are: timestamp, open"),
    ):
        with pytest.raises(SpecInvalid, match=said):
            load(path, Hints(columns=columns))


def test_columns_that_are_refused(tmp_path: Path) -> None:
    assert "two columns open: open and Open" in refusal(put(tmp_path, bars(utc(), Open=OPEN)))
    twice = pa.table([utc(), OPEN, HIGH, LOW, CLOSE, CLOSE], ["t", "o", "h", "l", "c", "c"])
    assert "two columns close: c and c" in refusal(put(tmp_path, twice))
    text = bars(utc()) | {"high": ["1"] * N}
    assert "column high is string; expected a number type; convert" in refusal(put(tmp_path, text))
    nested = bars(utc()) | {"open": [{"bid": 1.0}] * N}
    assert "column open is struct<bid: double>; expected a number type; flatten" in refusal(
        put(tmp_path, nested)
    )
    missing = {k: v for k, v in bars(utc()).items() if k != "low"}
    assert "no column low; expected timestamp" in refusal(put(tmp_path, missing))


def test_one_symbol_and_one_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "RECORDS_AT_ONCE", 8)
    symbol = pa.array(["XAUUSD"] * N).dictionary_encode()
    layout, rows = load(put(tmp_path, bars(utc(), Symbol=symbol, tf=[None] + ["M15"] * (N - 1))))
    is_right(rows)
    assert (layout.symbol, layout.bar_ns, layout.unused) == ("XAUUSD", 900 * 10**9, ())
    mixed = ["XAUUSD"] * 30 + ["XAGUSD"] * 6 + ["EURUSD"] * 4
    said = refusal(put(tmp_path, bars(utc(), ticker=mixed)))
    assert "3 symbols in column ticker: XAUUSD, XAGUSD, EURUSD; expected one" in said
    said = refusal(put(tmp_path, bars(utc(), tf=["15m"] * 9 + ["1h"] * (N - 9))))
    assert "2 lengths of bars in column tf: 15m, 1h" in said


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("M1", 1), ("H4", 240), ("PERIOD_D1", 1440), ("30m", 30), ("15 min", 15), ("1d", 1440),
     ("MN1", None), ("1M", None), ("m0", None), ("London", None), ("M0", None)],
)  # fmt: skip
def test_lengths(tmp_path: Path, text: str, minutes: int | None) -> None:
    layout, _ = load(put(tmp_path, bars(utc(), timeframe=[text] * N)))
    assert layout.bar_ns == (minutes * 60 * 10**9 if minutes else None)


# Prices


def test_decimals(tmp_path: Path) -> None:
    table = bars(utc())
    for name, values in (("open", OPEN), ("high", HIGH), ("low", LOW), ("close", CLOSE)):
        table[name] = pa.array([Decimal(f"{v:.2f}") for v in values], pa.decimal128(9, 2))
    layout, rows = load(put(tmp_path, table))
    is_right(rows)
    assert layout.notes == ()


def test_single_precision_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = bars(utc(), spread=np.full(N, 0.15, "f4"))
    for name in ("open", "high", "low", "close"):
        table[name] = np.array(table[name], "f4")
    assert float(table["close"][0]) != CLOSE[0]
    layout, rows = load(put(tmp_path, table))
    is_right(rows)
    assert rows.spread.tolist() == [0.15] * N
    assert layout.notes[0] == "prices are single-precision; read to seven digits"


def test_single_precision_of_no_number(tmp_path: Path) -> None:
    odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, -2000.1, 3e38] * 5, "f4")
    _, rows = load(put(tmp_path, bars(utc()) | {"open": odd}))
    assert rows.px[:8, 0].tolist()[:2] == [0, 0]
    assert np.isnan(rows.px[2, 0])
    assert rows.px[3:5, 0].tolist() == [np.inf, -np.inf]
    assert rows.px[6, 0] == -2000.1
    assert rows.px[7, 0] == pytest.approx(3e38)


@pytest.mark.parametrize("divisor", [100, 1_000, 100_000])
def test_integer_prices(tmp_path: Path, divisor: int) -> None:
    """Of 2,000 USD only one of the divisors makes a price that gold has had."""
    names = ("o_int", "h_int", "l_int", "c_int")
    prices = [[round(v * divisor) for v in column] for column in (OPEN, HIGH, LOW, CLOSE)]
    layout, rows = load(put(tmp_path, {"time": utc(), **dict(zip(names, prices, strict=True))}))
    is_right(rows)
    assert layout.point == 1 / divisor
    assert f"divided by {divisor:,}, as gold costs" in layout.notes[0]


def test_integers_that_nobody_can_tell(tmp_path: Path) -> None:
    euros = {k: [114_543 + 3 * (k == "high") - 3 * (k == "low")] * N for k in bars(utc())}
    euros["time"] = utc()
    path = put(tmp_path, {**euros, "symbol": ["EURUSD"] * N})
    assert "integers such as 114543 of EURUSD; say how many" in refusal(path)
    layout, rows = load(path, Hints(price_divisor=100_000))
    assert rows.px[0].tolist() == [1.14543, 1.14546, 1.14540, 1.14543]
    assert layout.notes == ("prices divided by 100,000 as told",)
    small = {k: [7] * N for k in euros} | {"time": utc()}
    assert "integers such as 7; say how many" in refusal(put(tmp_path, small))
    with pytest.raises(SpecInvalid, match="expected 1 or more"):
        load(path, Hints(price_divisor=0))


def test_whole_dollars_stay(tmp_path: Path) -> None:
    table = {k: [2000 + (k == "high")] * N for k in bars(utc())} | {"time": utc()}
    layout, rows = load(put(tmp_path, table))
    assert rows.px[0].tolist() == [2000, 2001, 2000, 2000]
    assert (layout.notes, layout.point) == (
        ("prices are integers such as 2000; taken as they are",),
        None,
    )


def test_missing_prices_and_amounts(tmp_path: Path) -> None:
    table = bars(utc(), spread=pa.array([None] + [25] * (N - 1)))
    table["high"] = pa.array([None, float("nan"), *HIGH[2:]])
    table["volume"] = pa.array([None] + [1.5] * (N - 1))
    layout, rows = load(put(tmp_path, table))
    assert np.isnan(rows.px[:2, 1]).all()
    assert not np.isnan(rows.px[2:]).any()
    assert np.isnan(rows.volume[0])
    assert np.isnan(rows.spread[0])
    assert (rows.bad, layout.spread_unit) == ((), "points")


@pytest.mark.parametrize(
    ("spread", "unit"),
    [([25] * N, "points"), ([25.0] * N, "points"), ([0.25] * N, "price"), ([0.0] * N, "price"),
     ([1.0, 0.5] * (N // 2), "price"), ([0] * N, "points")],
)  # fmt: skip
def test_the_unit_of_the_spread(tmp_path: Path, spread: list[float], unit: str) -> None:
    layout, rows = load(put(tmp_path, bars(utc(), spread=spread)))
    assert layout.spread_unit == unit
    assert rows.spread.tolist() == spread


# Files


def test_the_real_file_with_cents(real_bars_path: Path) -> None:
    """Its clock is New York + 7 h, whatever it says: the first bar opened at 22:00 UTC."""
    path = real_bars_path.parent / "samples" / "m15_int_cents_label_utc.parquet"
    if not path.is_file():
        pytest.skip(f"no real sample at {path}")
    layout, rows = load(path)
    assert (layout.clock, layout.symbol, layout.point) == ("utc", "XAUUSD", 0.01)
    assert (layout.bar_ns, layout.unused) == (900 * 10**9, ())
    assert len(rows.line) == 118_136
    clean_layout, clean = load(real_bars_path)
    assert (clean_layout.clock, clean_layout.symbol) == ("utc", None)
    assert np.array_equal(rows.px[:-1], clean.px)
    ahead_h = np.unique((rows.stamp_ns[:-1] - clean.stamp_ns) // (3600 * 10**9))
    assert ahead_h.tolist() == [2, 3]


def test_files_without_rows(tmp_path: Path) -> None:
    empty = pa.table(bars(utc())).slice(0, 0)
    assert "has no rows" in refusal(put(tmp_path, empty))
    path = put(tmp_path, {"x": [1]})
    assert "no column timestamp, open, high, low, close" in refusal(path)
    path.write_bytes(b"PAR1")
    assert "not a readable Parquet file" in refusal(path)
    with pytest.raises(BarsInvalid, match="a folder"):
        open_parquet(tmp_path, Hints())


def test_a_footer_that_lies_of_its_rows(tmp_path: Path) -> None:
    """num_rows of the file stands once in the footer, that of the row group behind it."""
    path = put(tmp_path, bars(utc()), compression="none", use_dictionary=False)
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:]
    zigzag = bytes([0x16, 2 * N])
    for k in [k for k in range(len(footer) - 1) if footer[k : k + 2] == zigzag]:
        lie = footer[: k + 1] + bytes([2 * N - 2]) + footer[k + 2 :]
        path.write_bytes(data[:start] + lie)
        try:
            _, rows = load(path)
        except BarsInvalid as e:
            assert str(path) in str(e)  # noqa: PT017 - either ending is right
        else:
            is_right(rows)


def test_text_that_is_no_utf_8(tmp_path: Path) -> None:
    stamp = [w.strftime("%Y-%m-%d %H:%M:%S") for w in WALL]
    path = put(
        tmp_path, bars(stamp), compression="none", use_dictionary=False, write_statistics=False
    )
    data = path.read_bytes()
    assert data.count(b"2024-01-08 01:15:00") == 1
    path.write_bytes(data.replace(b"2024-01-08 01:15:00", b"2024-01\xff08 01:15:00"))
    assert "Invalid UTF8" in refusal(path)


WHOLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "stamps": (bars(utc(), symbol=["XAUUSD"] * N, tf=["M15"] * N), {}),
    "text": (bars([str(w) for w in WALL]), {"compression": "none", "row_group_size": 9}),
    "epochs": (bars(SECONDS, spread=range(N)), {"use_dictionary": False, "compression": "zstd"}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_damaged_files_end_in_words(tmp_path: Path, name: str) -> None:
    """Every 37th cut is refused; a changed byte too, or it is read."""
    table, options = WHOLE[name]
    path = put(tmp_path, table, **options)
    data = path.read_bytes()
    for end in range(0, len(data), 37):
        path.write_bytes(data[:end])
        refusal(path)
    chance = random.Random(5)
    for _ in range(250):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 5))):
            changed[chance.randrange(len(data))] = chance.choice((0, 255, chance.randrange(256)))
        path.write_bytes(changed)
        with suppress(BarsInvalid):
            load(path)
