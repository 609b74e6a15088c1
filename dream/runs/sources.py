"""What a function or an object of the user's is written in, as a hash: files, or what was typed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OURS: Final = Path(__file__).absolute().parents[1]
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
_MOST_FILES: Final = 1_000
_MOST_WRAPPED: Final = 100
_INNER: Final = ("__wrapped__", "func", "__func__", "py_func")
"""Where what is wrapped, bound or compiled keeps what it was made of."""


def source_hash(thing: object, module: str | None = None) -> str | None:
    """Hash of what a function or object is written in, None where there is nothing to read.

    That is the file of the module that it is named in; those of the user's that it, and what it
    wraps, binds or is an object of, come from; and the files beside each of them that are imported
    from there, however far away. Of what was typed into a notebook or a console, it is the code
    and that of the functions it names.
    """
    named = sys.modules.get(module) if module else None
    texts = [] if named is None else [_module_text(vars(named))]
    made_of = list(_made_of(thing))
    theirs = [x for x in made_of if is_users(_names_around(x))]
    if named is None and not theirs:  # of an installed package, then
        theirs = made_of[-1:]
    texts += [_module_text(_names_around(x)) or _typed_content(x) for x in theirs]
    texts = [text for text in dict.fromkeys(texts) if text]
    return hashlib.sha256(b"\n\n".join(texts)).hexdigest()[:32] if texts else None


def is_users(names: Mapping[str, Any]) -> bool:
    """Whether a module with these globals is the user's: not Python's, dream's or a package's."""
    file = names.get("__file__")
    if file is None:  # typed, or part of the interpreter
        return str(names.get("__name__")).partition(".")[0] not in sys.builtin_module_names
    path = Path(file).absolute()
    if _PACKAGES & set(path.parts):
        return False
    apart = (_OURS, *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")))
    return not any(folder in path.parents for folder in apart)


def _made_of(thing: Any) -> Iterator[Any]:
    """The functions and classes that a thing is, wraps, binds, or is an object of."""
    seen: list[Any] = []
    wanted = [thing]
    while wanted and len(seen) < _MOST_WRAPPED:
        thing = wanted.pop(0)
        if any(thing is other for other in seen):
            continue
        seen.append(thing)
        owner = getattr(thing, "__self__", None)
        inner = [getattr(thing, name, None) for name in _INNER]
        wanted += [x for x in inner if callable(x)]
        if isinstance(thing, type):
            wanted += thing.__bases__
        elif owner is not None and not isinstance(owner, ModuleType):
            wanted.append(owner)
        elif not inspect.isroutine(thing):
            wanted.append(type(thing))
        if isinstance(thing, type) or inspect.isroutine(thing):
            yield thing


def _names_around(thing: Any) -> Mapping[str, Any]:
    """The globals of the module in which a function or class stands, which no wrapper copies."""
    if isinstance(thing, FunctionType):
        return thing.__globals__
    home = getattr(thing, "__module__", None) or "builtins"
    return vars(sys.modules[home]) if home in sys.modules else {"__name__": home}


def _module_text(names: Mapping[str, Any]) -> bytes:
    """The file of a module with those that it leads to, or its text where it has no file."""
    file = names.get("__file__")
    if file is not None and Path(file).suffix == ".py" and Path(file).is_file():
        return _files_content(Path(file).absolute(), names.get("__package__") or "")
    try:  # a module in an archive has a text, though no file of its own
        return inspect.getsource(sys.modules[names["__name__"]]).encode()
    except (KeyError, OSError, TypeError):
        return b""


def _files_content(first: Path, package: str) -> bytes:
    """Path and hash of a file and of those it leads to, `_MOST_FILES` of them at most."""
    parts = tuple(package.split(".")) if package else ()
    if first.parts[-len(parts) - 1 : -1] != parts:
        parts = ()  # loaded from a path, under a name of its own
    root = first.parents[len(parts)]  # where its imports start
    installed = root.name in _PACKAGES
    found: dict[Path, str] = {}
    wanted = [first]
    while wanted and len(found) < _MOST_FILES:
        path = wanted.pop(0)
        if path in found:
            continue
        try:
            data = path.read_bytes()
        except OSError:
            continue  # nor can it be imported
        found[path] = hashlib.sha256(data).hexdigest()
        for name in _imports(data, path, root):
            if installed and name[:1] != parts[:1]:
                continue  # another package, whose version is not ours to watch
            stem = root.joinpath(*name)
            beside = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
            wanted += [file for file in beside if file.is_file() and _OURS not in file.parents]
    lines = sorted(f"{path.relative_to(root).as_posix()} {of}" for path, of in found.items())
    return "\n".join(lines).encode()


def _imports(data: bytes, path: Path, root: Path) -> list[tuple[str, ...]]:
    """The names, in parts, that a file may import, wherever in it: packages on the way included."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return []
    names: list[tuple[str, ...]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            here = path.relative_to(root).parts
            base = here[: -node.level] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            names += [(*base, alias.name) for alias in node.names]
    return list(dict.fromkeys(name[:n] for name in names for n in range(1, len(name) + 1)))


def _typed_content(function: Any) -> bytes:
    """The code of a function or class without a file, and of those of its module that it names."""
    home = getattr(function, "__module__", None)
    texts: list[str] = []
    seen: set[int] = set()
    wanted: list[Any] = [function]
    while wanted and len(seen) < _MOST_FILES:
        thing = wanted.pop(0)
        thing = inspect.unwrap(getattr(thing, "__func__", thing))
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if inspect.isclass(thing):
            inside = sorted(vars(thing).items())
            wanted += [v for name, v in inside if callable(v) or not name.startswith("__")]
            wanted += [base for base in thing.__bases__ if base.__module__ == home]
        elif inspect.isfunction(thing):
            code = thing.__code__
            texts.append(stable((code, thing.__defaults__, thing.__kwdefaults__)))
            named = [thing.__globals__.get(name) for name in _names(code)]
            wanted += [v for v in named if getattr(v, "__module__", home) == home]
        elif type(thing).__module__ == home != "builtins":
            wanted.append(type(thing))  # an object that can be called, or is used
        elif not inspect.isroutine(thing):
            texts.append(stable(thing))  # a number or a name that stands beside the code
    return "\n".join(texts).encode()


def _names(code: CodeType) -> list[str]:
    """Every name that code and the code inside it refers to."""
    inside = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return [*code.co_names, *inside]


def stable(value: Any) -> str:
    """Code and constants as text that is the same in every process."""
    if isinstance(value, CodeType):
        counts = (value.co_flags, value.co_argcount, value.co_kwonlyargcount)
        names = (value.co_names, value.co_varnames, value.co_freevars)
        return stable((value.co_code, value.co_exceptiontable, counts, names, value.co_consts))
    if isinstance(value, tuple):
        return f"({', '.join(map(stable, cast('tuple[Any, ...]', value)))})"
    if isinstance(value, frozenset):  # in an order of each process's own
        return f"{{{', '.join(sorted(map(stable, cast('frozenset[Any]', value))))}}}"
    if isinstance(value, dict):
        return stable(tuple(cast("dict[Any, Any]", value).items()))
    if value is None or isinstance(value, int | float | complex | str | bytes):
        return repr(value)
    return type(value).__qualname__  # its text may have an address in it
