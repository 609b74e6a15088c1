"""Find what a name stands for: a registry entry or the user's own `module:function`."""

from __future__ import annotations

import importlib
import inspect
import traceback
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, cast

from dream.errors import DreamError, InputError, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dream.types import RecallFn, Strategy


def load(name: str, kind: str) -> Callable[..., Any]:
    """The function that `module:function` names.

    Raises:
        SpecInvalid: the module cannot be imported, has no such name, or it is not callable.
    """
    found = named(name, kind)
    if not callable(found):
        module_name, _, attribute = name.partition(":")
        what = "no such name" if found is None else f"a {type(found).__name__}, not a function"
        raise SpecInvalid(f"{kind} {name}: {module_name} has {what} ({attribute!r})")
    return cast("Callable[..., Any]", found)


def named(name: str, kind: str) -> object:
    """What `module:name` names, None where the module has no such name.

    Raises:
        SpecInvalid: the module cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        msg = f"{kind} {name}: cannot import {module_name}: {type(error).__name__}: {error}"
        raise SpecInvalid(msg) from error
    return cast("object", getattr(module, attribute, None))


def blamed(function: Callable[..., Any], what: str) -> Callable[..., Any]:
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
            function = blamed(load(name, "strategy"), f"strategy {name}")
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
