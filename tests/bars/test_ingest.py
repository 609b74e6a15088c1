"""Imports: counted, rounded only when asked, in bounded stretches."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import clocks, content_hash, store, synth
from dream.bars.check import Reading
from dream.bars.importers import ingest as importing
from dream.bars.importers import plain_csv, plain_parquet
from dream.bars.importers.ingest import ingest
from dream.errors import BarsInvalid, InputError, SpecInvalid
from dream.types import Bars, Instrument
from tests.bars.files import good_rows, names, write_csv, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

UTC = Reading(clock="utc")


def as_csv(bars: Bars, path: Path) -> Path:
    """The bars as text, in exact decimals."""
    opens = bars.t_close_ns - bars.bar_ns
    lines = ["timestamp,open,high,low,close,volume,spread"]
    for k in range(len(bars)):
        prices = ",".join(str(Decimal(int(x)).scaleb(-2)) for x in bars.px[k])
        spread = Decimal(int(bars.spread[k])).scaleb(-2)
        lines.append(f"{clocks.iso(int(opens[k]))[:-1]},{prices},{bars.volume[k]},{spread}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_bars_survive_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the edges of every stretch: blocks of the CSV, batches of the second look."""
    bars = synth.make(1_200, 5)
    source = as_csv(bars, tmp_path / "b.csv")
    hashes = set()
    for block, batch in ((1 << 21, 1 << 18), (8_192, 100), (4_096, 7)):
        monkeypatch.setattr(plain_csv, "BLOCK_BYTES", block)
        monkeypatch.setattr(importing, "ROWS_AT_ONCE", batch)
        report = ingest(source, tmp_path / "b.parquet", UTC, force=True)
        assert (report.rows, report.rows_rounded, report.unused) == (1_200, 0, ())
        assert report.bar_ns == bars.bar_ns
        assert report.from_ns == bars.t_close_ns[0] - bars.bar_ns
        assert report.to_ns == bars.t_close_ns[-1]
        hashes.add(content_hash(store.read(tmp_path / "b.parquet")))
    assert hashes == {content_hash(bars)}


def test_bars_survive_a_plain_parquet_in_stretches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = synth.make(1_000, 5)
    frame = pl.read_csv(as_csv(bars, tmp_path / "b.csv"), try_parse_dates=True)
    monkeypatch.setattr(plain_parquet, "ROWS_AT_ONCE", 33)
    for unit in ("ms", "us", "ns"):
        source = tmp_path / "b.parquet"
        frame.with_columns(pl.col("timestamp").cast(pl.Datetime(unit))).write_parquet(source)
        ingest(source, tmp_path / "dream.parquet", UTC, force=True)
        assert content_hash(store.read(tmp_path / "dream.parquet")) == content_hash(bars)


def test_rounding_is_asked_for_and_counted(tmp_path: Path) -> None:
    rows = good_rows()
    rows[3]["close"] = 2004.104  # down
    rows[3]["high"] = 2005.506  # up
    rows[9]["open"] = 2009.005  # a half goes up
    rows[12]["spread"] = 0.254
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    with pytest.raises(BarsInvalid, match=r"row 4 .* --round"):
        ingest(source, out, UTC)
    assert not out.exists()
    report = ingest(source, out, Reading(clock="utc", rounding=True))
    assert (report.rows, report.rows_rounded) == (20, 3)
    bars = store.read(out)
    assert bars.px[3].tolist() == [200_300, 200_551, 200_225, 200_410]
    assert bars.px[9, 0] == 200_901
    assert bars.spread[12] == 25


@given(st.lists(st.floats(0.01, 10_000.0), min_size=2, max_size=20))
def test_one_rounding_rule(tmp_path_factory: pytest.TempPathFactory, prices: list[float]) -> None:
    rows = good_rows(len(prices))
    for row, price in zip(rows, prices, strict=True):
        row.update(open=price, high=price, low=price, close=price)
    folder = tmp_path_factory.getbasetemp()
    source, out = write_csv(folder / "rule.csv", rows), folder / "rule.parquet"
    ingest(source, out, Reading(clock="utc", rounding=True), force=True)
    expected = [math.floor(price / 0.01 + 0.5) for price in prices]
    assert store.read(out).px[:, 0].tolist() == expected


