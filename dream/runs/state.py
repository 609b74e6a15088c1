"""What an object of the user's brings along, as a hash: arguments, closures, attributes, code.

Two that differ must not be taken for each other, and the same one must come out the same in every
process: so no address, line number or file name is in it, and sets have no order.
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import inspect
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import (
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, cast

import numpy as np

from dream.runs.sources import is_users, source_hash, stable

_DEEPEST: Final = 40
_MOST_OBJECTS: Final = 10_000
"""Objects that are no plain values; whoever brings more along counts by type from there on."""

_Way = Callable[[Any, int], bytes]
_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(...), range)


@dataclass(frozen=True, slots=True)
class State:
    """What was found.

    Attributes:
        digest: of all of it. told_apart: there is something that a name alone does not tell.
        by_type: names of the types of which another value would have given the same digest.
    """

    digest: str
    told_apart: bool
    by_type: tuple[str, ...]


def state_hash(thing: object) -> str | None:
    """Hash of the state that a decider or a recall function brings along, None if it has none."""
    state = state_of(thing)
    return state.digest if state.told_apart else None


def state_of(thing: object) -> State:
    """The state that a decider or a recall function brings along.

    Plain values, containers and arrays count by value, and so does whatever can be pickled, a
    generator with its code and its variables, and a function with its code, its closure and the
    globals that it reads. Functions and classes that have a name of their own and are only
    referred to count by that name (see `sources.source_hash` for their text), and what is left (a
    connection, a lock) by its type.
    """
    walk = _Walk()
    with warnings.catch_warnings():  # that some iterators will not be pickled one day
        warnings.simplefilter("ignore")
        digest = walk.of(thing, 0).hex()[:12]
    return State(digest, walk.told_apart, tuple(sorted(walk.by_type)))


_SEEN: dict[int, tuple[Callable[[], object], State]] = {}
"""Objects that were handed over before, and their state at that time."""


def state_when_given(given: object) -> State:
    """What tells two apart that have the same name, such as other arguments bound to them.

    The same object keeps what it had at its first run: one that counts its calls goes on with its
    own run after a fault, and what was paid for is not asked again.
    """
    # A bound method is another object each time that it is named.
    owner = getattr(given, "__self__", None)
    owner = given if owner is None or isinstance(owner, ModuleType) else owner
    key = id(owner)
    seen, state = _SEEN.get(key, (None, None))
    if seen is None or state is None or seen() is not owner:
        state = state_of(given)
        if isinstance(owner, Iterator):  # moves on; one of Python's own has no weak reference
            _SEEN[key] = partial(_same, owner), state
        with suppress(TypeError):  # such as a list, which is its answers and nothing else
            _SEEN[key] = weakref.ref(owner, partial(_forget, key)), state
    return state


def _same(thing: object) -> object:
    return thing


def _forget(key: int, _reference: object) -> None:
    _SEEN.pop(key, None)


def content_hash(thing: object, module: str | None = None) -> str | None:
    """Hash of what lies behind a function or object: its files, and what it brings along.

    Args:
        thing: handed over, or named.
        module: that it is named in.
    """
    source = source_hash(thing, module)
    if _is_in_files(thing, module):
        return source
    state = state_when_given(thing).digest
    return source and hashlib.sha256(f"{source} {state}".encode()).hexdigest()[:32]


def notes(thing: object, module: str | None = None) -> tuple[str, ...]:
    """What a user should know of a thing that was handed over or named: what is not seen."""
    if _is_in_files(thing, module):
        return ()
    return tuple(
        f"{kind} counts by its type alone: another value of it is taken for the same run"
        for kind in state_when_given(thing).by_type
    )


def _is_in_files(thing: object, module: str | None) -> bool:
    """Whether all of it stands in the files of the module that names it."""
    return module is not None and inspect.isfunction(thing) and not thing.__closure__


class _Walk:
    """Gives every thing a digest that is made of those of its parts."""

    def __init__(self) -> None:
        self.told_apart = False
        self.by_type: set[str] = set()
        self._known: dict[int, tuple[object, bytes]] = {}  # the objects too: ids are used again
        self._open: set[int] = set()
        self._objects = 0
        self._exact: Final[dict[type, _Way]] = {
            list: self._sequence,
            tuple: self._sequence,
            dict: self._mapping,
            MappingProxyType: self._mapping,
            set: self._set,
            frozenset: self._set,
            bytearray: self._bytes,
            memoryview: self._bytes,
            np.ndarray: self._array,
            partial: self._partial,
        }
        self._kinds: Final[dict[type, _Way]] = {
            np.generic: self._array,
            FunctionType: self._function,
            MethodType: self._method,
            GeneratorType: self._generator,
            type: self._class,
            ModuleType: self._module,
            CodeType: self._code,
            property: self._property,
        }

    def of(self, thing: Any, depth: int) -> bytes:
        if type(thing) in _PLAIN:
            self.told_apart = True
            return _digest(f"{type(thing).__name__} {thing!r}")
        if id(thing) in self._known:
            return self._known[id(thing)][1]
        if id(thing) in self._open:
            return _digest("...")
        if depth > _DEEPEST:
            return self._by_type(thing)
        self._open.add(id(thing))
        try:
            digest = self._special(thing, depth + 1) or self._object(thing, depth + 1)
        except Exception:  # noqa: BLE001 - attributes of the user's, which may raise anything
            digest = self._by_type(thing)
        self._open.discard(id(thing))
        self._known[id(thing)] = (thing, digest)
        return digest

    def _parts(self, word: str, parts: list[Any], depth: int) -> bytes:
        return _digest(f"{word} {len(parts)}", *[self.of(part, depth) for part in parts])

    def _by_type(self, thing: object) -> bytes:
        self.by_type.add(type(thing).__qualname__)
        return _digest(f"type {_name(type(thing))}")

    def _special(self, thing: Any, depth: int) -> bytes | None:
        """Of what is told by a way of its own; None for everything else."""
        way = self._exact.get(type(thing))
        way = way or next(
            (way for kind, way in self._kinds.items() if isinstance(thing, kind)), None
        )
        if way is not None:
            return way(thing, depth)
        if thing is os.environ:
            return _digest("environment")
        compiled = getattr(thing, "py_func", None)  # its pickle has another id in every process
        return self.of(compiled, depth) if isinstance(compiled, FunctionType) else None

    def _sequence(self, thing: Any, depth: int) -> bytes:
        return self._parts(type(thing).__name__, list(thing), depth)

    def _mapping(self, thing: Any, depth: int) -> bytes:
        return self._parts("mapping", [x for pair in list(thing.items()) for x in pair], depth)

    def _set(self, thing: Any, depth: int) -> bytes:
        inside = sorted(self.of(x, depth) for x in thing)
        return _digest(f"{type(thing).__name__} {len(inside)}", *inside)

    def _bytes(self, thing: Any, _depth: int) -> bytes:
        self.told_apart = True
        return _digest(f"{type(thing).__name__} {bytes(thing)!r}")

    def _partial(self, thing: Any, depth: int) -> bytes:
        return self._parts("partial", [thing.func, *thing.args, thing.keywords], depth)

    def _method(self, thing: Any, depth: int) -> bytes:
        return self._parts("method", [thing.__func__, thing.__self__], depth)

    def _module(self, thing: Any, _depth: int) -> bytes:
        return _digest(f"module {thing.__name__}")

    def _code(self, thing: Any, _depth: int) -> bytes:
        return _digest(f"code {stable(thing)}")

    def _property(self, thing: Any, depth: int) -> bytes:
        return self._parts("property", [thing.fget, thing.fset], depth)

    def _array(self, array: Any, depth: int) -> bytes:
        self.told_apart = True
        word = f"array {array.dtype} {array.shape}"
        if array.dtype.hasobject:
            return _digest(word, self.of(array.tolist(), depth))
        return _digest(word, np.ascontiguousarray(array).tobytes())

    def _function(self, function: FunctionType, depth: int) -> bytes:
        """A function with its code, and with what it closes over and reads."""
        self.told_apart |= _is_local(function)
        inner = getattr(function, "__wrapped__", None)
        brought = [x for x in (inner, function.__defaults__, function.__kwdefaults__) if x]
        digests = [self.of(x, depth) for x in brought]
        for cell in function.__closure__ or ():
            try:
                digests.append(self.of(cell.cell_contents, depth))
            except ValueError:
                digests.append(_digest("not filled yet"))
        digests += self._read(function.__code__, function.__globals__, depth)
        return _digest(f"function {_name(function)} {stable(function.__code__)}", *digests)

    def _generator(self, made: GeneratorType[Any, Any, Any], depth: int) -> bytes:
        """A generator with its code, where it stands, and what its variables are."""
        self.told_apart = True
        frame = made.gi_frame
        if frame is None:
            return _digest("generator that ended")
        digests = [self.of(dict(frame.f_locals), depth)]
        digests += self._read(made.gi_code, frame.f_globals, depth)
        return _digest(f"generator {frame.f_lasti} {stable(made.gi_code)}", *digests)

    def _read(self, code: CodeType, names: dict[str, Any], depth: int) -> list[bytes]:
        """The globals that code of the user's reads, but for those that it sets itself."""
        if not is_users(names):
            return []
        found = [name for name in _globals_read(code) if name in names]
        return [d for name in found for d in (_digest(name), self._referred(names[name], depth))]

    def _referred(self, thing: Any, depth: int) -> bytes:
        """What is only referred to: a function or a class that has a name of its own has that."""
        inner = getattr(thing, "py_func", thing)
        if isinstance(inner, FunctionType | type) and not _is_local(inner):
            return _digest(f"named {_name(inner)}")
        return self.of(thing, depth)

    def _class(self, kind: type[Any], depth: int) -> bytes:
        if not _is_local(kind):
            return _digest(f"named {_name(kind)}")
        self.told_apart = True
        return _digest(f"class {kind.__qualname__}", self._class_values(kind, depth))

    def _class_values(self, kind: type[Any], depth: int) -> bytes:
        """What stands in a class of the user's, its methods by name if it has one itself."""
        module = sys.modules.get(kind.__module__)
        if module is None or not is_users(vars(module)):
            return b""
        digests: list[bytes] = []
        for name, value in sorted(vars(kind).items()):
            inner = getattr(value, "__func__", value)
            if isinstance(inner, FunctionType | property):
                if _is_local(kind):
                    digests += [_digest(name), self.of(inner, depth)]
                elif isinstance(inner, FunctionType):
                    digests += self._read(inner.__code__, inner.__globals__, depth)
            elif not name.startswith(("__", "_abc_")) and not hasattr(type(value), "__get__"):
                digests += [_digest(name), self._referred(value, depth)]
        return _digest("class", *digests)

    def _object(self, thing: Any, depth: int) -> bytes:
        """Any other object: its class, and what would be pickled of it."""
        self._objects += 1
        if self._objects > _MOST_OBJECTS:
            return self._by_type(thing)
        classes = [x for x in type(thing).__mro__ if x is not object]
        digests = [self.of(kind, depth) for kind in classes]
        digests += [self._class_values(kind, depth) for kind in classes if not _is_local(kind)]
        found = _pickled(thing)
        if isinstance(found, str):  # something that is referred to
            inner = getattr(thing, "__wrapped__", None)
            named = _digest(f"named {getattr(thing, '__module__', None)} {found}")
            return named if inner is None else _digest("wrapper", named, self.of(inner, depth))
        if found is None:
            digests += [self._by_type(thing), self.of(_attributes(thing), depth)]
            return _digest("object", *digests)
        made_by, *rest = found
        digests.append(self._referred(made_by, depth))
        digests += [_digest("none") if x is None else self.of(x, depth) for x in rest]
        return _digest("object", *digests)


