"""The compiled search of memory: the exact best k by similarity.

What two trades' situations share is one of a few values, so the situations are gone through from
the most alike one down, until no row of the next one can be among the best. For each row there is
a card with all that a score needs, and the cards of one situation lie together, in blocks, so that
what is read is one pass over memory rather than a hunt through it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dream.indicators.series import jit

if TYPE_CHECKING:
    from dream.types import F8, I8

Asked: TypeAlias = tuple[float, float, int, int, int]
"""ln ATR M15, ln ATR D1, situation, strategy code (-1 for none), now in nanoseconds."""

Numbers: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""The weights of ATR M15, ATR D1, sessions, trend, volatility, strategy and recency; then the
bandwidth of the ATR proximities and the e-folding time of recency in nanoseconds."""

COMPONENTS = 7

_GRID = 1_000_000.0
_HALF = 0.500001
_SLACK = 1e-6


@jit
def deal(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    cards: Any,
    before: I8,
    ends: I8,
    blocks: int,
    first: int,
    known_ns: Any,
    log_atr_m15: Any,
    log_atr_d1: Any,
    strategy: Any,
    situation: Any,
    negative: Any,
) -> int:
    """Writes the cards of new rows behind those that are there.

    Args:
        cards: of `memory.cards.Cards`, with room enough; written.
        before: likewise.
        ends: likewise.
        blocks: how many of them are in use.
        first: number of the first new row.
        known_ns: (m,) of the new rows.
        log_atr_m15: likewise.
        log_atr_d1: likewise.
        strategy: likewise.
        situation: likewise.
        negative: likewise.

    Returns:
        How many blocks are in use now.
    """
    size = len(cards) // len(before)
    for j in range(len(situation)):
        code = int(situation[j])
        slot = ends[code]
        if slot % size == 0:
            before[blocks] = slot // size - 1
            slot = blocks * size
            blocks += 1
        ends[code] = slot + 1
        card = cards[slot]
        card["row"], card["known_ns"] = first + j, known_ns[j]
        card["log_atr_m15"], card["log_atr_d1"] = log_atr_m15[j], log_atr_d1[j]
        card["strategy"], card["situation"] = strategy[j], code
        card["negative"] = negative[j]
    return blocks


@jit
def search(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    cards: Any,
    before: I8,
    ends: I8,
    asked: Asked,
    weights: Numbers,
    k: int,
    negatives: int,
) -> tuple[I8, F8]:
    """The k best rows and the best of the negative rows, which may be the same.

    Rows lie in the order of (known_ns, id); among equal scores the earlier row is better.

    Args:
        cards: of `memory.cards.Cards`.
        before: likewise.
        ends: likewise.
        asked: see Asked.
        weights: see Numbers.
        k: 1 ... n.
        negatives: how many negative rows to keep.

    Returns:
        rows: (k + negatives,) int64, both lists best first, -1 where there was none.
        values: (k + negatives, 1 + COMPONENTS) float64, six decimals: the score, then ATR M15,
            ATR D1, sessions, trend, volatility, strategy, recency.
    """
    alike = _alike(ends, asked[2], weights)
    rest = weights[0] + weights[1] + weights[5] + weights[6]
    slots, scores = np.full(k + negatives, -1, np.int64), np.full(k + negatives, -1.0)
    lists = (slots[:k], scores[:k], slots[k:], scores[k:])
    # what a row's weighted sum must reach to enter the list, and to enter either list
    need = (-1.0, -1.0)
    size = len(cards) // len(before)
    bound = np.empty(size)
    while True:
        code = np.argmax(alike)
        shared = alike[code]
        if shared == -math.inf or shared + rest < need[1]:
            return _rows(slots, cards), _values(slots, scores, cards, asked, weights)
        alike[code] = -math.inf
        end = ends[code]
        block = (end - 1) // size
        while block >= 0:
            first = block * size
            _bounds(bound, cards[first:end], shared, asked, weights)
            for slot in range(first, end):
                if bound[slot - first] < need[1]:
                    continue
                lost = negatives > 0 and cards[slot]["negative"]
                if lost or bound[slot - first] >= need[0]:
                    need = _offer(slot, lost, lists, cards, shared, asked, weights)
            block = before[block]
            end = (block + 1) * size


@jit
def _offer(  # noqa: PLR0913, PLR0917 - a kernel
    slot: int,
    lost: bool,
    lists: tuple[I8, F8, I8, F8],
    cards: Any,
    shared: float,
    asked: Asked,
    weights: Numbers,
) -> tuple[float, float]:
    """Puts a card where it belongs; returns what a row's weighted sum must reach from now on."""
    best, scores, negatives, negative_scores = lists
    total = 0.0
    for j in range(COMPONENTS):
        total += weights[j]
    score = _rounded(_weighted(cards[slot], shared, asked, weights) / total)
    _insert(best, scores, cards, slot, score)
    need = (scores[-1] - _SLACK) * total
    if len(negatives) == 0:
        return need, need
    if lost:
        _insert(negatives, negative_scores, cards, slot, score)
    return need, min(need, (negative_scores[-1] - _SLACK) * total)


