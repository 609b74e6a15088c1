"""The compiled search of memory: the exact best k by similarity.

What two trades' situations share is one of a few values, so the situations are gone through from
the most alike one down, each by the chain of its rows, until no row of the next one can be among
the best. Where that would lead through too many rows, the rest is one pass over the columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dream.indicators.series import jit

if TYPE_CHECKING:
    from dream.types import F8, I4, I8, U1

Asked: TypeAlias = tuple[float, float, int, int, int]
"""ln ATR M15, ln ATR D1, situation, strategy code (-1 for none), now in nanoseconds."""

Numbers: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""The weights of ATR M15, ATR D1, sessions, trend, volatility, strategy and recency; then the
bandwidth of the ATR proximities and the e-folding time of recency in nanoseconds."""

Columns: TypeAlias = "tuple[U1, F8, F8, I4, I8]"
"""situation, log_atr_m15, log_atr_d1, strategy, known_ns."""

Chains: TypeAlias = "tuple[I8, I8]"
"""(256,) the newest row of each situation, and (n,) the row before each row in its situation; -1
where there is none."""

COMPONENTS = 7

_BLOCK = 1024
_GRID = 1_000_000.0
_HALF = 0.500001
_SLACK = 1e-6
_SPARSE = 8


@jit
def search(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    situation: U1,
    log_atr_m15: F8,
    log_atr_d1: F8,
    strategy: I4,
    known_ns: I8,
    negative: Any,
    chains: Chains,
    asked: Asked,
    weights: Numbers,
    k: int,
    negatives: int,
) -> tuple[I8, F8]:
    """The k best rows and the best of the negative rows, which may be the same.

    Rows lie in the order of (known_ns, id); among equal scores the earlier row is better.

    Args:
        situation: (n,) codes of `features.situation_of`.
        log_atr_m15: (n,) ln of the ATR, NaN where unknown.
        log_atr_d1: (n,) likewise.
        strategy: (n,) codes; read only where strategy has a weight.
        known_ns: (n,) int64.
        negative: (n,) bool; read only where negatives > 0, else it may be empty.
        chains: see Chains.
        asked: see Asked.
        weights: see Numbers.
        k: 1 ... n.
        negatives: how many negative rows to keep.

    Returns:
        rows: (k + negatives,) int64, both lists best first, -1 where there was none.
        values: (k + negatives, 1 + COMPONENTS) float64, six decimals: the score, then ATR M15,
            ATR D1, sessions, trend, volatility, strategy, recency.
    """
    columns = (situation, log_atr_m15, log_atr_d1, strategy, known_ns)
    newest, before = chains
    alike = _alike(asked[2], weights[2], weights[3], weights[4])
    rest = weights[0] + weights[1] + weights[5] + weights[6]
    rows, scores = np.full(k + negatives, -1, np.int64), np.full(k + negatives, -1.0)
    lists = (rows[:k], scores[:k], rows[k:], scores[k:])
    # what a row's weighted sum must reach to enter the list, and to enter either list
    need = (-1.0, -1.0)
    left = len(situation) // _SPARSE + k
    for place in np.argsort(-alike):
        code = int(place)
        if alike[code] + rest < need[1]:
            return rows, _values(rows, scores, columns, asked, weights)
        if left <= 0:
            break
        row = int(newest[code])
        while row >= 0:
            lost = negatives > 0 and negative[row]
            if _bound(row, columns, alike, asked, weights) >= (need[1] if lost else need[0]):
                need = _offer(row, lost, lists, columns, alike, asked, weights)
            row = int(before[row])
            left -= 1
        alike[code] = -math.inf
    bound = np.empty(_BLOCK)
    for start in range(0, len(situation), _BLOCK):
        size = _bounds(bound, start, columns, alike, asked, weights)
        for j in range(size):
            if bound[j] < need[1]:
                continue
            lost = negatives > 0 and negative[start + j]
            if bound[j] >= need[0] or lost:
                need = _offer(start + j, lost, lists, columns, alike, asked, weights)
    return rows, _values(rows, scores, columns, asked, weights)


@jit
def chained(situation: U1) -> Chains:
    """The chains of a table that does not keep its own."""
    newest, before = np.full(256, -1, np.int64), np.empty(len(situation), np.int64)
    for row in range(len(situation)):
        before[row] = newest[situation[row]]
        newest[situation[row]] = row
    return newest, before


@jit
def _offer(  # noqa: PLR0913, PLR0917 - a kernel
    row: int,
    lost: bool,
    lists: tuple[I8, F8, I8, F8],
    columns: Columns,
    alike: F8,
    asked: Asked,
    weights: Numbers,
) -> tuple[float, float]:
    """Puts a row where it belongs; returns what a row's weighted sum must reach from now on."""
    best, scores, negatives, negative_scores = lists
    total = 0.0
    for j in range(COMPONENTS):
        total += weights[j]
    score = _rounded(_weighted(row, columns, alike, asked, weights) / total)
    _insert(best, scores, row, score)
    need = (scores[-1] - _SLACK) * total
    if len(negatives) == 0:
        return need, need
    if lost:
        _insert(negatives, negative_scores, row, score)
    return need, min(need, (negative_scores[-1] - _SLACK) * total)


