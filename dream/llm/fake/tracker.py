"""Which run and which decision a request belongs to: requests carry no number of their own.

A run is what comes in by one path (/run/NAME), from one model with one system prompt. Within it, a
body that was seen before is another attempt; a new one is the next decision, unless the answer
before it was one that may be unreadable and its prompt begins with that decision's: then it is the
repair. A body that was answered for good is answered the same way again, and does not count: so a
run that was killed with an answer under way and goes on ends as it would have.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from dream.llm.fake.tokens import prompt_of

MAX_RUNS: Final = 10_000
"""At most so many runs are told apart by one server."""


class TooManyRuns(Exception):  # noqa: N818 - told to the client
    """The server was given more names than it keeps."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request belongs.

    Attributes:
        name: of the run as the path gave it, empty for none. run: as the ledger calls it.
        decision: of the run, from 0. turn: 0 for the question, 1 for its repair.
        attempt: how often this body has come, from 1.
        nth: which request of the decision, from 0. request: which of the run, from 0. Both are
            those of the answer where the body was answered for good before.
        sha256: of the body. kind: of its model and system prompt.
    """

    name: str
    run: str
    decision: int
    turn: int
    attempt: int
    nth: int
    request: int
    sha256: str
    kind: str


@dataclass(slots=True)
class _Run:
    """What is known of one run; a body is known by its hash."""

    label: str
    decisions: int = 0
    requests: int = 0
    prompt: str = ""
    unread: bool = False
    bodies: dict[str, tuple[int, int]] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    nths: dict[int, int] = field(default_factory=dict)
    settled: dict[str, tuple[int, int]] = field(default_factory=dict)


class Tracker:
    """Finds the place of each request, in the order in which they arrive; for many threads."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], _Run] = {}
        self._lock = Lock()

    def place(self, name: str, body: dict[str, Any]) -> Place:
        """Where a request belongs.

        Args:
            name: of the run, from the path; empty for none.
            body: of the request.

        Raises:
            TooManyRuns: it would be one more than MAX_RUNS.
        """
        sha256 = hashlib.sha256(_json(body)).hexdigest()
        kind = hashlib.sha256(_json([body.get("model"), body.get("system")])).hexdigest()[:8]
        with self._lock:
            if (name, kind) not in self._runs and len(self._runs) >= MAX_RUNS:
                raise TooManyRuns
            run = self._runs.setdefault((name, kind), _Run(self._label(name, kind, body)))
            if sha256 not in run.bodies:
                run.bodies[sha256] = self._new(run, prompt_of(body))
            decision, turn = run.bodies[sha256]
            attempt = run.attempts[sha256] = run.attempts.get(sha256, 0) + 1
            nth, request = run.nths.get(decision, 0), run.requests
            if sha256 in run.settled:
                nth, request = run.settled[sha256]
            else:
                run.nths[decision] = nth + 1
                run.requests += 1
            return Place(name, run.label, decision, turn, attempt, nth, request, sha256, kind)

    def answered(self, place: Place, *, settled: bool, unread: bool) -> None:
        """Remember what became of a request.

        Args:
            place: of it.
            settled: the answer is one that a client keeps.
            unread: it may be unreadable to the client, which then asks for a repair.
        """
        with self._lock:
            run = self._runs[place.name, place.kind]
            run.unread = unread
            if settled:
                run.settled[place.sha256] = (place.nth, place.request)

    def _label(self, name: str, kind: str, body: dict[str, Any]) -> str:
        if not name:
            return f"{body['model']}-{kind}"
        others = sum(known == name and other != kind for known, other in self._runs)
        return name if not others else f"{name}#{others + 1}"

    def _new(self, run: _Run, prompt: str) -> tuple[int, int]:
        if run.unread and run.prompt and prompt.startswith(run.prompt):
            run.unread = False
            return run.decisions - 1, 1
        run.prompt, run.unread = prompt, False
        run.decisions += 1
        return run.decisions - 1, 0


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
