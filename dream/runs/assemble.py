"""Turn a spec into the things that a run is made of, and hash what lies behind the names."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dream.bars import content_hash, store
from dream.bars.clock import clocks
from dream.errors import BarsInvalid, InputError, SpecInvalid
from dream.files import read_bounded
from dream.llm import caching, catalog
from dream.llm.scripted import MAX_SCRIPT, Never, Random, Rules, Scripted, load_script
from dream.runs import plugins, sources, state, templates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from dream.llm.client import Attempts
    from dream.runs.access import Access
    from dream.runs.spec import RunSpec
    from dream.types import AskingDecider, Bars, Decider, RecallFn, RunTable, Strategy

    AnyDecider = Decider | AskingDecider

K = 5
"""Episodes recalled at most, where memory.k does not say."""

GIVEN, ANSWERS = "given-decider", "given-answers"
"""What stands before the name of what was handed over in Python; no module can be called so."""

_OWN_DECIDER = re.compile(r"[\w.]+:\w+")
_RANDOM = re.compile(r"random:(0(?:\.\d+)?|1(?:\.0+)?|\.\d+)")


@dataclass(frozen=True, slots=True)
class Parts:
    """A spec made real, but for the decider.

    Attributes:
        recall: None for no memory. k: episodes recalled at most.
        hashes: name to hash of the content behind it; a changed one forbids a resume.
        notes: what a user should know of the functions.
    """

    spec: RunSpec
    bars: Bars
    strategies: dict[str, Strategy]
    recall: RecallFn | None
    k: int
    hashes: dict[str, str]
    notes: tuple[str, ...] = ()


def resolve_model(
    name: str, own: catalog.Own = catalog.NONE_OWN
) -> tuple[str, catalog.Profile | None]:
    """The name that goes into a spec: an exact id for an alias, a full path for a script.

    With it the profile of a model that has no row in the catalogue, None for all others.

    Raises:
        SpecInvalid: nothing has that name.
    """
    if name in ("rules", "never") or _RANDOM.fullmatch(name):
        return name, None
    kind, _, rest = name.partition(":")
    if kind == "random":
        raise SpecInvalid(f"--model {name}: random:P takes a probability from 0 to 1")
    if kind == "scripted":
        if not rest:
            raise SpecInvalid("--model scripted:FILE needs a file with one answer a line")
        path = os.path.abspath(rest)  # noqa: PTH100 - resolve() would follow links
        return f"scripted:{path}", None
    if rest and _OWN_DECIDER.fullmatch(name):
        return name, None
    entry = catalog.resolve(name, own)
    return (entry.id, None) if catalog.is_row(entry) else (entry.alias, entry.profile())


def assemble(
    spec: RunSpec, memory_recall_fn: RecallFn | None = None, bars_path: str | None = None
) -> Parts:
    """Read the bars and find every function that the spec names.

    Args:
        spec: of the run.
        memory_recall_fn: used instead of the one that the spec names.
        bars_path: read instead of the spec's path; its content must be the same.

    Raises:
        InputError: something named does not exist or cannot be read.
    """
    strategies = plugins.strategies(spec.strategies, spec.params)
    recall, k = _memory(spec, memory_recall_fn)
    bars = store.read(
        bars_path or spec.bars,
        spec.instrument,
        from_ns=None if spec.from_ is None else clocks.parse_instant(spec.from_),
        to_ns=None if spec.to is None else clocks.parse_instant(spec.to),
    )
    if not len(bars):
        raise BarsInvalid(f"{spec.bars}: no bars")
    hashes = {"bars": content_hash(bars)}
    notes: list[str] = []
    for name, (thing, module) in _own(spec, memory_recall_fn).items():
        # A replay may try another function of the same files; a run adds what is handed over.
        of = state.content_hash if module else sources.source_hash
        digest = of(thing, module)
        if digest is not None:
            hashes[name] = digest
        notes += state.notes(thing, module)
    if spec.model.startswith("scripted:"):
        digest = _script_hash(spec.model.partition(":")[2])
        if digest is not None:
            hashes["script"] = digest
    if is_model(spec.model) and "prompt" not in hashes:
        from dream.llm.prompt import prompt_hash  # noqa: PLC0415 - only for models

        hashes["prompt"] = prompt_hash(spec.prompt, spec.context)
    return Parts(spec, bars, strategies, recall, k, hashes, tuple(dict.fromkeys(notes)))


def _own(spec: RunSpec, given: RecallFn | None) -> dict[str, tuple[object, str | None]]:
    """What of the user's is named by the spec or handed over, with the module that names it."""
    own: dict[str, tuple[object, str | None]] = {
        f"strategy {name}": (plugins.load(name, "strategy"), name.partition(":")[0])
        for name in spec.strategies
        if ":" in name
    }
    if given is not None:
        own[f"recall {spec.memory}"] = given, None
    elif ":" in spec.memory:
        found = plugins.load(spec.memory, "recall function")
        own[f"recall {spec.memory}"] = found, spec.memory.partition(":")[0]
    if own_prompt(spec):
        own["prompt"] = plugins.named(spec.prompt, "prompt"), spec.prompt.partition(":")[0]
    if is_own(spec.model):
        with suppress(SpecInvalid):  # a replay has its answers and needs no function
            found = plugins.load(spec.model, "decider")
            own["decider"] = found, spec.model.partition(":")[0]
    return own


