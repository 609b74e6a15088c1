"""Which models there are: exact ids, endpoints, how an answer is forced, cut-offs and prices.

Exact ids only: a newer version never inherits an older one's row; what is unknown stays unknown.
A row that runs were made with never changes in what it sends: a change is a new row. Models of
one's own and those of local servers have no row, so what they send stands in the spec of a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from dream.errors import SpecInvalid
from dream.llm.local.pins import MODEL
from dream.llm.profile import Answer, Cache, Profile
from dream.types import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPUTED = ("rules", "never", "random:P", "scripted:FILE")
"""Deciders that need no key, as a command line names them."""

BEARER: Final = "authorization"
"""The header that a key goes into, as a bearer token; x-api-key takes it as it is."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by hand, USD per million tokens; what is not given costs as much as input.

    Attributes:
        input, output: of uncached input and of output, thinking included.
        cache_read, cache_write: of input read from and written to a cache.
        date: when they were looked up, as the user says.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    date: str | None = None

    def cost_usd(self, usage: Usage) -> float:
        """What counted tokens cost."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        counts = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, read),
            (usage.cache_write_tokens, written),
        )
        return sum((tokens or 0) * usd for tokens, usd in counts) / 1e6


@dataclass(frozen=True, slots=True)
class Entry:
    """One model: what to send, where, and what is known about it.

    Attributes:
        alias: short name. id: exact model id, the only one that may answer.
        base_url: endpoint. key_env: environment variable that the edge reads the key from, None
            where there is none.
        provider: name of the endpoint, and whose prices count, as genai-prices calls it.
        answer: how the answer is forced: `schema` (output_config.format), `tool` (one forced
            tool) or `text` (asked for in words, read tolerantly).
        max_tokens: limit on one answer, thinking included.
        effort: output_config.effort. thinking: type of the thinking setting. None leaves it out.
        cutoff: last month (YYYY-MM) of the training data, None where not known.
        cutoff_source: where that was read, and when.
        cache: how prefixes are cached: `marked` (by breakpoints in the request), `automatic` (the
            server does it by itself) or `none`.
        cache_min_tokens: shortest prefix that is cached, None where not known.
        fallback: how the answer is forced where an endpoint refuses the form, see `ModelDecider`.
        temperature, seed: of sampling, None leaves them out; Claude models take neither.
        price_id: what the price table calls this id, None for the id itself.
        prices: by hand, which win over the table.
        key_command: prints the key; run instead of reading key_env.
        key_header: authorization (a bearer token) or x-api-key.
        note: what whoever chooses it should know.
        tight: whether the server holds the model to every word of a schema, so that it is given
            one which allows no answer that cannot be read.
    """

    alias: str
    id: str
    base_url: str
    key_env: str | None
    provider: str
    answer: Answer
    max_tokens: int
    effort: str | None
    thinking: str | None
    cutoff: str | None
    cutoff_source: str
    cache: Cache = "marked"
    cache_min_tokens: int | None = None
    fallback: Answer | None = None
    temperature: float | None = None
    seed: int | None = None
    price_id: str | None = None
    prices: Prices | None = None
    key_command: tuple[str, ...] = ()
    key_header: str = BEARER
    note: str = ""
    tight: bool = False

    @property
    def key_name(self) -> str | None:
        """Where the key comes from, as messages call it; None where none is sent."""
        return f"the key_command {self.key_command[0]}" if self.key_command else self.key_env

    def profile(self) -> Profile:
        """What of it changes a request."""
        return Profile(**{name: getattr(self, name) for name in Profile.model_fields})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server: where it is, and which key it takes; attributes as in `Entry`."""

    base_url: str
    key_env: str | None = None
    key_command: tuple[str, ...] = ()
    key_header: str = BEARER


ENDPOINTS: Final[dict[str, Endpoint]] = {
    "anthropic": Endpoint("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "deepseek": Endpoint(
        "https://api.deepseek.com/anthropic", "DEEPSEEK_API_KEY", key_header="x-api-key"
    ),
    "ollama": Endpoint("http://127.0.0.1:11434"),
    "llamacpp": Endpoint("http://127.0.0.1:8080"),
    "vllm": Endpoint("http://127.0.0.1:8000"),
    "lmstudio": Endpoint("http://127.0.0.1:1234"),
}

_CLAUDE = ("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic")
_DEEPSEEK = ("https://api.deepseek.com/anthropic", "DEEPSEEK_API_KEY", "deepseek")
_SEEN = "platform.claude.com, models overview, read 2026-11-30"
_UNSTATED = "not stated for this version, looked up 2026-11-30"
_RETIRED = "of the published experiment of 2026; may have been retired since"
LOCAL = "local"
"""The model that dream runs itself, where it is installed."""

