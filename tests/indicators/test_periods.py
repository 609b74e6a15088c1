"""Completed periods: what is known at which bar, with holes, half days and clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import BarsInvalid, SpecInvalid
from dream.indicators import atr, atr_d1, atr_h1, atr_m15, periods
from tests.indicators import slow
from tests.indicators.series import FIRST_DAY, GRID, bars_of, real, walk


def test_an_hour_is_known_at_the_bar_that_ends_it():
    rows = [
        (1, 75, 10, 12, 9, 11),
        (1, 90, 11, 15, 11, 14),
        (1, 105, 14, 14, 8, 9),
        (1, 120, 9, 10, 9, 10),
        (1, 135, 20, 21, 19, 20),
    ]
    hours = periods(bars_of(rows), 60)
    assert hours.px.tolist() == [[10, 15, 8, 10]]
    assert hours.last.tolist() == [-1, -1, -1, 0, 0]


def test_an_hour_without_its_last_bar_is_known_at_the_next_bar_of_whatever_day():
    rows = [
        (1, 1410, 10, 12, 9, 11),
        (1, 1425, 11, 15, 11, 14),  # the bar that closes at 24:00 is missing
        (4, 90, 20, 21, 19, 20),  # after a weekend; the hour's first bar is missing
        (4, 120, 30, 31, 29, 30),
    ]
    bars = bars_of(rows)
    assert periods(bars, 60).last.tolist() == [-1, -1, 0, 1]
    assert periods(bars, 60).px.tolist() == [[10, 15, 9, 14], [20, 31, 19, 30]]
    assert periods(bars, 1440).last.tolist() == [-1, -1, 0, 0]
    assert periods(bars, 1440).px.tolist() == [[10, 15, 9, 14]]


def test_an_hour_without_bars_does_not_exist():
    rows = [(1, 120, 10, 12, 9, 11), (1, 240, 20, 21, 19, 20)]
    hours = periods(bars_of(rows), 60)
    assert hours.px.tolist() == [[10, 12, 9, 11], [20, 21, 19, 20]]
    assert hours.last.tolist() == [0, 1]


def test_an_hour_that_the_clock_repeats_is_two_periods():
    """A market without a weekend sees its clock set back; the closed hour must not change."""
    hour = [(1, m, 10, 12, 9, 11) for m in (495, 510, 525, 540)]
    again = [(1, m, 50, 60, 40, 55) for m in (495, 510, 525, 540)]
    hours = periods(bars_of(hour + again), 60)
    assert hours.px.tolist() == [[10, 12, 9, 11], [50, 60, 40, 55]]
    assert hours.last.tolist() == [-1, -1, -1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("minutes", [15, 30, 60, 240, 1440])
def test_periods_are_those_whose_end_has_passed(minutes):
    rows = walk(11, 9)
    found = periods(bars_of(rows), minutes)
    for i in range(len(rows)):
        expected = slow.completed(rows[: i + 1], minutes)
        assert found.last[i] == len(expected) - 1
        if expected:
            assert tuple(found.px[found.last[i]]) == expected[-1]
    assert found.px.tolist() == [list(p) for p in expected]


@given(st.integers(0, 40), st.integers(0, 700))
def test_a_prefix_knows_the_same_periods(seed, cut):
    bars = bars_of(walk(seed, 8))
    short = bars.prefix(cut)
    for minutes in (15, 60, 1440):
        whole, part = periods(bars, minutes), periods(short, minutes)
        np.testing.assert_array_equal(part.last, whole.last[:cut])
        np.testing.assert_array_equal(part.px, whole.px[: len(part.px)])
        np.testing.assert_array_equal(atr(short, minutes), atr(bars, minutes)[:cut])


def test_the_first_atr_comes_with_the_fifteenth_period():
    rows = [(1 + d, m, 100, 103, 99, 100) for d in range(16) for m in GRID]
    bars = bars_of(rows)
    for values, fifteenth in (
        (atr_m15(bars), 14),
        (atr_h1(bars), 4 * 15 - 1),
        (atr_d1(bars), 92 * 15 - 1),
    ):
        assert np.isnan(values[:fifteenth]).all()
        assert (values[fifteenth:] == 4.0).all()


def test_atr_of_a_day_by_hand():
    """Fourteen days of range 10, then one of 24: (10 * 13 + 24) / 14 = 11, from its end on."""
    rows = [(d, m, 100, 106, 96, 100) for d in range(1, 16) for m in (720, 1440)]
    rows += [(16, 720, 100, 112, 88, 100), (16, 1440, 100, 100, 100, 100), (17, 75, 99, 99, 99, 99)]
    assert atr_d1(bars_of(rows))[-4:].tolist() == [10.0, 10.0, 11.0, 11.0]


def test_today_is_never_in_the_atr_of_days():
    """Everything after 10:00 of one day changes; what was shown up to 10:00 does not."""
    rows = walk(5, 20, holes=False)
    day = rows[-1][0]
    late = [(*r[:2], 1, 900_000, 1, 5) if r[0] == day and r[1] > 600 else r for r in rows]
    before, after = atr_d1(bars_of(rows)), atr_d1(bars_of(late))
    at_ten = next(i for i, r in enumerate(rows) if r[0] == day and r[1] == 600)
    np.testing.assert_array_equal(after[: at_ten + 1], before[: at_ten + 1])
    assert (before[-92:-1] == before[-93]).all()
    assert after[-1] > 20 * before[-1]


@pytest.mark.parametrize(
    ("sunday", "opens_before", "opens_after"),
    [
        (datetime(2024, 3, 10, tzinfo=UTC), 23, 22),
        (datetime(2024, 11, 3, tzinfo=UTC), 22, 23),
    ],
)
def test_days_follow_new_york_through_a_clock_change(sunday, opens_before, opens_after):
    """The week before and the week after a change: hours in UTC are written down by hand."""
    new_york = ZoneInfo("America/New_York")
    rng = np.random.default_rng(0)
    rows, opened = [], []
    for quarter in range(14 * 96):
        at = sunday - timedelta(days=7) + timedelta(minutes=15 * quarter)
        wall = at.astimezone(new_york).replace(tzinfo=None) + timedelta(hours=7)
        if wall.weekday() < 5 and wall.hour >= 1:
            since = wall - datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock
            price = int(rng.integers(1_000, 9_000))
            minute = since.seconds // 60 + 15
            rows.append((since.days, minute, price, price + 5, price - 5, price))
            opened.append(at)
    days = periods(bars_of(rows), 1440)
    assert len(days.px) == 10
    for number, (first, last) in enumerate(
        [(opens_before, d) for d in range(-7, -2)] + [(opens_after, d) for d in range(5)]
    ):
        start = sunday + timedelta(days=last, hours=first)
        inside = [r for r, at in zip(rows, opened, strict=True) if start <= at < start + DAY_LONG]
        assert len(inside) == 92
        assert days.px[number].tolist() == [
            inside[0][2],
            max(r[3] for r in inside),
            min(r[4] for r in inside),
            inside[-1][5],
        ]


DAY_LONG = timedelta(hours=23)


def test_real_periods_and_their_averages(real_bars_path):
    bars = real(real_bars_path)
    rows = [tuple(r) for r in np.column_stack([bars.day, bars.minute, bars.px]).tolist()]
    for minutes in (60, 1440):
        found, expected = periods(bars, minutes), slow.completed(rows, minutes)
        np.testing.assert_array_equal(found.px, expected)
        average = slow.wilder(slow.true_range(expected), 14)
        shown = np.array([np.nan if v is None else float(v) for v in [*average, None]])
        np.testing.assert_allclose(atr(bars, minutes), shown[found.last], rtol=1e-12)


@pytest.mark.parametrize("minutes", [0, -60, 7, 2880])
def test_periods_that_do_not_fit_a_day_are_refused(minutes):
    with pytest.raises(SpecInvalid, match=f"divide a day of 1440, found {minutes}"):
        periods(bars_of(walk(1, 1)), minutes)


def test_bars_too_coarse_for_the_period_are_refused():
    hourly = bars_of([(FIRST_DAY, 120, 1, 1, 1, 1)], bar_minutes=60)
    assert periods(hourly, 60).last.tolist() == [0]
    with pytest.raises(BarsInvalid, match=r"periods of 15 minutes.*bars of 60 minutes"):
        atr_m15(hourly)


def test_no_bars_have_no_periods():
    empty = bars_of([])
    assert len(periods(empty, 60).px) == 0
    assert len(atr_d1(empty)) == 0


def test_periods_are_made_once_and_cannot_be_written():
    bars = bars_of(walk(1, 20))
    hours = periods(bars, 60)
    assert periods(bars, 60) is hours
    assert atr_h1(bars) is atr(bars, 60)
    for array in (hours.px, hours.last, atr_h1(bars)):
        assert not array.flags.writeable
