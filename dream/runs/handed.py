"""What was handed over in Python: its name, in which its state is, and what it is as a decider.

A function is named by its module; what it closes over has no name. Two that differ in that alone
would be taken for each other, and the second be given the first one's finished run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dream.errors import InputError, SpecInvalid
from dream.llm.catalog import NONE_OWN, Own
from dream.runs import assemble
from dream.runs.state import content_hash, state_when_given

if TYPE_CHECKING:
    from dream.runs.assemble import AnyDecider
    from dream.runs.spec import RunSpec
    from dream.types import RecallFn

Answers = Callable[..., Any] | Iterable[Any]


def expect(name: str, given: object, kind: type, told: str) -> None:
    """Refuse an argument of another kind.

    Raises:
        InputError: naming the argument, what was expected and what was found.
    """
    if not isinstance(given, kind):
        raise InputError(f"{name}: expected {told}, found {type(given).__name__}")


def path_of(name: str, given: object) -> Path:
    """The path that an argument is, given as a text or a path.

    Raises:
        InputError: it is neither, or no system takes it.
    """
    if not isinstance(given, str | Path):
        raise InputError(f"{name}: expected a path, found {type(given).__name__}")
    try:
        bad = b"\0" in os.fsencode(given)
    except UnicodeError:
        bad = True
    if bad:
        raise InputError(f"{name}: expected a path, found {str(given)!r}")
    return Path(given)


def check(decider: object, recall: object) -> None:
    """Refuse what cannot be a decider, or a recall function; None is neither and will do.

    Raises:
        InputError: naming it.
    """
    for name, given in (("decider", decider), ("memory_recall_fn", recall)):
        if isinstance(given, type):
            found = given.__name__
            raise InputError(f"{name} {found} is a class: hand over an object of it, {found}(...)")
    if recall is not None and not callable(recall):
        raise InputError(f"memory_recall_fn: expected a function, found {type(recall).__name__}")


def named(spec: RunSpec, decider: object, recall: RecallFn | None, own: Own = NONE_OWN) -> RunSpec:
    """The spec with the names of what was handed over, so that they are part of its hash.

    Args:
        spec: as it was given.
        decider: what was handed over, None for the one that the spec names.
        recall: likewise.
        own: models of the user's own; what is sent to one becomes part of the spec.

    Raises:
        InputError: a class was handed over, or what is neither a decider nor answers; or the spec
            has a profile that is not the model's.
    """
    check(decider, recall)
    path = os.path.abspath(spec.bars)  # noqa: PTH100 - resolve() would follow links
    changes: dict[str, Any] = {"bars": path}
    if decider is None:
        changes["model"], changes["profile"] = assemble.resolve_model(spec.model, own)
        if spec.profile not in (None, changes["profile"]):
            raise SpecInvalid(
                f"profile: what is sent to {spec.model} is set by the catalogue or by dream.toml, "
                f"and is not this; leave it out"
            )
    elif _is_decider(decider):
        name = getattr(decider, "name", _function_name(decider))
        changes["model"] = f"{assemble.GIVEN}:{name}{_suffix(decider)}"
    else:
        changes["model"] = f"{assemble.ANSWERS}:{_function_name(decider)}{_suffix(decider)}"
    if recall is not None:
        changes["memory"] = f"{_function_name(recall)}{_suffix(recall)}"
    return spec.model_copy(update=changes)


def _suffix(given: object) -> str:
    state = state_when_given(given)
    return f"@{state.digest}" if state.told_apart else ""


def _function_name(thing: object) -> str:
    function = getattr(thing, "func", thing)
    home = getattr(function, "__module__", None) or type(thing).__module__
    return f"{home}:{getattr(function, '__qualname__', type(thing).__qualname__)}"


def content_hashes(decider: object, recall: RecallFn | None) -> dict[str, str]:
    """Hashes of what was handed over, files and all; a list of answers has none."""
    given: dict[str, object] = {"recall_fn": recall}
    if callable(decider) or _is_decider(decider):
        given["decider"] = decider
    found = {name: content_hash(thing) for name, thing in given.items() if thing is not None}
    return {name: digest for name, digest in found.items() if digest is not None}


def _is_decider(given: object) -> bool:
    return hasattr(given, "decide") or hasattr(given, "question")


def as_decider(decider: AnyDecider | Answers | None, name: str) -> AnyDecider | None:
    """What was handed over as a decider; None where nothing was."""
    if decider is None or _is_decider(decider):
        return cast("AnyDecider | None", decider)
    from dream.llm.scripted import Scripted  # noqa: PLC0415 - only for answers handed over

    return Scripted(cast("Any", decider), name)
