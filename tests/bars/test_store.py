"""Bar files: what is written is read back, whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import content_hash, series, store, synth, with_atr_m5
from dream.bars.clock import clocks
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars.files import good_rows, write_csv, write_parquet
from tests.bars.sameness import FIELDS, same

if TYPE_CHECKING:
    from pathlib import Path

M15 = 15 * MINUTE_NS
PLAIN_HASH = "5efa8a54ab3b7e3f1afeda97bc310ae03c57159325fba7696be53a7b8a816d8c"
"""Of `synth.make(50, 1)` before bars could carry an average."""


@st.composite
def some_bars(draw: st.DrawFn) -> Bars:
    """Any series that is allowed: any length of bar, any holes, any prices, any instrument."""
    bar_ns = draw(st.sampled_from((1, 5, 15, 30, 60, 240, 1440))) * MINUTE_NS
    steps = draw(st.lists(st.integers(1, 3000), min_size=1, max_size=30))
    t_open_ns = (
        draw(st.integers(0, 1_000)) * 1440 * MINUTE_NS // bar_ns + np.cumsum(steps)
    ) * bar_ns
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = draw(st.sampled_from((3, 300_000, 2**29)))
    px = np.sort(rng.integers(1, top, (len(steps), 4), endpoint=True), axis=1)
    turned = rng.random(len(steps)) < 0.5
    o, c = np.where(turned, px[:, 1], px[:, 2]), np.where(turned, px[:, 2], px[:, 1])
    px = np.stack([o, px[:, 3], px[:, 0], c], axis=1).astype(np.int32)
    spread = rng.integers(0, 2**29, len(steps)).astype(np.int32)
    volume = rng.exponential(1e3, len(steps)) * (rng.random(len(steps)) < 0.8)
    symbol = draw(st.text(min_size=1, max_size=8))
    instrument = Instrument(symbol, *draw(st.tuples(*[st.floats(1e-6, 1e6)] * 5)))
    bars = series(instrument, bar_ns, t_open_ns, px, spread, volume)
    return with_atr_m5(bars, draw(st.sampled_from((None, some_averages(rng, len(bars))))))


def some_averages(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unknown at first, and now and then later on."""
    average = rng.exponential(100.0, n) * (rng.random(n) < 0.9)
    average[: int(rng.integers(n))] = np.nan
    average[rng.random(n) < 0.1] = np.nan
    return average


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    bars=some_bars(),
    source_clock=st.text(max_size=8),
    provenance=st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), max_size=3),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    bars: Bars,
    source_clock: str,
    provenance: list[dict[str, object]],
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.parquet"
    store.write(bars, path, source_clock=source_clock, provenance=provenance, force=True)
    again = store.read(path)
    assert same(again, bars)
    assert content_hash(again) == content_hash(bars)
    assert store.source_clock(path) == source_clock
    assert store.provenance(path) == tuple(provenance)


def test_arrays_are_read_only_and_own_their_data(tmp_path: Path) -> None:
    made = synth.make(200, 1)
    store.write(made, tmp_path / "b.parquet", source_clock="utc")
    plain = write_csv(tmp_path / "b.csv", good_rows())
    averaged = with_atr_m5(made, np.ones(200))
    store.write(averaged, tmp_path / "a.parquet", source_clock="utc")
    files = (tmp_path / "b.parquet", tmp_path / "a.parquet", plain)
    for bars in (made, averaged, averaged.between(3, 9), *map(store.read, files)):
        for field in (*FIELDS, "atr_m5"):
            array = getattr(bars, field)
            if array is None:
                continue
            assert not array.flags.writeable
            assert array.flags.c_contiguous
            assert array.base is None
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_series_does_not_follow_its_sources() -> None:
    t, px = np.array([0, M15]), np.full((2, 4), 7, np.int32)
    spread, volume = np.zeros(2, np.int32), np.zeros(2)
    bars = series(Instrument(), M15, t, px, spread, volume)
    t[0] = px[0, 0] = spread[0] = volume[0] = 5
    assert bars.t_close_ns.tolist() == [M15, 2 * M15]
    assert bars.px.tolist() == [[7] * 4] * 2
    assert bars.spread.tolist() == bars.volume.tolist() == [0, 0]


