"""The real 15-minute series: facts that were measured on it by other means."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from dream.bars import content_hash, store, synth
from dream.bars.clock import clocks
from dream.bars.ingest import ingest
from dream.bars.overview import overview
from dream.bars.reading import Reading

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Bars


@pytest.fixture(scope="module")
def real(real_bars_path: Path) -> Bars:
    return store.read(real_bars_path)


@pytest.fixture(scope="module")
def frame(real_bars_path: Path) -> pl.DataFrame:
    """The file as polars reads it, with the trading clock as polars converts it."""
    wall = pl.col("timestamp").dt.convert_time_zone("America/New_York").dt.replace_time_zone(None)
    return pl.read_parquet(real_bars_path).with_columns(
        clock=wall.dt.offset_by("7h"),
    )


def test_facts(real: Bars) -> None:
    seen = overview(real)
    assert seen.bars == 118_135
    assert clocks.iso(seen.from_ns) == "2021-06-13T22:00:00Z"
    assert clocks.iso(seen.to_ns) == "2026-06-11T08:15:00Z"
    assert seen.full_days == 1_247
    # 1 bar on 2021-12-22 23:00 UTC and 10 in the exchange's outage of 2025-11-28.
    assert seen.missing_bars == 11
    assert seen.closed_hour_bars == 0
    assert (seen.low, seen.high) == (pytest.approx(1614.75), pytest.approx(5598.55))
    assert seen.spread is None


def test_the_clock_agrees_with_polars(real: Bars, frame: pl.DataFrame) -> None:
    clock = frame["clock"]
    since_midnight = clock.dt.hour().cast(pl.Int32) * 60 + clock.dt.minute()
    assert np.array_equal(real.minute, since_midnight.to_numpy() + 15)
    assert np.array_equal(real.day, clock.dt.date().cast(pl.Int32).to_numpy())


def test_days_agree_with_polars(real: Bars, frame: pl.DataFrame) -> None:
    counts = Counter(frame["clock"].dt.date().to_list())
    seen = overview(real)
    assert seen.days == len(counts) == 1_290
    assert seen.full_days == sum(n == 92 for n in counts.values())
    short = {day: n for day, n in counts.items() if n < 92}
    # All but the day that lacks its first bar and the last day end early.
    assert seen.half_days == len(short) - 2 == 41


def test_prices_agree_with_polars(real: Bars, frame: pl.DataFrame) -> None:
    cents = frame.select((pl.col("open", "high", "low", "close") * 100).round().cast(pl.Int32))
    assert np.array_equal(real.px, cents.to_numpy())
    assert np.array_equal(real.volume, frame["volume"].to_numpy())
    assert np.array_equal(
        real.t_close_ns, frame["timestamp"].dt.epoch("ns").to_numpy() + 15 * 60 * 10**9
    )


def test_an_import_keeps_every_row(real: Bars, real_bars_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "gold.parquet"
    report = ingest(real_bars_path, out, Reading(clock="utc"))
    assert (report.rows_read, report.rows_kept, report.rounded) == (118_135, 118_135, 0)
    assert report.refused == ()
    assert content_hash(store.read(out)) == content_hash(real)
    assert out.stat().st_size < real_bars_path.stat().st_size


def test_the_target_span(real_bars_path: Path) -> None:
    bars = store.read(
        real_bars_path,
        from_ns=clocks.parse_instant("2024-01-01"),
        to_ns=clocks.parse_instant("2026-04-01"),
    )
    assert len(bars) == 53_119
    assert bars.px[0, 0] == 206_360
    assert bars.px[-1, 3] == 469_636


def test_the_made_up_calendar_is_the_real_one(real: Bars) -> None:
    made = synth.make(len(real) + 92, 1, start_ns=int(real.t_close_ns[0]) - real.bar_ns)
    last = int(real.day[-1])  # the file ends in the middle of it
    assert set(real.day.tolist()) == {d for d in made.day.tolist() if d <= last}

    def early(bars: Bars) -> set[int]:
        ends = np.flatnonzero(np.diff(bars.day, append=bars.day[-1] + 1))
        return {int(bars.day[i]) for i in ends if bars.minute[i] < 1440 and bars.day[i] < last}

    assert early(made) == early(real)


def test_the_figures_that_the_generator_is_held_to(real_bars_path: Path) -> None:
    """Those of test_calibration.py, measured on the data themselves."""
    bars = store.read(
        real_bars_path,
        from_ns=clocks.parse_instant("2024-01-01"),
        to_ns=clocks.parse_instant("2026-04-01"),
    )
    r = np.diff(np.log(bars.px[:, 3])) * 1e4
    r = r[np.diff(bars.t_close_ns) == bars.bar_ns]
    size = np.abs(r) - np.abs(r).mean()
    assert r.std() == pytest.approx(13.31, abs=0.01)
    assert np.abs(r).mean() == pytest.approx(7.92, abs=0.01)
    assert np.quantile(np.abs(r), 0.99) == pytest.approx(49.4, abs=0.1)
    for k, real in ((1, 0.366), (4, 0.306), (16, 0.206), (92, 0.232)):
        assert (size[:-k] * size[k:]).mean() / (size**2).mean() == pytest.approx(real, abs=0.001)
    wide = (bars.px[:, 1] - bars.px[:, 2]) / bars.px[:, 0] * 1e4
    assert np.median(wide) == pytest.approx(11.99, abs=0.01)
    assert wide[bars.minute == 75].mean() == pytest.approx(22.8, abs=0.1)
    assert wide[bars.minute == 1005].mean() == pytest.approx(32.2, abs=0.1)
