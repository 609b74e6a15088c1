"""The guarantee of negatives, edge by edge, and against every possible selection."""

from __future__ import annotations

import doctest
import math
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dream.memory.balance as module
from dream.memory.balance import balance, ensure_negative_balance, quota


@dataclass
class Item:
    """Equal by value on purpose: only identity may tell items apart."""

    score: float
    pnl: float
    id: str = ""


def lost(item: Item) -> bool:
    return item.pnl < 0


def wins(*scores: float) -> list[Item]:
    return [Item(score, 10.0) for score in scores]


def losses(*scores: float) -> list[Item]:
    return [Item(score, -10.0) for score in scores]


def same(found: list[Item], expected: list[Item]) -> bool:
    return [id(item) for item in found] == [id(item) for item in expected]


def test_one_loss_replaces_the_lowest_scored_of_five_wins():
    top = wins(0.97, 0.93, 0.78, 0.77, 0.76)
    near, far = losses(0.60, 0.20)
    found = ensure_negative_balance(top, [*top, far, near], lost)
    assert same(found, [*top[:4], near])


def test_the_result_is_in_the_order_of_scores_when_a_loss_scores_in_between():
    first, last = wins(0.9, 0.1)
    loss = Item(0.5, -1.0)
    assert same(ensure_negative_balance([first, last], [loss], lost, 0.5), [first, loss])
    above = Item(0.95, -1.0)
    assert same(ensure_negative_balance([first, last], [above], lost, 0.5), [above, first])


def test_enough_losses_already_change_nothing_but_order():
    loss = Item(0.3, -1.0)
    top = [loss, *wins(0.9, 0.8)]
    pool = [*top, *losses(0.99)]
    assert same(ensure_negative_balance(top, pool, lost), [top[1], top[2], loss])


def test_nothing_selected_stays_nothing():
    assert ensure_negative_balance([], losses(0.9), lost, 1.0) == []


def test_a_single_result_becomes_the_loss():
    loss = Item(0.1, -1.0)
    assert same(ensure_negative_balance(wins(0.9), [loss], lost, 0.2), [loss])


def test_ratio_0_returns_the_selection_as_it_is():
    top = wins(0.1, 0.9)
    found = ensure_negative_balance(top, losses(0.99), lost, 0)
    assert same(found, top)
    assert found is not top


def test_ratio_1_fills_with_losses():
    top, pool = wins(0.9, 0.8), losses(0.1, 0.2, 0.3)
    assert same(ensure_negative_balance(top, pool, lost, 1.0), [pool[2], pool[1]])


@pytest.mark.parametrize("ratio", [-1, -1e-9, 1.0001, 2, math.nan, math.inf, -math.inf, True, "x"])
def test_a_ratio_outside_0_to_1_is_refused(ratio):
    with pytest.raises(ValueError, match="min_negative_ratio: expected a number from 0 to 1"):
        ensure_negative_balance(wins(0.9), losses(0.1), lost, ratio)


def test_too_few_losses_are_all_taken_and_reported_as_unmet():
    top, pool = wins(0.9, 0.8, 0.7, 0.6), losses(0.5, 0.4)
    report = balance(top, [*top, *pool], lost, 0.75)
    assert (report.wanted, report.met) == (3, False)
    assert same(report.items, [*top[:2], *pool])
    assert same(report.injected, pool)
    assert same(report.evicted, [top[3], top[2]])


def test_a_met_quota_is_reported_with_what_was_done():
    top, pool = wins(0.9, 0.8, 0.7, 0.6, 0.5), losses(0.1)
    report = balance(top, pool, lost)
    assert (report.wanted, report.met) == (1, True)
    assert same(report.injected, pool)
    assert same(report.evicted, [top[4]])


def test_losses_already_selected_count_and_are_not_put_in_again():
    loss, other = losses(0.85, 0.2)
    top = [*wins(0.9), loss, *wins(0.8, 0.7)]
    report = balance(top, [*top, other], lost, 0.5)
    assert same(report.injected, [other])
    assert same(report.items, [top[0], loss, top[2], other])


def test_the_same_loss_twice_in_the_pool_is_put_in_once():
    top, loss = wins(0.9, 0.8, 0.7, 0.6), Item(0.5, -1.0)
    report = balance(top, [loss, loss], lost, 0.5)
    assert same(report.injected, [loss])
    assert not report.met


def test_equal_but_different_losses_both_count():
    top, pool = wins(0.9, 0.8), losses(0.5, 0.5)
    assert same(ensure_negative_balance(top, pool, lost, 1.0), pool)


def test_equal_ids_do_not_confuse_who_leaves():
    top = [Item(0.9, 1.0, "x"), Item(0.8, 1.0, "x"), Item(0.1, 1.0, "x")]
    loss = Item(0.5, -1.0, "x")
    assert same(ensure_negative_balance(top, [loss], lost, 0.3), [top[0], top[1], loss])


