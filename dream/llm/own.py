"""Models and endpoints of one's own, as dream.toml has them in [models.NAME] and [endpoints.NAME].

What is wrong is told by table and key, with what there is. A value is never shown where it could
be a key.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dream.errors import InputError
from dream.llm import catalog
from dream.llm.catalog import CATALOG, COMPUTED, ENDPOINTS, SERVERS, Endpoint, Entry, Own, Prices
from dream.llm.endpoint import host_of
from dream.llm.profile import MAX_TOKENS, Answer, Cache, Effort, Thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_TAKEN: Final = {name.partition(":")[0] for name in COMPUTED}
_SECRET: Final = ("key_env", "key_command", "base_url", "endpoint")
"""Keys whose values are not shown: a key may have been written there by mistake."""

Usd = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=300)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Price(_Table):
    input: Usd
    output: Usd
    cache_read: Usd | None = None
    cache_write: Usd | None = None
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None


class _Keyed(_Table):
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = None
    key_command: Annotated[list[Text], Field(min_length=1, max_length=32)] | None = None
    key_header: Annotated[str, Field(pattern=r"^(authorization|x-api-key)$")] | None = None

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.key_env is not None and self.key_command is not None:
            raise ValueError("has key_env and key_command; leave one of them out")
        return self

    def key(self) -> dict[str, Any]:
        """The fields of an entry or an endpoint that say which key is sent."""
        out: dict[str, Any] = {}
        if self.key_env is not None or self.key_command is not None:
            out = {"key_env": self.key_env, "key_command": tuple(self.key_command or ())}
        if self.key_header is not None:
            out["key_header"] = self.key_header
        return out


class _Endpoint(_Keyed):
    base_url: Text | None = None


class _Model(_Keyed):
    id: Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
    endpoint: Text
    answer: Answer
    fallback: Answer | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 2048
    effort: Effort | None = None
    thinking: Thinking | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    cache: Cache | None = None
    cache_min_tokens: Annotated[int, Field(ge=1)] | None = None
    price: _Price | None = None
    cutoff: Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")] | None = None
    cutoff_source: Text | None = None


class _Row(_Keyed):
    """What may be said of a row of the catalogue: nothing of it changes what is sent."""

    endpoint: Text | None = None
    cache_min_tokens: Annotated[int, Field(ge=1)] | None = None
    price: _Price | None = None
    cutoff: Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")] | None = None
    cutoff_source: Text | None = None


def own_models(models: Any, endpoints: Any, where: str = "dream.toml") -> Own:
    """The user's models and endpoints, checked.

    Args:
        models: the tables below [models], by name.
        endpoints: those below [endpoints].
        where: the file, for messages.

    Raises:
        InputError: names the table and the key that is wrong, and what there is.
    """
    known = dict(ENDPOINTS)
    yours: dict[str, Endpoint] = {}
    for name, table in _tables(endpoints, "endpoints", where):
        known[name] = yours[name] = _endpoint(name, table, f"{where}: [endpoints.{name}]")
    bare = Own({}, yours)
    entries = {
        name: _entry(name, table, f"{where}: [models.{name}]", (known, bare))
        for name, table in _tables(models, "models", where)
    }
    return Own(entries, yours)


def _tables(tables: Any, kind: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(tables, dict):
        raise InputError(f"{where}: {kind} holds tables, each as [{kind}.NAME]")
    found: list[tuple[str, dict[str, Any]]] = []
    for name, table in cast("dict[str, Any]", tables).items():
        if not isinstance(table, dict):
            raise InputError(f"{where}: {kind}.{name[:80]} is no table; write [{kind}.NAME]")
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{where}: [{kind}.{name[:80]}]: a name has up to 64 letters, digits, dots, dashes "
                f"and underscores, a letter first"
            )
        found.append((name, cast("dict[str, Any]", table)))
    return found


def _endpoint(name: str, table: dict[str, Any], where: str) -> Endpoint:
    given = cast("_Endpoint", _validated(_Endpoint, table, where))
    if given.base_url is None and name not in ENDPOINTS:
        raise InputError(f"{where} needs base_url, such as http://127.0.0.1:8080")
    before = ENDPOINTS.get(name, Endpoint(""))
    base_url = before.base_url if given.base_url is None else _url(given.base_url, where)
    return replace(before, base_url=base_url, **given.key())


def _entry(
    name: str, table: dict[str, Any], where: str, around: tuple[Mapping[str, Endpoint], Own]
) -> Entry:
    endpoints, bare = around
    if name in _TAKEN or name in SERVERS:
        raise InputError(f"{where}: {name} is a decider of dream's; give the entry another name")
    row = next((r for r in CATALOG.values() if name in (r.alias, r.id)), None)
    if row is not None:
        if name == row.id:
            raise InputError(
                f"{where}: {name} is a row of the catalogue: write [models.{row.alias}]"
            )
        return _over(bare.placed(row), table, where, endpoints)
    given = cast("_Model", _validated(_Model, table, where))
    provider, at = _place(given.endpoint, where, endpoints)
    same = next((r for r in CATALOG.values() if r.id == given.id and r.provider == provider), None)
    cache: Cache = "marked" if provider == "anthropic" else "automatic"
    entry = Entry(
        alias=name,
        id=given.id,
        provider=provider,
        answer=given.answer,
        max_tokens=given.max_tokens,
        effort=given.effort,
        thinking=given.thinking,
        cutoff=given.cutoff,
        cutoff_source=given.cutoff_source or ("as dream.toml says" if given.cutoff else "not said"),
        cache=given.cache or cache,
        cache_min_tokens=given.cache_min_tokens,
        fallback=given.fallback,
        temperature=given.temperature,
        seed=given.seed,
        price_id=same.price_id if same else None,
        prices=_prices(given.price),
        **catalog.fields_of(at),
    )
    if same is not None and given.cutoff is None:  # exactly the same model, asked otherwise
        entry = replace(entry, cutoff=same.cutoff, cutoff_source=same.cutoff_source)
    return replace(entry, **given.key())


def _over(
    row: Entry, table: dict[str, Any], where: str, endpoints: Mapping[str, Endpoint]
) -> Entry:
    """A row with another price, endpoint or cut-off."""
    for key in table:
        if key in _Model.model_fields and key not in _Row.model_fields:
            raise InputError(
                f"{where} cannot change {key}: {row.alias} is a row of the catalogue, and what it "
                f"sends never changes. Give an entry of yours another name, with id = {row.id!r}"
            )
    given = cast("_Row", _validated(_Row, table, where))
    changes: dict[str, Any] = given.key()
    if given.endpoint is not None:
        _, at = _place(given.endpoint, where, endpoints)
        changes = catalog.fields_of(at) | changes
    if given.price is not None:
        changes["prices"] = _prices(given.price)
    if given.cutoff is not None:
        source = given.cutoff_source or "as dream.toml says"
        changes |= {"cutoff": given.cutoff, "cutoff_source": source}
    if given.cache_min_tokens is not None:
        changes["cache_min_tokens"] = given.cache_min_tokens
    return replace(row, **changes)


def _place(given: str, where: str, endpoints: Mapping[str, Endpoint]) -> tuple[str, Endpoint]:
    """Name and address of an endpoint that is given by its name, or as an address."""
    if given in endpoints:
        return given, endpoints[given]
    if "://" in given:
        return "", Endpoint(_url(given, where))
    raise InputError(
        f"{where} endpoint: there is none of that name; there are: {', '.join(endpoints)}. Or give "
        f"an address, such as http://127.0.0.1:8080"
    )


def _url(given: str, where: str) -> str:
    try:
        host_of(given)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return given


def _prices(price: _Price | None) -> Prices | None:
    return None if price is None else Prices(**price.model_dump())


def _validated(kind: type[_Table], table: dict[str, Any], where: str) -> _Table:
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        # A key that is missing may be one that was mistyped: the mistyped one says more.
        extra = (one for one in faults if one["type"] == "extra_forbidden")
        fault = next(extra, faults[0])
    path = [str(part)[:80] for part in fault["loc"]]
    key = ".".join(path)
    if fault["type"] == "extra_forbidden":
        fields = _Price.model_fields if path[0] == "price" else kind.model_fields
        hint = ""
        if any(word in path[-1].lower() for word in ("key", "token", "secret", "password")):
            hint = ". A key is never written here: name the variable that holds it with key_env"
        raise InputError(f"{where} has no setting {key!r}; it has: {', '.join(fields)}{hint}")
    if fault["type"] == "missing":
        raise InputError(f"{where} needs {key}")
    said = fault["msg"].removeprefix("Value error, ")
    if not path:
        raise InputError(f"{where} {said}")
    if path[0] == "key_env":
        said = "expected the name of an environment variable, such as DEEPSEEK_API_KEY"
    found = "" if path[0] in _SECRET else f", found {_cut(fault['input'])}"
    raise InputError(f"{where} {key}: {said}{found}")


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
