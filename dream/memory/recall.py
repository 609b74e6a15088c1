"""Which past trades are put before the agent: the recall arms.

A recall function sees the episodes known by now and the features of the decision. What it returns
is checked in `memory.check`. Similarity compares features only; it cannot read an outcome.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dream.errors import SpecInvalid
from dream.memory.balance import balance, quota
from dream.memory.cards import CARD_COLUMNS, NO_CARDS, Cards, dealt
from dream.memory.check import checked
from dream.memory.episodes import Past
from dream.memory.features import log_or_nan, situation_of
from dream.types import Recalled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dream.types import EpisodeTable, RecallFn, RecallQuery

__all__ = [
    "COMPONENTS",
    "RECALL",
    "Weights",
    "checked",
    "hybrid",
    "most_similar",
    "most_similar_balanced",
    "none",
    "nothing",
    "similarity",
]

COMPONENTS: Final = (
    "atr_m15",
    "atr_d1",
    "sessions",
    "trend",
    "volatility",
    "strategy",
    "recency",
)
"""The parts of a score, each 0 ... 1; 0 where a side is unknown."""

DAY_NS: Final = 86_400_000_000_000
MIN_NEGATIVE_RATIO: Final = 0.20


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a similarity score: the weighted mean of its components.

    The defaults give ATR, sessions and regime a third each.

    Attributes:
        atr_m15, atr_d1: exp(-|ln(a / b)| / bandwidth) of the two ATRs.
        sessions: shared sessions over all sessions of either (Jaccard).
        trend, volatility: 1 for the same regime word, else 0.
        strategy: 1 for the strategy that is live now, else 0.
        recency: exp(-age / recency_days), by the simulated clock.
        bandwidth: |ln ratio| of two ATRs at which their proximity falls to 1/e.
        recency_days: age at which recency falls to 1/e.

    Raises:
        SpecInvalid: a weight is negative or not finite, all are 0, or a scale is out of range.
    """

    atr_m15: float = 1.0
    atr_d1: float = 1.0
    sessions: float = 2.0
    trend: float = 1.0
    volatility: float = 1.0
    strategy: float = 0.0
    recency: float = 0.0
    bandwidth: float = 0.5
    recency_days: float = 90.0

    def __post_init__(self) -> None:
        for field in fields(self):
            low, high = (0.0, 1e6) if field.name in COMPONENTS else (1e-3, 1e6)
            found = getattr(self, field.name)
            if not isinstance(found, int | float) or not low <= found <= high:
                raise SpecInvalid(
                    f"memory.{field.name}: expected a number from {low:g} to {high:g}, "
                    f"found {found!r}"
                )
        if not any(getattr(self, name) for name in COMPONENTS):
            raise SpecInvalid(
                f"memory: every weight is 0, so that all episodes are equally similar; give one of "
                f"{', '.join(COMPONENTS)} a weight"
            )


DEFAULT_WEIGHTS: Final = Weights()


def nothing(query: RecallQuery, past: EpisodeTable) -> list[Recalled]:
    """No memory."""
    del query, past
    return []


def most_similar(
    query: RecallQuery, past: EpisodeTable, *, weights: Weights = DEFAULT_WEIGHTS
) -> list[Recalled]:
    """The k episodes whose features are most like the decision's; blind to their outcomes."""
    k = min(query.k, len(past))
    return _search(query, past, weights, k, 0)[0] if k > 0 else []


def most_similar_balanced(
    query: RecallQuery,
    past: EpisodeTable,
    *,
    weights: Weights = DEFAULT_WEIGHTS,
    min_negative_ratio: float = MIN_NEGATIVE_RATIO,
) -> list[Recalled]:
    """`most_similar`, with at least ceil(k * ratio) trades that lost money if there are so many."""
    k = min(query.k, len(past))
    if k <= 0:
        return []
    wanted = quota(k, min_negative_ratio)
    top, pool = _search(query, past, weights, k, wanted)
    lost = _reader(past)("negative")
    if sum(bool(lost[item.row]) for item in top) >= wanted:
        return top
    report = balance(
        top,
        pool,
        is_negative=lambda item: bool(lost[item.row]),
        min_negative_ratio=min_negative_ratio,
        score_key=operator.attrgetter("score"),
    )
    put_in = {item.row for item in report.injected}
    return [
        Recalled(item.row, item.id, item.score, item.components, "injected")
        if item.row in put_in
        else item
        for item in report.items
    ]