def test_a_pool_that_is_read_once_is_enough():
    top, pool = wins(0.9, 0.8), losses(0.1, 0.7, 0.3)
    found = ensure_negative_balance(top, iter([*wins(0.5, 0.4), *pool]), lost, 0.5)
    assert same(found, [top[0], pool[1]])


def test_without_scores_the_order_given_is_the_ranking():
    top, pool = ["best", "good", "fair"], ["bad-1", "bad-2"]
    found = ensure_negative_balance(top, pool, lambda word: word.startswith("bad"), 0.3)
    assert found == ["best", "good", "bad-1"]


def test_relevance_score_is_found_before_score():
    @dataclass
    class Both:
        relevance_score: float
        score: float
        bad: bool

    low, high = Both(0.1, 0.9, bad=False), Both(0.9, 0.1, bad=False)
    bad = Both(0.5, 0.5, bad=True)
    assert ensure_negative_balance([low, high], [bad], lambda x: x.bad, 0.5) == [high, bad]


def test_among_equal_scores_the_last_leaves_and_the_first_of_the_pool_enters():
    top, pool = wins(0.5, 0.5, 0.5), losses(0.5, 0.5)
    assert same(ensure_negative_balance(top, pool, lost, 0.3), [top[0], top[1], pool[0]])


@pytest.mark.parametrize("score", [math.nan, None, "high"])
@pytest.mark.parametrize("where", ["top", "pool"])
def test_a_score_that_is_no_number_names_its_item(score, where):
    bad = Item(score, -1.0 if where == "pool" else 1.0, "culprit")
    top = [*wins(0.9, 0.8), bad] if where == "top" else wins(0.9, 0.8)
    with pytest.raises(ValueError, match="culprit"):
        ensure_negative_balance(top, [bad, *losses(0.35)], lost)


def test_infinite_scores_are_ranked():
    top, loss = wins(math.inf, -math.inf), Item(-math.inf, -1.0)
    assert same(ensure_negative_balance(top, [loss], lost, 0.5), [top[0], loss])


def test_inputs_are_left_alone():
    top, pool = wins(0.1, 0.9), losses(0.5)
    before = ([*top], [*pool])
    ensure_negative_balance(top, pool, lost, 0.5)
    assert same(top, before[0])
    assert same(pool, before[1])


@pytest.mark.parametrize(
    ("n", "ratio", "wanted"),
    [
        (100, 0.07, 7),
        (100, 0.29, 29),
        (5, 0.20, 1),
        (6, 0.20, 2),
        (10, 0.7, 7),
        (3, 1 / 3, 1),
        (1000, 0.001, 1),
        (1001, 0.001, 2),
        (10, 1e-12, 1),
        (0, 1.0, 0),
        (7, Fraction(3, 7), 3),
    ],
)
def test_the_quota_is_an_exact_ceiling(n, ratio, wanted):
    assert quota(n, ratio) == wanted


@given(n=st.integers(0, 500), percent=st.integers(0, 100))
def test_every_whole_percentage_rounds_up_exactly(n, percent):
    assert quota(n, percent / 100) == -(-n * percent // 100)


items = st.lists(
    st.builds(Item, score=st.integers(0, 6), pnl=st.sampled_from([-1.0, 0.0, 1.0])), max_size=6
)


@given(top=items, rest=items, percent=st.integers(1, 100))
def test_no_other_selection_with_as_many_losses_and_as_few_changes_scores_more(top, rest, percent):
    report = balance(top, [*rest, *top], lost, percent / 100)
    had = sum(map(lost, top))
    absent = [item for item in rest if lost(item)]
    changes = min(max(report.wanted - had, 0), len(absent))
    best = max(
        sum(item.score for item in top) - sum(o.score for o in out) + sum(i.score for i in into)
        for out in combinations([item for item in top if not lost(item)], changes)
        for into in combinations(absent, changes)
    )
    assert len(report.items) == len(top)
    assert sum(map(lost, report.items)) == had + changes
    assert report.met == (had + changes >= report.wanted)
    assert sum(item.score for item in report.items) == best
    assert [i.score for i in report.items] == sorted((i.score for i in report.items), reverse=True)
    assert len({id(item) for item in report.items}) == len(top)
    again = balance(report.items, [*rest, *top], lost, percent / 100)
    assert same(again.items, report.items)
    assert again.injected == []


def test_the_examples_in_the_docstring_run():
    result = doctest.testmod(module)
    assert result.attempted == 11
    assert result.failed == 0


def test_importing_it_loads_neither_numpy_nor_numba():
    code = (
        "import sys; from dream.memory import ensure_negative_balance; "
        "print(sorted({'numpy', 'numba', 'pydantic'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