def test_the_hash_sees_every_value() -> None:
    bars = synth.make(50, 1)
    seen = {content_hash(bars)}
    for field in FIELDS:
        for row in (0, 49):
            array = getattr(bars, field).copy()
            array[row] += 1
            seen.add(content_hash(replace(bars, **{field: array})))
    seen.add(content_hash(replace(bars, bar_ns=bars.bar_ns + 1)))
    seen.add(content_hash(bars.prefix(49)))
    for field, value in (
        ("symbol", "XAGUSD"), ("tick", 0.1), ("contract", 10.0), ("lot_step", 0.01),
        ("lot_min", 0.01), ("lot_max", 1.0),
    ):  # fmt: skip
        seen.add(content_hash(replace(bars, instrument=replace(bars.instrument, **{field: value}))))
    assert len(seen) == 1 + 12 + 2 + 6
    assert content_hash(synth.make(50, 1)) in seen


def test_the_hash_sees_the_averages_where_there_are_any() -> None:
    bars = synth.make(50, 1)
    # As the dream before had it: bars without averages keep their hash, and runs go on with them.
    assert content_hash(bars) == PLAIN_HASH
    average = np.full(50, 7.0)
    average[:14] = np.nan
    seen = {PLAIN_HASH, content_hash(with_atr_m5(bars, average))}
    for row in (14, 49):
        other = average.copy()
        other[row] += 1
        seen.add(content_hash(with_atr_m5(bars, other)))
    seen.add(content_hash(with_atr_m5(bars, np.zeros(50))))
    assert len(seen) == 5
    assert content_hash(with_atr_m5(with_atr_m5(bars, average), None)) == PLAIN_HASH
    negative = np.copysign(average, -1.0)
    other = np.where(np.isnan(average), negative, average)  # another NaN says the same
    assert content_hash(with_atr_m5(bars, other)) in seen


def test_the_hash_does_not_depend_on_the_file(tmp_path: Path) -> None:
    rows = good_rows()
    files = [
        write_csv(tmp_path / "z.csv", rows),
        write_csv(tmp_path / "offset.csv", rows, "%Y-%m-%d %H:%M+00:00"),
        write_parquet(tmp_path / "b.parquet", rows),
    ]
    store.write(store.read(files[0]), tmp_path / "dream.parquet", source_clock="utc")
    hashes = {content_hash(store.read(p)) for p in (*files, tmp_path / "dream.parquet")}
    assert len(hashes) == 1


def test_the_layout_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    store.write(synth.make(300, 1), path, source_clock="utc")
    frame = pl.read_parquet(path)
    assert dict(frame.schema) == {
        "timestamp": pl.Datetime("ns", "UTC"),
        "open_ticks": pl.Int32, "high_ticks": pl.Int32, "low_ticks": pl.Int32,
        "close_ticks": pl.Int32, "spread_ticks": pl.Int32, "volume": pl.Float64,
    }  # fmt: skip
    assert str(frame["timestamp"][0]) == "2024-01-01 23:00:00+00:00"
    assert frame["open_ticks"][0] == 206_360
    found = pq.read_metadata(path).metadata
    assert found[b"dream.schema"] == b"2"
    assert found[b"dream.provenance"] == b"[]"
    assert found[b"dream.bar_ns"] == b"900000000000"
    assert found[b"dream.source_clock"] == b"utc"
    assert json.loads(found[b"dream.instrument"])["symbol"] == "XAUUSD"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Reading


