"""What is done with a request, without its connection: where it belongs, its fault, its bill."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.llm import catalog
from dream.llm.fake import messages
from dream.llm.fake.answers import answer_text
from dream.llm.fake.faults import ERROR_TYPES, SLOW, UNREADABLE, UNSEEN
from dream.llm.fake.ledger import Bill, Row
from dream.llm.fake.plan import draw
from dream.llm.fake.tokens import PrefixCache, blocks_of
from dream.llm.fake.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.llm.fake.ledger import Ledger
    from dream.llm.fake.messages import Sent
    from dream.llm.fake.plan import Plan, Strike
    from dream.llm.fake.tracker import Place
    from dream.types import Usage

_NOT_KEPT: Final = (*UNSEEN, *SLOW, "no_stop", "wrong_model")
"""Answers after which a client asks the same again, although something came."""


class BadRequest(Exception):  # noqa: N818 - told to the client as a 400
    """The body is no request that the Messages API takes; str() says why."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request that has been placed.

    Attributes:
        body: of it. place: where it belongs. strike: the fault it meets. wait_s: latency.
        row: of the ledger.
    """

    body: dict[str, Any]
    place: Place
    strike: Strike | None
    wait_s: float
    row: Row

    @property
    def fault(self) -> str | None:
        """By name."""
        return self.strike.fault if self.strike else None


class Desk:
    """Takes requests and makes answers; for many threads.

    Args:
        plan: of the rehearsal.
        ledger: every request goes into it.
        now_ns: wall clock, nanoseconds UTC: when a request came, and how old a cached prefix is.
        price_at_ns: instant whose prices count, None for that of each answer.
    """

    def __init__(
        self, plan: Plan, ledger: Ledger, now_ns: Callable[[], int], price_at_ns: int | None
    ) -> None:
        self._plan = plan
        self._ledger = ledger
        self._now_ns = now_ns
        self._price_at_ns = price_at_ns
        self._tracker = Tracker()
        self._cache = PrefixCache(plan.cache)

    def arrive(self, name: str, raw: bytes) -> Arrived:
        """Place a request and open its row.

        Args:
            name: of the run, from the path; empty for none.
            raw: the body.

        Raises:
            BadRequest: it is no request.
            TooManyRuns: the server keeps no more names.
        """
        body = read_body(raw)
        place = self._tracker.place(name, body)
        strike = self._plan.strike(name, place.decision, place.nth, place.request)
        row = Row(
            n=0,
            at_ns=self._now_ns(),
            run=place.run,
            decision=place.decision,
            turn=place.turn,
            attempt=place.attempt,
            sha256=place.sha256,
            model=body["model"],
            fault=strike.fault if strike else None,
            again=False,
        )
        self._ledger.open(row)
        return Arrived(body, place, strike, self._latency_s(place), row)

    def answer(self, arrived: Arrived) -> Sent:
        """What goes out; from here on its prefix is in the cache."""
        fault, strike = arrived.fault, arrived.strike
        if fault in ERROR_TYPES and strike is not None:
            said = f"rehearsed {fault}"
            return messages.error(int(fault), said, strike.retry_after_s)
        if fault == "html":
            return messages.Sent(200, messages.HTML, kind="text/html")
        plan, body, place = self._plan, arrived.body, arrived.place
        text = answer_text(plan, place.name, place.decision, body)
        now_s = self._now_ns() / 1e9
        counted = self._cache.count(body["model"], blocks_of(body), now_s)
        sent = messages.message(body, text, counted, plan.thinking_tokens, fault)
        self._tracker.answered(
            place, settled=fault not in _NOT_KEPT, unread=self._unread(fault, place)
        )
        return sent

    def settle(self, arrived: Arrived, sent: Sent | None, *, whole: bool) -> None:
        """Bill a request: what is sent (None for nothing), and whether to its last byte."""
        usage = sent.usage if sent else None
        whole = whole and usage is not None and arrived.fault not in UNSEEN
        bill = Bill(
            status=sent.status if sent else None,
            usage=usage,
            usd=0.0 if usage is None else self._price(arrived.row.model, usage),
            whole=whole,
            kept=whole and arrived.fault not in ("no_stop", "wrong_model"),
        )
        self._ledger.settle(arrived.row, bill)

    def end(self, arrived: Arrived) -> None:
        """Nothing more will come of a request."""
        self._ledger.end(arrived.row)

    def _unread(self, fault: str | None, place: Place) -> bool:
        """Whether this answer may be asked for once more in another prompt."""
        texts = self._plan.answers
        scripted = isinstance(texts, tuple) and place.decision < len(texts)
        return fault in UNREADABLE or (fault is None and scripted)

    def _latency_s(self, place: Place) -> float:
        latency = self._plan.latency_s
        if not isinstance(latency, tuple):
            return latency
        u = draw(self._plan.seed, "latency", place.name, place.request)
        return latency[0] + u * (latency[1] - latency[0])

    def _price(self, model: str, usage: Usage) -> float | None:
        own = self._plan.prices
        if own is not None:
            parts = (
                (usage.input_tokens, own.input),
                (usage.cache_read_tokens, own.cache_read),
                (usage.cache_write_tokens, own.cache_write),
                (usage.output_tokens, own.output),
            )
            return sum((tokens or 0) * rate for tokens, rate in parts) / 1e6
        entries = [entry for entry in catalog.CATALOG.values() if entry.id == model]
        at_ns = self._now_ns() if self._price_at_ns is None else self._price_at_ns
        return catalog.price(entries[0], usage, at_ns) if entries else None


def read_body(raw: bytes) -> dict[str, Any]:
    """The body of a request for a message.

    Raises:
        BadRequest: it is none.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is no JSON object")
    model, most, said = (body.get(key) for key in ("model", "max_tokens", "messages"))
    if not isinstance(model, str) or not 0 < len(model) <= 200:
        raise BadRequest("model: a name is required")
    if not isinstance(most, int) or isinstance(most, bool) or not 0 < most <= 10**6:
        raise BadRequest("max_tokens: a positive number is required")
    if not isinstance(said, list) or not said:
        raise BadRequest("messages: at least one message is required")
    if body.get("stream"):
        raise BadRequest("stream: this server does not stream")
    return body
