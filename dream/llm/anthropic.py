"""The Messages API through the `anthropic` SDK, one attempt at a time.

The only file that knows the SDK, which takes a second to import: that happens at the first call.
Key, endpoint and headers are what dream was given; of the environment only proxies and
certificates count.
"""

from __future__ import annotations

import logging
import math
import re
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from dream.llm.catalog import BEARER
from dream.llm.client import SAMPLING, CallFailed
from dream.llm.endpoint import check_key, host_of
from dream.llm.message import read_message, whole_body
from dream.llm.redact import redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    import anthropic

    from dream.llm.client import MessageRequest
    from dream.types import Reply

_MAX_SAID: Final = 300
"""Longest part of a message that somebody else wrote, in characters."""

# Failures by the names of their classes and those above them, which belong to the SDK's HTTP.
_PASSING: Final = {"TransportError", "DecodingError", "OSError"}
_LASTING: Final = {"LocalProtocolError", "UnsupportedProtocol"}
_NOT_SENT: Final = {"ConnectError", "ConnectTimeout", "ProxyError", *_LASTING}

_PASSING_STATUS: Final = (408, 409, 429)
_BUSY_STATUS: Final = (429, 529)
_ADVICE: Final = {
    400: "The endpoint does not take what dream sends: check that it is meant for this model",
    401: "Check the key in {key_env}",
    402: "Check the balance of the account behind {key_env}",
    403: "The key in {key_env} may not use this model",
    404: "The endpoint does not know this model: check the model and the base URL",
    413: "The prompt is longer than the endpoint takes",
}
_KEYLESS: Final = (
    "No key was sent: name the variable that holds it with key_env in dream.toml, under "
    "[endpoints.NAME]"
)
_FORM_STATUS: Final = (400, 422)
_NO_KEY: Final = "none"
"""The SDK wants a key in any case; it is not sent."""
_HEADERS: Final = (
    "host", "accept", "connection", "content-type", "content-length", "user-agent",
    "anthropic-version",
)  # fmt: skip
_LOGS: Final = ("anthropic", "httpx2", "httpcore2")
_PASSWORD: Final = re.compile(r"//[^/\s]*@")


