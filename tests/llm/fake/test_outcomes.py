"""How decisions end, worked out from the plan; tests/cli/test_fake_command.py runs them."""

from __future__ import annotations

import pytest

from dream.llm.fake import Patient, outcomes
from tests.llm.fake.asking import always, plan


def ends(some, n=1, **client):
    return [(o.status, o.requests, o.stops) for o in outcomes(some, n, Patient(**client))]


@pytest.mark.parametrize(
    ("fault", "times", "ended"),
    [
        ("429", 1, ("ok", 2, 0)),
        ("429", 5, ("ok", 6, 0)),
        ("429", 6, ("api_error", 6, 0)),
        ("cut", "always", ("api_error", 6, 0)),
        ("no_stop", 2, ("ok", 3, 0)),
        ("401", 1, ("ok", 2, 1)),
        ("wrong_model", 1, ("ok", 2, 0)),
        ("wrong_model", 3, ("ok", 4, 1)),
        ("refusal", 1, ("model_refusal", 1, 0)),
        ("max_tokens", 1, ("truncated", 1, 0)),
        ("context_exceeded", 1, ("truncated", 1, 0)),
        ("no_answer", 1, ("ok", 2, 0)),
        ("no_answer", 2, ("parse_error", 2, 0)),
        ("silence", 1, ("ok", 2, 0)),
        ("404", 0, (None, 100, 100)),
    ],
)
def test_one_decision(fault, times, ended):
    assert ends(always(fault, times=times)) == [ended]


def test_a_repair_is_asked_as_patiently_as_the_question():
    some = plan(
        at=[
            {"decision": 0, "fault": "no_answer"},
            {"decision": 0, "fault": "529", "times": 5},
        ]
    )
    assert ends(some) == [("ok", 7, 0)]
    (one,) = outcomes(some, 1)
    assert one.faults == ("no_answer", *["529"] * 5)


def test_a_client_that_stops_where_another_holds():
    some = always("429", times=7)
    assert ends(some) == [("api_error", 6, 0)]
    assert ends(some, on_error="stop") == [("ok", 8, 1)]
    assert ends(some, attempts=8) == [("ok", 8, 0)]


def test_silence_is_a_matter_of_who_waits():
    some = always("silence", seconds=5)
    assert ends(some, limit_s=6) == [("ok", 1, 0)]
    assert ends(some, limit_s=5) == [("ok", 2, 0)]


def test_prose_is_a_matter_of_the_form():
    some = always("prose", times=2)
    found = [ends(some, answer=answer)[0][0] for answer in ("schema", "tool", "text")]
    assert found == ["parse_error", "ok", "ok"]


def test_requests_are_counted_through():
    """Decision 0 takes three requests, so request 4 is the second of decision 1, a retry."""
    some = plan(
        at=[
            {"decision": 0, "fault": "cut", "times": 2},
            {"decision": 1, "fault": "reset"},
            {"request": 4, "fault": "refusal"},
        ]
    )
    assert ends(some, 3) == [("ok", 3, 0), ("model_refusal", 2, 0), ("ok", 1, 0)]


def test_nothing_comes_after_a_decision_that_is_never_answered():
    some = plan(at=[{"decision": 2, "fault": "403", "times": "always"}])
    assert [o.status for o in outcomes(some, 10)] == ["ok", "ok", None]


def test_answers_of_a_file_that_cannot_be_read():
    some = plan(answers=["HOLD", '{"action": "HOLD"}', 'so: {"action": "HOLD"}'])
    assert ends(some, 4) == [
        ("parse_error", 2, 0),
        ("ok", 1, 0),
        ("parse_error", 2, 0),
        ("ok", 1, 0),
    ]
    assert [e[0] for e in ends(some, 4, answer="text")] == ["parse_error", "ok", "ok", "ok"]
