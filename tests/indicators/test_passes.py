"""Rolling passes against plain definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import SpecInvalid
from dream.indicators import (
    once,
    rolling_max,
    rolling_min,
    sma,
    to_ticks,
    true_range,
    wilder,
)
from dream.types import MISSING
from tests.indicators import slow
from tests.indicators.series import bars_of, walk

ticks = st.lists(st.integers(-(2**31) + 1, 2**31 - 1), max_size=80)
floats = st.lists(st.floats(-1e9, 1e9) | st.just(float("nan")), max_size=80)
lengths = st.integers(1, 40)


@given(ticks, lengths)
def test_rolling_extremes_of_ticks_are_those_of_the_last_k(values, k):
    x = np.array(values, dtype=np.int32)
    highest, lowest = rolling_max(x, k), rolling_min(x, k)
    assert highest.dtype == lowest.dtype == np.int32
    for i in range(len(values)):
        window = values[i - k + 1 : i + 1]
        assert highest[i] == (max(window) if i >= k - 1 else MISSING)
        assert lowest[i] == (min(window) if i >= k - 1 else MISSING)


@given(floats, lengths)
def test_a_nan_makes_every_window_that_holds_it_nan_and_no_other(values, k):
    x = np.array(values)
    highest, lowest = rolling_max(x, k), rolling_min(x, k)
    for i in range(len(values)):
        window = values[max(i - k + 1, 0) : i + 1]
        if len(window) < k or any(v != v for v in window):  # noqa: PLR0124 - NaN
            assert np.isnan(highest[i])
            assert np.isnan(lowest[i])
        else:
            assert (highest[i], lowest[i]) == (max(window), min(window))


@given(ticks, lengths)
def test_average_of_ticks_is_the_exact_quotient_rounded_once(values, k):
    average = sma(np.array(values, dtype=np.int32), k)
    for i in range(len(values)):
        if i < k - 1:
            assert np.isnan(average[i])
        else:
            assert average[i] == float(Fraction(sum(values[i - k + 1 : i + 1]), k))


def test_average_of_floats_forgets_what_left_the_window():
    x = np.array([1e300, float("nan"), 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(sma(x, 3), [np.nan] * 4 + [0.5, 0.75])


def test_averages_by_hand():
    x = np.array([3.0, 5.0, 1.0, 6.0])
    np.testing.assert_array_equal(sma(x, 2), [np.nan, 4.0, 3.0, 3.5])
    # seed (3 + 5) / 2 = 4, then (4 + 1) / 2 = 2.5, then (2.5 + 6) / 2 = 4.25
    np.testing.assert_array_equal(wilder(x, 2), [np.nan, 4.0, 2.5, 4.25])


def test_wilder_skips_leading_nan_and_lets_a_later_one_spread():
    nan = float("nan")
    x = np.array([nan, nan, 4.0, 8.0, 2.0, nan, 1.0])
    np.testing.assert_array_equal(wilder(x, 2), [nan, nan, nan, 6.0, 4.0, nan, nan])


@given(st.lists(st.integers(0, 10_000), max_size=120), st.integers(1, 20), st.integers(0, 5))
def test_wilder_agrees_with_decimals(values, k, leading):
    x = np.array([np.nan] * leading + values)
    expected = slow.wilder([None] * leading + values, k)
    assert_close(wilder(x, k), expected)


def test_true_range_by_hand():
    rows = [
        (1, 75, 100, 110, 95, 105),
        (1, 90, 105, 108, 104, 106),  # inside: 108 - 104
        (1, 105, 120, 125, 118, 119),  # gap up: 125 - 106
        (1, 120, 90, 95, 85, 92),  # gap down: 119 - 85
    ]
    np.testing.assert_array_equal(true_range(bars_of(rows)), [np.nan, 4.0, 19.0, 34.0])


def test_true_range_agrees_with_the_three_distances():
    rows = walk(3, 4)
    expected = slow.true_range([r[2:] for r in rows])
    assert_close(true_range(bars_of(rows)), expected)


@pytest.mark.parametrize(
    ("price", "tick"),
    [
        (0.5, 1),
        (1.4999, 1),
        (1.5, 2),
        (-0.5, 0),
        (-0.51, -1),
        (187_641.0, 187_641),
        (2.0**31 - 1, 2**31 - 1),
        (2.0**31, MISSING),
        (-(2.0**31), MISSING),
        (float("nan"), MISSING),
        (float("inf"), MISSING),
    ],
)
def test_ticks_are_rounded_half_up_and_missing_where_there_is_no_such_tick(price, tick):
    assert to_ticks(np.array([price])).tolist() == [tick]


PASSES = (rolling_max, rolling_min, sma, wilder)


@pytest.mark.parametrize("function", PASSES)
@given(values=floats, k=lengths, cut=st.integers(0, 80))
def test_a_pass_over_a_prefix_is_the_prefix_of_the_pass(function, values, k, cut):
    x = np.array(values)
    np.testing.assert_array_equal(function(x[:cut], k), function(x, k)[:cut])


@pytest.mark.parametrize("function", PASSES)
@pytest.mark.parametrize("k", [0, -3, 2.5])
def test_a_senseless_window_is_refused(function, k):
    with pytest.raises(SpecInvalid, match=rf"at least 1, found {k}"):
        function(np.ones(5), k)


@pytest.mark.parametrize("function", PASSES)
def test_results_cannot_be_written(function):
    for k in (2, 9):
        with pytest.raises(ValueError, match="read-only"):
            function(np.ones(5), k)[0] = 1.0


def test_a_series_is_made_once():
    bars = bars_of(walk(1, 1))
    assert true_range(bars) is true_range(bars)
    assert once(bars, "none", lambda: None) is None
    assert once(bars, "none", lambda: pytest.fail("made twice")) is None


def assert_close(found, expected):
    """Equal to 12 digits; None stands for NaN."""
    wanted = [float("nan") if v is None else float(v) for v in expected]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-9, equal_nan=True)
