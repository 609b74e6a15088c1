"""What a decider of the user's may do: answer with a Decision and only read what it is shown."""

from __future__ import annotations

import math
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np

from dream.errors import DreamError, InputError
from dream.llm.parse import bounded, well_formed
from dream.llm.scripted import shown_digest
from dream.types import Action, Decision, Status

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dream.types import Shown, Snapshot

_ACTIONS: Final = frozenset(get_args(Action))
_STATUSES: Final = frozenset(get_args(Status))
_NAME, _ERROR = 100, 300


@contextmanager
def blamed(name: str, seq: int) -> Generator[None]:
    """Around a call of code that is not ours: its failure is told in one line, with its place.

    Raises:
        InputError: the code fails.
    """
    try:
        yield
    except DreamError:
        raise
    except (Exception, SystemExit) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        found = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        raise InputError(f"decider {name} failed at question {seq}: {found}") from error


@contextmanager
def unpainted(name: str, ask: Snapshot, shown: Sequence[Shown]) -> Generator[None]:
    """Around all calls of one question: what is shown is to be read only.

    Raises:
        InputError: the snapshot or a recalled episode is not what it was.
    """
    before = shown_digest(ask, shown)
    yield
    if shown_digest(ask, shown) != before:
        raise InputError(
            f"decider {name} changed what it was shown at question {ask.seq}, which is to be read "
            f"only. Copy what is to be changed, as in snapshot.window.copy()"
        )


def plain_decision(given: Any, name: str, seq: int) -> Decision:
    """The decision in plain values, made anew so that nobody else holds it.

    A stop or target that is no finite number stays one: the engine refuses the order.

    Raises:
        InputError: it is no Decision, or a field has the wrong type or is out of range.
    """

    def checked(field: str, expected: str, good: bool) -> None:
        if good:
            return
        found = repr(given if field == "answer" else getattr(given, field))
        found = found if len(found) <= 80 else f"{found[:77]}..."
        raise InputError(
            f"decider {name} at question {seq}: {field}: expected {expected}, found {found}"
        )

    checked("answer", "a Decision", isinstance(given, Decision))
    for field, words in (("action", _ACTIONS), ("status", _STATUSES)):
        word = getattr(given, field)
        expected = f"one of {', '.join(sorted(words))}"
        checked(field, expected, type(word) is str and word in words)
    checked("strategy", f"None or at most {_NAME} characters", _is_name(given.strategy))
    checked("reasoning", "a text", isinstance(given.reasoning, str))
    checked("error", "None or a text", isinstance(given.error, str | None))
    for field in ("confidence", "stop", "target"):
        checked(field, "None or a number", _is_number(getattr(given, field)))
    confidence = _as_float(given.confidence)
    checked(
        "confidence", "None or a number from 0 to 1", confidence is None or 0 <= confidence <= 1
    )
    return Decision(
        action=given.action,
        strategy=None if given.strategy is None else well_formed(str(given.strategy)),
        confidence=confidence,
        stop=_as_float(given.stop),
        target=_as_float(given.target),
        reasoning=bounded(well_formed(str(given.reasoning))),
        status=given.status,
        error=None if given.error is None else well_formed(str(given.error))[:_ERROR],
    )


def _is_name(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= _NAME)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return value is None or (number and not isinstance(value, bool))


def _as_float(value: Any) -> float | None:
    """The number; infinity for a whole number that no float holds."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return math.inf
