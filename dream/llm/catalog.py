"""Which models there are: exact ids, endpoints, how an answer is forced, cut-offs and prices.

Exact ids only: a newer version never inherits an older one's row; what is unknown stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dream.errors import SpecInvalid
from dream.llm.local.pins import MODEL
from dream.types import Usage

Answer = Literal["schema", "tool", "text"]
Cache = Literal["marked", "automatic", "none"]

COMPUTED = ("rules", "never", "random:P", "scripted:FILE")
"""Deciders that need no key, as a command line names them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model: what to send, where, and what is known about it.

    Attributes:
        alias: short name. id: exact model id, the only one that may answer.
        base_url: endpoint. key_env: environment variable that the edge reads the key from, None
            where no key is needed.
        provider: whose prices count, as genai-prices calls it; None where answers are free.
        answer: how the answer is forced: `schema` (output_config.format), `tool` (one forced
            tool) or `text` (asked for in words, read tolerantly).
        max_tokens: limit on one answer, thinking included.
        effort: output_config.effort. thinking: type of the thinking setting. None leaves it out.
        cutoff: last month (YYYY-MM) of the training data, None where not known.
        cutoff_source: where that was read, and when.
        cache: how prefixes are cached: `marked` (by breakpoints in the request), `automatic` (the
            server does it by itself) or `none`.
        cache_min_tokens: shortest prefix that is cached, None where not known.
        tight: whether the server holds the model to every word of a schema, so that it is given
            one which allows no answer that cannot be read.
    """

    alias: str
    id: str
    base_url: str
    key_env: str | None
    provider: str | None
    answer: Answer
    max_tokens: int
    effort: str | None
    thinking: str | None
    cutoff: str | None
    cutoff_source: str
    cache: Cache = "marked"
    cache_min_tokens: int | None = None
    tight: bool = False


_CLAUDE = ("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic")
_SEEN = "platform.claude.com, models overview, read 2026-11-30"
_UNSTATED = "not stated for this version, looked up 2026-11-30"
LOCAL = "local"
"""The model that dream runs itself, where it is installed."""

# Thinking is part of max_tokens and of the bill. Sonnet 5.5 answers 400 to `disabled` and takes
# `between_tools`; Opus 5.5 and Fable 5.2 cannot be told not to think, so they get more room.
# A forced tool is a 400 on all but Haiku, so every row forces its answer by schema.
CATALOG: dict[str, Entry] = {
    "sonnet": Entry(
        "sonnet", "claude-sonnet-5-5", *_CLAUDE, "schema", 2048, "low", "between_tools",
        "2026-06", _SEEN,
    ),
    "haiku": Entry(
        "haiku", "claude-haiku-5-5", *_CLAUDE, "schema", 2048, "low", "disabled",
        "2026-06", _SEEN,
    ),
    "opus": Entry(
        "opus", "claude-opus-5-5", *_CLAUDE, "schema", 8192, "low", None,
        "2026-06", _SEEN,
    ),
    "fable": Entry(
        "fable", "claude-fable-5-2", *_CLAUDE, "schema", 8192, "low", None,
        None, _UNSTATED,
    ),
    LOCAL: Entry(
        LOCAL, MODEL, "http://127.0.0.1", None, None, "schema", 256, None, None,
        None, "not stated by its authors, looked up 2026-11-30",
        cache="automatic", cache_min_tokens=1, tight=True,
    ),
}  # fmt: skip


def resolve(name: str) -> Entry:
    """The entry that an alias or an exact id stands for.

    Raises:
        SpecInvalid: neither; lists what there is.
    """
    for alias, entry in CATALOG.items():
        if name in (alias, entry.id):
            return entry
    models = ", ".join(f"{alias} ({entry.id})" for alias, entry in CATALOG.items())
    raise SpecInvalid(
        f"unknown model {name!r}. Models: {models}. Without a key: {', '.join(COMPUTED)}, "
        f"or your own module:function."
    )


def ceiling(entry: Entry, request_bytes: int, at_ns: int) -> float | None:
    """The most that one call can cost, in USD: a token a byte, all of it written to the cache.

    Args:
        entry: the model to be asked.
        request_bytes: length of the whole request.
        at_ns: as for `price`.
    """
    most = Usage(input_tokens=0, cache_write_tokens=request_bytes, output_tokens=entry.max_tokens)
    return price(entry, most, at_ns)


def price(entry: Entry, usage: Usage, at_ns: int) -> float | None:
    """What one call costs, in USD, by the prices in force at that instant.

    Args:
        entry: the model that was asked.
        usage: tokens as the server counted them; input_tokens is what no cache took part in.
        at_ns: wall-clock instant of the call, nanoseconds UTC.

    Returns:
        None where the price table does not have exactly this model or the server gave no counts.
    """
    if entry.provider is None:
        return 0.0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    from datetime import UTC, datetime  # noqa: PLC0415 - the price table wants one

    from genai_prices import Usage as Counted  # noqa: PLC0415 - a third of a second
    from genai_prices import calc_price  # noqa: PLC0415

    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    counted = Counted(
        input_tokens=usage.input_tokens + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.output_tokens,
    )
    when = datetime.fromtimestamp(at_ns / 1e9, tz=UTC)
    try:
        found = calc_price(
            counted, entry.id, provider_id=entry.provider, genai_request_timestamp=when
        )
    except LookupError:
        return None
    return float(found.total_price) if found.model.id == entry.id else None
