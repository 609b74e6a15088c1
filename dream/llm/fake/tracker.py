"""Which run and which decision a request belongs to: requests carry no number of their own.

A run is what comes in by one path (/run/NAME), from one model with one system prompt. Within it, a
body that was seen before is another attempt; a new one is the next decision, unless the answer
before it was one that may be unreadable and its prompt begins with that decision's: then it is the
repair.
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
        nth: which request of the decision, from 0. request: which of the run, from 0.
        sha256: of the body.
    """

    name: str
    run: str
    decision: int
    turn: int
    attempt: int
    nth: int
    request: int
    sha256: str


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
            nth = run.nths.get(decision, 0)
            run.nths[decision] = nth + 1
            run.requests += 1
            return Place(name, run.label, decision, turn, attempt, nth, run.requests - 1, sha256)

    def answered(self, name: str, body: dict[str, Any], *, unread: bool) -> None:
        """Remember whether the answer that a run got last may be unreadable to it."""
        kind = hashlib.sha256(_json([body.get("model"), body.get("system")])).hexdigest()[:8]
        with self._lock:
            self._runs[name, kind].unread = unread

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