def _memory(spec: RunSpec, given: RecallFn | None) -> tuple[RecallFn | None, int]:
    """The recall function and how many episodes it may show."""
    params = dict(spec.recall)
    k = K if spec.memory == "none" else _whole_k(params.pop("k", K))
    if given is None:
        return plugins.recall(spec.memory, params), k
    if params:
        raise SpecInvalid(
            f"memory_recall_fn takes no parameters from the settings, found {', '.join(params)}; "
            f"bind them with functools.partial"
        )
    return given, k


def is_own(name: str) -> bool:
    """Whether the spec's model is a function of the user's."""
    kind = name.partition(":")[0]
    return kind not in ("random", "scripted") and bool(_OWN_DECIDER.fullmatch(name))


def is_foreign(spec: RunSpec) -> bool:
    """Whether what decides, or what asks a model, is code of the user's, named or handed over."""
    return own_prompt(spec) or _decides_itself(spec.model)


def _decides_itself(name: str) -> bool:
    return is_own(name) or name.partition(":")[0] in (GIVEN, ANSWERS)


def own_prompt(spec: RunSpec) -> bool:
    """Whether a model is asked with a prompt template of the user's."""
    return is_model(spec.model) and ":" in spec.prompt


def is_model(name: str) -> bool:
    """Whether the spec's model is asked over the network. Its name may have a colon: ollama/a:1."""
    kind = name.partition(":")[0]
    here = kind in ("random", "scripted") or name in ("rules", "never")
    return not here and not _decides_itself(name)


def computed(spec: RunSpec) -> Decider | None:
    """The decider that is computed again on replay, None where answers come from outside."""
    if spec.model == "rules":
        return Rules()
    if spec.model == "never":
        return Never()
    drawn = _RANDOM.fullmatch(spec.model)
    return Random(float(drawn[1]), spec.seed) if drawn else None


def live_decider(parts: Parts, access: Access, attempts: Attempts, held: ExitStack) -> AnyDecider:
    """The decider that the spec names, ready to be asked; held closes its connections.

    Raises:
        ModelUnavailable: there is no key. InputError: a script or function cannot be used.
    """
    spec = parts.spec
    kind, _, rest = spec.model.partition(":")
    if kind == "scripted":
        return Scripted(load_script(Path(rest)), spec.model)
    if not is_model(spec.model):
        return computed(spec) or Scripted(plugins.load(spec.model, "decider"), spec.model)
    if not access.is_whole():
        raise InputError(
            f"model {spec.model}: nothing says how it is reached; give "
            "Options(access=Access(keys, None, time.sleep, time.time_ns)), or a decider"
        )
    entry = catalog.resolve(spec.model, access.own)
    client = access.client(entry, attempts, held, on_error=spec.on_error)
    return _model_decider(parts, entry, client, access.on_note)


