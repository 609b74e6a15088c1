"""The Messages API through the `anthropic` SDK, one attempt at a time.

The only file that knows the SDK, which takes a second to import: that happens at the first call.
Nothing is taken from the environment: key, endpoint and headers are what dream was given.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from dream.errors import InputError, ModelUnavailable
from dream.llm.client import CallFailed
from dream.types import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    import anthropic

    from dream.llm.client import MessageRequest

MAX_BODY: Final = 1_048_576
"""Longest body of an answer that is read, in bytes."""

_NOT_SENT: Final = ("ConnectError", "ConnectTimeout")
_PASSING: Final = (408, 409, 429)
_ADVICE: Final = {
    400: "The endpoint does not take what dream sends: check that it is meant for this model",
    401: "Check the key in {key_env}",
    402: "Check the balance of the account behind {key_env}",
    403: "The key in {key_env} may not use this model",
    404: "The endpoint does not know this model: check the model and the base URL",
    413: "The prompt is longer than the endpoint takes",
}
_HEADERS: Final = (
    "host", "accept", "accept-encoding", "connection", "content-type", "content-length",
    "user-agent", "authorization", "anthropic-version",
)  # fmt: skip


class AnthropicTransport:
    """One endpoint that speaks the Messages API.

    Args:
        key: sent as a bearer token, and never shown.
        key_env: name of the variable that it came from, for messages.
        base_url: the endpoint.
        limit_s: an attempt that takes longer has failed, whatever the server is doing.

    Raises:
        ModelUnavailable: there is no key, or it cannot be one.
        InputError: base_url is not an http or https address.
    """

    def __init__(
        self, *, key: str | None, key_env: str, base_url: str, limit_s: float = 120.0
    ) -> None:
        if not key:
            raise ModelUnavailable(
                f"no key for {_host(base_url)}: set {key_env}, or use a decider that needs none "
                f"(--model rules)"
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise ModelUnavailable(
                f"the key in {key_env} has a character that no key has (a blank, a line end or a "
                f"letter outside ASCII): set it again"
            )
        self._key = key
        self._key_env = key_env
        self._base_url = base_url
        self._host = _host(base_url)
        self._limit_s = limit_s
        self._client: anthropic.Anthropic | None = None

    def send(self, request: MessageRequest) -> Reply:
        """One attempt.

        Raises:
            CallFailed: it gave no usable answer.
        """
        import anthropic  # noqa: PLC0415 - takes about a second

        client = self._client = self._client or self._connect()
        try:
            content = _within(self._limit_s, partial(_post, client, request.body()))
        except TimeoutError:
            self.close()
            raise CallFailed(f"{self._host}: no answer within {self._limit_s:g} s") from None
        except anthropic.APIStatusError as error:
            raise self._refused(error) from None
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            cost_usd = 0.0 if type(cause).__name__ in _NOT_SENT else None
            raise CallFailed(f"{self._host}: {self._told(cause)}", cost_usd=cost_usd) from None
        reply = _read(content, request.entry.answer)
        return replace(reply, text=self._clean(reply.text), model=self._clean(reply.model))

    def close(self) -> None:
        """Close the connections; the next attempt opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connect(self) -> anthropic.Anthropic:
        import anthropic  # noqa: PLC0415

        http = anthropic.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"request": [self._own_headers]}
        )
        return anthropic.Anthropic(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._limit_s,
            max_retries=0,
            http_client=http,
            open_telemetry=False,
        )

    def _own_headers(self, request: Any) -> None:
        """Leave out headers that the SDK takes from ANTHROPIC_CUSTOM_HEADERS."""
        for name in list(request.headers):
            if name not in _HEADERS and not name.startswith("x-stainless-"):
                del request.headers[name]
        request.headers["authorization"] = f"Bearer {self._key}"

    def _refused(self, error: anthropic.APIStatusError) -> CallFailed:
        status = error.status_code
        said = self._told(error.api_message or error.body or "")
        what = (
            f"{self._host} answered {status} {self._told(error.type or '')}".rstrip() + f": {said}"
        )
        again = status in _PASSING or status >= 500
        if not again:
            advice = _ADVICE.get(status, "It would answer the same again")
            what = f"{what}. {advice.format(key_env=self._key_env)}"
        wait_s = _seconds(error.response.headers.get("retry-after"))
        return CallFailed(what, again=again, retry_after_s=wait_s, cost_usd=0.0)

    def _clean(self, text: str | None) -> str | None:
        """What a server said, without the key that it may repeat back."""
        return None if text is None else text.replace(self._key, "[key]")

    def _told(self, said: object) -> str:
        """What a server or a socket said: one line, not long, without the key."""
        text = f"{type(said).__name__}: {said}" if isinstance(said, BaseException) else str(said)
        text = " ".join(text.replace(self._key, "[key]").split())
        return text if len(text) <= 300 else text[:300] + "..."


