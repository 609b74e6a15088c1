"""A recall function is the user's code: nothing it can reach by plain means changes the run."""

from __future__ import annotations

import math
from collections import UserDict
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dream.errors import InputError, LeakError
from dream.memory.episodes import Memory
from dream.memory.recall import checked, hybrid, most_similar
from dream.types import Features, Recalled
from tests.memory.made import asking, episode, past_of

PAST = past_of([episode("a", 1), episode("b", 2, pnl=-1.0), episode("c", 3)])


def returning(*items):
    def users_function(query, past):
        return list(items)

    return users_function


def painted(thing, **changes):
    """The thing, changed behind the back of its frozen class."""
    for name, value in changes.items():
        object.__setattr__(thing, name, value)
    return thing


# What the function is handed


def test_k_is_the_runs_whatever_the_function_writes_into_its_query():
    def greedy(query, past):
        painted(query, k=100, seq=99)
        return [Recalled(row, past.id(row), 0.5) for row in range(3)]

    with pytest.raises(InputError, match=r"decision 7: expected a list of at most 2 .* found 3"):
        checked(greedy, asking(k=2, seq=7), PAST)


def test_the_query_of_the_run_is_not_the_one_that_is_handed_out():
    def vandal(query, past):
        for field in fields(Features):
            painted(query.features, **{field.name: None})
        painted(query, features=None, now_ns=0, seed=9)
        return []

    query = asking(seq=7)
    before = repr(query)
    assert checked(vandal, query, PAST) == []
    assert repr(query) == before


def test_an_episode_painted_over_is_the_same_at_the_next_reading():
    memory = Memory([episode("a", 1), episode("b", 2, pnl=-1.0)])
    past = memory.visible(10)
    given = painted(past[1], pnl=99.0, id="x", known_ns=10**18, reasoning="buy!")
    painted(given.features, trend="down")
    assert past[1] == episode("b", 2, pnl=-1.0)
    assert [e.pnl for e in memory.visible(11)] == [1.0, -1.0]
    assert [item.id for item in checked(hybrid(), asking(1), past)] == ["b"]


def test_an_episode_painted_over_by_who_gave_it_is_kept_as_it_was():
    mine = episode("a", 1)
    memory = Memory([mine])
    painted(mine, pnl=-1.0, known_ns=10**18)
    painted(mine.features, hour=99)
    assert list(memory.visible(2)) == [episode("a", 1)]


def test_what_the_function_returned_is_not_what_the_run_keeps():
    components = {"x": 1.0}
    held = [Recalled(0, "a", 0.5, components)]
    (kept,) = checked(lambda query, past: held, asking(), PAST)
    components["x"] = 2.0
    painted(held[0], score=9.0, id="b")
    held.clear()
    assert kept == Recalled(0, "a", 0.5, {"x": 1.0})


def test_an_id_is_had_without_the_episode():
    assert [PAST.id(row) for row in (0, 1, 2, -1)] == ["a", "b", "c", "c"]
    with pytest.raises(IndexError, match="3 episodes"):
        PAST.id(3)


# What it returns


