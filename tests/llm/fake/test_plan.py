"""Which request meets which fault: by share and seed, by decision, by request, by run."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dream.llm.fake.faults import Fault
from tests.llm.fake.asking import plan


def first(of, decision, run=""):
    strike = of.strike(run, decision, 0, decision)
    return strike.fault if strike else None


def test_the_empty_plan_leaves_everybody_alone():
    assert {first(plan(), n) for n in range(500)} == {None}


def test_shares_are_of_decisions():
    """20,000 draws: five standard errors of a share of 5 % are 0.8 %."""
    drawn = [first(plan(shares={"429": 0.05, "cut": 0.2}), n) for n in range(20_000)]
    assert drawn.count("429") / 20_000 == pytest.approx(0.05, abs=0.008)
    assert drawn.count("cut") / 20_000 == pytest.approx(0.20, abs=0.015)


def test_the_order_in_the_file_does_not_matter_and_the_seed_does():
    one = plan(shares={"429": 0.3, "cut": 0.3})
    other = plan(shares={"cut": 0.3, "429": 0.3})
    seeded = plan(shares={"429": 0.3, "cut": 0.3}, seed=1)
    drawn = [[first(p, n) for n in range(200)] for p in (one, other, seeded)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_named_run_has_draws_of_its_own():
    some = plan(shares={"429": 0.5})
    drawn = [[first(some, n, run) for n in range(100)] for run in ("", "a", "b", "a")]
    assert drawn[1] == drawn[3]
    assert drawn[0] != drawn[1] != drawn[2]


@pytest.mark.parametrize(("times", "struck"), [(1, 1), (3, 3), (0, 9), ("always", 9)])
def test_how_often_in_a_row(times, struck):
    some = plan(at=[{"decision": 4, "fault": "cut", "times": times}])
    assert sum(some.strike("", 4, nth, 4 + nth) is not None for nth in range(9)) == struck
    drawn = plan(shares={"cut": 1.0}, how={"cut": {"times": times}})
    assert sum(drawn.strike("", 4, nth, 4 + nth) is not None for nth in range(9)) == struck


def test_faults_of_one_decision_follow_each_other():
    some = plan(
        at=[
            {"decision": 1, "fault": "429", "times": 2, "retry_after_s": 3},
            {"decision": 1, "fault": "cut"},
        ],
        shares={"500": 1.0},
    )
    met = [some.strike("", 1, nth, 9) for nth in range(4)]
    assert [m and m.fault for m in met] == ["429", "429", "cut", None]
    assert [m and m.retry_after_s for m in met] == [3, 3, None, None]
    assert first(some, 0) == "500"


def test_a_request_by_its_number_wins():
    some = plan(at=[{"request": 7, "fault": "reset"}], shares={"500": 1.0})
    assert some.strike("", 3, 0, 7).fault == "reset"
    assert some.strike("", 3, 0, 6).fault == "500"


def test_a_fault_of_one_run():
    some = plan(at=[{"decision": 0, "fault": "401", "run": "a"}])
    assert (first(some, 0, "a"), first(some, 0, "b"), first(some, 0)) == ("401", None, None)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"shares": {"429": 0.6, "cut": 0.6}}, "more than 1 together"),
        ({"shares": {"429": -0.1}}, "greater than or equal to 0"),
        ({"shares": {"429": True}}, "valid number"),
        ({"shares": {"428": 0.1}}, "Input should be '400'"),
        ({"how": {"cut": {"retry_after_s": 1}}}, "belongs to an error status"),
        ({"how": {"429": {"seconds": 1}}}, "belongs to silence or trickle"),
        ({"at": [{"fault": "cut"}]}, "either decision or request"),
        ({"at": [{"fault": "cut", "decision": 1, "request": 1}]}, "either decision or request"),
        ({"at": [{"fault": "cut", "request": 1, "times": 2}]}, "met once"),
        ({"at": [{"fault": "cut", "decision": -1}]}, "greater than or equal to 0"),
        ({"latency_s": [0.4, 0.2]}, "the smaller one"),
        ({"latency_s": float("nan")}, "finite number"),
        ({"sed": 1}, "Extra inputs"),
    ],
)
def test_what_is_no_plan(wrong, why):
    with pytest.raises(ValidationError, match=why):
        plan(**wrong)


@given(
    st.dictionaries(st.sampled_from(get_args(Fault)), st.floats(0, 1), max_size=4).filter(
        lambda shares: sum(shares.values()) <= 1
    ),
    st.integers(),
    st.integers(0, 10**6),
)
def test_a_draw_is_one_of_the_shares_and_always_the_same(shares, seed, decision):
    some = plan(shares=shares, seed=seed)
    found = first(some, decision)
    assert found is None or shares[found] > 0
    assert found == first(plan(shares=shares, seed=seed), decision)