def _post(client: anthropic.Anthropic, body: dict[str, Any]) -> bytes:
    return client.messages.with_raw_response.create(**body).read()


def _within(limit_s: float, call: Callable[[], bytes]) -> bytes:
    """What the call returns or raises, if it ends in time; else it is left to itself.

    The SDK's timeout is per read: a server that sends a byte a second would never run into it, nor
    does the lookup of a name.

    Raises:
        TimeoutError: the limit is over.
    """
    ended: SimpleQueue[bytes | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            ended.put(call())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            ended.put(error)

    Thread(target=work, name="dream-call", daemon=True).start()
    try:
        result = ended.get(timeout=limit_s)
    except Empty:
        raise TimeoutError from None
    if isinstance(result, BaseException):
        raise result
    return result


class _Thinking(BaseModel):
    thinking_tokens: int | None = Field(default=None, ge=0)


class _Tokens(BaseModel):
    input_tokens: int | None = Field(default=None, ge=0)
    cache_read_input_tokens: int | None = Field(default=None, ge=0)
    cache_creation_input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    output_tokens_details: _Thinking | None = None


class _Block(BaseModel):
    type: str
    text: str | None = None
    input: dict[str, Any] | None = None


class _Message(BaseModel):
    type: Literal["message"]
    model: str = Field(max_length=200)
    content: list[_Block]
    stop_reason: str | None = Field(default=None, max_length=100)
    usage: _Tokens | None = None


def _read(content: bytes, answer: str) -> Reply:
    if len(content) > MAX_BODY:
        raise CallFailed(f"an answer of {len(content)} bytes; at most {MAX_BODY} are read")
    try:
        message = _Message.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise CallFailed(f"the answer is no message: {where}: {first['msg']}"[:300]) from None
    if answer == "tool":
        used = [b.input for b in message.content if b.type == "tool_use" and b.input is not None]
        text = json.dumps(used[0]) if used else ""
    else:
        text = "".join(b.text or "" for b in message.content if b.type == "text")
    return Reply(
        text=text,
        stop_reason=message.stop_reason,
        model=message.model,
        usage=_usage(message.usage) if message.usage else Usage(),
    )


def _usage(tokens: _Tokens) -> Usage:
    details = tokens.output_tokens_details
    return Usage(
        input_tokens=tokens.input_tokens,
        cache_read_tokens=tokens.cache_read_input_tokens,
        cache_write_tokens=tokens.cache_creation_input_tokens,
        output_tokens=tokens.output_tokens,
        thinking_tokens=details.thinking_tokens if details else None,
    )


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _host(base_url: str) -> str:
    """Scheme, host and port of an address: a path or a password in it is not shown."""
    try:
        parts = urlsplit(base_url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            "the base URL must be an http or https address, such as https://api.anthropic.com; "
            f"found scheme {parts.scheme!r} and host {parts.hostname!r}"
        )
    return f"{parts.scheme}://{parts.hostname}{port}"
