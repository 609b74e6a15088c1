"""The figures of `dream bars info`, on series whose holes are known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from dream.bars import content_hash, series, store, synth
from dream.bars.overview import overview
from dream.types import Bars, Instrument
from tests.bars.files import good_rows, write_csv

if TYPE_CHECKING:
    from pathlib import Path


def without(bars: Bars, *rows: int) -> Bars:
    keep = np.delete(np.arange(len(bars)), rows)
    t = (bars.t_close_ns - bars.bar_ns)[keep]
    return series(Instrument(), bars.bar_ns, t, bars.px[keep], bars.spread[keep], bars.volume[keep])


def test_full_days() -> None:
    seen = overview(synth.make(92 * 5, 1))
    assert (seen.bars, seen.days, seen.full_days, seen.half_days) == (460, 5, 5, 0)
    assert (seen.missing_bars, seen.closed_hour_bars, seen.bar_min) == (0, 0, 15)


def test_holes_inside_sessions_and_early_closes_are_told_apart() -> None:
    bars = synth.make(92 * 5, 1)
    third = 92 * 2
    seen = overview(without(bars, 100, 101, third))  # two inside a day, one at a day's head
    assert (seen.missing_bars, seen.full_days, seen.half_days) == (3, 3, 0)
    seen = overview(without(bars, *range(third + 80, third + 92)))  # a day's tail
    assert (seen.missing_bars, seen.full_days, seen.half_days) == (0, 4, 1)
    seen = overview(without(bars, *range(10), *range(450, 460)))  # the series' own ends
    assert (seen.missing_bars, seen.full_days, seen.half_days) == (0, 3, 0)


def test_prices_and_spreads() -> None:
    bars = synth.make(1_000, 1)
    seen = overview(bars)
    assert seen.low == bars.px.min() * 0.01
    assert seen.high == bars.px.max() * 0.01
    assert seen.spread is not None
    low, median, high, most = seen.spread
    assert low <= median <= high <= most == bars.spread.max() * 0.01
    assert seen.content_hash == content_hash(bars)


def test_no_spread_is_unknown_not_zero(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "spread"} for row in good_rows()]
    assert overview(store.read(write_csv(tmp_path / "b.csv", rows))).spread is None


def test_a_wrong_clock_shows_in_the_closed_hour(tmp_path: Path) -> None:
    # 92 bars a day on a clock of UTC + 2 that are said to be UTC: the break falls elsewhere.
    start = datetime(2024, 1, 9, 1, 0, tzinfo=UTC)
    stamps = [start + timedelta(days=d, minutes=15 * k) for d in range(3) for k in range(92)]
    rows = [row | {"timestamp": t} for row, t in zip(good_rows(276), stamps, strict=True)]
    seen = overview(store.read(write_csv(tmp_path / "b.csv", rows)))
    assert seen.closed_hour_bars == 3 * 4


def test_days_of_hours() -> None:
    bars = synth.make(92, 1)
    hours = slice(0, 92, 4)
    t = (bars.t_close_ns - bars.bar_ns)[hours]
    seen = overview(
        series(
            Instrument(), 4 * bars.bar_ns, t, bars.px[hours], bars.spread[hours], bars.volume[hours]
        )
    )
    assert (seen.bars, seen.full_days, seen.missing_bars, seen.bar_min) == (23, 1, 0, 60)
