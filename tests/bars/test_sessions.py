"""When gold trades, compared with New York's wall clock as the standard library tells it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import synth
from dream.bars.clock import sessions
from dream.bars.clock.clocks import day_text, trading_clock
from dream.bars.clock.holidays import holidays

MINUTE_NS = 60 * 10**9
NEW_YORK = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ns(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=NEW_YORK)
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def of(*texts: str) -> np.ndarray:
    """Instants of New York's wall clock times."""
    return np.array([ns(text) for text in texts], np.int64)


@given(
    st.lists(st.integers(-30 * 525_600, 130 * 525_600), min_size=1, max_size=50),
    st.sampled_from([1, 5, 15, 30, 60]),
)
def test_bars_of_up_to_an_hour_agree_with_the_wall_clock(minutes: list[int], bar_min: int) -> None:
    t = np.sort(np.array(minutes, np.int64)) // bar_min * bar_min * MINUTE_NS
    wall = [(EPOCH + timedelta(minutes=int(x) // MINUTE_NS)).astimezone(NEW_YORK) for x in t]
    hour = [w.hour == 17 and w.weekday() != 5 for w in wall]
    end = [
        w.weekday() == 5
        or (w.weekday() == 4 and w.hour >= 18)
        or (w.weekday() == 6 and w.hour < 17)
        for w in wall
    ]
    assert sessions.closed_hour(t, bar_min * MINUTE_NS).tolist() == hour
    assert sessions.weekend(t, bar_min * MINUTE_NS).tolist() == end


@given(st.integers(-30 * 525_600, 130 * 525_600), st.integers(1, 3000), st.integers(1, 400))
def test_minutes_agree_with_the_trading_clock(start: int, n: int, step: int) -> None:
    t = (start + step * np.arange(n, dtype=np.int64)) * MINUTE_NS
    minute, day = trading_clock(t, 0)
    assert np.array_equal(sessions.trading_minutes(t), day.astype(np.int64) * 1440 + minute)


def test_many_stretches_are_one() -> None:
    t = np.arange(3 * sessions.STRETCH + 7, dtype=np.int64) * 15 * MINUTE_NS
    minute, day = trading_clock(t, 0)
    assert np.array_equal(sessions.trading_minutes(t), day * 1440 + minute)
    assert sessions.closed_hour(t, 15 * MINUTE_NS).sum() == np.sum((minute < 60) & (day % 7 != 3))


def test_friday_and_sunday_at_17_are_the_closed_hour() -> None:
    t = of("2024-03-08 17:00", "2024-03-08 18:00", "2024-03-09 17:00", "2024-03-10 16:59",
           "2024-03-10 17:00", "2024-03-10 18:00")  # fmt: skip
    hour, end = sessions.closed_hour(t, MINUTE_NS), sessions.weekend(t, MINUTE_NS)
    assert hour.tolist() == [True, False, False, False, True, False]
    assert end.tolist() == [False, True, True, True, False, False]


def test_longer_bars_that_begin_in_the_closed_hour_are_none() -> None:
    t = of("2024-03-06 17:00", "2024-03-08 17:00", "2024-03-09 13:00", "2024-03-10 17:00")
    four_hours = 240 * MINUTE_NS
    assert not sessions.closed_hour(t, four_hours).any()
    assert sessions.weekend(t, four_hours).tolist() == [False, True, True, False]


@pytest.mark.parametrize("hour", ["00:00", "08:00"])
def test_daily_bars_have_the_date_of_their_stamp(hour: str) -> None:
    days = [f"2024-07-{day:02} {hour}+00:00" for day in range(1, 15)]
    t = np.array([(datetime.fromisoformat(d) - EPOCH) // timedelta(seconds=1) for d in days])
    week = [False] * 5 + [True] * 2
    assert sessions.weekend(t * 10**9, 1440 * MINUTE_NS).tolist() == week * 2
    assert not sessions.closed_hour(t * 10**9, 1440 * MINUTE_NS).any()


def test_a_brokers_midnight_is_the_day_that_begins() -> None:
    t = of("2024-03-10 17:00", "2024-03-11 17:00", "2024-03-15 17:00")
    assert sessions.weekend(t, 1440 * MINUTE_NS).tolist() == [False, False, True]


def test_nothing_of_nothing() -> None:
    none = np.empty(0, np.int64)
    assert len(sessions.closed_hour(none, MINUTE_NS)) == len(sessions.weekend(none, MINUTE_NS)) == 0


def number(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def test_days_without_gold() -> None:
    closed, _ = holidays(number("2021-01-01"), number("2024-12-31"))
    # Good Fridays and weekend rules as the exchange kept them.
    assert {day_text(d) for d in closed} >= {
        "2021-01-01", "2021-04-02", "2021-12-24", "2022-04-15", "2022-12-26", "2023-01-02",
        "2023-04-07", "2023-12-25", "2024-01-01", "2024-03-29", "2024-12-25",
    }  # fmt: skip
    assert number("2021-12-31") not in closed


def test_short_days() -> None:
    _, short = holidays(number("2023-06-01"), number("2023-06-02"))
    assert {day_text(d) for d in short if day_text(d).startswith("2023")} == {
        "2023-01-02", "2023-01-16", "2023-02-20", "2023-05-29", "2023-06-19", "2023-07-04",
        "2023-09-04", "2023-11-23", "2023-11-24", "2023-12-24", "2023-12-26", "2023-12-31",
    }  # fmt: skip
    _, early = holidays(number("2010-06-01"), number("2010-06-02"))
    assert "06" not in {day_text(d)[5:7] for d in early if day_text(d) < "2011"}


@pytest.mark.parametrize(
    "good_friday", ["1961-03-31", "1981-04-17", "2000-04-21", "2008-03-21", "2038-04-23"]
)
def test_the_moon(good_friday: str) -> None:
    day = number(good_friday)
    assert day in holidays(day, day)[0]


def test_days_without_gold_agree_with_those_of_the_generator() -> None:
    closed, _ = holidays(number("1950-01-02"), number("2098-06-01"))
    made, _ = synth._holidays(1950, 2098)
    weekdays = {int(d) for d in made if sessions.weekday(d) < sessions.WEEKDAYS}
    assert set(closed) == weekdays
