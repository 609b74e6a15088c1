"""A walk begun again is the same walk, and the two do not know of each other."""

from __future__ import annotations

from dream.bars import synth
from dream.engine.session import Asked, Done, Session
from dream.llm.scripted import Random
from dream.runs.observing import observation
from dream.strategies import REGISTRY, asks
from dream.types import Terms


def walked(session, most=10_000):
    """What happens until the end, or for so many events, under a decider that trades."""
    told, decider = [], Random(0.3, 1)
    while len(told) < most:
        event = session.advance()
        if isinstance(event, Asked):
            told.append(observation(event.snapshot))
            session.submit(decider.decide(event.snapshot, ()))
        else:
            told.append(repr(event))
        if isinstance(event, Done):
            break
    return told


def test_the_same_walk_from_its_beginning():
    checks = []

    def counted(bars, **given):
        checks.append(1)
        return REGISTRY["VolBreakout"](bars, **given)

    every = asks.policy("bar", manage=False)
    session = Session(
        synth.make(6_000, 1), {**REGISTRY, "counted": counted}, Terms(), asks=every, limit=400
    )
    once = len(checks)
    session.show_day()
    before = walked(session, 150)
    again = session.afresh()
    assert len(checks) == once, "nothing is checked again"
    whole = walked(again)
    assert whole[:150] == before
    assert before + walked(session) == whole
    assert walked(again.afresh()) == whole
    assert sum("TradeClosed" in event for event in whole) > 3