class Liar(str):
    """Equal to everything, with another's hash and another's text."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash("a")

    def __str__(self):
        return "a"

    def __repr__(self):
        return "'a'"


class HalfTruth(float):
    """Says one number and is another."""

    def __repr__(self):
        return "0.25"


class Whole:
    """Stands for row 1 as a list index would."""

    def __index__(self):
        return 1


def test_an_id_that_claims_to_equal_every_other_is_read_as_what_it_is():
    with pytest.raises(LeakError, match=r"row 0 with id 'future'"):
        checked(returning(Recalled(0, Liar("future"), 0.5)), asking(), PAST)
    (kept,) = checked(returning(Recalled(0, Liar("a"), 0.5)), asking(), PAST)
    assert type(kept.id) is str


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (Recalled(np.int64(1), np.str_("b"), 0.5), Recalled(1, "b", 0.5)),
        (Recalled(Whole(), "b", 0.5), Recalled(1, "b", 0.5)),
        (Recalled(1, "b", Decimal("0.5")), Recalled(1, "b", 0.5)),
        (Recalled(1, "b", Fraction(1, 4)), Recalled(1, "b", 0.25)),
        (Recalled(1, "b", HalfTruth(0.75)), Recalled(1, "b", 0.75)),
        (Recalled(1, "b", True), Recalled(1, "b", 1.0)),
        (Recalled(1, "b", -2, {"x": np.bool_(True)}), Recalled(1, "b", -2.0, {"x": 1.0})),
        (Recalled(1, "b", 0, {Liar("y"): np.int8(3)}), Recalled(1, "b", 0.0, {"y": 3.0})),
        (Recalled(1, "b", 0.5, UserDict(x=1)), Recalled(1, "b", 0.5, {"x": 1.0})),
        (Recalled(1, "b", 0.5, {}, Liar("placebo")), Recalled(1, "b", 0.5, {}, "placebo")),
    ],
)
def test_what_can_be_read_becomes_exact_built_in_values(given, plain):
    (kept,) = checked(returning(given), asking(), PAST)
    assert kept == plain
    values = (kept.row, kept.id, kept.score, kept.components, kept.mark)
    assert list(map(type, values)) == [int, str, float, dict, str]
    assert {type(name) for name in kept.components} <= {str}
    assert {type(value) for value in kept.components.values()} <= {float}


class Lying(UserDict):
    """A mapping that has another length than it lists, and lists a name twice."""

    def __len__(self):
        return 0

    def items(self):
        return iter([("x", 1.0), ("x", 2.0)])


class Raising(UserDict):
    def items(self):
        raise RuntimeError("no items today")


class Endless(UserDict):
    def items(self):
        n = 0
        while True:
            n += 1
            yield f"n{n}", 0.0


class Unshowable:
    def __repr__(self):
        raise RuntimeError("not shown")


class Item(Recalled):
    """A subclass could answer differently at every reading."""


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Recalled(True, "b", 0.5), "expected a whole number, found bool True"),
        (Recalled(np.bool_(True), "b", 0.5), "expected a whole number, found bool"),
        (Recalled(0, b"a", 0.5), "expected text, found bytes b'a'"),
        (Recalled(0, 1, 0.5), "expected text, found int 1"),
        (Recalled(0, "a", 10**400), "expected a number that a float can hold, found int 1000"),
        (Recalled(0, "a", 10**5000), "expected a number that a float can hold, found int a"),
        (Recalled(0, "a", Decimal("NaN")), "expected finite scores, found nan"),
        (Recalled(0, "a", Decimal("sNaN")), "signaling NaN"),
        (Recalled(0, "a", 1j), "expected a number, found complex 1j"),
        (Recalled(0, "a", np.complex128(1j)), "expected a number, found complex128"),
        (Recalled(0, "a", np.array([0.5])), "expected a number, found ndarray"),
        (Recalled(0, "a", "0.5"), "expected a number, found str '0.5'"),
        (Recalled(0, "a", Unshowable()), "expected a number, found Unshowable a Unshowable that"),
        (Recalled(0, "a", 0.5, {"x": 10**400}), "'x': expected a number that a float can hold"),
        (Recalled(0, "a", 0.5, {"x": None}), "'x': expected a number, found NoneType None"),
        (Recalled(0, "a", 0.5, {1: 0.5}), "expected text, found int 1"),
        (Recalled(0, "a", 0.5, {"": 0.5}), "expected names of 1 to 64 characters, found ''"),
        (Recalled(0, "a", 0.5, {"x" * 65: 0.5}), "expected names of 1 to 64 characters, found 'x"),
        (Recalled(0, "a", 0.5, {"x" * 10**6: 0.5}), "expected names of 1 to 64 characters"),
        (Recalled(0, "a", 0.5, {f"n{i}": 0.5 for i in range(33)}), "at most 32 names, found more"),
        (Recalled(0, "a", 0.5, {f"n{i}": 0.5 for i in range(10_000)}), "at most 32 names"),
        (Recalled(0, "a", 0.5, Endless()), "at most 32 names"),
        (Recalled(0, "a", 0.5, Lying()), "expected different names, found 'x' twice"),
        (Recalled(0, "a", 0.5, Raising()), "no items today"),
        (Recalled(0, "a", 0.5, None), "has no attribute 'items'"),
        (Recalled(0, "a", 0.5, {}, "+"), "mark: expected one of '', 'injected', 'placebo', found"),
        (Recalled(0, "a", 0.5, {}, "x" * 10**6), "mark: expected one of"),
        (Item(0, "a", 0.5), "expected Recalled, found Item"),
        (Unshowable(), "expected Recalled, found Unshowable, in a Unshowable that cannot be shown"),
    ],
)
def test_what_cannot_be_read_is_one_error_with_function_decision_and_item(item, message):
    first = Recalled(1, "b", 0.9)
    where = r"recall function .*test_user_code:returning\.<locals>\.users_function at decision 7: "
    with pytest.raises(InputError, match=f"{where}item 1: .*{message}") as caught:
        checked(returning(first, item), asking(seq=7), PAST)
    assert len(str(caught.value)) < 1000


def test_as_many_components_with_as_long_names_as_allowed_pass():
    components = {f"{i:064}": float(i) for i in range(32)}
    (kept,) = checked(returning(Recalled(0, "a", 0.5, components)), asking(), PAST)
    assert kept.components == components


class Shorter(list):
    """A list that says it is empty."""

    def __len__(self):
        return 0


def test_a_list_of_another_class_is_refused():
    with pytest.raises(InputError, match="expected a list of at most 5 Recalled, found a Shorter"):
        checked(lambda query, past: Shorter([1]), asking(), PAST)


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Odd(BaseException):
    """Neither an Exception nor a wish to stop."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SpeechlessError(), "SpeechlessError: its message cannot be shown"),
        (Odd("odd"), "Odd: odd"),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError("deep"), "RecursionError: deep"),
        (ValueError("x" * 10**6), "ValueError: xxx"),
    ],
)
def test_whatever_the_function_raises_is_one_error_that_names_it(error, message):
    def users_function(query, past):
        raise error

    with pytest.raises(InputError, match=f"at decision 7 failed: {message}") as caught:
        checked(users_function, asking(seq=7), PAST)
    assert len(str(caught.value)) < 1000
    assert "test_user_code.py, line" in str(caught.value)


