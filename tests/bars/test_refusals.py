"""Wrong files: each is refused with its row, what was found, what was expected, and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import polars as pl
import pytest

from dream.bars import store
from dream.bars.importers import parquet, text_blocks
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from dream.types import Instrument
from tests.bars.files import START, Row, csv_text, good_rows, names, write_csv, write_parquet
from tests.bars.refusing import refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAN, INF = float("nan"), float("inf")
WRITERS = {"csv": write_csv, "parquet": write_parquet}
HEADERS = {"csv": 1, "parquet": 0}
"""Lines before the first row."""


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("changes", "row", "said"),
    [
        ({"close": NAN}, 8, {"csv": "close is 'nan'", "parquet": "close is missing"}),
        ({"high": INF}, 8, {"csv": "high is 'inf'", "parquet": "high is inf"}),
        ({"volume": NAN}, 8, {"csv": "volume is 'nan'", "parquet": "volume is missing"}),
        ({"spread": -INF}, 8, {"csv": "spread is '-inf'", "parquet": "spread is -inf"}),
        ({"low": -1.0}, 8, "low -1 is negative"),
        ({"low": 0.0}, 8, "low 0 is not positive"),
        ({"low": 0.004}, 8, "low 0.004 is less than half a tick of 0.01"),
        ({"volume": -3.0}, 8, "volume -3 is negative"),
        ({"spread": -0.5}, 8, "spread -0.5 is negative"),
        ({"spread": -0.004}, 8, "spread -0.004 is negative"),
        ({"high": 2008.09}, 8, "open 2007, high 2008.09, low 2006.25, close 2008.1"),
        ({"high": 2006.99, "close": 2006.50}, 8, "open 2007, high 2006.99"),
        ({"low": 2007.01}, 8, "low 2007.01, close 2008.1"),
        ({"low": 2006.60, "close": 2006.50}, 8, "low 2006.6, close 2006.5"),
        ({"open": 2007.004}, 8, "open 2007.004; --tick 0.001 fits all prices and spreads"),
        ({"close": 2008.10002}, 8, "close 2008.10002; --tick 0.00001 fits all"),
        ({"close": 2008.1000213}, 8, "close 2008.100021; no tick fits all prices and spreads"),
        ({"spread": 0.255}, 8, "spread 0.255; --tick 0.001 fits all prices and spreads"),
        ({"high": 5_368_709.13}, 8, "high 5368709.13 is beyond 536,870,912 ticks of 0.01"),
        ({"spread": 5_368_709.13}, 8, "spread 5368709.13 is beyond 536,870,912 ticks of 0.01"),
        ({"timestamp": START + timedelta(minutes=90)}, 8, "not as the first row of that time"),
        ({"timestamp": START + timedelta(minutes=20)}, 8, "after 2024-01-08T02:30:00Z"),
        ({"timestamp": START + timedelta(minutes=107)}, 8, "off the grid of 15-minute bars"),
        ({"timestamp": START + timedelta(minutes=105, seconds=1)}, 8, "off the grid"),
        ({"timestamp": START + timedelta(days=400)}, 9, "after 2025-02-11T01:00:00Z"),
    ],
)
def test_a_wrong_row_is_named(
    tmp_path: Path, kind: str, changes: Row, row: int, said: str | dict[str, str]
) -> None:
    rows = good_rows()
    rows[7] |= changes
    path = WRITERS[kind](tmp_path / f"bars.{kind}", rows)
    message = refusal(path)
    assert message.startswith(f"{path} (")
    assert "): 1 x " in message
    words = said if isinstance(said, str) else said[kind]
    stamped = changes.keys() == {"timestamp"}
    stamp = rows[row - 1]["timestamp"].strftime(" (%Y-%m-%dT%H:%M:%SZ)") if stamped else ":"
    assert f"(refused); line {row + HEADERS[kind]}{stamp}" in message
    assert words in message


@pytest.mark.parametrize("kind", WRITERS)
def test_the_first_and_the_last_row_are_checked_too(tmp_path: Path, kind: str) -> None:
    for row in (1, 20):
        rows = good_rows()
        rows[row - 1]["low"] = 9999.0
        path = WRITERS[kind](tmp_path / f"bars.{kind}", rows)
        assert f"; line {row + HEADERS[kind]}: " in refusal(path)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    rows = good_rows(40)
    for row, changes in {
        2: {"close": "x"}, 5: {"low": 0.0}, 6: {"low": -1.0}, 8: {"high": 1.0},
        11: {"open": 2011.004}, 14: {"volume": -1.0},
    }.items():  # fmt: skip
        rows[row - 1] |= changes
    rows.insert(20, dict(rows[20]))
    rows[30]["timestamp"] += timedelta(minutes=1)
    message = refusal(write_csv(tmp_path / "bars.csv", rows))
    assert (
        "1 x a field is not what its column holds (refused); line 3: close is 'x'; 2 x" in message
    )
    assert (
        "2 x a price is missing, not positive or too large (refused); line 6: low 0 is" in message
    )
    assert "; and " in message
    assert " more; mend the file" in message


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("close", "", "close is missing"),
        ("close", "2008.1x", "close is '2008.1x'"),
        ("close", "1_000", "close is '1_000'"),
        ("volume", "many", "volume is 'many'"),
        ("timestamp", "1704675600", "timestamp is '1704675600', the first row has '2024-01-08T01:"),
        ("timestamp", "", "timestamp is '', the first row has '2024-01-08T01:00:00Z'"),
        ("timestamp", "2024-02-30T00:00:00Z", "timestamp is '2024-02-30T00:00:00Z'"),
        ("timestamp", "2024-01-08T25:00:00Z", "timestamp is '2024-01-08T25:00:00Z'"),
        ("timestamp", "08.01.2024 02:45:00", "timestamp is '08.01.2024 02:45:00'"),
        ("timestamp", "2024-01-08T02:45:00+05:30", "timestamp is '2024-01-08T02:45:00+05:30'"),
        ("timestamp", "2024-01-08T02:45:00", "timestamp is '2024-01-08T02:45:00', the first row"),
        ("timestamp", "9999-01-08T02:45:00Z", "timestamp is '9999-01-08T02:45:00Z'"),
        ("timestamp", "2200-01-01T00:00:00Z", "timestamp is '2200-01-01T00:00:00Z'"),
        ("timestamp", "1899-12-31T23:45:00Z", "timestamp is '1899-12-31T23:45:00Z'"),
    ],
)
def test_csv_text_that_does_not_parse(tmp_path: Path, field: str, text: str, said: str) -> None:
    rows = good_rows()
    rows[7][field] = text
    message = refusal(write_csv(tmp_path / "bars.csv", rows))
    assert f"; line 9: {said}" in message


def test_parquet_nulls(tmp_path: Path) -> None:
    for field, said in (("timestamp", "the stamp is missing"), ("close", "close is missing")):
        rows = good_rows()
        rows[7][field] = None
        assert f"; line 8: {said}" in refusal(write_parquet(tmp_path / "bars.parquet", rows))


def test_parquet_stamp_beyond_any_market(tmp_path: Path) -> None:
    rows = good_rows()
    for year in (9000, 2200, 1899):
        rows[-1]["timestamp"] = datetime(year, 1, 1, tzinfo=UTC)
        message = refusal(write_parquet(tmp_path / "b.parquet", rows))
        assert "; line 20: the stamp is " in message
        assert "outside 1900 to 2199" in message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: [*lines[:9], lines[9] + ",7", *lines[10:]],
            "line 10: 8 fields, the other rows have 7: '2024-01-08T03:00:00Z,2008.0",
        ),
        (
            lambda lines: [*lines[:9], "<<<<<<< HEAD", *lines[9:]],
            "line 10: '<<<<<<< HEAD' marks a merge conflict",
        ),
        (lambda lines: [*lines[:3], lines[0], *lines[3:]], "line 4: timestamp is 'timestamp'"),
        (
            lambda lines: [*lines[:9], lines[9].replace(",", ";"), *lines[10:]],
            "line 10: the fields are separated by a semicolon; expected a comma",
        ),
        (lambda lines: [lines[0].replace("spread", "high"), *lines[1:]], "two columns high"),
        (lambda lines: [lines[0].replace("close", "last"), *lines[1:]], "no column close"),
        (lambda lines: ["timestamp,open,high,low,close", *lines[1:]], "the header has 5"),
    ],
)
def test_csv_of_another_layout(
    tmp_path: Path, change: Callable[[list[str]], list[str]], said: str
) -> None:
    path = tmp_path / "bars.csv"
    path.write_text("\n".join(change(csv_text(good_rows()).splitlines())) + "\n", encoding="utf-8")
    assert said in refusal(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: ["", *lines],
        lambda lines: ["# gold", *lines],
        lambda lines: lines[1:],
        lambda lines: [line.replace(",", ";") for line in lines],
        lambda lines: [lines[0].replace("timestamp", "time"), *lines[1:]],
        lambda lines: [*lines[:8], lines[8].replace("2008.1,", '"2,008.10",'), *lines[9:]],
    ],
)
def test_layouts_that_say_the_same(
    tmp_path: Path, change: Callable[[list[str]], list[str]]
) -> None:
    lines, path = csv_text(good_rows()).splitlines(), tmp_path / "bars.csv"
    made = change(lines)
    assert made != lines
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    bars = store.read(path)
    assert bars.px[[0, 7, 19], 3].tolist() == [200_110, 200_810, 202_010]
    assert bars.t_close_ns[0] == 1_704_675_600 * 10**9 + bars.bar_ns


def test_a_line_is_named_across_blocks_and_behind_empty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 4096)
    rows = good_rows(1000)
    lines = csv_text(rows).splitlines()
    lines[700] += ",7"
    lines.insert(10, "")
    path = tmp_path / "bars.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert "line 702: 8 fields, the other rows have 7" in refusal(path)
    rows[699]["high"] = 0.01
    assert "line 701: " in refusal(write_csv(path, rows))


def test_a_row_of_parquet_is_named_across_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "RECORDS_AT_ONCE", 33)
    rows = good_rows(1000)
    rows[699]["high"] = 0.01
    assert "; line 700: " in refusal(write_parquet(tmp_path / "b.parquet", rows))


@pytest.mark.parametrize("kind", WRITERS)
def test_wrong_columns_are_listed(tmp_path: Path, kind: str) -> None:
    renamed = [{("when" if k == "timestamp" else k): v for k, v in r.items()} for r in good_rows()]
    path = tmp_path / f"bars.{kind}"
    if kind == "csv":
        write_csv(path, renamed)
    else:
        pl.DataFrame(renamed).write_parquet(path)
    message = refusal(path)
    assert "no column timestamp" in message
    assert "found when, open, high, low, close, volume, spread" in message


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("close", "2000.0", "column close is large_string; expected a number type"),
        ("close", True, "column close is bool; expected a number type"),
    ],
)
def test_parquet_types(tmp_path: Path, field: str, value: object, said: str) -> None:
    path = tmp_path / "bars.parquet"
    pl.DataFrame([row | {field: value} for row in good_rows()]).write_parquet(path)
    assert said in refusal(path)


def test_stamps_without_a_zone_are_not_guessed(tmp_path: Path) -> None:
    naive = "%Y-%m-%d %H:%M:%S"
    for path in (
        write_csv(tmp_path / "b.csv", good_rows(), naive),
        write_parquet(tmp_path / "b.parquet", good_rows(), zone=None),
        write_csv(tmp_path / "d.csv", good_rows(), "%Y-%m-%d"),
    ):
        with pytest.raises(BarsInvalid, match=r"carry no zone; import .* --clock utc if they are"):
            store.read(path)
    for path in (tmp_path / "b.csv", tmp_path / "b.parquet"):
        with pytest.raises(BarsInvalid, match="carry no zone; say whose they are with --clock"):
            ingest(path, tmp_path / "out.parquet", Reading())
    assert names(tmp_path) == ["b.csv", "b.parquet", "d.csv"]


def test_another_tick_moves_the_grid(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "bars.csv", good_rows())
    assert store.read(path, Instrument(tick=0.05)).px[0].tolist() == [40000, 40050, 39985, 40022]


def test_a_wrong_tick_is_noticed(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "bars.csv", good_rows())
    assert (
        "20 x a price lies between two ticks (refused); line 2: high 2002.5, low 1999.25, "
        "close 2001.1, spread 0.25; --tick 0.01 fits all prices and spreads; --round rounds to 1;"
    ) in refusal(path, Instrument(tick=1.0))
