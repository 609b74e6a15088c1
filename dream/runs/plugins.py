"""Find what a name stands for: a registry entry or the user's own `module:function`."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import traceback
from functools import partial, wraps
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from dream.errors import DreamError, InputError, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dream.types import RecallFn, Strategy

_MOST_FILES = 1_000


def load(name: str, kind: str) -> Callable[..., Any]:
    """The function that `module:function` names.

    Raises:
        SpecInvalid: the module cannot be imported, has no such name, or it is not callable.
    """
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        msg = f"{kind} {name}: cannot import {module_name}: {type(error).__name__}: {error}"
        raise SpecInvalid(msg) from error
    found = getattr(module, attribute, None)
    if not callable(found):
        what = "no such name" if found is None else f"a {type(found).__name__}, not a function"
        raise SpecInvalid(f"{kind} {name}: {module_name} has {what} ({attribute!r})")
    return cast("Callable[..., Any]", found)


def _blamed(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """The function, with its own exceptions told in one line, as every other input error is."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except DreamError:
            raise
        except (Exception, SystemExit) as error:
            *_, last = traceback.extract_tb(error.__traceback__)
            found = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
            raise InputError(f"{what} failed: {found}") from error

    return call


def source_hash(function: Callable[..., Any]) -> str | None:
    """Hash of what a user's function is written in, None where there is nothing to read.

    That is its file and the files beside it that are imported from there, however far away; of a
    function typed into a notebook or a console, its code and that of the functions it names.
    """
    inner: Any = function
    while inner is not None:
        function, inner = inner, getattr(inner, "__wrapped__", getattr(inner, "func", None))
    module = inspect.getmodule(function)
    file = getattr(module, "__file__", None)
    if file is not None and Path(file).suffix == ".py" and Path(file).is_file():
        content = _files_content(Path(file).absolute(), getattr(module, "__package__", None) or "")
    else:
        try:  # a module in an archive has a text, though no file of its own
            content = inspect.getsource(cast("Any", module)).encode()
        except (OSError, TypeError):
            content = _typed_content(function)
    return hashlib.sha256(content).hexdigest()[:32] if content else None


def _files_content(first: Path, package: str) -> bytes:
    """Path and hash of a file and of those it leads to, `_MOST_FILES` of them at most."""
    parts = tuple(package.split(".")) if package else ()
    if first.parts[-len(parts) - 1 : -1] != parts:
        parts = ()  # loaded from a path, under a name of its own
    root = first.parents[len(parts)]  # where its imports start
    ours = Path(__file__).absolute().parents[1]
    installed = root.name in {"site-packages", "dist-packages"}
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
            wanted += [file for file in beside if file.is_file() and ours not in file.parents]
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
            texts.append(_stable((code, thing.__defaults__, thing.__kwdefaults__)))
            named = [thing.__globals__.get(name) for name in _names(code)]
            wanted += [v for v in named if getattr(v, "__module__", home) == home]
        elif type(thing).__module__ == home != "builtins":
            wanted.append(type(thing))  # an object that can be called, or is used
        elif not inspect.isroutine(thing):
            texts.append(_stable(thing))  # a number or a name that stands beside the code
    return "\n".join(texts).encode()


def _names(code: CodeType) -> list[str]:
    """Every name that code and the code inside it refers to."""
    inside = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return [*code.co_names, *inside]


def _stable(value: Any) -> str:
    """Code and constants as text that is the same in every process."""
    if isinstance(value, CodeType):
        return _stable((value.co_code, value.co_names, value.co_consts))
    if isinstance(value, tuple):
        return f"({', '.join(map(_stable, cast('tuple[Any, ...]', value)))})"
    if isinstance(value, frozenset):  # in an order of each process's own
        return f"{{{', '.join(sorted(map(_stable, cast('frozenset[Any]', value))))}}}"
    if isinstance(value, dict):
        return _stable(tuple(cast("dict[Any, Any]", value).items()))
    if value is None or isinstance(value, int | float | complex | str | bytes):
        return repr(value)
    return type(value).__qualname__  # its text may have an address in it


def strategies(
    names: Sequence[str], params: Mapping[str, Mapping[str, float]]
) -> dict[str, Strategy]:
    """Board name to strategy with its parameters bound, in the order given.

    Raises:
        SpecInvalid: a name is unknown or given twice, or a parameter does not exist.
    """
    from dream.strategies import REGISTRY  # noqa: PLC0415 - numba is not needed to parse a spec

    out: dict[str, Strategy] = {}
    for name in names:
        if ":" in name:
            function = _blamed(load(name, "strategy"), f"strategy {name}")
            board_name = name.rpartition(":")[2]
        elif name in REGISTRY:
            function, board_name = REGISTRY[name], name
        else:
            msg = f"unknown strategy {name!r}; known: {', '.join(REGISTRY)}, or module:function"
            raise SpecInvalid(msg)
        if board_name in out:
            raise SpecInvalid(f"strategy {board_name!r} is named twice")
        given = params.get(name, {})
        _check_params(f"strategy {name}", function, given)
        out[board_name] = cast("Strategy", partial(function, **given) if given else function)
    return out


def _check_params(what: str, function: Callable[..., Any], given: Mapping[str, float]) -> None:
    """Refuse a parameter that the function does not have.

    Raises:
        SpecInvalid: naming those that there are.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # a function of C does not always tell
        found = ()
    known = [p.name for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY]
    for key in given:
        if key not in known:
            msg = f"{what} has no parameter {key!r}; it has: {', '.join(known) or 'none'}"
            raise SpecInvalid(msg)


def recall(name: str, params: Mapping[str, float]) -> RecallFn | None:
    """The recall function of an arm, None for `none`.

    Raises:
        SpecInvalid: the arm or one of its parameters does not exist.
    """
    if name == "none":
        if params:
            raise SpecInvalid(f"memory none has no parameters, found {', '.join(params)}")
        return None
    if ":" in name:
        function = load(name, "recall function")
        _check_params(f"recall function {name}", function, params)
        return cast("RecallFn", partial(function, **params) if params else function)
    from dream.memory.recall import RECALL  # noqa: PLC0415 - loads numba

    if name not in RECALL:
        known = ", ".join(RECALL)
        raise SpecInvalid(f"unknown recall function {name!r}; known: {known}, or module:function")
    return RECALL[name](params)
