"""What is missing: the facts of the real files, and bars that were taken out."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.checks.holes import Holes, holes
from dream.bars.clock.clocks import instants, iso
from tests.bars import by_hand

MINUTE_NS = 60 * 10**9
MONDAY = 18_631 + 3 * 7
"""2021-01-25, before eight weeks without a US holiday but one, 02-15."""


def series(bar_min: int, weeks: int = 3, first: int = MONDAY) -> np.ndarray:
    """(n,) open times of whole trading days."""
    days = [first + 7 * week + k for week in range(weeks) for k in range(5)]
    return np.concatenate(
        [instants(np.array([d]), 60) + np.arange(0, 1380, bar_min) * MINUTE_NS for d in days]
    )


def found(name: str) -> Holes:
    columns = by_hand.read(name)
    return holes(columns.t, columns.bar_ns)


# Real files


def test_the_clean_series() -> None:
    h = found("xauusd_m15_real.parquet")
    assert (h.days, h.full_days, h.half_days, h.closed_days) == (1_290, 1_247, 40, 14)
    # The first bar of a day, and the exchange's outage.
    assert h.places(9) == (
        "2021-12-22T22:00:00Z to 2021-12-22T23:15:00Z: 1 bar",
        "2025-11-28T08:30:00Z to 2025-11-28T11:00:00Z: 10 bars",
    )
    assert h.opens_min.tolist() == [60] * 5
    assert h.closes_min.tolist() == [1440] * 5


def test_fourteen_holes_of_months() -> None:
    h = found("dukascopy_node_h1_epoch_ms_holes.csv")
    months = (h.to_ns - h.from_ns) / (30 * 1440 * MINUTE_NS)
    long = months > 0.9
    assert long.sum() == 14
    assert months[long].max() < 6.2
    # Two more of a day each, close to the end of the file.
    assert h.bars[~long].tolist() == [24, 23]
    assert (h.quiet, h.bars[long].min() > 450) == (0, True)


def test_the_two_holes_of_a_history() -> None:
    h = found("mt4_history_m15_holes.csv")
    longest = np.sort(np.argsort(h.bars)[-2:])
    # Server time is two hours ahead of UTC: 12:00 is the close of the bar before 10:00 UTC.
    assert [h.places(9)[k] for k in longest] == [
        "2020-03-11T10:15:00Z to 2020-03-15T22:00:00Z: 227 bars",
        "2020-03-23T21:00:00Z to 2020-03-29T22:00:00Z: 368 bars",
    ]
    assert "2020-03-29T22:15:00Z to 2020-03-30T00:30:00Z: 9 bars" in h.places(9)
    assert h.closed_days == 1  # Good Friday


def test_fourteen_months() -> None:
    h = found("m15_invented_head_then_hole.csv")
    assert h.places(9) == ("2024-01-01T02:30:00Z to 2025-02-28T06:15:00Z: 26249 bars",)


@pytest.mark.parametrize(
    "name",
    [
        "mt5_python_m15_gold_spread.csv",
        "tradingview_m5_iso_plus0530.csv",
        "mt4_script_m5_semicolon_no_volume.csv",
        "m15_buddhist_year_ampm.csv",
        "m15_headerless_yyyymmdd_hhmmss.csv",
        "yahoo_gcf_d1_three_row_header.csv",
        "investing_com_d1.csv",
    ],
)
def test_files_without_holes(name: str) -> None:
    assert found(name).places(5) == ()


def test_a_feed_that_always_opens_late_has_no_hole_at_its_head() -> None:
    h = found("mt5_m5_symbol_column.csv")
    assert set(h.opens_min.tolist()) == {65}
    # In its first week an hour is missing before each day's end; the rest is whole.
    assert h.bars.tolist() == [12, 12, 12, 12, 14]


# Generated files


@given(st.sets(st.integers(1, 3 * 5 * 92 - 2), max_size=40))
def test_what_is_taken_out_is_found(out: set[int]) -> None:
    t = series(15)
    kept = np.delete(t, sorted(out))
    h = holes(kept, 15 * MINUTE_NS)
    runs = [
        [k for _, k in run] for _, run in groupby(enumerate(sorted(out)), lambda p: p[1] - p[0])
    ]
    assert h.bars.tolist() == [len(run) for run in runs]
    assert h.to_ns.tolist() == [t[run[-1] + 1] for run in runs]
    assert h.from_ns.tolist() == [t[run[0] - 1] + 15 * MINUTE_NS for run in runs]
    assert h.full_days == 15 - len({k // 92 for k in out})
    assert h.quiet == 0


@pytest.mark.parametrize("bar_min", [1, 5])
def test_minutes_without_a_tick_are_counted_apart(bar_min: int) -> None:
    t = series(bar_min)
    per_day = 1380 // bar_min
    short, long = 30 // bar_min - 1, 30 // bar_min
    out = [*range(100, 100 + short), *range(per_day + 100, per_day + 100 + long)]
    h = holes(np.delete(t, out), bar_min * MINUTE_NS)
    assert (h.quiet, h.quiet_bars, h.bars.tolist()) == (1, short, [long])
    assert h.full_days == 14


def test_bars_of_four_hours() -> None:
    days = [MONDAY + 7 * week + k for week in range(3) for k in range(5)]
    t = np.concatenate([instants(np.array([d]), 0) + np.arange(6) * 240 * MINUTE_NS for d in days])
    assert len(holes(t, 240 * MINUTE_NS)) == 0
    assert holes(np.delete(t, [3, 40, 41]), 240 * MINUTE_NS).bars.tolist() == [1, 2]


@pytest.mark.parametrize("minute", [0, 120, 600])
def test_daily_bars(minute: int) -> None:
    days = np.array([MONDAY + 7 * week + k for week in range(6) for k in range(5)])
    holiday = 15  # 2021-02-15: an expected day off, the day before is none
    t = np.delete(instants(days, minute), [7, 14, holiday])
    h = holes(t, 1440 * MINUTE_NS)
    assert h.bars.tolist() == [1, 1]
    assert (h.days, h.closed_days) == (27, 1)


THANKSGIVING = 18_956
"""2021-11-25, a Thursday. Christmas Eve was a Friday and closed."""


def test_half_days_are_expected_on_holidays_only() -> None:
    t = series(15, weeks=8, first=THANKSGIVING - 17)
    thanksgiving, wednesday, christmas = (day * 92 for day in (13, 17, 34))
    half = range(thanksgiving + 75, thanksgiving + 92)
    other = range(wednesday + 75, wednesday + 92)
    h = holes(np.delete(t, [*half, *other, *range(christmas, christmas + 92)]), 15 * MINUTE_NS)
    assert (h.half_days, h.closed_days, h.bars.tolist()) == (1, 1, [17])
    assert iso(int(h.to_ns[0])) == "2021-12-01T23:00:00Z"
    # An end in the morning is not a holiday's.
    morning = range(thanksgiving + 20, thanksgiving + 92)
    assert holes(np.delete(t, morning), 15 * MINUTE_NS).bars.tolist() == [72]


def test_a_late_morning_is_expected_after_a_holiday() -> None:
    t = series(15, weeks=3, first=THANKSGIVING - 3)
    friday, monday = 4 * 92, 5 * 92
    late = [*range(friday, friday + 28), *range(monday, monday + 28)]
    assert holes(np.delete(t, late), 15 * MINUTE_NS).bars.tolist() == [28]


def test_one_bar_and_two_far_apart() -> None:
    t = series(15)
    assert len(holes(t[:1], 15 * MINUTE_NS)) == 0
    years = np.array([t[0], t[0] + 40_000 * 1440 * MINUTE_NS])
    h = holes(years // (900 * 10**9) * 900 * 10**9, 15 * MINUTE_NS)
    assert len(h) == 1
