"""Ask a model until it answers or cannot: what is sent, which failures are repeated, how long.

The SDK's own retries are off: it obeys a retry-after of an hour, repeats no broken body, and does
not notice that another model answered.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from dream.errors import ModelUnavailable
from dream.llm import caching, catalog
from dream.types import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOOL: Final = "decide"
SAMPLING: Final = ("temperature", "seed")
"""Fields that Claude models refuse and other servers take; the SDK has no names for them."""
_RESUME = "Nothing is lost: the same command goes on where this one stopped."
_HOLD = (
    "With --on-error hold (on_error=hold in a spec), which makes it another run, a failed call is "
    "written down as an api_error and the run goes on."
)
_MAX_NAME: Final = 100
"""Longest name of a model that a message shows, in characters."""


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """One call: which question it belongs to, and everything that goes out.

    Attributes:
        seq, turn: number of the decision; 0 for its question, 1 for the repair.
        entry: the model and its settings. system, user: the prompt. schema: of the answer.
        cuts: rising character offsets at which user is sent in blocks, see `Question`.
    """

    seq: int
    turn: int
    entry: catalog.Entry
    system: str
    user: str
    schema: Mapping[str, Any]
    cuts: tuple[int, ...] = ()

    def body(self) -> dict[str, Any]:
        """The body of the request in the Messages API, without sampling parameters."""
        entry = self.entry
        body: dict[str, Any] = {
            "model": entry.id,
            "max_tokens": entry.max_tokens,
            "system": [caching.block(self.system, marked=entry.cache == "marked")],
            "messages": [{"role": "user", "content": self.content(self.user, self.cuts)}],
        }
        output: dict[str, Any] = {} if entry.effort is None else {"effort": entry.effort}
        if entry.answer == "schema":
            output["format"] = {"type": "json_schema", "schema": dict(self.schema)}
        elif entry.answer == "tool":
            about = "Give the decision."
            body["tools"] = [
                {"name": TOOL, "description": about, "input_schema": dict(self.schema)}
            ]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        if output:
            body["output_config"] = output
        if entry.thinking is not None:
            body["thinking"] = {"type": entry.thinking}
        for name in SAMPLING:
            if (value := getattr(entry, name)) is not None:
                body[name] = value
        return body

    def content(self, user: str, cuts: Sequence[int] = ()) -> str | list[dict[str, Any]]:
        """The user prompt as it is sent: whole, or where marks of the cache count, in blocks."""
        return caching.blocks(user, cuts) if cuts and self.entry.cache == "marked" else user

    def as_bytes(self) -> bytes:
        """The body as canonical JSON."""
        before, after = self.around()
        return before + _json(self.content(self.user, self.cuts)) + after

    def around(self) -> tuple[bytes, bytes]:
        """The body's canonical JSON before the user prompt and after it: the same for a run."""
        before, empty, after = _json(replace(self, user="", cuts=()).body()).partition(
            b'"content":""'
        )
        return before + empty[:-2], after

    def sha256(self) -> str:
        """Hash of the body: equal exactly where the same is asked of the same model."""
        return hashlib.sha256(self.as_bytes()).hexdigest()

    def sha256_of(self) -> Callable[[str, Sequence[int]], str]:
        """`sha256` as a function of the user prompt and its cuts; the rest is encoded once."""
        before, after = self.around()
        begun = hashlib.sha256(before)

        def of(user: str, cuts: Sequence[int] = ()) -> str:
            whole = begun.copy()
            whole.update(_json(self.content(user, cuts)))
            whole.update(after)
            return whole.hexdigest()

        return of


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _json(value: Any) -> bytes:
    return _encode(value).encode("utf-8", "replace")


class CallFailed(Exception):  # noqa: N818 - one attempt, not yet the run
    """An attempt failed.

    Attributes:
        again: whether it may succeed when it is repeated.
        retry_after_s: how long the server asks to wait, None where it does not say.
        cost_usd: 0 where the server refused, None where it may have answered and billed.
        busy: whether it was refused because there were too many.
        form: whether it may be the form of the request that the server does not take.
    """

    def __init__(
        self,
        message: str,
        *,
        again: bool = True,
        retry_after_s: float | None = None,
        cost_usd: float | None = None,
        busy: bool = False,
        form: bool = False,
    ) -> None:
        super().__init__(message)
        self.form = form
        self.again = again
        self.retry_after_s = retry_after_s
        self.cost_usd = cost_usd
        self.busy = busy


class OtherModel(CallFailed):
    """Another model answered: it may have stepped in for a moment, so it is asked past once."""


