"""Bar files that somebody or something changed, and files of an earlier dream."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from dream.bars import check, content_hash, store, synth, with_atr_m5
from dream.errors import BarsInvalid, InputError, SchemaUnknown
from tests.bars.files import good_rows, write_csv
from tests.bars.sameness import same

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Bars


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
    order = ["schema", "instrument", "bar_ns", "source_clock"]
    order += ["provenance"] * (found.get("dream.schema") != "1")
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


def test_a_file_of_schema_1_is_read(written: Path, tmp_path: Path) -> None:
    old = relabelled(written, tmp_path / "b.parquet", schema="1", provenance=None)
    assert set(pq.read_metadata(old).metadata) >= {b"dream.schema", b"dream.crc32"}
    assert same(store.read(old), store.read(written))
    assert store.provenance(old) == ()
    assert store.source_clock(old) == "utc"


def test_provenance_is_bounded_and_plain(tmp_path: Path) -> None:
    bars, path = synth.make(10, 1), tmp_path / "b.parquet"
    for record, said in (
        ({"note": "x" * 70_000}, r"takes 70,0\d\d bytes of JSON; expected at most 65,536"),
        ({"share": float("nan")}, "expected values that JSON has"),
        ({"when": object()}, "expected values that JSON has"),
    ):
        with pytest.raises(BarsInvalid, match=said):
            store.write(bars, path, source_clock="utc", provenance=[record])
        assert not path.exists()
    assert store.provenance(write_csv(tmp_path / "plain.csv", good_rows())) == ()


def test_averages_that_cannot_be(tmp_path: Path) -> None:
    bars, path = synth.make(10, 1), tmp_path / "b.parquet"
    for value in (-1.0, np.inf, -np.inf):
        average = np.full(10, 5.0)
        average[3] = value
        with pytest.raises(BarsInvalid, match="an average true range is negative or infinite"):
            store.write(with_atr_m5(bars, average), path, source_clock="utc")
        table = store.table(rows_of(bars), average)
        with path.open("wb") as file, store.writer(file, atr_m5=True) as out:
            out.write_table(table)
            out.add_key_value_metadata(
                store.metadata(store.Label(bars.instrument, bars.bar_ns, "utc"))
            )
        with pytest.raises(BarsInvalid, match="is damaged: an average true range is negative"):
            store.read(path)
        path.unlink()


def rows_of(bars: Bars) -> check.Rows:
    at = check.nanoseconds(bars.t_close_ns - bars.bar_ns, 1, "made", 1)
    return check.Rows(at, bars.px, bars.spread, bars.volume)


def test_a_range_of_bars_with_averages(tmp_path: Path) -> None:
    bars, path = synth.make(20, 1), tmp_path / "b.parquet"
    store.write(with_atr_m5(bars, np.arange(20.0)), path, source_clock="utc")
    frame = pl.read_parquet(path)
    assert frame.columns[-1] == "atr_m5"
    assert frame["atr_m5"].to_list() == list(range(20))
    part = store.read(path, from_ns=int(bars.t_close_ns[4]), to_ns=int(bars.t_close_ns[9]))
    assert part.atr_m5 is not None
    assert part.atr_m5.tolist() == [5, 6, 7, 8, 9]


def test_relabelling_itself_changes_nothing(written: Path, tmp_path: Path) -> None:
    again = relabelled(written, tmp_path / "b.parquet")
    assert content_hash(store.read(again)) == content_hash(store.read(written))


@pytest.mark.parametrize("version", ["3", "0", "", "one", "1.0"])
def test_another_schema_is_refused(written: Path, tmp_path: Path, version: str) -> None:
    path = relabelled(written, tmp_path / "b.parquet", schema=version)
    with pytest.raises(SchemaUnknown, match=rf"bar schema {version}; this dream knows 1 to 2"):
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
        {"provenance": None},
        {"provenance": "{}"},
        {"provenance": "[1]"},
        {"provenance": "[" * 60_000},
        {"provenance": '[{"note": "' + "x" * 70_000 + '"}]'},
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
        with pytest.raises(BarsInvalid, match="columns are not those that dream writes"):
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
