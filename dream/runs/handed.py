"""What was handed over in Python, told apart: arguments that are bound, closures, attributes.

A function is named by its module; what it closes over has no name. Two that differ in that alone
would be taken for each other, and the second be given the first one's finished run.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dream.errors import InputError
from dream.runs import assemble, plugins

if TYPE_CHECKING:
    from dream.runs.assemble import AnyDecider
    from dream.runs.spec import RunSpec
    from dream.types import RecallFn

Answers = Callable[..., Any] | Iterable[Any]

_DEEPEST: Final = 20


def state_hash(thing: object) -> str | None:
    """Hash of the state that a decider or a recall function brings along, None if it has none.

    Numbers, texts, containers, arrays, functions and attributes count by value, anything else (a
    connection, a lock, an iterator) by its type alone. Source code is not in it; see
    `plugins.source_hash`.
    """
    told = _State()
    told.add(thing, 0)
    return told.digest.hexdigest()[:12] if told.found else None


class _State:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.found = False
        self._open: set[int] = set()

    def add(self, thing: Any, depth: int) -> None:
        if depth > _DEEPEST or id(thing) in self._open:
            self._word("...")
            return
        self._open.add(id(thing))
        self._value(thing, depth + 1)
        self._open.discard(id(thing))

    def _word(self, text: str) -> None:
        self.digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))

    def _value(self, thing: Any, depth: int) -> None:
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            self.found = True
            self._word(f"{type(thing).__name__} {thing!r}")
        elif isinstance(thing, partial):
            whole = cast("partial[Any]", thing)
            self._parts([whole.func, *whole.args, whole.keywords], "partial", depth)
        elif isinstance(thing, MethodType):
            self._parts([thing.__func__, thing.__self__], "method", depth)
        elif isinstance(thing, FunctionType):
            self._function(thing, depth)
        elif isinstance(thing, type | ModuleType | BuiltinFunctionType | CodeType):
            self._word(f"named {getattr(thing, '__qualname__', thing.__class__.__name__)}")
        elif isinstance(thing, np.ndarray | np.generic):
            self.found = True
            array = np.ascontiguousarray(cast("Any", thing))
            self._word(f"array {array.dtype} {array.shape}")
            self.digest.update(array.tobytes() if array.dtype != object else b"objects")
        elif isinstance(thing, Mapping):
            pairs = [x for pair in cast("Mapping[Any, Any]", thing).items() for x in pair]
            self._parts(pairs, "mapping", depth)
        elif isinstance(thing, list | tuple):
            self._parts(cast("list[Any]", thing), "list", depth)
        elif isinstance(thing, AbstractSet):
            self._parts(sorted(cast("AbstractSet[Any]", thing), key=repr), "set", depth)
        else:
            self._parts(list(_attributes(thing)), f"{type(thing).__qualname__}", depth)

    def _parts(self, parts: list[Any], word: str, depth: int) -> None:
        self._word(f"{word} {len(parts)}")
        for part in parts:
            self.add(part, depth)

    def _function(self, function: FunctionType, depth: int) -> None:
        self._word(f"function {function.__qualname__}")
        if inner := getattr(function, "__wrapped__", None):
            self.add(inner, depth)
        if function.__defaults__ or function.__kwdefaults__:
            self._parts([function.__defaults__, function.__kwdefaults__], "defaults", depth)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents, depth)
            except ValueError:  # not filled yet
                self._word("empty")


def _attributes(thing: Any) -> Iterator[Any]:
    """Name and value of every attribute that the object itself has."""
    found: dict[str, Any] = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        names: Any = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(thing, name):
                found[name] = getattr(thing, name)
    for name in sorted(found):
        yield from (name, found[name])


def named(spec: RunSpec, decider: object, recall: RecallFn | None) -> RunSpec:
    """The spec with the names of what was handed over, so that they are part of its hash.

    Raises:
        InputError: a class was handed over, or what is neither a decider nor answers.
    """
    if isinstance(decider, type):
        name = decider.__name__
        raise InputError(f"decider {name} is a class: hand over an object of it, {name}(...)")
    if recall is not None and not callable(recall):
        raise InputError(f"memory_recall_fn: expected a function, found {type(recall).__name__}")
    path = os.path.abspath(spec.bars)  # noqa: PTH100 - resolve() would follow links
    changes: dict[str, Any] = {"bars": path}
    if decider is None:
        changes["model"] = assemble.resolve_model(spec.model)
    elif _is_decider(decider):
        name = getattr(decider, "name", _function_name(decider))
        changes["model"] = f"{assemble.GIVEN}:{name}{_state(decider)}"
    else:
        changes["model"] = f"{assemble.ANSWERS}:{_function_name(decider)}{_state(decider)}"
    if recall is not None:
        changes["memory"] = f"{_function_name(recall)}{_state(recall)}"
    return spec.model_copy(update=changes)


_SEEN: dict[int, tuple[Callable[[], object], str | None]] = {}
"""Objects that were handed over before, and their state at that time."""


def _state(given: object) -> str:
    """What tells two apart that have the same name, such as other arguments bound to them.

    The same object keeps what it had at its first run: one that counts its calls goes on with its
    own run after a fault, and what was paid for is not asked again.
    """
    # A bound method is another object each time that it is named.
    owner, key = getattr(given, "__self__", given), id(getattr(given, "__self__", given))
    seen, digest = _SEEN.get(key, (None, None))
    if seen is None or seen() is not owner:
        digest = state_hash(given)
        with suppress(TypeError):  # such as a list, which is its answers and nothing else
            _SEEN[key] = weakref.ref(owner, lambda _: _SEEN.pop(key, None)), digest
    return "" if digest is None else f"@{digest}"


def _function_name(thing: object) -> str:
    function = getattr(thing, "func", thing)
    home = getattr(function, "__module__", None) or type(thing).__module__
    return f"{home}:{getattr(function, '__qualname__', type(thing).__qualname__)}"


def source_hashes(decider: object) -> dict[str, str]:
    """Hash of the file that a decider handed over is written in; a list of answers has none."""
    if not (callable(decider) or _is_decider(decider)):
        return {}
    code = cast("Any", type(decider) if _is_decider(decider) else decider)
    digest = plugins.source_hash(code)
    return {} if digest is None else {"decider": digest}


def _is_decider(given: object) -> bool:
    return hasattr(given, "decide") or hasattr(given, "question")


def as_decider(decider: AnyDecider | Answers | None, name: str) -> AnyDecider | None:
    """What was handed over as a decider; None where nothing was."""
    if decider is None or _is_decider(decider):
        return cast("AnyDecider | None", decider)
    from dream.llm.scripted import Scripted  # noqa: PLC0415 - only for answers handed over

    return Scripted(cast("Any", decider), name)
