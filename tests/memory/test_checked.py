"""Whatever a recall function does, only episodes it was given get through."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest

from dream.errors import InputError, LeakError, SpecInvalid
from dream.memory.episodes import Memory
from dream.memory.recall import checked, hybrid, most_similar
from dream.types import Recalled
from tests.memory.made import asking, episode, past_of

PAST = past_of([episode("a", 1), episode("b", 2), episode("c", 3)])


def returning(*items):
    def users_function(query, past):
        return list(items)

    return users_function


def test_what_is_right_passes_unchanged():
    items = [Recalled(2, "c", 0.5, {"x": 1.0}, "placebo"), Recalled(0, "a", 0.1)]
    assert checked(returning(*items), asking(), PAST) == items
    assert checked(returning(), asking(), PAST) == []
    assert len(checked(hybrid(), asking(), PAST)) == 3


@pytest.mark.parametrize(
    "item",
    [Recalled(3, "a", 0.5), Recalled(-1, "c", 0.5), Recalled(0, "b", 0.5), Recalled(1, "new", 0.5)],
)
def test_an_item_that_is_not_in_the_past_is_a_leak_at_this_question(item):
    with pytest.raises(LeakError, match=r"decision 7 returned row .* 3 episodes it was given"):
        checked(returning(item), asking(seq=7), PAST)


def test_a_function_that_kept_a_later_table_is_caught():
    """It was handed everything by its author; the check does not care how it knew."""
    memory = Memory([episode("a", 100), episode("future", 900)])
    everything = past_of([episode("a", 100), episode("future", 900)])

    def cheat(query, past):
        return most_similar(query, everything)

    with pytest.raises(LeakError, match="'future'"):
        checked(cheat, asking(5, 500), memory.visible(500))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([Recalled(0, "a", 0.5), Recalled(0, "a", 0.4)], "row 0 is returned twice"),
        ([Recalled(0, "a", math.nan)], "expected finite scores"),
        ([Recalled(0, "a", math.inf)], "expected finite scores"),
        ([Recalled(0, "a", 0.5, {"x": math.nan})], "expected finite scores"),
        ([Recalled(0, "a", None)], "expected a number, found NoneType None"),
        ([Recalled(0, "a", "high")], "expected a number, found str 'high'"),
        ([Recalled(0.0, "a", 0.5)], r"expected a whole number, found float 0\.0"),
        ([Recalled("0", "a", 0.5)], "expected a whole number, found str '0'"),
        ([Recalled(0, "a", 0.5, [0.5])], "has no attribute 'items'"),
        ([Recalled(0, "a", 0.5, {}, None)], "expected text, found NoneType None"),
        ([0], "expected Recalled, found int"),
        ([episode("a")], "expected Recalled, found Episode"),
    ],
)
def test_a_faulty_item_names_function_and_question(items, message):
    where = r"recall function .*test_checked:returning\.<locals>\.users_function at decision 7: "
    with pytest.raises(InputError, match=where + ".*" + message):
        checked(returning(*items), asking(seq=7), PAST)


@pytest.mark.parametrize("wrong", [None, "a", (), 5])
def test_something_other_than_a_list_is_refused(wrong):
    with pytest.raises(InputError, match=r"expected a list of at most 5 Recalled, found a"):
        checked(lambda query, past: wrong, asking(), PAST)


def test_more_than_k_is_refused():
    items = [Recalled(0, "a", 0.5), Recalled(1, "b", 0.4)]
    with pytest.raises(InputError, match="a list of at most 1 Recalled, found 2"):
        checked(returning(*items), asking(1), PAST)


def test_a_function_that_fails_is_shown_with_its_line():
    def users_function(query, past):
        return past.column("profit")

    with pytest.raises(InputError, match=r"decision 7 failed: KeyError: .*profit.*episodes\.py, l"):
        checked(partial(users_function), asking(seq=7), PAST)
    with pytest.raises(InputError, match=r"failed: TypeError: .*positional argument"):
        checked(lambda query: [], asking(), PAST)


def test_an_error_of_dream_keeps_its_class():
    def users_function(query, past):
        raise SpecInvalid("weights")

    with pytest.raises(SpecInvalid, match="weights"):
        checked(users_function, asking(), PAST)


class Named:
    """A recall function may be an object."""

    def __call__(self, query, past):
        return None


def test_an_object_and_a_bound_function_are_named_too():
    with pytest.raises(InputError, match=r"recall function .*test_checked:Named at decision"):
        checked(Named(), asking(), PAST)


def test_numbers_of_numpy_become_plain_ones():
    given = Recalled(np.int64(1), "b", np.float32(0.5), {"near": np.float32(0.25), "n": 2})
    (found,) = checked(returning(given), asking(), PAST)
    assert found == Recalled(1, "b", 0.5, {"near": 0.25, "n": 2.0})
    assert type(found.row) is int
    line = json.dumps([found.row, found.score, dict(found.components)], allow_nan=False)
    assert line == '[1, 0.5, {"near": 0.25, "n": 2.0}]'
