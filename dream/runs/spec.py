"""What a run is: every setting that can change a result, validated, resolved and hashed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from dream.errors import SpecInvalid
from dream.llm.profile import Profile
from dream.llm.prompt import TEMPLATES
from dream.types import Instrument, Terms

_GROUPS = {"params", "recall", "terms", "instrument", "strategies", "profile"}
"""Settings that are set part by part."""

DEFAULT_STRATEGIES = ("VolBreakout", "IntradayMomentum", "PullbackEntry")


MAX_GAP_MIN: Final = 10 * 366 * 24 * 60
"""Ten years: as nanoseconds they fit an int64 with room for a difference."""
_MINUTE_NS: Final = 60 * 10**9
_GAP_RANGE: Final = f"max_gap must be from 0 to {MAX_GAP_MIN:,} minutes (ten years)"

# What keeps the kernel exact and finite. It counts prices in int32 ticks and sizes in whole lot
# steps, and money in float64; a run beyond these ranges would wrap or end in infinities.
_TERMS: Final[dict[str, tuple[float, float]]] = {
    "equity": (0.01, 1e12),  # a cent to a trillion; see also `_check_fit`
    "risk": (1e-6, 1.0),  # divides money where the account that an order needs is worked out
    "leverage": (1e-3, 1e6),  # divides money likewise
    "commission": (0.0, 1e6),  # these four count in ticks, see `_check_fit`
    "swap": (-1e6, 1e6),
    "spread": (0.0, 1e9),
    "slippage": (0.0, 1e9),
}
_INSTRUMENT: Final[dict[str, tuple[float, float]]] = {
    "tick": (1e-8, 1.0),  # the smallest steps in use: 1e-8 of a coin
    "contract": (1e-9, 1e9),
    "lot_step": (1e-8, 1.0),
    "lot_min": (1e-8, 1e9),  # in steps never rounded down to none
    "lot_max": (1e-8, 1e9),
}
_MAX_STEPS: Final = 2**31 - 1
"""Lot steps of one position: times 2^31 ticks they are fewer than 2^62, an int64."""
_MAX_TICKS: Final = 2**24
"""Of spread, slippage or any other cost: with a price of up to 2^31 - 2^25 they stay an int32."""
_MAX_UNITS: Final = 2**53
"""Of money: beyond it, a float64 does not see one tick of one lot step any more."""
_SYMBOL_CHARS: Final = 32
_OWN: Final = re.compile(r"[\w.]+:\w+")


def gap_ns(minutes: float) -> int:
    """A longest wait for a fill, from minutes.

    Raises:
        SpecInvalid: not from 0 to ten years.
    """
    if not 0 <= minutes <= MAX_GAP_MIN:
        raise SpecInvalid(f"{_GAP_RANGE}, found {minutes:g} minutes")
    return round(minutes * _MINUTE_NS)


def check_instrument(instrument: Instrument) -> Instrument:
    """The instrument, if a run can trade it.

    Raises:
        SpecInvalid: a value is out of its range, or a tick or lot step does not divide 1.
    """
    try:
        return _checked_instrument(instrument)
    except ValueError as error:
        raise SpecInvalid(str(error)) from None


def _check_ranges(thing: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    for name, (low, high) in ranges.items():
        value = getattr(thing, name)
        if not low <= value <= high:  # NaN is in no range
            hint = " (a share of equity: 0.0025 is 0.25 %)" if name == "risk" else ""
            raise ValueError(f"{name} must be from {low:g} to {high:g}{hint}, found {value:g}")


def _checked_terms(terms: Terms) -> Terms:
    _check_ranges(terms, _TERMS)
    gap = terms.max_gap_ns
    if gap is not None and not 0 <= gap <= MAX_GAP_MIN * _MINUTE_NS:
        raise ValueError(f"{_GAP_RANGE}, found {_cut(str(gap))} ns")
    return terms


def _checked_instrument(inst: Instrument) -> Instrument:
    if not (inst.symbol.isprintable() and 0 < len(inst.symbol) <= _SYMBOL_CHARS):
        raise ValueError(f"symbol must be a name such as XAUUSD, found {_short(inst.symbol)}")
    _check_ranges(inst, _INSTRUMENT)
    for name in ("tick", "lot_step"):
        parts = 1.0 / getattr(inst, name)
        if not math.isclose(parts, round(parts), rel_tol=1e-15):  # two roundings of a float64
            raise ValueError(f"{name} must divide 1, such as 0.01; found {getattr(inst, name)}")
    step = inst.lot_step
    low, high = math.ceil(inst.lot_min / step - 1e-9), math.floor(inst.lot_max / step + 1e-9)
    if not low <= high <= _MAX_STEPS:
        raise ValueError(
            f"lot_max must be a lot step of {step:g} or more, from lot_min ({inst.lot_min:g}) to "
            f"{_MAX_STEPS * step:g} (2^31 - 1 steps), found {inst.lot_max:g}"
        )
    return inst


def _check_fit(terms: Terms, inst: Instrument) -> None:
    """What of the terms is counted in the instrument's ticks and steps."""
    price = _MAX_TICKS / inst.ticks_per_unit
    ticks = f"2^24 ticks of {inst.tick:g}"
    unit = inst.money_per_tick_step
    limits = {
        "spread": (price, ticks),
        "slippage": (price, ticks),
        "commission": (price * inst.contract, f"{ticks} on one lot"),
        "swap": (price * inst.contract, f"{ticks} on one lot, either way"),
        "equity": (_MAX_UNITS * unit, f"2^53 times {unit:g}, one tick of one lot step"),
    }
    for name, (most, why) in limits.items():
        if abs(getattr(terms, name)) > most:
            raise ValueError(
                f"{name} must be at most {most:g} ({why}), found {getattr(terms, name):g}"
            )
    for name in ("spread", "slippage"):
        found = getattr(terms, name)
        whole = found * inst.ticks_per_unit
        if not math.isclose(whole, round(whole), abs_tol=1e-6):
            raise ValueError(
                f"{name} must be a whole number of ticks of {inst.tick:g}, because that is what is "
                f"charged; found {found:g}"
            )


