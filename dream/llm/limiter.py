"""How many calls are made of one model at the same time: fewer when it says that it is busy."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Condition, Lock
from typing import TYPE_CHECKING

from dream.llm.client import CallFailed

if TYPE_CHECKING:
    from collections.abc import Generator

    from dream.llm.client import MessageRequest, Transport
    from dream.types import Reply


class Limiter:
    """Slots for calls in flight to one model; safe between threads.

    Half as many after a call that was refused because of its number (429, 529), one more after as
    many good answers in a row as there are slots.

    Args:
        most: slots at the start, and never more.

    Attributes:
        slots: at present, at least 1.
    """

    def __init__(self, most: int) -> None:
        assert most >= 1
        self.slots = most
        self._most = most
        self._taken = 0
        self._good = 0
        self._free = Condition(Lock())

    @contextmanager
    def slot(self) -> Generator[None]:
        """Waits for one and holds it."""
        with self._free:
            self._free.wait_for(lambda: self._taken < self.slots)
            self._taken += 1
        try:
            yield
        finally:
            with self._free:
                self._taken -= 1
                self._free.notify_all()

    def answered(self) -> None:
        """Told of a good answer."""
        with self._free:
            self._good += 1
            if self._good >= self.slots:
                self._good = 0
                self.slots = min(self.slots + 1, self._most)
                self._free.notify_all()

    def refused(self) -> None:
        """Told of a call that was one too many."""
        with self._free:
            self._good = 0
            self.slots = max(self.slots // 2, 1)


class Limited:
    """A transport that shares the slots of its model with others.

    Args:
        transport: makes the attempt. limiter: of its endpoint and model.
    """

    def __init__(self, transport: Transport, limiter: Limiter) -> None:
        self._transport = transport
        self._limiter = limiter

    def send(self, request: MessageRequest, /) -> Reply:
        """One attempt, once there is room for it.

        Raises:
            CallFailed: it gave no usable answer.
        """
        with self._limiter.slot():
            try:
                reply = self._transport.send(request)
            except CallFailed as failure:
                if failure.busy:
                    self._limiter.refused()
                raise
        self._limiter.answered()
        return reply


class Limiters:
    """One limiter for each endpoint and model.

    Args:
        most: calls at the same time to each.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[tuple[str, str], Limiter] = {}
        self._lock = Lock()

    def of(self, host: str, model: str) -> Limiter:
        """The limiter of a model at an endpoint."""
        with self._lock:
            return self._of.setdefault((host, model), Limiter(self._most))
