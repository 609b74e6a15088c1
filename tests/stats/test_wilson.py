"""Wilson's interval against published values and its own defining equation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.stats import wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_published_intervals(successes, n, low, high):
    found = wilson(successes, n)
    assert found is not None
    assert found == pytest.approx((low, high), abs=5e-5)


def test_nothing_counted_gives_no_interval():
    assert wilson(0, 0) is None


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_both_ends_solve_the_score_equation(counts):
    """|p - x/n| = z sqrt(p (1 - p) / n), z = 1.959964 (Abramowitz and Stegun, table 26.5)."""
    successes, n = counts
    low, high = wilson(successes, n)
    share = successes / n
    assert 0.0 <= low <= share <= high <= 1.0
    for end in (low, high):
        if 0.0 < end < 1.0:
            z = abs(end - share) / math.sqrt(end * (1.0 - end) / n)
            assert z == pytest.approx(1.959964, rel=1e-5)


def test_the_ends_are_exact_without_a_success_or_a_failure():
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0


def test_a_higher_level_is_wider():
    """z of 99 % is 2.575829; for 5 of 10 the half width is z / 2 / sqrt(10 + z^2)."""
    low, high = wilson(5, 10, level=0.99)
    half = 2.575829 / 2 / math.sqrt(10 + 2.575829**2)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


@pytest.mark.parametrize(
    ("successes", "n", "level"),
    [(-1, 5, 0.95), (6, 5, 0.95), (0, -1, 0.95), (1, 5, 0.0), (1, 5, 1.0), (1, 5, math.nan)],
)
def test_impossible_counts_and_levels_are_refused(successes, n, level):
    with pytest.raises(ValueError, match="wilson: expected"):
        wilson(successes, n, level)