def test_a_range_keeps_whole_bars_only(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "b.csv", good_rows())  # opens 01:00 to 05:45
    at = clocks.parse_instant
    bars = store.read(path, from_ns=at("2024-01-08T02:00Z"), to_ns=at("2024-01-08T03:00Z"))
    assert [clocks.iso(int(t)) for t in bars.t_close_ns[[0, -1]]] == [
        "2024-01-08T02:15:00Z",
        "2024-01-08T03:00:00Z",
    ]
    assert bars.px[0, 0] == 200_400
    inside = store.read(path, from_ns=at("2024-01-08T02:01Z"), to_ns=at("2024-01-08T02:59Z"))
    assert len(inside) == len(bars) - 2
    assert len(store.read(path, from_ns=at("2020-01-01"), to_ns=at("2030-01-01"))) == 20


def test_a_range_without_bars_says_what_there_is(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "b.csv", good_rows())
    for given_range in ({"from_ns": clocks.parse_instant("2025-01-01")}, {"to_ns": 0}):
        with pytest.raises(BarsInvalid, match="2024-01-08T01:00:00Z to 2024-01-08T06:00:00Z"):
            store.read(path, **given_range)


def test_rows_outside_the_range_are_checked_too(tmp_path: Path) -> None:
    rows = good_rows()
    rows[0]["low"] = 9_999.0
    path = write_csv(tmp_path / "b.csv", rows)
    with pytest.raises(BarsInvalid, match="line 2: open 2000"):
        store.read(path, from_ns=clocks.parse_instant("2024-01-08T03:00Z"))


def test_an_instrument_must_be_the_files(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    store.write(synth.make(10, 1), path, source_clock="utc")
    assert store.read(path).instrument == Instrument()
    small = Instrument(lot_step=0.01, lot_min=0.01)
    assert store.read(path, small).instrument == small
    for other in (Instrument("XAGUSD"), Instrument(tick=0.1)):
        with pytest.raises(BarsInvalid, match=r"is XAUUSD with tick 0\.01; asked for"):
            store.read(path, other)


def test_optional_columns_and_order_and_case(tmp_path: Path) -> None:
    rows = [
        {"Close": r["close"], " LOW": r["low"], "Timestamp": r["timestamp"], "note": "x",
         "open": r["open"], "high": r["high"]}
        for r in good_rows()
    ]  # fmt: skip
    bars = store.read(write_csv(tmp_path / "b.csv", rows))
    full = store.read(write_csv(tmp_path / "full.csv", good_rows()))
    assert np.array_equal(bars.px, full.px)
    assert full.px[0].tolist() == [200_000, 200_250, 199_925, 200_110]
    assert not bars.volume.any()
    assert not bars.spread.any()
    assert set(full.spread.tolist()) == {25}
    assert full.volume[:2].tolist() == [100, 101]


def test_csv_with_the_marks_of_other_systems(tmp_path: Path) -> None:
    expected = content_hash(store.read(write_csv(tmp_path / "b.csv", good_rows())))
    text = (tmp_path / "b.csv").read_text(encoding="utf-8")
    for content in (
        "\ufeff" + text,
        text.replace("\n", "\r\n"),
        text.rstrip("\n"),
        text.replace("\n", "\n\n"),
        text.replace(",", " , "),
        text.replace("Z,", "+0000,"),
    ):
        path = tmp_path / "other.csv"
        path.write_bytes(content.encode())
        assert content_hash(store.read(path)) == expected


def test_row_groups_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series of many row groups is read back whole, its averages too."""
    bars = synth.make(1_000, 3)
    bars = with_atr_m5(bars, np.linspace(1.0, 50.0, 1_000))
    for rows in (7, 250, 999, 1_000):
        monkeypatch.setattr(store, "GROUP_ROWS", rows)
        path = tmp_path / f"{rows}.parquet"
        store.write(bars, path, source_clock="utc")
        assert pq.ParquetFile(path).num_row_groups == -(-1_000 // rows)
        assert same(store.read(path), bars)


def test_writing_does_without_pandas(tmp_path: Path) -> None:
    """Which pyarrow imports, where it is installed, to look at an array: half a second."""
    code = (
        "import sys; from dream.bars import store, synth;"
        f"store.write(synth.make(10, 1), {str(tmp_path / 'b.parquet')!r}, source_clock='utc');"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
