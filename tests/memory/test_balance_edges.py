"""Edges of the guarantee of negatives that once passed silently."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dream.memory.balance import balance, ensure_negative_balance, in_short, quota


def bad(word: str) -> bool:
    return word.startswith("bad")


@pytest.mark.parametrize("k", range(101))
def test_the_quota_of_every_length_and_percentage_is_the_exact_ceiling(k):
    for n in range(101):
        wanted = next(m for m in range(n + 1) if 100 * m >= n * k)
        assert quota(n, k / 100) == wanted
        assert quota(n, Decimal(k) / 100) == wanted
        assert quota(n, Fraction(k, 100)) == wanted


@pytest.mark.parametrize("ratio", [True, False, None, "0.2", "1/5", [0.2], (), {}, 1j, b"1"])
def test_a_ratio_that_is_no_number_is_refused_even_after_its_equal_was_asked_for(ratio):
    assert (quota(5, 1), quota(5, 1.0), quota(5, 0)) == (5, 5, 0)
    with pytest.raises(ValueError, match="min_negative_ratio: expected a number from 0 to 1, fou"):
        ensure_negative_balance(["good"], ["bad"], bad, ratio)


@pytest.mark.parametrize("ratio", [np.float64(0.2), np.float32(0.2), np.int64(1), -0.0])
def test_numbers_of_any_kind_are_ratios(ratio):
    assert quota(5, ratio) == math.ceil(5 * round(float(ratio), 6))


def test_both_may_be_generators():
    top, pool = (word for word in ("fine", "good")), (word for word in ("bad", "worse"))
    assert ensure_negative_balance(top, pool, bad, 0.5) == ["fine", "bad"]
    assert ensure_negative_balance((word for word in "ab"), (), bad, 0) == ["a", "b"]
    assert balance(iter(["good"]), iter(["bad"]), bad).evicted == ["good"]


@pytest.mark.parametrize("score", [math.nan, 10**400, "0.5", b"1", None, Decimal("NaN"), 1j, []])
def test_a_score_that_no_float_holds_names_its_item_and_is_shown_within_bounds(score):
    top, pool = [("fine", 0.9), ("culprit", score)], [("bad", 0.1)]
    with pytest.raises(ValueError, match=r"score of \('culprit', .*: expected a number") as caught:
        ensure_negative_balance(top, pool, lambda t: bad(t[0]), score_key=lambda t: t[1])
    assert len(str(caught.value)) < 500


class Unshowable:
    score = "none"

    def __repr__(self):
        raise RuntimeError("not shown")


def test_an_item_that_cannot_be_shown_is_named_by_its_class():
    with pytest.raises(ValueError, match="score of a Unshowable that cannot be shown"):
        ensure_negative_balance([Unshowable()], [], lambda item: False)
    assert in_short("x" * 500) == repr("x" * 500)[:200] + "..."


def test_items_of_equal_scores_keep_their_order_those_of_the_pool_behind():
    top = ["good 1", "bad 1", "good 2", "good 3", "bad 2"]
    pool = [*top, "bad 3", "bad 4", "bad 5"]
    found = ensure_negative_balance(top, pool, bad, 0.8)
    assert found == ["good 1", "bad 1", "bad 2", "bad 3", "bad 4"]