# Thinking is part of max_tokens and of the bill. Sonnet 5.5 answers 400 to `disabled` and takes
# `between_tools`; Opus 5.5 and Fable 5.2 cannot be told not to think, so they get more room.
# A forced tool is a 400 on all of these but Haiku, so each forces its answer by schema.
# DeepSeek constrains by a forced tool only, thinks unless told not to, caches by itself, and
# answers to Claude's names with a model of its own: `client.check` refuses that.
CATALOG: dict[str, Entry] = {
    "sonnet": Entry(
        "sonnet", "claude-sonnet-5-5", *_CLAUDE, "schema", 2048, "low", "between_tools",
        "2026-06", _SEEN, fallback="text",
    ),
    "haiku": Entry(
        "haiku", "claude-haiku-5-5", *_CLAUDE, "schema", 2048, "low", "disabled",
        "2026-06", _SEEN, fallback="tool",
    ),
    "opus": Entry(
        "opus", "claude-opus-5-5", *_CLAUDE, "schema", 8192, "low", None,
        "2026-06", _SEEN, fallback="text",
    ),
    "fable": Entry(
        "fable", "claude-fable-5-2", *_CLAUDE, "schema", 8192, "low", None,
        None, _UNSTATED, fallback="text",
    ),
    "deepseek": Entry(
        "deepseek", "deepseek-flash", *_DEEPSEEK, "tool", 2048, None, "disabled",
        None, "not published by the vendor, looked up 2026-11-30",
        cache="automatic", fallback="text", temperature=0.0, key_header="x-api-key",
    ),
    "deepseek-pro": Entry(
        "deepseek-pro", "deepseek-v4-pro", *_DEEPSEEK, "tool", 2048, None, "disabled",
        None, "not published by the vendor; catalogues say May 2025, looked up 2026-11-30",
        cache="automatic", fallback="text", temperature=0.0, key_header="x-api-key",
    ),
    "haiku-3.5": Entry(
        "haiku-3.5", "claude-3-5-haiku-20241022", *_CLAUDE, "tool", 2048, None, None,
        "2024-07", "model card addendum of Claude 3.5, read 2026-10-18",
        fallback="text", price_id="claude-3-5-haiku-latest", note=_RETIRED,
    ),
    "sonnet-4": Entry(
        "sonnet-4", "claude-sonnet-4-20250514", *_CLAUDE, "tool", 2048, None, None,
        "2025-03", "system card of Claude 4, read 2026-10-18",
        fallback="text", price_id="claude-sonnet-4-0", note=_RETIRED,
    ),
    "deepseek-v3": Entry(
        "deepseek-v3", "deepseek-chat", *_DEEPSEEK, "tool", 2048, None, None,
        None, "not published by the vendor; the name stood for V3 (July 2024 by hearsay) and later "
        "versions in turn, looked up 2026-10-18",
        cache="automatic", fallback="text", temperature=0.0, key_header="x-api-key", note=_RETIRED,
    ),
    LOCAL: Entry(
        LOCAL, MODEL, "http://127.0.0.1", None, LOCAL, "schema", 256, None, None,
        None, "not stated by its authors, looked up 2026-11-30",
        cache="automatic", cache_min_tokens=1, tight=True, prices=Prices(0.0, 0.0),
    ),
}  # fmt: skip

_ANY = "depends on the model"


def _server(
    name: str, answer: Answer, fallback: Answer | None = None, temperature: float | None = 0.0
) -> Entry:
    at = ENDPOINTS[name].base_url
    return Entry(
        f"{name}/NAME", "NAME", at, None, name, answer, 4096, None, None, None, _ANY,
        cache="automatic", fallback=fallback, temperature=temperature,
    )  # fmt: skip


SERVERS: Final[dict[str, Entry]] = {
    "ollama": _server("ollama", "text"),  # parses a schema and a forced tool, and uses neither
    "llamacpp": _server("llamacpp", "text"),  # drops a schema; words may stand before a forced tool
    "vllm": _server("vllm", "schema", "text"),  # since 0.22.0
    "lmstudio": _server("lmstudio", "text", None, None),  # what it takes is not documented
}
"""What is sent to a model of a server of one's own, by what stands before the slash."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")


@dataclass(frozen=True, slots=True)
class Own:
    """Models and endpoints of the user's own, by name; see `dream.llm.own`."""

    models: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])

    def placed(self, row: Entry) -> Entry:
        """A row of the catalogue as the user has it: where it is asked, prices, what is known."""
        at = self.endpoints.get(row.provider)
        if row.alias in self.models:
            return self.models[row.alias]
        return row if at is None else replace(row, **fields_of(at))


