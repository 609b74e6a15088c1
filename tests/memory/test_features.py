"""Features are what the snapshot shows, by the trading clock."""

from __future__ import annotations

import math
from datetime import date, timedelta

import pytest

from dream.errors import InputError
from dream.memory.features import features_of, log_or_nan, situation_of
from tests.memory.made import features, row, snapshot


def test_the_first_live_strategy_in_board_order_is_meant_when_none_is_named():
    board = (row("A", 0, 1990.0), row("B", 1, 1995.0), row("C", 1, 1980.0))
    found = features_of(snapshot(board, close=2000.0, atr_d1=20.0))
    assert (found.strategy, found.distance) == ("B", 0.25)


def test_a_named_strategy_is_taken_whether_live_or_not():
    board = (row("A", 0, 2010.0), row("B", 1, 1995.0))
    found = features_of(snapshot(board, close=2000.0, atr_d1=20.0), "A")
    assert (found.strategy, found.distance) == ("A", -0.5)


def test_a_short_set_up_is_live_too():
    assert features_of(snapshot((row("A", -1, 2010.0),))).strategy == "A"


def test_nothing_live_means_no_strategy_and_no_distance():
    found = features_of(snapshot((row("A", 0, 1990.0),)))
    assert (found.strategy, found.distance) == (None, None)


@pytest.mark.parametrize(
    ("board", "atr_d1"),
    [((row("A", 1, None),), 20.0), ((row("A", 1, 1990.0),), math.nan), ((), 20.0)],
)
def test_a_distance_that_cannot_be_told_is_none(board, atr_d1):
    found = features_of(snapshot(board, atr_d1=atr_d1), "A")
    assert (found.strategy, found.distance) == ("A", None)


def test_indicators_are_taken_as_shown():
    found = features_of(snapshot())
    assert (found.atr_m15, found.atr_d1, found.rsi) == (2.5, 20.0, 61.0)
    assert (found.sessions, found.trend, found.volatility) == (6, "up", "high")


@pytest.mark.parametrize("days", [0, 1, 2, 3, 4, 5, 6, 7, 19722, 19723, 20515])
def test_the_weekday_is_that_of_the_calendar(days):
    expected = (date(1970, 1, 1) + timedelta(days=days)).weekday()
    assert features_of(snapshot(day=days)).weekday == expected


@pytest.mark.parametrize(
    ("minute", "hour"), [(15, 0), (60, 1), (75, 1), (600, 10), (1425, 23), (1440, 23)]
)
def test_the_hour_is_that_of_the_close_and_midnight_ends_the_day(minute, hour):
    assert features_of(snapshot(minute=minute)).hour == hour


def test_situations_are_told_apart():
    codes = {
        situation_of(features(sessions=s, trend=t, volatility=v))
        for s in range(8)
        for t in ("unknown", "range", "up", "down")
        for v in ("unknown", "low", "normal", "high")
    }
    assert codes == set(range(128))


def test_a_word_that_does_not_exist_names_those_that_do():
    with pytest.raises(InputError, match="trend: expected one of unknown, range, up, down"):
        situation_of(features(trend="bull"))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_the_log_of_what_is_no_size_is_unknown(value):
    assert math.isnan(log_or_nan(value))


def test_the_log_of_a_size():
    assert log_or_nan(math.e**2) == pytest.approx(2.0)
