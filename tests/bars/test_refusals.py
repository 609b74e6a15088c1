"""Wrong files: each is refused with its row, what was found, what was expected, and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import polars as pl
import pytest

from dream.bars import store
from dream.bars.check import Reading
from dream.bars.importers import ingest as importing
from dream.bars.importers import plain_csv
from dream.bars.importers.ingest import ingest
from dream.errors import BarsInvalid
from dream.types import Instrument
from tests.bars.files import START, Row, csv_text, good_rows, write_csv, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAN, INF = float("nan"), float("inf")
WRITERS = {"csv": write_csv, "parquet": write_parquet}


def refusal(path: Path, instrument: Instrument | None = None) -> str:
    """The message, the same for reading a file and for importing it; an import leaves nothing."""
    with pytest.raises(BarsInvalid) as read:
        store.read(path, instrument)
    out = path.with_name("out.parquet")
    with pytest.raises(BarsInvalid) as imported:
        ingest(path, out, Reading(instrument or Instrument(), "utc"))
    assert str(read.value) == str(imported.value)
    assert [p for p in path.parent.iterdir() if p != path] == []
    assert "\n" not in str(read.value)
    return str(read.value)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("changes", "row", "said"),
    [
        ({"close": NAN}, 8, "close is missing, NaN or infinite; expected a number"),
        ({"high": INF}, 8, "high is missing, NaN or infinite"),
        ({"volume": NAN}, 8, "volume is missing, NaN or infinite; expected a number, 0 where"),
        ({"spread": -INF}, 8, "spread is missing, NaN or infinite"),
        ({"low": -1.0}, 8, "low -1.0 is negative"),
        ({"low": 0.0}, 8, "low of 0 ticks is not positive; expected at least one tick"),
        ({"volume": -3.0}, 8, "volume -3.0 is negative"),
        ({"spread": -0.5}, 8, "spread -0.5 is negative"),
        ({"high": 2008.09}, 8, "high is below the open or the close (in ticks: open 200700"),
        ({"high": 2006.99, "close": 2006.50}, 8, "high is below the open or the close"),
        ({"low": 2007.01}, 8, "low is above the open or the close"),
        ({"low": 2006.60, "close": 2006.50}, 8, "low is above the open or the close"),
        ({"open": 2007.004}, 8, "open 2007.004 is off the tick grid of 0.01"),
        ({"close": 2008.10002}, 8, "close 2008.10002 is off the tick grid"),
        ({"spread": 0.255}, 8, "spread 0.255 is off the tick grid"),
        ({"high": 5_368_709.13}, 8, "high 5368709.13 is beyond 536870912 ticks of 0.01"),
        ({"timestamp": START + timedelta(minutes=90)}, 8, "the same as in the row before"),
        ({"timestamp": START + timedelta(minutes=15)}, 8, "earlier than 2024-01-08T02:30:00Z"),
        ({"timestamp": START + timedelta(minutes=107)}, 8, "off the grid of 15-minute bars"),
        ({"timestamp": START + timedelta(minutes=105, seconds=1)}, 8, "off the grid"),
        ({"timestamp": START + timedelta(days=400)}, 9, "earlier than 2025-02-11"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, kind: str, changes: Row, row: int, said: str) -> None:
    rows = good_rows()
    rows[7] |= changes
    path = WRITERS[kind](tmp_path / f"bars.{kind}", rows)
    message = refusal(path)
    stamp = rows[row - 1]["timestamp"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert message.startswith(f"{path}, row {row} ({stamp}): ")
    assert said in message
    assert "; " in message


@pytest.mark.parametrize("kind", WRITERS)
def test_the_first_and_the_last_row_are_checked_too(tmp_path: Path, kind: str) -> None:
    for row in (1, 20):
        rows = good_rows()
        rows[row - 1]["low"] = 9999.0
        path = WRITERS[kind](tmp_path / f"bars.{kind}", rows)
        assert f", row {row} (" in refusal(path)


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("close", "", "close is ''; expected a number"),
        ("close", '"2,008.10"', "close is '2,008.10'; expected a number"),
        ("close", "2008.1x", "close is '2008.1x'"),
        ("close", "1_000", "close is '1_000'"),
        ("volume", "many", "volume is 'many'"),
        ("timestamp", "1704675600", "timestamp is '1704675600'; expected an ISO 8601 time"),
        ("timestamp", "", "timestamp is ''; expected an ISO 8601 time such as 2024-01-02T23"),
        ("timestamp", "2024-02-30T00:00:00Z", "expected an ISO 8601 time"),
        ("timestamp", "2024-01-08T25:00:00Z", "expected an ISO 8601 time"),
        ("timestamp", "08.01.2024 02:45:00", "expected an ISO 8601 time"),
        ("timestamp", "2024-01-08T02:45:00+05:30", "its offset is not zero; expected UTC"),
        ("timestamp", "2024-01-08 02:45:00-0500", "its offset is not zero"),
        ("timestamp", "9999-01-08T02:45:00Z", "outside 1900 to 2199"),
        ("timestamp", "0001-01-08T02:45:00Z", "outside 1900 to 2199"),
    ],
)
def test_csv_text_that_does_not_parse(tmp_path: Path, field: str, text: str, said: str) -> None:
    rows = good_rows()
    rows[7][field] = text
    message = refusal(write_csv(tmp_path / "bars.csv", rows))
    assert ", row 8" in message
    assert said in message


def test_parquet_nulls(tmp_path: Path) -> None:
    for field, said in (("timestamp", "timestamp is missing"), ("close", "close is missing")):
        rows = good_rows()
        rows[7][field] = None
        message = refusal(write_parquet(tmp_path / "bars.parquet", rows))
        assert ", row 8" in message
        assert said in message


def test_parquet_stamp_beyond_any_market(tmp_path: Path) -> None:
    rows = good_rows()
    rows[-1]["timestamp"] = datetime(9000, 1, 1, tzinfo=UTC)
    assert "row 20: the stamp lies outside" in refusal(write_parquet(tmp_path / "b.parquet", rows))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines[:9], lines[9] + ",7", *lines[10:]], "row 9: Expected 7 columns"),
        (
            lambda lines: [*lines[:9], "<<<<<<< HEAD", *lines[9:]],
            "row 9: Expected 7 columns, got 1",
        ),
        (lambda lines: ["", *lines], "no column timestamp"),
        (lambda lines: ["# gold", *lines], "found # gold"),
        (lambda lines: [*lines[:3], lines[0], *lines[3:]], "row 3: timestamp is 'timestamp'"),
        (lambda lines: [x.replace(",", ";") for x in lines], "separated by a semicolon"),
        (lambda lines: [lines[0].replace("spread", "high"), *lines[1:]], "two columns high"),
        (lambda lines: [lines[0].replace("close", "last"), *lines[1:]], "no column close"),
    ],
)
def test_csv_of_another_layout(
    tmp_path: Path, change: Callable[[list[str]], list[str]], said: str
) -> None:
    path = tmp_path / "bars.csv"
    path.write_text("\n".join(change(csv_text(good_rows()).splitlines())) + "\n", encoding="utf-8")
    assert said in refusal(path)


def test_a_row_number_counts_rows_across_blocks_and_not_empty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_csv, "BLOCK_BYTES", 4096)
    rows = good_rows(1000)
    lines = csv_text(rows).splitlines()
    lines[700] += ",7"
    lines.insert(10, "")
    path = tmp_path / "bars.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert "row 700: Expected 7 columns, got 8" in refusal(path)
    rows[699]["high"] = 0.01
    assert "row 700 (" in refusal(write_csv(path, rows))


@pytest.mark.parametrize("kind", WRITERS)
def test_wrong_columns_are_listed(tmp_path: Path, kind: str) -> None:
    renamed = [{("time" if k == "timestamp" else k): v for k, v in r.items()} for r in good_rows()]
    path = tmp_path / f"bars.{kind}"
    if kind == "csv":
        write_csv(path, renamed)
    else:
        pl.DataFrame(renamed).write_parquet(path)
    message = refusal(path)
    assert "no column timestamp" in message
    assert "found time, open, high, low, close, volume, spread" in message


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("timestamp", "2024-01-08", "column timestamp is large_string; expected a timestamp type"),
        ("timestamp", 1_704_675_600, "column timestamp is int64; expected a timestamp type"),
        ("close", "2000.0", "column close is large_string; expected a number type"),
        ("close", True, "column close is bool; expected a number type"),
    ],
)
def test_parquet_types(tmp_path: Path, field: str, value: object, said: str) -> None:
    path = tmp_path / "bars.parquet"
    pl.DataFrame([row | {field: value} for row in good_rows()]).write_parquet(path)
    assert said in refusal(path)


def test_parquet_in_another_zone(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "bars.parquet", good_rows(), zone="Europe/Athens")
    assert "column timestamp has the zone Europe/Athens; expected UTC" in refusal(path)


def test_stamps_without_a_zone_are_not_guessed(tmp_path: Path) -> None:
    naive = "%Y-%m-%d %H:%M:%S"
    for path, where in (
        (write_csv(tmp_path / "b.csv", good_rows(), naive), "row 1: timestamp '2024-01-08 01:00"),
        (write_parquet(tmp_path / "b.parquet", good_rows(), zone=None), "column timestamp has no"),
    ):
        with pytest.raises(BarsInvalid, match=r"import it with --clock utc") as caught:
            store.read(path)
        assert where in str(caught.value)


def test_one_naive_stamp_among_others(tmp_path: Path) -> None:
    rows = good_rows()
    rows[7]["timestamp"] = "2024-01-08T02:45:00"
    with pytest.raises(BarsInvalid, match=r"row 8: .* has no time zone"):
        store.read(write_csv(tmp_path / "b.csv", rows))


def at_minutes(minutes: list[int]) -> list[Row]:
    rows = good_rows(len(minutes))
    return [
        row | {"timestamp": START + timedelta(minutes=m)}
        for row, m in zip(rows, minutes, strict=True)
    ]


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        ([0], "one row says nothing about the length of a bar"),
        ([0, 7, 14, 21], "7 minutes long"),
        ([0, 2880, 5760], "2880 minutes long"),
        # hours first, quarters after: the quarters are more, the hours are no holes
        ([*range(0, 840, 60), *range(840, 1440, 15)], "row 1 "),
        # quarters first, then three days of daily bars
        ([*range(0, 600, 15), *(1440 * d for d in range(1, 5))], "row 41 "),
    ],
)
def test_bar_length_unknown_or_mixed(tmp_path: Path, minutes: list[int], said: str) -> None:
    assert said in refusal(write_csv(tmp_path / "bars.csv", at_minutes(minutes)))


def test_mixed_lengths_across_stretches_of_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "ROWS_AT_ONCE", 7)
    minutes = [*range(0, 1500, 15), *range(1500, 3000, 60), *range(3000, 6000, 15)]
    path = write_csv(tmp_path / "bars.csv", at_minutes(minutes))
    assert "row 101 " in refusal(path)


def test_missing_bars_are_no_mixture(tmp_path: Path) -> None:
    minutes = [m for m in range(0, 3000, 15) if m % 75 != 30]
    bars = store.read(write_csv(tmp_path / "bars.csv", at_minutes(minutes)))
    assert len(bars) == len(minutes)
    assert bars.bar_ns == 15 * 60 * 10**9


def test_bars_longer_than_an_hour_may_follow_the_trading_clock(tmp_path: Path) -> None:
    # H4 bars of a New York + 7 h terminal open at 22:00 UTC in winter and 21:00 in summer.
    winter = [datetime(2024, 3, 7, 22, tzinfo=UTC) + timedelta(hours=4 * k) for k in range(6)]
    summer = [datetime(2024, 3, 11, 21, tzinfo=UTC) + timedelta(hours=4 * k) for k in range(6)]
    rows = [r | {"timestamp": t} for r, t in zip(good_rows(12), winter + summer, strict=True)]
    bars = store.read(write_csv(tmp_path / "bars.csv", rows))
    assert bars.bar_ns == 4 * 3600 * 10**9
    assert bars.minute.tolist() == [240, 480, 720, 960, 1200, 1440] * 2
    rows[8]["timestamp"] += timedelta(hours=1)
    assert "row 9 (2024-03-12T06:00:00Z): the stamp is off the grid of 240-minute bars" in refusal(
        write_csv(tmp_path / "bars.csv", rows)
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; expected a Parquet or CSV file"),
        (b"timestamp,open,high,low,close", "has a header and no rows"),
        (b"timestamp,open,high,low,close\n", "has a header and no rows"),
        (b"timestamp,open,high,low,close\n\n\n", "has no rows"),
        (b"PAR1", "is damaged: "),
        (b"PAR1" + bytes(100) + b"PAR1", "is damaged: "),
        (b"\xff\xfet\x00i\x00m\x00e\x00", "is not a readable CSV file"),
        (b"timestamp,open,high,low,close\n\xff,1,1,1,1\n", "row 1: "),
        (b"timestamp,open,high,low,close\n" + b"x" * 5_000_000, "a line is longer than"),
        (b"x" * 200_000, "no column timestamp"),
    ],
)
def test_what_is_not_a_bar_file(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bars.csv"
    path.write_bytes(content)
    message = message_of(path)
    assert said in message
    assert len(message) < 600


def message_of(path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught:
        store.read(path)
    with pytest.raises(BarsInvalid):
        ingest(path, path.with_name("out.parquet"), Reading(clock="utc"))
    assert not path.with_name("out.parquet").exists()
    return str(caught.value)


def test_an_empty_parquet(tmp_path: Path) -> None:
    path = tmp_path / "bars.parquet"
    pl.DataFrame(good_rows(2)).clear().write_parquet(path)
    assert "has no rows" in message_of(path)


def test_a_cut_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "bars.parquet", good_rows())
    path.write_bytes(path.read_bytes()[:-200])
    assert "is damaged: " in message_of(path)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    below = write_csv(tmp_path / "bars.csv", good_rows()) / "bars.csv"
    for path, said in (
        (tmp_path, "found a folder"),
        (tmp_path / "none.csv", "No such file"),
        (below, "Not a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(BarsInvalid, match=said) as caught:
            store.read(path)
        assert str(path) in str(caught.value)
        with pytest.raises(BarsInvalid, match=said):
            ingest(path, tmp_path / "out.parquet", Reading(clock="utc"))


def test_another_tick_moves_the_grid(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "bars.csv", good_rows())
    assert store.read(path, Instrument(tick=0.05)).px[0].tolist() == [40000, 40050, 39985, 40022]


def test_a_wrong_tick_is_noticed(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "bars.csv", good_rows())
    assert "row 1 (2024-01-08T01:00:00Z): high 2002.5 is off the tick grid of 1;" in refusal(
        path, Instrument(tick=1.0)
    )
