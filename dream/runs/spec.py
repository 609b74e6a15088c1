"""What a run is: every setting that can change a result, validated, resolved and hashed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dream.errors import SpecInvalid
from dream.types import Instrument, Terms

_GROUPS = {"params", "recall", "terms", "instrument", "strategies"}
"""Settings that are set part by part."""

DEFAULT_STRATEGIES = ("VolBreakout", "IntradayMomentum", "PullbackEntry")


def _checked_terms(terms: Terms) -> Terms:
    for name in ("equity", "risk", "leverage"):
        if not (0 < getattr(terms, name) < math.inf):
            raise ValueError(f"{name} must be a positive number, found {getattr(terms, name)}")
    if terms.risk > 1:
        raise ValueError(f"risk is a share of equity, 0.0025 is 0.25 %; found {terms.risk}")
    for name in ("spread", "slippage", "commission"):
        if not (0 <= getattr(terms, name) < math.inf):
            raise ValueError(f"{name} must be zero or more, found {getattr(terms, name)}")
    if not math.isfinite(terms.swap):
        raise ValueError(f"swap must be finite, found {terms.swap}")
    if terms.max_gap_ns is not None and terms.max_gap_ns < 0:
        raise ValueError(f"max_gap must be zero or more, found {terms.max_gap_ns} ns")
    return terms


def _checked_instrument(inst: Instrument) -> Instrument:
    for name in ("tick", "contract", "lot_step", "lot_min", "lot_max"):
        if not (0 < getattr(inst, name) < math.inf):
            raise ValueError(f"{name} must be a positive number, found {getattr(inst, name)}")
    for name in ("tick", "lot_step"):
        parts = 1.0 / getattr(inst, name)
        if abs(parts - round(parts)) > 1e-6 * parts:
            raise ValueError(f"{name} must divide 1, such as 0.01; found {getattr(inst, name)}")
    if inst.lot_max < inst.lot_min:
        raise ValueError(f"lot_max {inst.lot_max} is below lot_min {inst.lot_min}")
    return inst


class RunSpec(BaseModel):
    """One run. Two runs with equal specs are the same run and share a folder.

    Attributes:
        bars: path of the bar series. from_, to: ISO instants that cut it, None for all.
        model: rules, never, random:P, scripted:FILE, a model id, or module:function.
        decisions: the run ends at this many decisions.
        strategies: names of the registry or module:function, in board order.
        params: parameters of strategies, by strategy.
        ask: bar, every:N or setup. manage: with setup, also ask while a position is open.
        memory: none, a recall arm or module:function. recall: its parameters.
        instrument, terms: what is traded and on which terms.
        prompt: version of the prompt template. on_error: stop or hold after a failed call.
        seed: of everything that is drawn. repeat: number of this repetition.
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
    memory: str = "hybrid"
    recall: Mapping[str, float] = Field(default_factory=dict)
    instrument: Annotated[Instrument, AfterValidator(_checked_instrument)] = Instrument()
    terms: Annotated[Terms, AfterValidator(_checked_terms)] = Terms()
    prompt: str = "v1"
    on_error: Literal["stop", "hold"] = "stop"
    seed: int = Field(default=0, ge=0)
    repeat: int = Field(default=0, ge=0)

    def as_json(self) -> dict[str, Any]:
        """The spec as plain JSON values, in a fixed order."""
        return self.model_dump(mode="json", by_alias=True)

    def run_id(self) -> str:
        """Readable prefix and a hash of the whole spec: the same command finds its run."""
        return f"{_slug(self.model)}-{_slug(self.memory)}-{_sha256(self.as_json())[:12]}"

    def settings_hash(self) -> str:
        """Hash of the spec but for where the bars lie and who decides.

        The same run elsewhere has the same, and so has one that is given the same answers.
        """
        return _sha256({**self.as_json(), "bars": "", "model": ""})


def make_spec(settings: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> RunSpec:
    """Build a spec from settings and dotted `--set` pairs.

    Args:
        settings: field names of RunSpec; terms and instrument may be given as mappings.
        extra: dotted keys to text, such as {"VolBreakout.range_atr": "0.4", "seed": "3"}.

    Raises:
        SpecInvalid: a key does not exist or a value is out of range; names the key.
    """
    merged: dict[str, Any] = dict(settings)
    for key, text in (extra or {}).items():
        _put(merged, key, text)
    try:
        return RunSpec.model_validate(merged)
    except ValidationError as error:
        raise SpecInvalid(_explain(error)) from None


def _put(merged: dict[str, Any], key: str, text: str) -> None:
    """Puts one dotted setting where it belongs."""
    names: tuple[str, ...] = tuple(merged.get("strategies", DEFAULT_STRATEGIES))
    for name in names:
        if key.startswith(f"{name}."):
            params: dict[str, Any] = merged.get("params", {})
            given = {**params.get(name, {}), key.removeprefix(f"{name}."): text}
            merged["params"] = {**params, name: given}
            return
    head, dot, tail = key.partition(".")
    groups: dict[str, list[str]] = {
        "terms": [f.name for f in dataclasses.fields(Terms)],
        "instrument": [f.name for f in dataclasses.fields(Instrument)],
    }
    if head in groups:
        if tail not in groups[head]:
            _unknown(key, [f"{head}.{name}" for name in groups[head]])
        merged[head] = {**merged.get(head, {}), tail: text}
    elif head == "memory" and tail:
        merged["recall"] = {**merged.get("recall", {}), tail: text}
    elif dot:
        _unknown(key, [f"{name}.<parameter>" for name in names])
    else:
        known = {f.alias or name for name, f in RunSpec.model_fields.items()} - _GROUPS
        if head not in known:
            _unknown(key, sorted(known))
        merged[head] = text


def _unknown(key: str, known: list[str]) -> None:
    msg = (
        f"--set {key}: there is no such setting. Known here: {', '.join(known)}; also "
        f"terms.<name>, instrument.<name>, memory.<parameter>, <strategy>.<parameter>"
    )
    raise SpecInvalid(msg)


def _explain(error: ValidationError) -> str:
    lines: list[str] = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        found = "" if "found" in message else f" (found {item['input']!r})"
        lines.append(f"{where}: {message}{found}"[:300])
    return "; ".join(lines)


def _sha256(settings: Mapping[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _slug(name: str) -> str:
    """At most 32 characters that are safe in a folder name."""
    tail = name.rsplit("/", 1)[-1]
    return re.sub(r"[^A-Za-z0-9.]+", "_", tail).strip("_.")[:32] or "x"