class FormRefused(ModelUnavailable):
    """The endpoint does not take the request, which may lie in how it forces the answer.

    Attributes:
        reason: what the endpoint said, without what is to be done.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Transport(Protocol):
    """What makes one attempt at a call."""

    def send(self, request: MessageRequest, /) -> Reply:
        """The reply; raises CallFailed and nothing else."""
        ...


class Attempts(Protocol):
    """Told of every attempt at a call. An attempt that is interrupted never ends."""

    def begin(self, seq: int, turn: int, attempt: int, ceiling_usd: float | None, /) -> None:
        """Before it; what this raises stops the call. None where no price is known."""
        ...

    def end(self, seq: int, turn: int, attempt: int, cost_usd: float | None, /) -> None:
        """After it. None where it may have cost something that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one question is asked again: waits of 1, 2, 4 ... s and never longer than the cap.

    Attributes:
        attempts: how often at most. first_wait_s, longest_wait_s: the cap holds for what a server
            asks as well. longest_s: no attempt is begun later than this after the first.
        on_wait: told before each wait how many seconds it takes, which attempt (from 1) has failed,
            and why, in one line without the key.
    """

    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    longest_s: float = 600.0
    on_wait: Callable[[float, int, str], None] = lambda _wait_s, _attempt, _reason: None

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """How long to wait after this attempt (from 1) failed."""
        wait_s = self.first_wait_s * 2.0 ** (attempt - 1)
        return min(max(wait_s, asked_s or 0.0), self.longest_wait_s)


class Client:
    """Asks through a transport with patience.

    Args:
        transport: makes one attempt.
        sleep: waits so many seconds.
        now_ns: the wall clock, nanoseconds UTC; prices depend on the hour.
        on_error: after the last attempt, `stop` raises and `hold` returns a reply without text.
        attempts: told of every attempt.
        patience: how long, and who is told of a wait.

    Attributes:
        tried: number of attempts so far.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        sleep: Callable[[float], None],
        now_ns: Callable[[], int],
        on_error: Literal["stop", "hold"] = "stop",
        attempts: Attempts | None = None,
        patience: Patience = Patience(),
    ) -> None:
        self._transport = transport
        self._sleep = sleep
        self._now_ns = now_ns
        self._on_error = on_error
        self._attempts = attempts
        self._patience = patience
        self.tried = 0

    def send(self, request: MessageRequest) -> Reply:
        """The reply, priced.

        Raises:
            ModelUnavailable: it cannot be had, or another model answered.
        """
        patience, started_ns = self._patience, self._now_ns()
        attempt, spent_usd, warned = 0, 0.0, False
        while True:
            attempt += 1
            try:
                return self._try(request, attempt)
            except CallFailed as failure:
                if not failure.again or (warned and isinstance(failure, OtherModel)):
                    said = f"{request.entry.id}: {failure}. {_RESUME}"
                    if failure.form:
                        raise FormRefused(said, str(failure)) from None
                    raise ModelUnavailable(said) from None
                warned |= isinstance(failure, OtherModel)
                spent_usd = _sum(spent_usd, failure.cost_usd)
                gone_s = (self._now_ns() - started_ns) / 1e9
                wait_s = patience.wait_s(attempt, failure.retry_after_s)
                reason = str(failure)
                if (failure.retry_after_s or 0.0) > wait_s:
                    reason += f" (the server asks to wait {failure.retry_after_s:,.0f} s)"
                if attempt >= patience.attempts or gone_s + wait_s > patience.longest_s:
                    error = f"{reason} (attempt {attempt}, the last)"
                    return self._give_up(
                        request, Reply(None, cost_usd=spent_usd, error=error, attempts=attempt)
                    )
            patience.on_wait(wait_s, attempt, reason)
            self._sleep(wait_s)

    def _try(self, request: MessageRequest, attempt: int) -> Reply:
        entry, name, told = request.entry, (request.seq, request.turn, attempt), self._attempts
        self.tried += 1
        if told is not None:
            size = len(request.as_bytes())
            told.begin(*name, catalog.ceiling(entry, size, self._now_ns()))
        cost_usd: float | None = None
        try:
            reply = self._transport.send(request)
            cost_usd = catalog.price(entry, reply.usage, self._now_ns())
            check(entry, reply, cost_usd)
        except CallFailed as failure:
            if told is not None:
                told.end(*name, failure.cost_usd)
            raise
        if told is not None:
            told.end(*name, cost_usd)
        return replace(reply, cost_usd=cost_usd, attempts=attempt)

    def _give_up(self, request: MessageRequest, failed: Reply) -> Reply:
        if self._on_error == "hold":
            return failed
        raise ModelUnavailable(f"{request.entry.id}: {failed.error}. {_RESUME} {_HOLD}") from None


def _sum(spent_usd: float | None, cost_usd: float | None) -> float | None:
    """Unknown as soon as one part is."""
    return None if spent_usd is None or cost_usd is None else spent_usd + cost_usd


def check(entry: catalog.Entry, reply: Reply, cost_usd: float | None = None) -> None:
    """Refuse a reply that is not whole, or not from the model that was asked.

    A dated snapshot of the asked id (`-YYYYMMDD`) is the same model. Another one may have stepped
    in for a moment; one that answers twice is what the endpoint gives.

    Args:
        entry: the model that was asked.
        reply: what came.
        cost_usd: of it, by the prices of the model that was asked; it is billed all the same.

    Raises:
        OtherModel: another model answered. CallFailed: it is not whole.
    """
    answered = reply.model or "nobody"
    if answered != entry.id and not re.fullmatch(re.escape(entry.id) + r"-[0-9]{8}", answered):
        answered = " ".join(answered.split())
        if len(answered) > _MAX_NAME:
            answered = answered[:_MAX_NAME] + "..."
        raise OtherModel(
            f"asked {entry.id}, but {answered} answered: the endpoint puts another model in its "
            f"place. Check the base URL",
            cost_usd=cost_usd,
        )
    if reply.stop_reason is None:
        raise CallFailed(
            "the answer does not say why it stopped, so it may be cut off", cost_usd=cost_usd
        )