NONE_OWN: Final = Own()
"""Without a dream.toml."""


def fields_of(endpoint: Endpoint) -> dict[str, Any]:
    """The fields of an entry that are its endpoint's."""
    return {name: getattr(endpoint, name) for name in Endpoint.__dataclass_fields__}


def is_row(entry: Entry) -> bool:
    """Whether it is a row of the catalogue, whose settings no spec has to hold."""
    return entry.alias in CATALOG


def resolve(name: str, own: Own = NONE_OWN) -> Entry:
    """The entry that an alias, an exact id, a name of one's own or server/NAME stands for.

    Raises:
        SpecInvalid: none of them; lists what there is.
    """
    for alias, entry in CATALOG.items():
        if name in (alias, entry.id):
            return own.placed(entry)
    if name in own.models:
        return own.models[name]
    server, slash, model = name.partition("/")
    if slash and server in SERVERS:
        if not _NAME.fullmatch(model):
            raise SpecInvalid(
                f"{server}/NAME takes the name under which the server knows the model, such as "
                f"{server}/llama3.2; found {name[:100]!r}"
            )
        return replace(own.placed(SERVERS[server]), alias=name, id=model)
    models = ", ".join(f"{alias} ({entry.id})" for alias, entry in CATALOG.items())
    yours = f"Of dream.toml: {', '.join(own.models)}. " if own.models else ""
    raise SpecInvalid(
        f"unknown model {name!r}. Models: {models}. {yours}Of a server of yours: "
        f"{', '.join(row.alias for row in SERVERS.values())}. Without a key: "
        f"{', '.join(COMPUTED)}, or your own module:function."
    )


def recorded(name: str, profile: Profile) -> Entry:
    """The entry of a recorded run, good for everything but asking: its endpoint is not known."""
    return Entry(
        alias=name, base_url="", key_env=None, provider="", cutoff=None, cutoff_source="",
        **profile.model_dump(),
    )  # fmt: skip


def ceiling(entry: Entry, request_bytes: int, at_ns: int) -> float | None:
    """The most that one call can cost, in USD: a token a byte, at the dearest rate of input.

    Args:
        entry: the model to be asked.
        request_bytes: length of the whole request.
        at_ns: as for `price`.
    """
    most = _all_of_one_kind(request_bytes, entry.max_tokens)
    hour = at_ns // _HOUR_NS
    return price(entry, most[_dearest(entry, request_bytes.bit_length(), hour)], at_ns)


_HOUR_NS: Final = 3_600_000_000_000


def _all_of_one_kind(n: int, out: int) -> tuple[Usage, Usage, Usage]:
    """The whole input uncached, read from the cache, or written to it."""
    return Usage(n, 0, 0, out), Usage(0, n, 0, out), Usage(0, 0, n, out)


@lru_cache(maxsize=256)
def _dearest(entry: Entry, bits: int, hour: int) -> int:
    """Which kind of input is the dearest: asked once for prompts of about a length in an hour."""
    usages = _all_of_one_kind(1 << bits, 0)
    costs = [price(entry, usage, hour * _HOUR_NS) or 0.0 for usage in usages]
    return costs.index(max(costs))


def price(entry: Entry, usage: Usage, at_ns: int) -> float | None:
    """What one call costs, in USD, by the prices in force at that instant.

    Args:
        entry: the model that was asked.
        usage: tokens as the server counted them; input_tokens is what no cache took part in.
        at_ns: wall-clock instant of the call, nanoseconds UTC.

    Returns:
        None where the price table does not have exactly this model or the server gave no counts.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if entry.prices is not None:
        return entry.prices.cost_usd(usage)
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
    return float(found.total_price) if found.model.id == (entry.price_id or entry.id) else None


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token, by class."""

    input: float
    cache_read: float
    cache_write: float
    output: float


def rates(entry: Entry, input_tokens: int, at_ns: int) -> Rates | None:
    """What each token of a call costs, which may depend on the length of all its input.

    Args:
        entry: the model that was asked.
        input_tokens: of the whole prompt, cached or not.
        at_ns: as for `price`.
    """
    n = max(input_tokens, 1)
    each = (Usage(n, 0, 0, 0), Usage(0, n, 0, 0), Usage(0, 0, n, 0), Usage(n, 0, 0, n))
    usd = [price(entry, usage, at_ns) for usage in each]
    if None in usd:
        return None
    whole, read, written, both = (x or 0.0 for x in usd)
    return Rates(whole / n, read / n, written / n, (both - whole) / n)
