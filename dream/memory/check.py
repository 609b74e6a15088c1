"""The check of any recall function: what it returns came from what it was given, and is plain.

A recall function is the user's code and runs in this process. It gets a query of its own and a
table that answers with copies, and what it returns is made anew, so that nothing it still holds is
used by the run. That finds accidents and plain tricks. Code that goes looking for the run's private
state finds it; nothing in one Python process can prevent that.
"""

from __future__ import annotations

from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from dream.errors import DreamError, InputError, LeakError
from dream.memory.balance import in_short
from dream.memory.features import copied
from dream.memory.plain import number, numbers, whole, word
from dream.types import Recalled, RecallQuery

if TYPE_CHECKING:
    from dream.types import EpisodeTable, RecallFn

MOST_COMPONENTS: Final = 32
LONGEST_NAME: Final = 64
MARKS: Final = ("", "injected", "placebo")

_LONGEST_MESSAGE = 500


def checked(recall_fn: RecallFn, query: RecallQuery, past: EpisodeTable) -> list[Recalled]:
    """What the function recalls, once it is known to have come from `past`.

    Args:
        recall_fn: anybody's function; it is handed a copy of the query.
        query: what is asked.
        past: the episodes known by now; it answers with copies.

    Returns:
        New items of exact built-in types, in the function's order.

    Raises:
        LeakError: an item is not an episode of `past`.
        InputError: the function fails, or returns something other than at most k different items
            with finite scores, a known mark, and at most 32 components with names of at most 64
            characters.
    """
    where = f"{_name(recall_fn)} at decision {query.seq}"
    out: list[Recalled] = []
    seen: set[int] = set()
    for place, given in enumerate(_returned(recall_fn, query, past, where)):
        try:
            item = _plain(given)
        except Exception as error:
            problem = _said(error)
            raise InputError(f"{where}: item {place}: {problem}, in {in_short(given)}") from error
        row = item.row
        if not 0 <= row < len(past) or past.id(row) != item.id:
            raise LeakError(
                f"{where} returned row {in_short(row)} with id {in_short(item.id)}, which is not "
                f"among the {len(past)} episodes it was given. Return rows of `past`, and the id "
                f"of past[row]"
            )
        if row in seen:
            raise InputError(f"{where}: item {place}: row {row} is returned twice")
        seen.add(row)
        out.append(item)
    return out


def _returned(recall_fn: RecallFn, query: RecallQuery, past: EpisodeTable, where: str) -> list[Any]:
    """The function's list; it may change its query, and later its list, but not these."""
    own = RecallQuery(query.seq, query.now_ns, copied(query.features), query.k, query.seed)
    try:
        returned: Any = recall_fn(own, past)
    except (DreamError, KeyboardInterrupt):
        raise
    except BaseException as error:
        problem = f"{type(error).__name__}: {_said(error)}{_origin(error)}"
        raise InputError(f"{where} failed: {problem}") from error
    is_list = type(returned) is list
    if not is_list or len(returned) > query.k:
        found = len(returned) if is_list else f"a {type(returned).__name__}"
        raise InputError(f"{where}: expected a list of at most {query.k} Recalled, found {found}")
    return [*returned]


def _plain(item: Any) -> Recalled:
    """The item made anew, in plain finite values, as a journal can hold it."""
    if type(item) is not Recalled:
        raise TypeError(f"expected Recalled, found {type(item).__name__}")
    row, name, score, mark = whole(item.row), word(item.id), number(item.score), word(item.mark)
    if mark not in MARKS:
        known = ", ".join(map(repr, MARKS))
        raise ValueError(f"mark: expected one of {known}, found {in_short(mark)}")
    components = numbers(item.components, MOST_COMPONENTS, LONGEST_NAME)
    for value in (score, *components.values()):
        if value - value != 0.0:
            raise ValueError(f"expected finite scores, found {value}")
    return Recalled(row, name, score, components, mark)


def _name(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    if not isinstance(function, FunctionType | BuiltinFunctionType | MethodType):
        function = type(function)  # an object that can be called
    return f"recall function {function.__module__}:{function.__qualname__}"


def _said(error: BaseException) -> str:
    """Its message, within bounds."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the user's class of error
        text = "its message cannot be shown"
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def _origin(error: BaseException) -> str:
    """Where it was raised, for the author of the function."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})"
