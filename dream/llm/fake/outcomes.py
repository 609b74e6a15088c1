"""How each decision ends, worked out from the plan alone, before anybody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dream.llm.fake.faults import Effect, effect
from dream.llm.parse import Unreadable, parse_answer

if TYPE_CHECKING:
    from dream.llm.fake.plan import Plan, Strike
    from dream.types import Status

_MOST_STOPS: Final = 100
"""A run that was started so often for one decision does not get past it."""


@dataclass(frozen=True, slots=True)
class Patient:
    """The client that is supposed: `dream run` as it is unless told otherwise.

    Attributes:
        attempts: how often it asks the same. limit_s: how long it waits for one answer.
        on_error: after the last attempt, `stop` ends the run and `hold` writes an api_error.
        answer: how it forces the answer, as in `catalog.Entry`.
    """

    attempts: int = 6
    limit_s: float = 120.0
    on_error: Literal["stop", "hold"] = "hold"
    answer: Literal["schema", "tool", "text"] = "schema"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one decision ends.

    Attributes:
        decision: its number, from 0.
        status: None where the run never gets past it, however often it is started.
        requests: how many it takes, repairs included.
        stops: how often the run ends on the way and is started again by the same command.
        faults: that its requests met, in order.
    """

    decision: int
    status: Status | None
    requests: int
    stops: int
    faults: tuple[str, ...]


def outcomes(plan: Plan, n: int, client: Patient = Patient(), run: str = "") -> list[Outcome]:
    """How decisions 0 to n - 1 end; fewer where the run never gets past one.

    Supposed is a client that is not interrupted and whose patience for one question ends by the
    number of attempts, not by the clock.

    Args:
        plan: what the server does.
        n: number of decisions.
        client: who asks.
        run: name of the run, empty where its base URL has none.
    """
    out: list[Outcome] = []
    request = 0
    for decision in range(n):
        out.append(_outcome(plan, decision, request, client, run))
        if out[-1].status is None:
            break
        request += out[-1].requests
    return out


def _outcome(plan: Plan, decision: int, request: int, client: Patient, run: str) -> Outcome:
    nth, attempt, turn, stops, warned = 0, 0, 0, 0, False
    faults: list[str] = []
    status: Status | None = None
    while status is None and stops < _MOST_STOPS:
        strike = plan.strike(run, decision, nth, request + nth)
        nth, attempt = nth + 1, attempt + 1
        faults += [strike.fault] if strike else []
        made = _effect(plan, decision, strike, client)
        if made == "again_once":
            made, warned = ("for_good" if warned else "again"), True
        if made == "again" and attempt < client.attempts:
            continue
        attempt, warned = 0, False
        if made == "again" and client.on_error == "hold":
            status = "api_error"
        elif made in ("again", "for_good"):
            stops += 1
        elif made == "unreadable":
            status = "parse_error" if turn else None
            turn = 1
        else:
            status = made
    return Outcome(decision, status, nth, stops, tuple(faults))


def _effect(plan: Plan, decision: int, strike: Strike | None, client: Patient) -> Effect:
    if strike is not None:
        made = effect(
            strike.fault, seconds=strike.seconds, limit_s=client.limit_s, answer=client.answer
        )
        if made != "ok":
            return made
    texts = plan.answers if isinstance(plan.answers, tuple) else ()
    if decision < len(texts):
        try:
            parse_answer(texts[decision], tolerant=client.answer == "text")
        except Unreadable:
            return "unreadable"
    return "ok"