def endpoint(spec: RunSpec, access: Access) -> str | None:
    """Where a model is asked, as messages show it; None for deciders on this machine."""
    return access.host(catalog.resolve(spec.model, access.own)) if is_model(spec.model) else None


def endpoint_id(spec: RunSpec, access: Access) -> str | None:
    """What tells endpoints of one host apart, see `Access.endpoint_id`."""
    if not is_model(spec.model):
        return None
    return access.endpoint_id(catalog.resolve(spec.model, access.own))


def cache_note(spec: RunSpec, table: RunTable) -> str | None:
    """What a user should know of a cache that was expected and did nothing."""
    if not is_model(spec.model):
        return None
    return caching.note(_recorded_entry(spec), table.prefix_bytes, table.silent)


def _recorded_entry(spec: RunSpec) -> catalog.Entry:
    """The model of a run as far as its spec knows it, without a file of settings."""
    if spec.profile is None:
        return catalog.resolve(spec.model)
    return catalog.recorded(spec.model, spec.profile)


def replay_decider(parts: Parts) -> AnyDecider:
    """The same decider for a replay: it asks nobody and reads recorded replies as before.

    Raises:
        InputError: the run was given a decider object, which no name leads to.
    """
    name = parts.spec.model
    if is_model(name):
        return _model_decider(parts, _recorded_entry(parts.spec), None)
    if name.startswith(f"{GIVEN}:"):
        raise InputError(
            f"this run was given a decider object ({name}) in Python, whose decisions are computed "
            f"again: replay it with dream.replay(folder, decider=...)"
        )
    return computed(parts.spec) or Scripted((), name)


def _model_decider(
    parts: Parts,
    entry: catalog.Entry,
    client: Any,
    tell: Callable[[str], None] = lambda _line: None,
) -> AskingDecider:
    from dream.llm.decider import ModelDecider  # noqa: PLC0415 - only for models
    from dream.llm.prompt_settings import PromptSettings  # noqa: PLC0415

    spec = parts.spec
    settings = PromptSettings(
        {name: _description(function) for name, function in parts.strategies.items()},
        spec.terms,
        spec.instrument,
        spec.prompt,
        spec.context,
    )
    own = templates.load(spec.prompt) if own_prompt(spec) else None
    return cast("AskingDecider", ModelDecider(entry, client, settings, own, tell))


def _description(function: Callable[..., Any]) -> str:
    """What the prompt says of a strategy: its docstring down to the arguments, and their values."""
    target = getattr(function, "func", function)
    text = (target.__doc__ or "").partition("\n\n    Args:")[0]
    said = "\n".join(line.strip() for line in text.strip().splitlines())
    bound: Mapping[str, Any] = getattr(function, "keywords", {})
    values = [
        f"{p.name} = {_value(p.name, bound.get(p.name, p.default))}"
        for p in inspect.signature(target).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    return f"{said}\nHere: {', '.join(values)}." if values else said


_MINUTES = ("_from", "_to", "_minute")


def _value(name: str, value: Any) -> str:
    """A parameter as a reader wants it: minutes of the trading day as a time."""
    if not isinstance(value, int | float):
        return repr(value)
    if name == "expires_minute" and value == 0:
        return "never"
    if name.endswith(_MINUTES):
        return f"{int(value) // 60:02d}:{int(value) % 60:02d}"
    return f"{value:.4g}"


def _whole_k(value: float) -> int:
    if value != int(value) or not 1 <= value <= 100:
        raise SpecInvalid(f"memory.k must be a whole number from 1 to 100, found {value}")
    return int(value)


def _script_hash(path: str) -> str | None:
    """Hash of a script; None where it cannot be read, which only matters to a run that needs it."""
    try:
        return hashlib.sha256(read_bounded(path, "script", MAX_SCRIPT)).hexdigest()
    except InputError:
        return None
