"""What a server of the Messages API sends: its bytes, read with a bound, and the reply in them."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from dream.llm.client import CallFailed
from dream.types import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BODY: Final = 1_048_576
"""Longest body that is read, in bytes, packed and unpacked."""

MAX_TOKENS: Final = 1_000_000_000
"""Most tokens of one call that are believed."""

_PLAIN: Final = ("", "identity")
_PACKED: Final = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32


def whole_body(parts: Iterable[bytes], coding: str, cost_usd: float | None) -> bytes:
    """The bytes of a body, unpacked while they come in; never more than MAX_BODY are held.

    Plain bytes are asked for; a server that packs them nevertheless is understood where the
    standard library can unpack within a bound.

    Args:
        parts: as they come from the network.
        coding: the content-encoding that the server names.
        cost_usd: what the call has cost where the body cannot be used, None where not known.

    Raises:
        CallFailed: too long or packed in another way, for good; or cut off or damaged.
    """
    coding = coding.strip().lower()
    if coding not in _PLAIN + _PACKED:
        raise CallFailed(
            "the body is packed in a way that was not asked for. Check the base URL and what lies "
            "on the way to it",
            again=False,
            cost_usd=cost_usd,
        )
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB) if coding in _PACKED else None
    body, came = bytearray(), 0
    for part in parts:
        came += len(part)
        try:
            # A length of 0 would mean no limit; it is at least 1 here.
            body += unpacker.decompress(part, MAX_BODY + 1 - len(body)) if unpacker else part
        except zlib.error as error:
            raise CallFailed(f"the body cannot be unpacked: {error}", cost_usd=cost_usd) from None
        if max(came, len(body)) > MAX_BODY:
            # Not again: the same bytes would be fetched again.
            raise CallFailed(
                f"the body is longer than {MAX_BODY} bytes, which no answer is; the rest was not "
                f"read. Check the base URL",
                again=False,
                cost_usd=cost_usd,
            )
    if unpacker is not None and not unpacker.eof:
        raise CallFailed("the packed body is cut off", cost_usd=cost_usd)
    return bytes(body)


def _plausible(count: Any) -> Any:
    """A count that no call can have is none: what it cost is then not known."""
    return None if isinstance(count, int) and count > MAX_TOKENS else count


_Count: TypeAlias = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_plausible)]


class _Thinking(BaseModel):
    thinking_tokens: _Count = None


class _Tokens(BaseModel):
    input_tokens: _Count = None
    cache_read_input_tokens: _Count = None
    cache_creation_input_tokens: _Count = None
    output_tokens: _Count = None
    output_tokens_details: _Thinking | None = None


class _Block(BaseModel):
    type: str
    text: str | None = None
    input: dict[str, Any] | None = None


class _Message(BaseModel):
    type: Literal["message"]
    model: str
    content: list[_Block]
    stop_reason: str | None = Field(default=None, max_length=100)
    usage: _Tokens | None = None


def read_message(content: bytes, answer: str) -> Reply:
    """The reply in a whole body.

    Args:
        content: JSON, at most MAX_BODY bytes.
        answer: how it was forced, as in `catalog.Entry`.

    Raises:
        CallFailed: it is no message.
    """
    try:
        message = _Message.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise CallFailed(f"the answer is no message: {where}: {first['msg']}"[:300]) from None
    used = [b.input for b in message.content if b.type == "tool_use" and b.input is not None]
    if answer == "tool" and used:
        text = json.dumps(used[0])
    else:  # a server that ignores the forced tool lets the model write
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