def none(params: Mapping[str, float] | None = None) -> RecallFn:
    """The arm without memory; it has no parameters."""
    _known(params or {}, ())
    return nothing


def similarity(params: Mapping[str, float] | None = None) -> RecallFn:
    """`most_similar` with some of its weights set.

    Raises:
        SpecInvalid: a parameter does not exist or is out of range.
    """
    given = _known(params or {}, _WEIGHT_NAMES)
    return partial(most_similar, weights=Weights(**given)) if given else most_similar


def hybrid(params: Mapping[str, float] | None = None) -> RecallFn:
    """`most_similar_balanced` with some of its weights or `min_negative_ratio` set.

    Raises:
        SpecInvalid: a parameter does not exist or is out of range.
    """
    given = _known(params or {}, (*_WEIGHT_NAMES, "min_negative_ratio"))
    ratio = given.pop("min_negative_ratio", MIN_NEGATIVE_RATIO)
    try:
        quota(1, ratio)
    except ValueError as error:
        raise SpecInvalid(f"memory.{error}") from None
    return partial(most_similar_balanced, weights=Weights(**given), min_negative_ratio=ratio)


RECALL: Final[dict[str, Callable[[Mapping[str, float] | None], RecallFn]]] = {
    "none": none,
    "similarity": similarity,
    "hybrid": hybrid,
}
"""Arm to a function that makes its recall function from parameters."""

_WEIGHT_NAMES = tuple(field.name for field in fields(Weights))


def _known(params: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    for name in params:
        if name not in names:
            raise SpecInvalid(
                f"memory.{name}: no such parameter; there are: "
                f"{', '.join(('k', *names)) if names else 'none'}"
            )
    return dict(params)


Numbers = tuple[float, float, float, float, float, float, float, float, float]


@lru_cache(maxsize=32)
def _prepared(weights: Weights) -> tuple[Numbers, tuple[tuple[str, int], ...]]:
    """What the search takes, and the components with a weight and their places in its answer."""
    w = weights
    numbers = (
        float(w.atr_m15),
        float(w.atr_d1),
        float(w.sessions),
        float(w.trend),
        float(w.volatility),
        float(w.strategy),
        float(w.recency),
        float(w.bandwidth),
        float(w.recency_days) * DAY_NS,
    )
    return numbers, tuple((name, i + 1) for i, name in enumerate(COMPONENTS) if numbers[i] > 0.0)


def _reader(past: EpisodeTable) -> Callable[[str], Any]:
    """How columns are read: without copies where the table is memory's own."""
    return past.shared if isinstance(past, Past) else past.column


def _dealt(past: EpisodeTable, negatives: int) -> Cards:
    """The cards of a table that keeps none; its outcomes are read only where they are wanted."""
    columns = {name: past.column(name) for name in CARD_COLUMNS if name != "negative"}
    lost = past.column("negative") if negatives else np.zeros(len(past), np.bool_)
    return dealt(NO_CARDS, {**columns, "negative": lost})


def _search(
    query: RecallQuery, past: EpisodeTable, weights: Weights, k: int, negatives: int
) -> tuple[list[Recalled], list[Recalled]]:
    """The k best, and as a pool the same with the best `negatives` that lost money added."""
    from dream.memory.scan import search  # noqa: PLC0415 - numba, only where memory is read

    features = query.features
    strategy = -1
    if weights.strategy and features.strategy is not None:
        words = past.words("strategy")
        strategy = words.index(features.strategy) if features.strategy in words else -1
    asked = (
        log_or_nan(features.atr_m15),
        log_or_nan(features.atr_d1),
        situation_of(features),
        strategy,
        query.now_ns,
    )
    numbers, counted = _prepared(weights)
    cards = past.cards() if isinstance(past, Past) else _dealt(past, negatives)
    rows, values = search(cards.cards, cards.before, cards.ends, asked, numbers, k, negatives)
    found: dict[int, Recalled] = {}
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        if row >= 0 and row not in found:
            parts = {name: value[place] for name, place in counted}
            found[row] = Recalled(row, past.id(row), value[0], parts)
    pool = list(found.values())
    return pool[:k], pool