class AnthropicTransport:
    """One endpoint that speaks the Messages API.

    Args:
        key: sent in one header, and never shown.
        key_env: where it came from, for messages; None where the endpoint takes none.
        base_url: the endpoint.
        limit_s: an attempt that takes longer has failed, whatever the server is doing.
        key_header: authorization, which makes it a bearer token, or x-api-key.
        direct: through no proxy, for a server on this machine.

    Raises:
        ModelUnavailable: there is no key, or it cannot be one.
        InputError: base_url is no address that can be used.
    """

    def __init__(
        self,
        *,
        key: str | None,
        key_env: str | None,
        base_url: str,
        limit_s: float = 120.0,
        key_header: str = BEARER,
        direct: bool = False,
    ) -> None:
        self._host = host_of(base_url)
        self._key = "" if key_env is None else check_key(key, key_env, self._host)
        self._key_header = key_header
        self._clean = redactor(self._key)
        self._key_env = key_env
        self._base_url = base_url
        self._limit_s = limit_s
        self._direct = direct
        self._client: anthropic.Anthropic | None = None

    def send(self, request: MessageRequest) -> Reply:
        """One attempt.

        Raises:
            CallFailed: it gave no usable answer.
        """
        try:
            client = self._client = self._client or self._connect()
            content = _within(self._limit_s, partial(_post, client, request.body()))
            reply = read_message(content, request.entry.answer)
        except _LimitPassed:
            self.close()
            raise CallFailed(f"{self._host}: no answer within {self._limit_s:g} s") from None
        except Exception as error:  # noqa: BLE001 - whatever the SDK or its HTTP raises
            raise self._failed(error) from None
        said = (reply.text, reply.stop_reason, reply.model)
        text, stop_reason, model = (x if x is None else self._clean(x) for x in said)
        return replace(reply, text=text, stop_reason=stop_reason, model=model)

    def connect(self) -> None:
        """Load the SDK, which takes about a second, and set up what the first call needs.

        Raises:
            CallFailed: no connection can be set up.
        """
        self._client = self._client or self._connect()

    def close(self) -> None:
        """Close the connections; the next attempt opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connect(self) -> anthropic.Anthropic:
        import anthropic  # noqa: PLC0415 - takes about a second

        # The SDK turns its log on by ANTHROPIC_LOG. It holds headers as servers send them, and a
        # server may send the key back in one.
        for name in _LOGS:
            logging.getLogger(name).setLevel(logging.WARNING)
        try:
            return anthropic.Anthropic(
                api_key=self._key or _NO_KEY,
                base_url=self._base_url,
                timeout=self._limit_s,
                max_retries=0,
                http_client=_bounded_http(self._own_headers, direct=self._direct),
                open_telemetry=False,
            )
        except Exception as error:  # noqa: BLE001 - such as a proxy variable that names none
            raise CallFailed(
                f"no connection can be set up: {self._told(error)}. Check the proxy and "
                f"certificate variables of the environment",
                again=False,
                cost_usd=0.0,
            ) from None

    def _own_headers(self, request: Any) -> None:
        """Leave out headers that the SDK takes from ANTHROPIC_CUSTOM_HEADERS."""
        for name in list(request.headers):
            if name not in _HEADERS and not name.startswith("x-stainless-"):
                del request.headers[name]
        request.headers["accept-encoding"] = "identity"
        if self._key:
            bearer = "Bearer " if self._key_header == BEARER else ""
            request.headers[self._key_header] = f"{bearer}{self._key}"

    def _failed(self, error: Exception) -> CallFailed:
        """What the client is told of an error, whatever its class."""
        import anthropic  # noqa: PLC0415

        if isinstance(error, anthropic.APIStatusError):
            return self._refused(error)
        cause = error
        if isinstance(error, anthropic.APIConnectionError) and error.__cause__ is not None:
            cause = error.__cause__
        if isinstance(cause, CallFailed):
            what, again, cost_usd = str(cause), cause.again, cause.cost_usd
            return CallFailed(f"{self._host}: {self._told(what)}", again=again, cost_usd=cost_usd)
        names = {kind.__name__ for kind in type(cause).__mro__}
        return CallFailed(
            f"{self._host}: {self._told(cause)}",
            again=bool(names & _PASSING) and not names & _LASTING,
            cost_usd=0.0 if names & _NOT_SENT else None,
        )

    def _refused(self, error: anthropic.APIStatusError) -> CallFailed:
        status = error.status_code
        said = self._told(error.api_message or error.body or "")
        what = (
            f"{self._host} answered {status} {self._told(error.type or '')}".rstrip() + f": {said}"
        )
        again = status in _PASSING_STATUS or status >= 500
        if not again:
            advice = _ADVICE.get(status, "It would answer the same again")
            if self._key_env is None and "{key_env}" in advice:
                advice = _KEYLESS
            what = f"{what}. {advice.format(key_env=self._key_env)}"
        wait_s = _seconds(error.response.headers.get("retry-after"))
        busy, form = status in _BUSY_STATUS, status in _FORM_STATUS
        return CallFailed(
            what, again=again, retry_after_s=wait_s, cost_usd=0.0, busy=busy, form=form
        )

    def _told(self, said: object) -> str:
        """What a server or a socket said: one line, not long, without a key or a password."""
        text = f"{type(said).__name__}: {said}" if isinstance(said, BaseException) else str(said)
        text = _PASSWORD.sub("//", " ".join(self._clean(text).split()))
        return text if len(text) <= _MAX_SAID else text[:_MAX_SAID] + "..."


def _bounded_http(
    on_request: Callable[[Any], None], *, direct: bool
) -> anthropic.DefaultHttpxClient:
    """An HTTP client that reads a body, that of an error too, no further than an answer can go."""
    import anthropic  # noqa: PLC0415

    class Bounded(anthropic.DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            options["stream"] = True
            response = super().send(request, **options)
            try:
                cost_usd = 0.0 if response.status_code >= 400 else None
                coding = response.headers.pop("content-encoding", "")
                body = whole_body(response.iter_raw(), coding, cost_usd)
            finally:
                response.close()
            return type(response)(
                response.status_code,
                headers=response.headers,
                content=body,
                request=request,
                extensions=response.extensions,
            )

    hooks = {"request": [on_request]}
    return Bounded(follow_redirects=False, event_hooks=hooks, trust_env=not direct)


class _LimitPassed(Exception):  # noqa: N818 - its own, because sockets raise TimeoutError too
    """The time for one attempt is over."""


def _post(client: anthropic.Anthropic, body: dict[str, Any]) -> bytes:
    named = {name: value for name, value in body.items() if name not in SAMPLING}
    extra = {name: value for name, value in body.items() if name in SAMPLING}
    return client.messages.with_raw_response.create(**named, extra_body=extra or None).read()


def _within(limit_s: float, call: Callable[[], bytes]) -> bytes:
    """What the call returns or raises, if it ends in time; else it is left to itself.

    The SDK's timeout is per read: a server that sends a byte a second would never run into it, nor
    does the lookup of a name.

    Raises:
        _LimitPassed: it did not end in time.
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
        raise _LimitPassed from None
    if isinstance(result, BaseException):
        raise result
    return result


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