def test_float_noise_is_on_the_grid(tmp_path: Path) -> None:
    rows = good_rows()
    rows[3]["close"] = 2004.1000000000004
    rows[4]["close"] = 2005.099999999
    report = ingest(write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet", UTC)
    assert report.rows_rounded == 0
    assert store.read(tmp_path / "out.parquet").px[3:5, 3].tolist() == [200_410, 200_510]


def test_a_price_that_rounds_to_nothing_is_refused(tmp_path: Path) -> None:
    rows = good_rows()
    rows[3]["low"] = 0.004
    with pytest.raises(BarsInvalid, match=r"row 4 .*low of 0 ticks is not positive"):
        ingest(
            write_csv(tmp_path / "b.csv", rows),
            tmp_path / "out.parquet",
            Reading(clock="utc", rounding=True),
        )


def test_spread_in_ticks(tmp_path: Path) -> None:
    rows = [row | {"spread": 31} for row in good_rows()]
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    ingest(source, out, Reading(clock="utc", spread_unit="ticks"))
    assert set(store.read(out).spread.tolist()) == {31}


def test_naive_stamps_are_utc_when_said_so(tmp_path: Path) -> None:
    expected = content_hash(store.read(write_csv(tmp_path / "z.csv", good_rows())))
    for source in (
        write_csv(tmp_path / "a.csv", good_rows(), "%Y-%m-%d %H:%M:%S"),
        write_csv(tmp_path / "b.csv", good_rows(), "%Y-%m-%dT%H:%M"),
        write_csv(tmp_path / "c.csv", good_rows(), "%Y-%m-%d %H:%M:%S.%f"),
        write_parquet(tmp_path / "d.parquet", good_rows(), zone=None),
        write_parquet(tmp_path / "e.parquet", good_rows()),
    ):
        ingest(source, tmp_path / "out.parquet", UTC, force=True)
        assert content_hash(store.read(tmp_path / "out.parquet")) == expected
    assert store.source_clock(tmp_path / "out.parquet") == "utc"


def test_the_instrument_goes_into_the_file(tmp_path: Path) -> None:
    rows = [{k: v / 1000 if k in ("open", "high", "low", "close", "spread") else v
             for k, v in row.items()} for row in good_rows()]  # fmt: skip
    out = tmp_path / "out.parquet"
    euro = Instrument("EURUSD", 0.00001)
    ingest(write_csv(tmp_path / "b.csv", rows), out, Reading(euro, "utc"))
    bars = store.read(out)
    assert bars.instrument == euro
    assert bars.px[0].tolist() == [200_000, 200_250, 199_925, 200_110]


def test_unused_columns_are_told(tmp_path: Path) -> None:
    rows = [row | {"tick_volume": 5, "Note": "x"} for row in good_rows()]
    report = ingest(write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet", UTC)
    assert report.unused == ("tick_volume", "Note")


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (Reading(clock=None), "accepted: utc"),
        (Reading(clock="ny+7"), "'ny\\+7' is not known; accepted: utc"),
        (Reading(Instrument(tick=0.0), "utc"), "the tick is 0"),
        (Reading(Instrument(tick=float("nan")), "utc"), "the tick is nan"),
        (Reading(Instrument(""), "utc"), "is no name"),
        (Reading(Instrument("X" * 33), "utc"), "is no name"),
        (Reading(Instrument("X\x1b[2J"), "utc"), "is no name"),
    ],
)
def test_what_is_said_about_the_file_must_make_sense(
    tmp_path: Path, reading: Reading, said: str
) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows())
    with pytest.raises(SpecInvalid, match=said):
        ingest(source, tmp_path / "out.parquet", reading)
    assert names(tmp_path) == ["b.csv"]


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows())
    content = source.read_bytes()
    (tmp_path / "link.csv").hardlink_to(source)
    for out in (source, tmp_path / "link.csv"):
        with pytest.raises(InputError, match="is the source itself"):
            ingest(source, out, UTC, force=True)
    assert source.read_bytes() == content


def test_a_refused_import_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    ingest(write_csv(tmp_path / "b.csv", good_rows()), out, UTC)
    before = out.read_bytes()
    rows = good_rows()
    rows[-1]["close"] = float("nan")
    with pytest.raises(BarsInvalid, match="row 20 "):
        ingest(write_csv(tmp_path / "b.csv", rows), out, UTC, force=True)
    assert out.read_bytes() == before
    assert names(tmp_path) == ["b.csv", "out.parquet"]


def test_parquet_of_whole_numbers_and_short_floats(tmp_path: Path) -> None:
    rows = [row | {"open": 2000, "high": 2100, "low": 1900, "close": 2050} for row in good_rows()]
    whole = {name: pl.col(name).cast(pl.Int32) for name in ("open", "high", "low", "close")}
    short = {name: pl.col(name).cast(pl.Float32) for name in ("open", "high", "low", "close")}
    exact = {
        name: pl.col(name).cast(pl.Decimal(12, 2)) for name in ("open", "high", "low", "close")
    }
    for columns in (whole, short, exact):
        path = tmp_path / "b.parquet"
        pl.DataFrame(rows).with_columns(**columns).write_parquet(path)
        assert store.read(path).px[0].tolist() == [200_000, 210_000, 190_000, 205_000]
    # A 32-bit float cannot hold 2000.01: noise of 0.003 ticks is told, not swallowed.
    rows = [row | {"close": 2050.01} for row in rows]
    pl.DataFrame(rows).with_columns(**short).write_parquet(path)
    with pytest.raises(BarsInvalid, match="off the tick grid"):
        store.read(path)
    report = ingest(path, tmp_path / "out.parquet", Reading(clock="utc", rounding=True))
    assert report.rows_rounded == 20
    assert np.all(store.read(tmp_path / "out.parquet").px[:, 3] == 205_001)
