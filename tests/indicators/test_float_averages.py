"""Averages of floats over long series: summed by halves, a stretch at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dream.indicators import sma

N = 5_000


def of_window(x: np.ndarray, i: int, k: int) -> float:
    return math.fsum(x[i - k + 1 : i + 1]) / k


@pytest.mark.parametrize("k", [1, 2, 3, 14, 100, 255, 256, 257, 1_023, 1_024, 1_025, 3_000, N])
def test_an_average_is_that_of_its_window(k):
    x = np.random.default_rng(k).normal(200_000.0, 500.0, N)
    average = sma(x, k)
    assert np.isnan(average[: k - 1]).all()
    expected = [of_window(x, i, k) for i in range(k - 1, N, 7)]
    np.testing.assert_allclose(average[k - 1 :: 7], expected, rtol=1e-13)


def test_a_window_longer_than_the_series_has_no_average():
    assert np.isnan(sma(np.ones(30), 31)).all()
    assert len(sma(np.ones(0), 5)) == 0


@pytest.mark.parametrize("k", [5, 14, 300])
def test_equal_windows_have_equal_averages_wherever_they_lie(k):
    rng = np.random.default_rng(1)
    window = rng.normal(0.0, 1e6, k)
    x = rng.normal(0.0, 1e6, N)
    ends = [k - 1, 700, 1_023, 1_024, 1_030, 2_047, 2_300, 4_999]
    ends = [end for j, end in enumerate(ends) if j == 0 or end - k >= ends[j - 1]]
    for end in ends:
        x[end - k + 1 : end + 1] = window
    assert len(ends) > 3
    assert len({float(sma(x, k)[end]) for end in ends}) == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize("at", [0, 1_023, 1_024, 2_500])
def test_what_left_the_window_is_forgotten(bad, at):
    k = 21
    x = np.full(N, 0.1)
    x[at] = bad
    average = sma(x, k)
    clean = np.ones(N, bool)
    clean[: k - 1] = False
    clean[at : at + k] = False
    assert (average[clean] == sma(np.full(k, 0.1), k)[-1]).all()
    assert not np.isclose(average[max(at, k - 1) : at + k], 0.1).any()