@jit
def _bounds(
    out: F8, start: int, columns: Columns, alike: F8, asked: Asked, weights: Numbers
) -> int:
    """Writes what the weighted sums of a block's rows are at most; returns how many rows it has.

    Its loops have no branches, so that each runs several rows at a time.
    """
    situation = columns[0][start : start + _BLOCK]
    size = len(situation)
    log_atr_m15, log_atr_d1 = columns[1][start : start + size], columns[2][start : start + size]
    strategy, known_ns = columns[3][start : start + size], columns[4][start : start + size]
    w_m15, w_d1, w_strategy, w_recency = weights[0], weights[1], weights[5], weights[6]
    q_m15, q_d1, q_strategy, now = asked[0], asked[1], asked[3], asked[4]
    per_width, per_life = 1.0 / weights[7], 1.0 / weights[8]
    for j in range(size):
        near = w_m15 * _decay_bound(abs(log_atr_m15[j] - q_m15) * per_width)
        out[j] = near + w_d1 * _decay_bound(abs(log_atr_d1[j] - q_d1) * per_width)
    for j in range(size):
        out[j] += alike[situation[j]]
    if w_strategy > 0.0:
        for j in range(size):
            out[j] += w_strategy if strategy[j] == q_strategy else 0.0
    if w_recency > 0.0:
        for j in range(size):
            out[j] += w_recency * _decay_bound((now - known_ns[j]) * per_life)
    return size


@jit
def _bound(row: int, columns: Columns, alike: F8, asked: Asked, weights: Numbers) -> float:
    """What a row's weighted sum is at most, as in `_bounds`."""
    situation, log_atr_m15, log_atr_d1, _, _ = columns
    near_m15 = weights[0] * _decay_bound(abs(log_atr_m15[row] - asked[0]) / weights[7])
    near_d1 = weights[1] * _decay_bound(abs(log_atr_d1[row] - asked[1]) / weights[7])
    return float(alike[situation[row]] + near_m15 + near_d1 + weights[5] + weights[6])


@jit
def _weighted(row: int, columns: Columns, alike: F8, asked: Asked, weights: Numbers) -> float:
    """The sum of a row's weighted components."""
    situation, log_atr_m15, log_atr_d1, strategy, known_ns = columns
    near_m15 = weights[0] * _decay(abs(log_atr_m15[row] - asked[0]) / weights[7])
    near_d1 = weights[1] * _decay(abs(log_atr_d1[row] - asked[1]) / weights[7])
    same = weights[5] if weights[5] > 0.0 and strategy[row] == asked[3] else 0.0
    recent = weights[6] * _decay((asked[4] - known_ns[row]) / weights[8])
    return float(alike[situation[row]] + near_m15 + near_d1 + same + recent)


@jit
def _values(rows: I8, scores: F8, columns: Columns, asked: Asked, weights: Numbers) -> F8:
    """The score and the components of each row that was found."""
    situation, log_atr_m15, log_atr_d1, strategy, known_ns = columns
    out = np.zeros((len(rows), 1 + COMPONENTS))
    for place in range(len(rows)):
        row = int(rows[place])
        if row < 0:
            continue
        sessions, trend, volatility = _matches(int(situation[row]), asked[2])
        value = out[place]
        value[0] = scores[place]
        value[1] = _rounded(_decay(abs(log_atr_m15[row] - asked[0]) / weights[7]))
        value[2] = _rounded(_decay(abs(log_atr_d1[row] - asked[1]) / weights[7]))
        value[3], value[4], value[5] = _rounded(sessions), trend, volatility
        value[6] = 1.0 if weights[5] > 0.0 and strategy[row] == asked[3] else 0.0
        value[7] = _rounded(_decay((asked[4] - known_ns[row]) / weights[8]))
    return out


@jit
def _alike(asked: int, w_sessions: float, w_trend: float, w_volatility: float) -> F8:
    """(256,) what each code a byte can hold shares with the one asked for, weighted."""
    out = np.zeros(256)
    for code in range(256):
        sessions, trend, volatility = _matches(code, asked)
        out[code] = w_sessions * sessions + w_trend * trend + w_volatility * volatility
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
def _insert(rows: I8, scores: F8, row: int, score: float) -> None:
    """Puts a row into a list kept best first, equals by row; the last falls out."""
    place = len(rows)
    while place > 0 and (
        score > scores[place - 1] or (score == scores[place - 1] and row < rows[place - 1])
    ):
        if place < len(rows):
            rows[place], scores[place] = rows[place - 1], scores[place - 1]
        place -= 1
    if place < len(rows):
        rows[place], scores[place] = row, score


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