def _known_prompt(version: str) -> str:
    if version not in TEMPLATES and not _OWN.fullmatch(version):
        known = ", ".join(TEMPLATES)
        raise ValueError(
            f"unknown version, known: {known}, or module:name; found {_short(version)}"
        )
    return version


class RunSpec(BaseModel):
    """One run. Two runs with equal specs are the same run and share a folder.

    Attributes:
        bars: path of the bar series. from_, to: ISO instants that cut it, None for all.
        model: rules, never, random:P, scripted:FILE, a model id, or module:function.
        decisions: the run ends at this many decisions.
        strategies: names of the registry or module:function, in board order.
        params: parameters of strategies, by strategy.
        ask: bar, every:N or setup. manage: with setup, also ask while a position is open.
        context: the bars that are shown: window (the last 20) or day (every bar of the trading day
            so far and the 20 before it, so that a question begins as the one before).
        memory: none, a recall arm or module:function. recall: its parameters.
        instrument, terms: what is traded and on which terms.
        prompt: version of the prompt template, or module:name of one's own.
        on_error: stop or hold after a failed call.
        seed: of everything that is drawn. repeat: number of this repetition.
        profile: what is sent to a model that has no row in the catalogue; filled in by the run.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False
    )

    bars: str
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    model: str = "rules"
    decisions: int = Field(default=2000, ge=1)
    strategies: tuple[str, ...] = Field(default=DEFAULT_STRATEGIES, min_length=1)
    params: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    ask: str = "bar"
    manage: bool = False
    context: Literal["window", "day"] = "window"
    memory: str = "hybrid"
    recall: Mapping[str, float] = Field(default_factory=dict)
    instrument: Annotated[Instrument, AfterValidator(_checked_instrument)] = Instrument()
    terms: Annotated[Terms, AfterValidator(_checked_terms)] = Terms()
    prompt: Annotated[str, AfterValidator(_known_prompt)] = "v1"
    on_error: Literal["stop", "hold"] = "stop"
    seed: int = Field(default=0, ge=0)
    repeat: int = Field(default=0, ge=0)
    profile: Profile | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for name in self.params:
            if name not in self.strategies:
                known = _cut(", ".join(self.strategies), 400)
                raise ValueError(
                    f"params: {_short(name)} is no strategy of this run; there is: {known}"
                )
        _check_fit(self.terms, self.instrument)
        return self

    def as_json(self) -> dict[str, Any]:
        """The spec as plain JSON values, in a fixed order.

        A setting that came later is left out while it has its default: the runs from before it
        keep their ids and their bytes.
        """
        settings = self.model_dump(mode="json", by_alias=True)
        later = {"context": "window", "profile": None}
        return {key: x for key, x in settings.items() if key not in later or x != later[key]}

    def run_id(self) -> str:
        """Readable prefix and a hash of the whole spec: the same command finds its run."""
        return f"{_slug(self.model)}-{_slug(self.memory)}-{_sha256(self.as_json())[:12]}"

    def settings_hash(self) -> str:
        """Hash of the spec but for where the bars lie, who decides, and what is recalled.

        The same run elsewhere has the same, and so has one that is given the same answers.
        """
        apart = {"bars": "", "model": "", "memory": "", "recall": {}}
        settings = {**self.as_json(), **apart}
        settings.pop("profile", None)
        return _sha256(settings)


def make_spec(settings: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> RunSpec:
    """Build a spec from settings and dotted `--set` pairs.

    Args:
        settings: field names of RunSpec; terms and instrument may be given as mappings.
        extra: dotted keys to text, such as {"VolBreakout.range_atr": "0.4", "seed": "3"}.

    Raises:
        SpecInvalid: a key does not exist, a value is out of range, or params are of a strategy
            that is not in the run; names the key.
    """
    merged = _mapping("settings", settings)
    for key, text in _mapping("extra", {} if extra is None else extra).items():
        _put(merged, key, text)
    try:
        return RunSpec.model_validate(merged)
    except ValidationError as error:
        raise SpecInvalid(_explain(error)) from None


def _mapping(name: str, given: Any) -> dict[str, Any]:
    """A mapping, or an object with settings, as a dict of its own.

    Raises:
        SpecInvalid: it is neither, or a key is no text.
    """
    if isinstance(given, Terms | Instrument):
        return {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}
    if not isinstance(given, Mapping):
        raise SpecInvalid(f"{name}: expected a mapping of names, found {type(given).__name__}")
    found = dict(cast("Mapping[Any, Any]", given))
    for key in found:
        if not isinstance(key, str):
            raise SpecInvalid(f"{name}: expected texts as names, found {_short(key)}")
    return found


def _put(merged: dict[str, Any], key: str, text: str) -> None:
    """Puts one dotted setting where it belongs."""
    given: Any = merged.get("strategies", DEFAULT_STRATEGIES)
    names = (
        [name for name in given if isinstance(name, str)] if type(given) in (list, tuple) else []
    )
    for name in names:
        if key.startswith(f"{name}."):
            params = _mapping("params", merged.get("params", {}))
            of_it = _mapping(f"params.{name}", params.get(name, {}))
            merged["params"] = {**params, name: {**of_it, key.removeprefix(f"{name}."): text}}
            return
    head, dot, tail = key.partition(".")
    groups: dict[str, list[str]] = {
        "terms": [f.name for f in dataclasses.fields(Terms)],
        "instrument": [f.name for f in dataclasses.fields(Instrument)],
    }
    if head in groups:
        if tail not in groups[head]:
            _unknown(key, [f"{head}.{name}" for name in groups[head]])
        merged[head] = {**_mapping(head, merged.get(head, {})), tail: text}
    elif head == "memory" and tail:
        merged["recall"] = {**_mapping("recall", merged.get("recall", {})), tail: text}
    elif dot:
        _unknown(key, list(names), "strategies of this run")
    else:
        known = {f.alias or name for name, f in RunSpec.model_fields.items()} - _GROUPS
        if head not in known:
            _unknown(key, sorted(known))
        merged[head] = text


def _unknown(key: str, known: list[str], what: str = "known here") -> None:
    raise SpecInvalid(
        f"--set {_cut(key)}: there is no such setting; {what}: {_cut(', '.join(known), 400)}. Also "
        f"<strategy>.<parameter>, terms.<name>, instrument.<name>, memory.<parameter>"
    )


def _explain(error: ValidationError) -> str:
    lines: list[str] = []
    for item in error.errors():
        where = _cut(".".join(str(part) for part in item["loc"]))
        message = item["msg"].removeprefix("Value error, ")
        found = "" if "found" in message else f" (found {_short(item['input'])})"
        lines.append(f"{where}: {message}{found}"[:300] if where else message)
    return "; ".join(lines)


def _sha256(settings: Mapping[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _short(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _slug(name: str) -> str:
    """At most 32 characters that are safe in a folder name."""
    tail = name.rsplit("/", 1)[-1]
    return re.sub(r"[^A-Za-z0-9.]+", "_", tail).strip("_.")[:32] or "x"