def _pickled(thing: Any) -> tuple[Any, ...] | str | None:
    """What a pickle of it would be made of: a name, or a function, its arguments and the rest."""
    reduce: Any = copyreg.dispatch_table.get(type(thing))
    try:
        found: Any = reduce(thing) if reduce else thing.__reduce_ex__(2)
        if isinstance(found, tuple):
            made_by, *rest = cast("tuple[Any, ...]", found)
            return (
                made_by,
                *[list(x) if i in (2, 3) and x is not None else x for i, x in enumerate(rest)],
            )
    except Exception:  # noqa: BLE001 - code of the user's, which may raise anything
        return None
    return found if isinstance(found, str) else None


def _attributes(thing: Any) -> dict[str, Any]:
    """Every attribute that the object itself has."""
    found: dict[str, Any] = dict(getattr(thing, "__dict__", {}))
    return {name: found[name] for name in sorted(found, key=str)}


def _globals_read(code: CodeType) -> list[str]:
    """The names of globals that code, and the code inside it, reads and does not set."""
    every = list(_codes(code))
    used = [(step.opname, step.argval) for c in every for step in dis.get_instructions(c)]
    read = {name for op, name in used if op in ("LOAD_GLOBAL", "LOAD_NAME")}
    return sorted(read - {name for op, name in used if op == "STORE_GLOBAL"})


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _is_local(thing: FunctionType | type) -> bool:
    """Whether no name of a module leads to it: a lambda, or what was made inside a function."""
    function = isinstance(thing, FunctionType)  # a wrapper copies the name, but not the code
    return "<" in (thing.__code__.co_qualname if function else thing.__qualname__)


def _name(thing: FunctionType | type) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _digest(word: str, *parts: bytes) -> bytes:
    """Of a word and of the digests of parts, which are all of one length."""
    return hashlib.sha256(b"".join((word.encode("utf-8", "surrogatepass"), b"\0", *parts))).digest()
