"""Which decision a request belongs to: retries, repairs, resumed and simultaneous runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from dream.llm.fake import tracker
from dream.llm.fake.tracker import Tracker
from tests.llm.fake.asking import body


def where(place):
    return place.decision, place.turn, place.attempt


def answered(t, request, *, unread=False, settled=True):
    t.answered(t.place("", request), settled=settled, unread=unread)


def test_new_bodies_are_decisions_and_old_ones_attempts():
    t = Tracker()
    found = [where(t.place("", body(user))) for user in ("a", "a", "b", "a", "c", "c")]
    assert found == [(0, 0, 1), (0, 0, 2), (1, 0, 1), (0, 0, 3), (2, 0, 1), (2, 0, 2)]


def test_the_same_request_in_another_spelling():
    t = Tracker()
    t.place("", body("a"))
    assert where(t.place("", json.loads(json.dumps(body("a"), sort_keys=True)))) == (0, 0, 2)


def test_a_repair_begins_with_the_question_after_an_unreadable_answer():
    t = Tracker()
    answered(t, body("question 1"), unread=True)
    assert where(t.place("", body("question 1\nAgain, please."))) == (0, 1, 1)
    assert where(t.place("", body("question 1\nAgain, please."))) == (0, 1, 2)
    assert where(t.place("", body("question 2"))) == (1, 0, 1)


def test_what_was_answered_for_good_is_met_by_the_same_and_does_not_count():
    """As after a kill with the answer under way: the repair is the second request all the same."""
    t = Tracker()
    numbers = []
    for user in ("q0", "q1", "q1", "q1", "q1 again", "q2"):
        place = t.place("", body(user))
        numbers.append((place.decision, place.nth, place.request, place.attempt))
        last = user == "q1" and place.attempt > 1
        t.answered(place, settled=user != "q1" or last, unread=last)
    assert numbers == [
        (0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (1, 1, 2, 3), (1, 2, 3, 1), (2, 0, 4, 1),
    ]  # fmt: skip


def test_a_prompt_that_only_grows_is_no_repair():
    t = Tracker()
    answered(t, body("bars 1"), unread=False)
    assert where(t.place("", body("bars 1 2"))) == (1, 0, 1)


def test_after_an_unreadable_answer_another_question_is_a_decision():
    t = Tracker()
    answered(t, body("question 1"), unread=True)
    assert where(t.place("", body("something else"))) == (1, 0, 1)


def test_a_repair_as_a_longer_conversation():
    t = Tracker()
    first = body("question 1")
    answered(t, first, unread=True)
    turns = [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "JSON, please"}]
    longer = {**first, "messages": [*first["messages"], *turns]}
    assert where(t.place("", longer)) == (0, 1, 1)


def test_runs_are_told_apart_by_name_model_and_system_prompt():
    t = Tracker()
    requests = [
        ("", body("a")), ("x", body("a")), ("", body("a", system="You wait.")),
        ("", body("a", model="claude-haiku-5-5")),
    ]  # fmt: skip
    places = [t.place(name, one) for name, one in requests]
    assert [where(place) for place in places] == [(0, 0, 1)] * 4
    assert len({place.run for place in places}) == 4
    assert [place.name for place in places] == ["", "x", "", ""]
    assert places[1].run == "x"
    assert t.place("x", body("b", system="reflect")).run == "x#2"


def test_only_so_many_runs(monkeypatch):
    monkeypatch.setattr(tracker, "MAX_RUNS", 2)
    t = Tracker()
    t.place("a", body("1"))
    t.place("b", body("1"))
    with pytest.raises(tracker.TooManyRuns):
        t.place("c", body("1"))
    t.place("a", body("2"))


def test_simultaneous_runs_do_not_disturb_each_other():
    t = Tracker()

    def walk(name):
        return [where(t.place(name, body(f"q {n // 2}"))) for n in range(200)]

    with ThreadPoolExecutor(8) as pool:
        walks = list(pool.map(walk, "abcdefgh"))
    assert walks == [[(n // 2, 0, n % 2 + 1) for n in range(200)]] * 8
