"""Recall against a slow plain statement of the same rules, and what it must not look at."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import SpecInvalid
from dream.memory import recall
from dream.memory.balance import balance
from dream.memory.episodes import OUTCOME_COLUMNS
from dream.memory.recall import (
    COMPONENTS,
    DEFAULT_WEIGHTS,
    RECALL,
    Weights,
    hybrid,
    most_similar,
    most_similar_balanced,
    none,
    similarity,
)
from dream.types import ASIA, LONDON, NEW_YORK, RecallFn
from tests.memory.made import (
    LATER,
    asking,
    episode,
    features,
    past_of,
    some_episodes,
    some_features,
)

DAY = 86_400 * 10**9


def six_decimals(value):
    """Halves go up, also those that floating point falls just short of."""
    exact = Decimal(value) + Decimal("1e-12")
    return float(exact.quantize(Decimal("0.000001"), ROUND_HALF_UP))


def plain_components(query, known):
    """Each component as its definition reads, without columns, codes or bounds."""
    weights, asked, then = query[1], query[0].features, known.features

    def proximity(a, b):
        if not all(0 < size < math.inf for size in (a, b)):
            return 0.0
        return math.exp(-abs(math.log(a) - math.log(b)) / weights.bandwidth)

    bits = (ASIA, LONDON, NEW_YORK)
    now_in, then_in = ({bit for bit in bits if f.sessions & bit} for f in (asked, then))
    age_days = (query[0].now_ns - known.known_ns) / DAY
    return {
        "atr_m15": proximity(asked.atr_m15, then.atr_m15),
        "atr_d1": proximity(asked.atr_d1, then.atr_d1),
        "sessions": len(now_in & then_in) / len(now_in | then_in) if now_in | then_in else 0.0,
        "trend": float(asked.trend == then.trend != "unknown"),
        "volatility": float(asked.volatility == then.volatility != "unknown"),
        "strategy": float(asked.strategy == known.strategy),
        "recency": math.exp(-age_days / weights.recency_days),
    }


def plain_ranking(query, past, weights):
    """(score, row, components) of every episode, best first, ties by (known_ns, id)."""
    total = sum(getattr(weights, name) for name in COMPONENTS)
    ranked = []
    for place, known in enumerate(past):
        parts = plain_components((query, weights), known)
        score = six_decimals(sum(getattr(weights, n) * parts[n] for n in COMPONENTS) / total)
        shown = {n: six_decimals(parts[n]) for n in COMPONENTS if getattr(weights, n) > 0}
        ranked.append((-score, known.known_ns, known.id, place, shown))
    ranked.sort(key=lambda entry: entry[:3])
    return [(-minus, place, shown) for minus, _, _, place, shown in ranked]


some_weights = st.tuples(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=7, max_size=7).filter(any),
    st.sampled_from([0.1, 0.5, 3.0]),
    st.sampled_from([1.0, 30.0]),
).map(lambda drawn: Weights(*drawn[0], bandwidth=drawn[1], recency_days=drawn[2]))


@given(some_episodes(), some_features, some_weights, st.integers(0, 12))
def test_similarity_is_the_slow_ranking_cut_at_k(episodes, asked, weights, k):
    past = past_of(episodes, 7 * 10**15)
    query = replace(asking(k, 7 * 10**15), features=asked)
    found = most_similar(query, past, weights=weights)
    expected = plain_ranking(query, past, weights)[:k]
    assert [(item.score, item.row, item.components) for item in found] == expected
    assert all(past[item.row].id == item.id and item.mark == "" for item in found)


@given(some_episodes(), some_features, st.integers(0, 12), st.integers(0, 100))
def test_hybrid_is_the_balance_over_the_whole_pool(episodes, asked, k, percent):
    past = past_of(episodes)
    query = replace(asking(k), features=asked)
    found = most_similar_balanced(query, past, min_negative_ratio=percent / 100)
    pool = plain_ranking(query, past, DEFAULT_WEIGHTS)
    report = balance(
        pool[:k], pool, lambda e: past[e[1]].pnl < 0, percent / 100, score_key=lambda e: e[0]
    )
    injected = {place for _, place, _ in report.injected}
    assert [(i.score, i.row, i.components) for i in found] == report.items
    assert {i.row for i in found if i.mark == "injected"} == injected
    assert {i.mark for i in found} <= {"", "injected"}


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("weights", [DEFAULT_WEIGHTS, Weights(strategy=1.0, recency=2.0)])
def test_pruning_over_many_blocks_loses_nothing(k, weights):
    chance = np.random.default_rng(5)
    n = 4_000
    m15, d1 = np.exp(chance.normal(0.7, 0.4, n)), np.exp(chance.normal(3.0, 0.4, n))
    words = chance.integers(0, 4, (n, 2))
    episodes = [
        episode(
            f"{i:05}",
            10**15 + int(chance.integers(0, 500)) * 10**12,
            features=features(
                atr_m15=float(m15[i]) if i % 50 else math.nan,
                atr_d1=float(d1[i]),
                sessions=int(chance.integers(0, 8)),
                trend=("unknown", "range", "up", "down")[words[i, 0]],
                volatility=("unknown", "low", "normal", "high")[words[i, 1]],
            ),
            strategy=("VolBreakout", "PullbackEntry", "IntradayMomentum")[i % 3],
            pnl=float(chance.normal()) if i % 400 else -1.0,
        )
        for i in range(n)
    ]
    past, query = past_of(episodes), asking(k, 2 * 10**15)
    ranking = plain_ranking(query, past, weights)
    found = most_similar(query, past, weights=weights)
    assert [(i.score, i.row, i.components) for i in found] == ranking[:k]
    balanced = most_similar_balanced(query, past, weights=weights, min_negative_ratio=0.9)
    report = balance(
        ranking[:k], ranking, lambda e: past[e[1]].pnl < 0, 0.9, score_key=lambda e: e[0]
    )
    assert [(i.score, i.row, i.components) for i in balanced] == report.items


def test_a_score_worked_by_hand():
    known = episode(
        features=features(
            atr_m15=4.0, atr_d1=20.0, sessions=LONDON | NEW_YORK, trend="up", volatility="low"
        )
    )
    query = asking(atr_m15=2.0, atr_d1=20.0, sessions=LONDON, trend="up", volatility="normal")
    (found,) = most_similar(query, past_of([known]))
    # exp(-ln 2 / 0.5) = 1/4; the overlap of {London} and {London, New York} is a half
    assert found.components == {
        "atr_m15": 0.25,
        "atr_d1": 1.0,
        "sessions": 0.5,
        "trend": 1.0,
        "volatility": 0.0,
    }
    assert found.score == round((0.25 + 1.0 + 2 * 0.5 + 1.0 + 0.0) / 6, 6)


def test_a_score_that_lies_on_half_a_step_goes_up_on_every_machine():
    known = episode(strategy="VB", features=features(atr_m15=1.5, atr_d1=math.nan))
    weights = Weights(atr_m15=1.0, atr_d1=0.0, sessions=2.0, trend=2.0, volatility=2.0, recency=0.5)
    query = asking(atr_m15=40.0)
    (found,) = most_similar(query, past_of([known]), weights=weights)
    # (1.5 / 40)^2 = 0.00140625; recency is 0 after decades; (0.00140625 + 6) / 7.5 = 0.8001875
    assert found.components["recency"] == 0.0
    assert found.score == 0.800188


@pytest.mark.parametrize("distance", [0.0, 0.01, 0.1, 0.25, 0.45, 0.5, 0.55, 1.0, 3.0])
def test_a_later_episode_that_is_better_by_a_hair_wins(distance):
    """At any distance: a bound that prunes too much would lose the better one."""
    better = 20.0 * math.exp(distance)
    worse = better * math.exp(4e-6 * math.exp(2 * distance))
    near, nearer = (features(atr_d1=atr) for atr in (worse, better))
    past = past_of([episode("near", 1, features=near), episode("nearer", 2, features=nearer)])
    first, second = most_similar(asking(2, atr_d1=20.0), past)
    assert (first.id, second.id) == ("nearer", "near")
    assert 0.0 < first.score - second.score < 3e-6
    (found,) = most_similar(asking(1, atr_d1=20.0), past)
    assert found == first


def test_proximity_is_the_same_both_ways():
    (a,) = most_similar(asking(atr_d1=20.0), past_of([episode(features=features(atr_d1=40.0))]))
    (b,) = most_similar(asking(atr_d1=40.0), past_of([episode(features=features(atr_d1=20.0))]))
    assert a.components["atr_d1"] == b.components["atr_d1"] == 0.25


def test_recency_follows_the_simulated_clock():
    old, new = episode("old", LATER - 90 * DAY), episode("new", LATER - 9 * DAY)
    found = most_similar(asking(), past_of([old, new]), weights=Weights(recency=1.0))
    assert [item.id for item in found] == ["new", "old"]
    assert found[1].components["recency"] == round(math.exp(-1), 6)
    assert found[0].components["recency"] == round(math.exp(-0.1), 6)


def test_the_strategy_counts_only_where_it_has_a_weight():
    other, same = episode("a", 1, strategy="IM"), episode("b", 2, strategy="VB")
    past = past_of([other, same])
    query = asking(strategy="VB")
    assert [i.id for i in most_similar(query, past)] == ["a", "b"]
    found = most_similar(query, past, weights=Weights(strategy=1.0))
    assert [(i.id, i.components["strategy"]) for i in found] == [("b", 1.0), ("a", 0.0)]
    for absent in (None, "never traded"):
        found = most_similar(asking(strategy=absent), past, weights=Weights(strategy=1.0))
        assert [i.components["strategy"] for i in found] == [0.0, 0.0]


def test_equal_scores_are_in_the_order_of_time_then_id():
    twins = [episode(name, known) for name, known in (("z", 1), ("b", 2), ("a", 2), ("c", 3))]
    assert [i.id for i in most_similar(asking(3), past_of(twins))] == ["z", "a", "b"]


def test_what_is_unknown_on_both_sides_is_not_alike():
    blank = {
        "atr_m15": math.nan,
        "atr_d1": math.nan,
        "sessions": 0,
        "trend": "unknown",
        "volatility": "unknown",
    }
    past = past_of([episode(features=features(**blank))])
    (found,) = most_similar(asking(**blank), past)
    assert found.score == 0.0
    assert set(found.components.values()) == {0.0}


@given(some_episodes(), some_features, st.randoms(use_true_random=False))
def test_similarity_is_blind_to_outcomes(episodes, asked, shuffle):
    outcomes = [(e.pnl, e.r, e.mae, e.mfe, e.exit, e.exit_reason) for e in episodes]
    shuffle.shuffle(outcomes)
    permuted = [
        replace(e, pnl=p, r=r, mae=a, mfe=f, exit=x, exit_reason=why)
        for e, (p, r, a, f, x, why) in zip(episodes, outcomes, strict=True)
    ]
    query = replace(asking(5), features=asked)
    assert most_similar(query, past_of(episodes)) == most_similar(query, past_of(permuted))


class Watched:
    """A table that notes which columns are read."""

    def __init__(self, past):
        self.past, self.read = past, set()

    def __len__(self):
        return len(self.past)

    def __getitem__(self, row):
        return self.past[row]

    def id(self, row):
        return self.past.id(row)

    def words(self, name):
        return self.past.words(name)

    def column(self, name):
        self.read.add(name)
        return self.past.column(name)


def test_similarity_reads_no_outcome_and_hybrid_only_whether_money_was_lost():
    past = past_of([episode("a", 1), episode("b", 2, pnl=-1.0)])
    for fn, outcomes in ((most_similar, set()), (most_similar_balanced, {"negative"})):
        table = Watched(past)
        fn(asking(), table)
        assert table.read & set(OUTCOME_COLUMNS) == outcomes
        assert "situation" in table.read


def test_hybrid_shows_a_loss_among_the_five_winners_of_the_article():
    wins = [
        episode(f"win{i}", 10 + i, pnl=pnl) for i, pnl in enumerate((92.0, 31.1, 105.8, 19.9, 51.6))
    ]
    far = episode("loss", 5, pnl=-218.5, features=features(atr_d1=60.0, trend="range"))
    past = past_of([*wins, far])
    assert [i.id for i in similarity()(asking(), past)] == [f"win{i}" for i in range(5)]
    found = hybrid()(asking(), past)
    assert [i.id for i in found] == ["win0", "win1", "win2", "win3", "loss"]
    assert [i.mark for i in found] == ["", "", "", "", "injected"]


def test_a_break_even_trade_is_no_loss():
    past = past_of([episode("even", 1, pnl=0.0), episode("win", 2)])
    assert [i.mark for i in hybrid()(asking(), past)] == ["", ""]


def test_a_pool_smaller_than_k_is_shown_whole():
    past = past_of([episode("a", 1), episode("b", 2, pnl=-1.0)])
    for arm in ("similarity", "hybrid"):
        assert sorted(i.id for i in RECALL[arm]({})(asking(5), past)) == ["a", "b"]


@pytest.mark.parametrize("arm", list(RECALL))
def test_every_arm_is_a_recall_function_and_recalls_nothing_from_nothing(arm):
    fn = RECALL[arm]({})
    assert isinstance(fn, RecallFn)
    assert fn(asking(), past_of([])) == []
    assert fn(asking(0), past_of([episode()])) == []


def test_none_recalls_nothing():
    assert none()(asking(), past_of([episode()])) == []


def test_the_arms_are_these():
    assert list(RECALL) == ["none", "similarity", "hybrid"]


def test_parameters_reach_the_arm():
    past = past_of([episode("a", 1), *(episode(f"b{i}", 2 + i, pnl=-1.0) for i in range(3))])
    near = RECALL["similarity"]({"strategy": 2.0, "atr_m15": 0.0})(asking(1), past)
    assert set(near[0].components) == {"atr_d1", "sessions", "trend", "volatility", "strategy"}
    full = RECALL["hybrid"]({"min_negative_ratio": 1.0})(asking(2), past)
    assert all(past[i.row].pnl < 0 for i in full)


@pytest.mark.parametrize(
    ("arm", "params", "message"),
    [
        ("none", {"k": 1.0}, "memory.k: no such parameter; there are: none"),
        ("similarity", {"min_negative_ratio": 0.2}, "memory.min_negative_ratio: no such parameter"),
        ("hybrid", {"atr": 1.0}, "memory.atr: no such parameter; there are: k, atr_m15, .*ratio"),
        ("hybrid", {"min_negative_ratio": 1.5}, "memory.min_negative_ratio: .*found 1.5"),
        ("hybrid", {"min_negative_ratio": math.nan}, "memory.min_negative_ratio: .*found nan"),
        ("similarity", {"trend": -1.0}, "memory.trend: expected a number from 0 to .*found -1.0"),
        ("similarity", {"trend": math.nan}, "memory.trend: .*found nan"),
        ("similarity", {"trend": math.inf}, "memory.trend: .*found inf"),
        ("similarity", {"trend": "much"}, "memory.trend: .*found 'much'"),
        ("similarity", {"bandwidth": 0.0}, "memory.bandwidth: expected a number from 0.001"),
        ("hybrid", {"recency_days": 0.0}, "memory.recency_days: expected a number from 0.001"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(arm, params, message):
    with pytest.raises(SpecInvalid, match=message):
        RECALL[arm](params)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(SpecInvalid, match="every weight is 0"):
        Weights(0, 0, 0, 0, 0, 0, 0)


def test_recall_is_pure():
    past = past_of([episode(f"{i}", i + 1, pnl=float(i % 3 - 1)) for i in range(50)])
    first = most_similar_balanced(asking(), past)
    assert all(most_similar_balanced(asking(), past) == first for _ in range(3))


def test_the_package_hands_out_its_names():
    import dream.memory as package  # noqa: PLC0415 - the lazy import is what is tested

    assert package.__all__ == sorted(package.__all__, key=lambda n: (not n.isupper(), n))
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert package.RECALL is recall.RECALL
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = package.nonesuch