def test_ctrl_c_in_the_function_stays_ctrl_c():
    def users_function(query, past):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checked(users_function, asking(), PAST)


class Nameless:
    """A callable whose attributes cannot be had."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __call__(self, query, past):
        return None


def test_an_object_is_named_by_its_class():
    with pytest.raises(InputError, match=r"recall function .*test_user_code:Nameless at decision"):
        checked(Nameless(), asking(), PAST)


# Episodes of earlier runs


def test_an_imported_episode_is_kept_in_exact_built_in_values():
    given = episode(
        Liar("a"), np.int64(5), pnl=Decimal("1.5"), r=Fraction(1, 2), side=np.int8(-1), entry=2000
    )
    (kept,) = Memory([given]).visible(6)
    assert kept == episode("a", 5, pnl=1.5, r=0.5, side=-1)
    values = (kept.id, kept.known_ns, kept.pnl, kept.r, kept.side, kept.entry, kept.opened_ns)
    assert list(map(type, values)) == [str, int, float, float, int, float, int]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pnl": "1"}, "pnl: expected a number, found str '1'"),
        ({"pnl": 10**400}, "pnl: expected a number that a float can hold"),
        ({"side": 1.0}, "side: expected a whole number, found float 1.0"),
        ({"known_ns": True}, "known_ns: expected a whole number, found bool True"),
        ({"r": "x"}, "r: expected a number, found str 'x'"),
        ({"reasoning": None}, "reasoning: expected text, found NoneType None"),
        ({"strategy": 3}, "strategy: expected text, found int 3"),
    ],
)
def test_an_imported_episode_of_other_types_is_refused_by_id_and_field(changes, message):
    with pytest.raises(InputError, match=f"episode 'odd': {message}"):
        Memory([painted(episode("odd"), **changes)])


def test_an_arm_called_by_a_users_function_is_unchanged():
    def users_function(query, past):
        return most_similar(query, past)

    assert checked(users_function, asking(2), PAST) == most_similar(asking(2), PAST)
    assert all(math.isfinite(item.score) for item in checked(hybrid(), asking(), PAST))
