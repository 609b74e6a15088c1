"""Put counterexamples into a ranked selection, so that it cannot only confirm.

What is similar to now is mostly what went well, and a model that reads five good outcomes believes
the sixth. `ensure_negative_balance` guarantees a share of bad ones. It knows nothing of trading:

Support tickets, where a bad outcome is an unhappy customer:

>>> from dataclasses import dataclass
>>> @dataclass
... class Ticket:
...     title: str
...     satisfaction: int
...     score: float
>>> pool = [Ticket("refund", 5, 0.9), Ticket("late parcel", 4, 0.8), Ticket("lost parcel", 1, 0.3)]
>>> shown = ensure_negative_balance(pool[:2], pool, is_negative=lambda t: t.satisfaction < 3)
>>> [ticket.title for ticket in shown]
['refund', 'lost parcel']

Code reviews, where a bad outcome is a failed build and the score has a name of its own:

>>> reviews = [
...     {"change": "cache", "passed": True, "near": 0.97},
...     {"change": "retry", "passed": True, "near": 0.95},
...     {"change": "lock", "passed": False, "near": 0.90},
... ]
>>> shown = ensure_negative_balance(
...     reviews[:2],
...     reviews,
...     is_negative=lambda review: not review["passed"],
...     min_negative_ratio=0.5,
...     score_key=lambda review: review["near"],
... )
>>> [review["change"] for review in shown]
['cache', 'lock']

Triage, with the report: three of four were wanted and the pool holds only one serious case:

>>> cases = [("cold", 0.9), ("strain", 0.8), ("migraine", 0.7), ("rash", 0.6), ("stroke", 0.1)]
>>> report = balance(
...     cases[:4],
...     cases,
...     is_negative=lambda case: case[0] == "stroke",
...     min_negative_ratio=0.75,
...     score_key=lambda case: case[1],
... )
>>> report.wanted, report.met, report.injected, report.evicted
(3, False, [('stroke', 0.1)], [('rash', 0.6)])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Balance(Generic[T]):
    """A balanced selection and what was done to it.

    Attributes:
        items: the selection, best score first.
        wanted: negatives that the ratio asks for.
        met: whether there are that many now.
        injected: negatives put in, best first. evicted: positives taken out, worst first.
    """

    items: list[T]
    wanted: int
    met: bool
    injected: list[T]
    evicted: list[T]


def relevance(item: Any) -> float:
    """The score of an item that has one: `relevance_score`, else `score`, else 0.

    Where no item has one, all are equal and the order in which they came stands for the ranking.
    """
    return getattr(item, "relevance_score", getattr(item, "score", 0.0))


def ensure_negative_balance(
    top: Iterable[T],
    all_candidates: Iterable[T],
    is_negative: Callable[[T], bool],
    min_negative_ratio: float = 0.20,
    score_key: Callable[[T], float] = relevance,
) -> list[T]:
    """`top`, with at least ceil(len(top) * min_negative_ratio) negative items if the pool has them.

    The lowest-scored positives give way to the highest-scored negatives of the pool that are not in
    `top` yet, told apart by identity, never by equality. Nothing is changed in place.

    Args:
        top: the best items by some ranking; any iterable, read once.
        all_candidates: the pool that `top` was chosen from; likewise.
        is_negative: whether an item's outcome was bad.
        min_negative_ratio: share of `top`, 0 ... 1, read as the decimal that it prints as, so that
            0.07 of 100 is 7. 0 returns `top` as it is.
        score_key: the score of an item; higher is better.

    Returns:
        A new list of the length of `top`, best score first; items of equal score keep their order,
        those of `top` before those of the pool. With too few negatives, as many as there are.

    Raises:
        ValueError: the ratio is no number in [0, 1], or the score of an item that had to be ranked
            is not a number that a float can hold.
    """
    return balance(top, all_candidates, is_negative, min_negative_ratio, score_key).items


def balance(
    top: Iterable[T],
    all_candidates: Iterable[T],
    is_negative: Callable[[T], bool],
    min_negative_ratio: float = 0.20,
    score_key: Callable[[T], float] = relevance,
) -> Balance[T]:
    """`ensure_negative_balance` with a report of what it did."""
    top = list(top)
    wanted = quota(len(top), min_negative_ratio)
    if wanted == 0:
        return Balance(top, 0, met=True, injected=[], evicted=[])
    ranked = [(_score(item, score_key), item) for item in top]
    positive = [place for place, item in enumerate(top) if not is_negative(item)]
    missing = wanted - (len(top) - len(positive))
    injected = (
        _best_absent(top, all_candidates, is_negative, score_key)[:missing] if missing > 0 else []
    )
    # among equals the one ranked last goes first
    positive.sort(key=lambda place: (ranked[place][0], -place))
    leaving = positive[: len(injected)]
    out = frozenset(leaving)
    chosen = [pair for place, pair in enumerate(ranked) if place not in out] + injected
    chosen.sort(key=lambda pair: -pair[0])
    return Balance(
        items=[item for _, item in chosen],
        wanted=wanted,
        met=len(injected) >= missing,
        injected=[item for _, item in injected],
        evicted=[top[place] for place in leaving],
    )


def quota(n: int, min_negative_ratio: float) -> int:
    """ceil(n * ratio), exact for the decimal that the ratio prints as.

    Raises:
        ValueError: the ratio is not a number in [0, 1].
    """
    # a bool equals 0 or 1 and a text can read as a number, but neither was meant as a share
    if not isinstance(min_negative_ratio, bool | str):
        try:
            return _quota(n, str(min_negative_ratio))
        except ValueError:
            pass
    found = in_short(min_negative_ratio)
    raise ValueError(f"min_negative_ratio: expected a number from 0 to 1, found {found}")


@lru_cache(maxsize=256)
def _quota(n: int, ratio: str) -> int:
    exact = Fraction(ratio)
    if not 0 <= exact <= 1:
        raise ValueError(ratio)
    return math.ceil(n * exact)


def in_short(thing: object) -> str:
    """A thing as an error message shows it: at most 200 characters, whatever its repr does."""
    try:
        text = repr(thing)
    except Exception:  # noqa: BLE001 - it may be anybody's, and the message matters more
        return f"a {type(thing).__name__} that cannot be shown"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _best_absent(
    top: Iterable[T],
    pool: Iterable[T],
    is_negative: Callable[[T], bool],
    score_key: Callable[[T], float],
) -> list[tuple[float, T]]:
    """The pool's negatives that are not in `top`, each once, best first, with their scores."""
    taken = {id(item) for item in top}
    found: list[tuple[float, T]] = []
    for item in pool:
        if id(item) not in taken and is_negative(item):
            taken.add(id(item))
            found.append((_score(item, score_key), item))
    found.sort(key=lambda pair: -pair[0])
    return found


def _score(item: T, score_key: Callable[[T], float]) -> float:
    given = score_key(item)
    try:
        score = math.nan if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if math.isnan(score):
        raise ValueError(f"score of {in_short(item)}: expected a number, found {in_short(given)}")
    return score
