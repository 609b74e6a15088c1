"""Opening times in Parquet: every unit, zone and kind that files have."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.bars.parquet_files import (
    CLOSE,
    HIGH,
    LOW,
    OPEN,
    SECONDS,
    START_S,
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


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(("zone", "clock"), [(None, "wall"), ("UTC", "utc"), ("Etc/UTC", "utc")])
def test_timestamps(tmp_path: Path, unit: str, zone: str | None, clock: str) -> None:
    stamp = pa.array(WALL, pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    layout, rows = load(put(tmp_path, bars(stamp), row_group_size=7))
    is_right(rows)
    assert (layout.format, layout.clock, layout.bar_ns) == ("Parquet", clock, None)
    assert (layout.has_volume, layout.has_spread, layout.unused) == (True, False, ())
    assert rows.volume.tolist() == [100 + k for k in range(N)]
    assert rows.spread.tolist() == [0] * N


def test_another_zone(tmp_path: Path) -> None:
    """Midnight UTC is 05:30 in India, and stored as midnight UTC."""
    stamp = utc("us").cast(pa.timestamp("us", "Asia/Kolkata"))
    assert stamp[0].as_py().hour == 5
    layout, rows = load(put(tmp_path, bars(stamp)))
    is_right(rows)
    assert layout.clock == "per-row"
    assert layout.notes == ("times have the zone Asia/Kolkata; read as instants",)


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")],
)
@pytest.mark.parametrize("kind", ["int64", "float64", "uint64"])
def test_epoch_numbers(tmp_path: Path, factor: int, unit: str, kind: str) -> None:
    layout, rows = load(put(tmp_path, bars((SECONDS * factor).astype(kind))))
    is_right(rows)
    assert (layout.clock, layout.notes) == ("utc", (f"times are {unit} since 1970",))


@pytest.mark.parametrize(
    ("form", "clock", "ahead_h"),
    [
        ("%Y-%m-%d %H:%M:%S", "wall", 0),
        ("%Y-%m-%dT%H:%M:%SZ", "utc", 0),
        ("%Y-%m-%d %H:%M:%S.000000+00:00", "utc", 0),
        ("%Y.%m.%d %H:%M", "wall", 0),
        ("%Y/%m/%d %H:%M:%S+0530", "per-row", -5.5),
        ("%Y-%m-%dT%H:%M:%S-05:00", "per-row", 5),
        (" %Y-%m-%d %H:%M:%S UTC ", "utc", 0),
    ],
)
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text(tmp_path: Path, form: str, clock: str, ahead_h: float, kind: Any) -> None:
    stamp = pa.array([w.strftime(form) for w in WALL], pa.string()).cast(kind)
    layout, rows = load(put(tmp_path, bars(stamp)))
    assert layout.clock == clock
    assert rows.stamp_ns.tolist() == [int((s + 3600 * ahead_h) * 10**9) for s in SECONDS]


def test_dates_and_times_apart(tmp_path: Path) -> None:
    days = [w.date() for w in WALL]
    clock = [w.time() for w in WALL]
    text = [w.strftime("%H:%M") for w in WALL]
    for date, time in (
        (pa.array(days, pa.date32()), pa.array(clock, pa.time64("us"))),
        (pa.array(days, pa.date32()).cast(pa.timestamp("ns")), text),
        ([w.strftime("%Y.%m.%d") for w in WALL], [f"{t}:00" for t in text]),
    ):
        layout, rows = load(put(tmp_path, {"<DATE>": date, **bars(time, "<TIME>")}))
        is_right(rows)
        assert (layout.clock, layout.unused) == ("wall", ())
    layout, rows = load(put(tmp_path, {"date": days, **bars(utc())}))
    is_right(rows)
    assert (layout.clock, layout.unused) == ("utc", ("date",))
    layout, rows = load(put(tmp_path, {"date": days, **bars(SECONDS)}))
    is_right(rows)


def test_dates_alone(tmp_path: Path) -> None:
    days = [datetime(2024, 1, 8).date() + timedelta(days=k) for k in range(N)]  # noqa: DTZ001
    for stamp in (
        pa.array(days, pa.date32()), pa.array(days, pa.date64()), [d.isoformat() for d in days],
    ):  # fmt: skip
        layout, rows = load(put(tmp_path, bars(stamp, "Date")))
        assert layout.clock == "date"
        assert rows.stamp_ns.tolist() == [(START_S + 86_400 * k) * 10**9 for k in range(N)]


def test_midnights_without_a_time(tmp_path: Path) -> None:
    """Spreadsheets leave the time out where it is midnight."""
    stamp = [w.strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00") for w in WALL]
    assert stamp[0] == "2024-01-08"
    layout, rows = load(put(tmp_path, bars(stamp)))
    is_right(rows)
    assert layout.clock == "wall"


def test_stamps_that_are_none(tmp_path: Path) -> None:
    text: list[str | None] = [w.strftime("%Y-%m-%d %H:%M") for w in WALL]
    text[3], text[5], text[7] = None, "2024-01-08 24:00", "2024-01-08 01:45Z"
    text[9], text[11] = "ü", "2024-02-30 01:00"
    path = put(tmp_path, bars(text))
    _, rows = load(path)
    assert [row.line for row in rows.bad] == [4, 6, 8, 10, 12]
    assert {row.kind for row in rows.bad} == {"unreadable"}
    assert rows.bad[0].found == "the stamp is missing"
    assert rows.bad[1].found == "the stamp is '2024-01-08 24:00', unlike those before"
    assert rows.line.tolist() == [k for k in range(1, N + 1) if k not in {4, 6, 8, 10, 12}]
    assert rows.px[3].tolist() == [OPEN[4], HIGH[4], LOW[4], CLOSE[4]]


@pytest.mark.parametrize("kind", ["timestamp", "int", "float", "date"])
def test_missing_stamps(tmp_path: Path, kind: str) -> None:
    numbers = SECONDS.astype(float)
    numbers[[0, 20]] = np.nan
    stamp = {
        "timestamp": pa.array([None if k in {0, 20} else w for k, w in enumerate(WALL)]),
        "int": pa.array([None if k in {0, 20} else s for k, s in enumerate(SECONDS.tolist())]),
        "float": numbers,
        "date": pa.array([None if k in {0, 20} else w.date() for k, w in enumerate(WALL)]),
    }[kind]
    _, rows = load(put(tmp_path, bars(stamp), row_group_size=16))
    assert [row.line for row in rows.bad] == [1, 21]
    assert len(rows.line) == N - 2
    assert rows.px[19].tolist() == [OPEN[21], HIGH[21], LOW[21], CLOSE[21]]


def test_epochs_of_another_unit(tmp_path: Path) -> None:
    """Seconds among milliseconds would read as January 1970."""
    for kind in ("int64", "float64"):
        stamp = (SECONDS * 1000).astype(kind)
        stamp[[2, 7]] = SECONDS[2], SECONDS[7] * 10**6
        _, rows = load(put(tmp_path, bars(stamp)))
        assert [row.line for row in rows.bad] == [3, 8]
        assert rows.bad[0].found.startswith("the stamp is '1704673800")
        assert rows.stamp_ns.min() == START_S * 10**9


def test_stamps_far_away(tmp_path: Path) -> None:
    stamp = SECONDS.copy()
    stamp[4] = 2**50
    _, rows = load(put(tmp_path, bars(pa.array(stamp).cast(pa.timestamp("s")))))
    assert [(row.line, row.kind) for row in rows.bad] == [(5, "unreadable")]
    assert "outside 1900 to 2199" in rows.bad[0].found


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        (["8 January"] * N, "column time is text such as '8 January'; expected timestamps, or ISO"),
        ([None] * N, "column time is null"),
        (pa.array([None] * N, pa.string()), "text without a value"),
        (pa.array([None] * N, pa.timestamp("s")), "row 1: the stamp is missing, and so are the"),
        ([20240108 + k % 20 for k in range(N)], "writes dates as numbers, such as 20240108"),
        ([202401080000 + k for k in range(N)], "writes dates as numbers"),
        ([20240108000000 + k for k in range(N)], "writes dates as numbers"),
        (list(range(N)), "holds numbers such as 19.5"),
        ([True] * N, "column time is bool"),
        ([[1]] * N, "column time is list"),
        ([w.time() for w in WALL], "column time is time64"),
    ],
)
def test_stamps_that_are_refused(tmp_path: Path, stamp: Any, said: str) -> None:
    assert said in refusal(put(tmp_path, bars(stamp)))
