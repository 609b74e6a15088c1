"""Slots for one model: fewer after it was too busy, more again after good answers."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm.client import CallFailed
from dream.llm.limiter import Limited, Limiter, Limiters
from dream.types import Reply


def test_half_as_many_and_one_more():
    limiter = Limiter(8)
    seen = [limiter.slots]
    for _ in range(4):
        limiter.refused()
        seen.append(limiter.slots)
    assert seen == [8, 4, 2, 1, 1]
    answers = []
    while limiter.slots < 8:
        before, n = limiter.slots, 0
        while limiter.slots == before:
            limiter.answered()
            n += 1
        answers.append(n)
    assert answers == [1, 2, 3, 4, 5, 6, 7]
    for _ in range(100):
        limiter.answered()
    assert limiter.slots == 8


@given(st.lists(st.booleans()), st.integers(1, 20))
def test_always_between_one_and_most(busy, most):
    limiter = Limiter(most)
    for refused in busy:
        limiter.refused() if refused else limiter.answered()
        assert 1 <= limiter.slots <= most


class Counting:
    """A transport that knows how many are in it."""

    def __init__(self):
        self.inside, self.most, self.lock = 0, 0, threading.Lock()

    def send(self, request):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.01)
        with self.lock:
            self.inside -= 1
        if isinstance(request, CallFailed):
            raise request
        return Reply("x")


@pytest.mark.parametrize("most", [1, 3])
def test_never_more_in_flight_than_slots(most):
    counting = Counting()
    limited = Limited(counting, Limiter(most))
    threads = [threading.Thread(target=limited.send, args=(None,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.most == most


def test_only_a_busy_server_takes_slots_away():
    limiter = Limiter(8)
    limited = Limited(Counting(), limiter)
    for busy, slots in ((False, 8), (True, 4), (False, 4), (True, 2)):
        with pytest.raises(CallFailed):
            limited.send(CallFailed("x", busy=busy))
        assert limiter.slots == slots


def test_one_for_each_endpoint_and_model():
    limiters = Limiters(5)
    assert limiters.of("a", "m") is limiters.of("a", "m")
    assert len({id(limiters.of(*pair)) for pair in (("a", "m"), ("a", "n"), ("b", "m"))}) == 3
