"""Bar files: what is written is read back, whole or not at all."""

from __future__ import annotations

import json
import os
import random
import stat
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import clocks, content_hash, series, store, synth
from dream.errors import BarsInvalid, InputError, SchemaUnknown
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars.files import good_rows, write_csv, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = ("t_close_ns", "minute", "day", "px", "spread", "volume")
M15 = 15 * MINUTE_NS


def same(a: Bars, b: Bars) -> bool:
    arrays = all(
        getattr(a, f).dtype == getattr(b, f).dtype and np.array_equal(getattr(a, f), getattr(b, f))
        for f in FIELDS
    )
    return arrays and (a.instrument, a.bar_ns) == (b.instrument, b.bar_ns)


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
    return series(instrument, bar_ns, t_open_ns, px, spread, volume)


@given(bars=some_bars(), source_clock=st.text(max_size=8))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, bars: Bars, source_clock: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.parquet"
    store.write(bars, path, source_clock=source_clock, force=True)
    again = store.read(path)
    assert same(again, bars)
    assert content_hash(again) == content_hash(bars)
    assert store.source_clock(path) == source_clock


def test_arrays_are_read_only_and_own_their_data(tmp_path: Path) -> None:
    made = synth.make(200, 1)
    store.write(made, tmp_path / "b.parquet", source_clock="utc")
    plain = write_csv(tmp_path / "b.csv", good_rows())
    for bars in (made, store.read(tmp_path / "b.parquet"), store.read(plain)):
        for field in FIELDS:
            array = getattr(bars, field)
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
    assert found[b"dream.schema"] == b"1"
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
    with pytest.raises(BarsInvalid, match="row 1 "):
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


# Damage


def relabelled(source: Path, path: Path, **labels: str | None) -> Path:
    """The file with other metadata; None takes a label away."""
    table = pq.read_table(source)
    found = {k.decode(): v.decode() for k, v in pq.read_metadata(source).metadata.items()}
    found = {k: v for k, v in found.items() if k.startswith("dream.")}
    found.pop("dream.crc32")
    for name, value in labels.items():
        found.pop(f"dream.{name}")
        if value is not None:
            found[f"dream.{name}"] = value
    order = ("schema", "instrument", "bar_ns", "source_clock")
    said = "\n".join(found.get(f"dream.{name}", "") for name in order)
    found["dream.crc32"] = f"{zlib.crc32(said.encode()):08x}"
    with pq.ParquetWriter(path, table.schema) as out:
        out.write_table(table)
        out.add_key_value_metadata(found)
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "b.parquet"
    store.write(synth.make(300, 1), path, source_clock="utc")
    return path


def test_a_label_that_was_edited_is_noticed(written: Path, tmp_path: Path) -> None:
    data = written.read_bytes()
    assert data.count(b'"contract": 100.0') == 1
    path = tmp_path / "b.parquet"
    path.write_bytes(data.replace(b'"contract": 100.0', b'"contract": 900.0'))
    with pytest.raises(BarsInvalid, match="its label is not as it was written"):
        store.read(path)


def test_relabelling_itself_changes_nothing(written: Path, tmp_path: Path) -> None:
    again = relabelled(written, tmp_path / "b.parquet")
    assert content_hash(store.read(again)) == content_hash(store.read(written))


@pytest.mark.parametrize("version", ["2", "0", "", "one", "1.0"])
def test_another_schema_is_refused(written: Path, tmp_path: Path, version: str) -> None:
    path = relabelled(written, tmp_path / "b.parquet", schema=version)
    with pytest.raises(SchemaUnknown, match=rf"bar schema {version}; this dream knows 1"):
        store.read(path)


@pytest.mark.parametrize(
    "labels",
    [
        {"instrument": None},
        {"instrument": "{"},
        {"instrument": "[]"},
        {"instrument": "[" * 100_000},
        {"instrument": '{"symbol": "X"}'[:-1] + ', "tick": "cheap"}'},
        {"instrument": '{"symbol": "X", "tick": NaN}'},
        {"instrument": '{"symbol": "X", "tick": -0.01}'},
        {"instrument": '{"symbol": "X", "colour": 1}'},
        {"bar_ns": None},
        {"bar_ns": "many"},
        {"bar_ns": "0"},
        {"bar_ns": "-900000000000"},
        {"bar_ns": "900000000001"},
        {"bar_ns": "9" * 5000},
        {"source_clock": None},
    ],
)
def test_a_damaged_label_is_refused(
    written: Path, tmp_path: Path, labels: dict[str, str | None]
) -> None:
    with pytest.raises(BarsInvalid):
        store.read(relabelled(written, tmp_path / "b.parquet", **labels))


def test_a_label_on_other_columns_is_refused(written: Path, tmp_path: Path) -> None:
    labels = pq.read_metadata(written).metadata
    for change in (
        pl.col("volume").cast(pl.Float32),
        pl.when(pl.col("volume") < 0).then(0.0).alias("volume"),
        pl.lit(1).alias("note"),
    ):
        table = pl.read_parquet(written).with_columns(change).to_arrow()
        path = tmp_path / "b.parquet"
        with pq.ParquetWriter(path, table.schema) as out:
            out.write_table(table)
            out.add_key_value_metadata(labels)
        with pytest.raises(BarsInvalid, match="columns are not those of schema 1"):
            store.read(path)


def test_flipped_bits_and_cuts_end_in_an_error_or_in_the_same_bars(
    written: Path, tmp_path: Path
) -> None:
    data, rng = written.read_bytes(), random.Random(7)
    whole = content_hash(store.read(written))
    for _ in range(400):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path = tmp_path / "b.parquet"
        path.write_bytes(broken if rng.random() < 0.8 else broken[: rng.randrange(len(data))])
        try:
            bars = store.read(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017 - either end is right
        else:
            assert content_hash(bars) == whole
