"""Imports: counted, rounded only when asked, in bounded stretches."""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import content_hash, store, synth
from dream.bars.checks.faults import Policy
from dream.bars.clock import clocks
from dream.bars.importers import parquet, text_blocks
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid, InputError, SpecInvalid
from dream.types import Bars, Instrument
from tests.bars.files import good_rows, names, write_csv, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

UTC = Reading(clock="utc")
ROUND = Policy({"off_tick": "round"})
TAKEN_AS_IT_IS = Policy({"off_tick": "round", "level": "keep", "invented": "keep"})


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
    """Across the edges of every block."""
    bars = synth.make(1_200, 5)
    source = as_csv(bars, tmp_path / "b.csv")
    hashes = set()
    for block in (4 << 20, 8_192, 4_096, 100, 7):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
        report = ingest(source, tmp_path / "b.parquet", UTC, force=True)
        assert (report.rows_read, report.rows_kept) == (1_200, 1_200)
        assert (report.rounded, report.unused, report.dropped) == (0, (), {})
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
    monkeypatch.setattr(parquet, "RECORDS_AT_ONCE", 33)
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
    with pytest.raises(BarsInvalid, match=r"3 x .* line 5: .* --tick 0.001 fits .* --round"):
        ingest(source, out, UTC)
    assert not out.exists()
    report = ingest(source, out, Reading(clock="utc", policy=ROUND))
    assert (report.rows_kept, report.rounded) == (20, 3)
    assert [(f.kind, f.count, f.action) for f in report.found] == [("off_tick", 3, "round")]
    assert report.found[0].places == (
        "line 5: high 2005.506, close 2004.104", "line 11: open 2009.005", "line 14: spread 0.254",
    )  # fmt: skip
    assert report.found[0].note == ""
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
    ingest(source, out, Reading(clock="utc", policy=TAKEN_AS_IT_IS), force=True)
    expected = [math.floor(price / 0.01 + 0.5) for price in prices]
    assert store.read(out).px[:, 0].tolist() == expected


def test_float_noise_is_on_the_grid(tmp_path: Path) -> None:
    rows = good_rows()
    rows[3]["close"] = 2004.1000000000004
    rows[4]["close"] = 2005.099999999
    report = ingest(write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet", UTC)
    assert report.rounded == 0
    assert store.read(tmp_path / "out.parquet").px[3:5, 3].tolist() == [200_410, 200_510]


def test_a_tick_is_proposed_only_if_it_fits(tmp_path: Path) -> None:
    """Prices that went through 32-bit floats lie on no grid, though four digits describe them."""
    names = ("open", "high", "low", "close")
    rows = [row | {n: float(np.float32(row[n] + 0.4)) for n in names} for row in good_rows()]
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    with pytest.raises(BarsInvalid, match=r"no tick fits all prices and spreads; --round rounds"):
        ingest(source, out, UTC)
    assert ingest(source, out, Reading(clock="utc", policy=ROUND)).rounded == 20
    assert store.read(out).px[0].tolist() == [200_040, 200_290, 199_965, 200_150]


def test_a_price_that_rounds_to_nothing_is_refused(tmp_path: Path) -> None:
    rows = good_rows()
    rows[3]["low"] = 0.004
    with pytest.raises(BarsInvalid, match=r"line 5: low 0.004 is less than half a tick of 0.01"):
        ingest(
            write_csv(tmp_path / "b.csv", rows),
            tmp_path / "out.parquet",
            Reading(clock="utc", policy=ROUND),
        )


def test_spread_in_ticks(tmp_path: Path) -> None:
    rows = [row | {"spread": 31} for row in good_rows()]
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    ingest(source, out, Reading(clock="utc", spread_unit="ticks"))
    assert set(store.read(out).spread.tolist()) == {31}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Reading(clock="utc"), 31),  # whole numbers are points, a point the last decimal of prices
        (Reading(clock="utc", point=0.1), 310),
        (Reading(clock="utc", spread_unit="price"), 3_100),
        (Reading(Instrument(tick=0.001), "utc"), 310),
        (Reading(Instrument(tick=0.001), "utc", point=0.001), 31),
    ],
)
def test_spread_in_points_or_as_a_price(tmp_path: Path, said: Reading, expected: int) -> None:
    rows = [row | {"spread": 31} for row in good_rows()]
    out = tmp_path / "out.parquet"
    report = ingest(write_csv(tmp_path / "b.csv", rows), out, said)
    assert set(store.read(out).spread.tolist()) == {expected}
    assert report.rounded == 0


def test_spreads_that_are_no_whole_ticks(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows())
    with pytest.raises(BarsInvalid, match=r"20 x .* line 2: spread 0.25; .* --spread-unit price"):
        ingest(source, tmp_path / "out.parquet", Reading(clock="utc", spread_unit="ticks"))


def test_points_finer_than_a_tick_are_rounded_when_asked(tmp_path: Path) -> None:
    rows = [row | {"spread": 20 + k % 2 * 5} for k, row in enumerate(good_rows())]
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    with pytest.raises(BarsInvalid, match=r"10 x .* line 3: spread of 25 points .* --tick 0.001"):
        ingest(source, out, Reading(clock="utc", point=0.001))
    report = ingest(source, out, Reading(clock="utc", point=0.001, policy=ROUND))
    assert (report.rounded, report.point) == (10, 0.001)
    assert store.read(out).spread[:4].tolist() == [2, 3, 2, 3]


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
    assert report.unused == ("volume", "Note")
    assert set(store.read(tmp_path / "out.parquet").volume) == {5.0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clock": "eet"}, "clock 'eet'"),
        ({"clock": ""}, "clock ''"),
        ({"instrument": Instrument(tick=0.0)}, "the tick is 0"),
        ({"instrument": Instrument(tick=-0.01)}, "the tick is -0.01"),
        ({"instrument": Instrument(tick=float("nan"))}, "the tick is nan"),
        ({"instrument": Instrument(tick=float("inf"))}, "the tick is inf"),
        ({"point": 0.0}, "the point is 0"),
        ({"instrument": Instrument("")}, "is no name"),
        ({"instrument": Instrument("X" * 33)}, "is no name"),
        ({"instrument": Instrument("X\x1b[2J")}, "is no name"),
    ],
)
def test_what_is_said_about_the_file_must_make_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecInvalid, match=said):
        Reading(**options)


def test_the_file_tells_where_its_bars_came_from(tmp_path: Path) -> None:
    rows = good_rows()
    rows.insert(3, dict(rows[3]))
    source, out = write_csv(tmp_path / "b.csv", rows), tmp_path / "out.parquet"
    report = ingest(source, out, Reading())
    assert (report.rows_read, report.rows_kept, report.dropped) == (21, 20, {"duplicate": 1})
    (record,) = store.provenance(out)
    assert record == {
        "source": "b.csv", "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "format": "plain text", "clock": "utc", "rows_read": 21, "rows_kept": 20, "rounded": 0,
        "faults": {"duplicate": [1, "drop"]},
    }  # fmt: skip


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
    with pytest.raises(BarsInvalid, match=r"line 21: close is 'nan'\. Nothing was written"):
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
    # A 32-bit float cannot hold 2050.01: it is read to the digits that it can hold, and told.
    rows = [row | {"close": 2050.01} for row in rows]
    pl.DataFrame(rows).with_columns(**short).write_parquet(path)
    report = ingest(path, tmp_path / "out.parquet", UTC)
    assert report.rounded == 0
    assert "prices are single-precision; read to seven digits" in report.notes
    assert np.all(store.read(tmp_path / "out.parquet").px[:, 3] == 205_001)