@jit
def _bounds(out: F8, cards: Any, shared: float, asked: Asked, weights: Numbers) -> None:
    """Writes what the weighted sums of a block's cards are at most; without branches."""
    per_width, per_life = 1.0 / weights[7], 1.0 / weights[8]
    for j in range(len(cards)):
        card = cards[j]
        near = weights[0] * _decay_bound(abs(card["log_atr_m15"] - asked[0]) * per_width)
        near += weights[1] * _decay_bound(abs(card["log_atr_d1"] - asked[1]) * per_width)
        same = weights[5] if card["strategy"] == asked[3] else 0.0
        recent = weights[6] * _decay_bound((asked[4] - card["known_ns"]) * per_life)
        out[j] = shared + near + same + recent


@jit
def _weighted(card: Any, shared: float, asked: Asked, weights: Numbers) -> float:
    """The sum of a row's weighted components."""
    near_m15 = weights[0] * _decay(abs(card["log_atr_m15"] - asked[0]) / weights[7])
    near_d1 = weights[1] * _decay(abs(card["log_atr_d1"] - asked[1]) / weights[7])
    same = weights[5] if weights[5] > 0.0 and card["strategy"] == asked[3] else 0.0
    recent = weights[6] * _decay((asked[4] - card["known_ns"]) / weights[8])
    return float(shared + near_m15 + near_d1 + same + recent)


@jit
def _rows(slots: I8, cards: Any) -> I8:
    """The rows of the cards that were found."""
    out = np.full(len(slots), -1, np.int64)
    for place in range(len(slots)):
        if slots[place] >= 0:
            out[place] = cards[slots[place]]["row"]
    return out


@jit
def _values(slots: I8, scores: F8, cards: Any, asked: Asked, weights: Numbers) -> F8:
    """The score and the components of each card that was found."""
    out = np.zeros((len(slots), 1 + COMPONENTS))
    for place in range(len(slots)):
        if slots[place] < 0:
            continue
        card, value = cards[slots[place]], out[place]
        sessions, trend, volatility = _matches(int(card["situation"]), asked[2])
        value[0] = scores[place]
        value[1] = _rounded(_decay(abs(card["log_atr_m15"] - asked[0]) / weights[7]))
        value[2] = _rounded(_decay(abs(card["log_atr_d1"] - asked[1]) / weights[7]))
        value[3], value[4], value[5] = _rounded(sessions), trend, volatility
        value[6] = 1.0 if weights[5] > 0.0 and card["strategy"] == asked[3] else 0.0
        value[7] = _rounded(_decay((asked[4] - card["known_ns"]) / weights[8]))
    return out


@jit
def _alike(ends: I8, asked: int, weights: Numbers) -> F8:
    """What each situation shares with the one asked for, weighted; -inf where it has no card."""
    out = np.full(len(ends), -math.inf)
    for code in range(len(ends)):
        if ends[code] > 0:
            sessions, trend, volatility = _matches(code, asked)
            out[code] = weights[2] * sessions + weights[3] * trend + weights[4] * volatility
    return out


@jit
def _matches(situation: int, asked: int) -> tuple[float, float, float]:
    """Session overlap (Jaccard), trend match, volatility match.

    What is unknown on either side (no session, word 0) matches nothing.
    """
    both, either = situation & asked & 7, (situation | asked) & 7
    shared = (both & 1) + (both >> 1 & 1) + (both >> 2)
    of = (either & 1) + (either >> 1 & 1) + (either >> 2)
    trend, volatility = situation >> 3 & 3, situation >> 5
    return (
        shared / of if of else 0.0,
        1.0 if trend != 0 and trend == asked >> 3 & 3 else 0.0,
        1.0 if volatility != 0 and volatility == asked >> 5 else 0.0,
    )


@jit
def _insert(slots: I8, scores: F8, cards: Any, slot: int, score: float) -> None:
    """Puts a card into a list kept best first, equals by row; the last falls out."""
    place, row = len(slots), cards[slot]["row"]
    while place > 0 and (
        score > scores[place - 1]
        or (score == scores[place - 1] and row < cards[slots[place - 1]]["row"])
    ):
        if place < len(slots):
            slots[place], scores[place] = slots[place - 1], scores[place - 1]
        place -= 1
    if place < len(slots):
        slots[place], scores[place] = slot, score


@jit
def _decay(x: float) -> float:
    """exp(-x) for x >= 0; 0 where x is NaN."""
    return math.exp(-x) if x >= 0.0 else 0.0


@jit
def _decay_bound(x: float) -> float:
    """At least `_decay(x)`, and cheap: the Taylor polynomial of exp(-x) up to 1, then 1/2."""
    y = min(1.0, x)
    return 1.0 - y + 0.5 * y * y


@jit
def _rounded(value: float) -> float:
    """To six decimals, halves up: the last bits of exp differ between machines, an order must not.

    Round numbers do give halves, (1.5 / 40)^2 / 7.5 is one, so what is only just short of one is
    taken for one.
    """
    return math.floor(value * _GRID + _HALF) / _GRID
