"""Deciders and recall functions handed over in Python: two that differ are two runs."""

from __future__ import annotations

from functools import partial
from threading import Lock

import numpy as np
import pytest

from dream.errors import InputError
from dream.runs import api
from dream.runs.state import state_hash
from tests.runs import made


def enter(away, ask, shown):
    if ask.position is not None:
        return {"action": "HOLD"}
    levels = {"stop": ask.close - away, "target": ask.close + away}
    return {"action": "BUY", "strategy": "PullbackEntry", **levels}


class Agent:
    name = "agent"

    def __init__(self, away):
        self.away = away

    def __call__(self, ask, shown):
        return enter(self.away, ask, shown)


def closing_over(away):
    return lambda ask, shown: enter(away, ask, shown)


def hold_then(last):
    return [{"action": "HOLD"}] * 59 + [{"action": last}]


MAKERS = {
    "bound": lambda x: partial(enter, x),
    "closure": closing_over,
    "attribute": Agent,
    "list": lambda x: hold_then("HOLD" if x == 3.0 else "CLOSE"),
}


@pytest.mark.parametrize("way", MAKERS)
def test_two_that_differ_in_what_they_bring_along_are_two_runs(bars_path, tmp_path, way):
    spec = made.spec(bars_path, memory="none")
    near, far = (made.run(spec, tmp_path, decider=MAKERS[way](x)) for x in (3.0, 30.0))
    assert near.folder != far.folder
    assert not far.already_done
    assert near.digest != far.digest
    alone = made.run(spec, tmp_path / "alone", decider=MAKERS[way](30.0))
    assert (alone.id, alone.digest) == (far.id, far.digest)
    again = made.run(spec, tmp_path, decider=MAKERS[way](3.0))
    assert again.already_done
    assert again.digest == near.digest
    assert api.replay(near.folder).digest == near.digest


def last_n(query, past, *, n):
    from dream import Recalled  # noqa: PLC0415

    return [Recalled(row, past[row].id, 1.0) for row in range(max(len(past) - n, 0), len(past))]


def test_recall_functions_too(bars_path, tmp_path):
    spec = made.spec(bars_path, decisions=900)
    runs = [made.run(spec, tmp_path, memory_recall_fn=partial(last_n, n=n)) for n in (0, 3)]
    assert [run.summary["recall"]["recalled"] > 0 for run in runs] == [False, True]
    assert made.run(spec, tmp_path, memory_recall_fn=partial(last_n, n=3)).already_done


def test_a_class_is_no_decider(bars_path, tmp_path):
    with pytest.raises(InputError, match=r"Agent is a class: hand over an object of it, Agent\("):
        made.run(made.spec(bars_path), tmp_path, decider=Agent)
    assert list(tmp_path.iterdir()) == []


def test_an_object_that_counts_goes_on_with_its_own_run(bars_path, tmp_path):
    calls = []

    def counting(ask, shown):
        calls.append(ask.seq)
        if len(calls) == 31:
            raise RuntimeError("once")
        return {"action": "HOLD"}

    spec = made.spec(bars_path, memory="none")
    with pytest.raises(InputError, match="once"):
        made.run(spec, tmp_path, decider=counting)
    made.run(spec, tmp_path, decider=counting)
    assert calls == [*range(31), *range(30, 60)]


class Counting:
    calls = 0

    def answer(self, ask, shown):
        self.calls += 1
        if self.calls == 31:
            raise RuntimeError("once")
        return {"action": "HOLD"}


def test_so_does_a_method_of_an_object_that_counts(bars_path, tmp_path):
    spec, agent = made.spec(bars_path, memory="none"), Counting()
    with pytest.raises(InputError, match="once"):
        made.run(spec, tmp_path, decider=agent.answer)
    made.run(spec, tmp_path, decider=agent.answer)
    assert agent.calls == 31 + 30


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (partial(enter, 1), partial(enter, 2)),
        (partial(enter, ask=1), partial(enter, shown=1)),
        ({"a": [1, (2, 3)]}, {"a": [1, (2, 4)]}),
        ({1, 2}, {1, 3}),
        (np.arange(3), np.arange(3.0)),
        (Slotted(1), Slotted("1")),
        (Agent(Slotted(1)).__call__, Agent(Slotted(2)).__call__),
        (closing_over(closing_over(1)), closing_over(closing_over(2))),
        (lambda x=1: x, lambda x=2: x),
    ],
)
def test_values_that_differ_have_other_hashes(one, other):
    assert state_hash(one) == state_hash(one) != state_hash(other)


def test_what_has_no_state_has_no_hash():
    assert state_hash(enter) is None
    assert state_hash(Lock()) is None
    ring: list[object] = []
    ring.append(ring)
    assert state_hash(ring) is None, "a ring ends"
    assert state_hash([object(), 1]) == state_hash([object(), 1]), "an address is no state"
