"""The compiled search of memory: exact best k by similarity in one pass over the columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.types import F8, I4, I8, U1

F = TypeVar("F", bound="Callable[..., Any]")

COMPONENTS = 7

_BLOCK = 1024
_GRID = 1_000_000.0
_SLACK = 1e-6


def jit(function: F) -> F:
    """Compiles with numba, with a disk cache and without the interpreter lock."""
    return cast("F", numba.njit(cache=True, nogil=True)(function))


@jit
def search(  # noqa: PLR0913, PLR0917 - a kernel: numba unpacks arrays fastest as arguments
    situation: U1,
    log_atr_m15: F8,
    log_atr_d1: F8,
    strategy: I4,
    known_ns: I8,
    negative: Any,
    asked: tuple[float, float, int, int, int],
    weights: tuple[float, float, float, float, float, float, float, float, float],
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
        asked: ln ATR M15, ln ATR D1, situation, strategy code (-1 for none), now in nanoseconds.
        weights: one for each component, in the order of `values`; then the bandwidth of the ATR
            proximities and the e-folding time of recency in nanoseconds.
        k: 1 ... n.
        negatives: how many negative rows to keep.

    Returns:
        rows: (k + negatives,) int64, both lists best first, -1 where there was none.
        values: (k + negatives, 1 + COMPONENTS) float64, six decimals: the score, then ATR M15,
            ATR D1, sessions, trend, volatility, strategy, recency.
    """
    w_m15, w_d1, w_sessions, w_trend, w_volatility, w_strategy, w_recency, width, life = weights
    q_m15, q_d1, q_situation, q_strategy, now = asked
    total = w_m15 + w_d1 + w_sessions + w_trend + w_volatility + w_strategy + w_recency
    alike = _alike(q_situation, w_sessions, w_trend, w_volatility)
    rows = np.full(k + negatives, -1, np.int64)
    scores = np.full(k + negatives, -1.0)
    last, last_negative = k - 1, k + negatives - 1
    # a row whose weighted sum is below `need` cannot enter its list; `least` is the lower of the two
    need, least = -1.0, -1.0
    bound, per_width, per_life = np.empty(_BLOCK), 1.0 / width, 1.0 / life
    for start in range(0, len(situation), _BLOCK):
        end = min(start + _BLOCK, len(situation))
        codes, m15, d1 = situation[start:end], log_atr_m15[start:end], log_atr_d1[start:end]
        # loops without branches, so that each runs several rows at a time
        for j in range(len(codes)):
            near_m15 = w_m15 * _decay_bound(abs(m15[j] - q_m15) * per_width)
            bound[j] = near_m15 + w_d1 * _decay_bound(abs(d1[j] - q_d1) * per_width)
        for j in range(len(codes)):
            bound[j] += alike[codes[j]]
        if w_strategy > 0.0:
            for j in range(len(codes)):
                bound[j] += w_strategy if strategy[start + j] == q_strategy else 0.0
        if w_recency > 0.0:
            for j in range(len(codes)):
                bound[j] += w_recency * _decay_bound((now - known_ns[start + j]) * per_life)
        for j in range(len(codes)):
            if bound[j] < least:
                continue
            i = start + j
            counts = negatives > 0 and negative[i]
            if bound[j] < need and not counts:
                continue
            same = w_strategy if w_strategy > 0.0 and strategy[i] == q_strategy else 0.0
            near_m15 = w_m15 * _decay(float(abs(log_atr_m15[i] - q_m15)) / width)
            near_d1 = w_d1 * _decay(float(abs(log_atr_d1[i] - q_d1)) / width)
            recent = w_recency * _decay(float(now - known_ns[i]) / life)
            found = alike[situation[i]] + near_m15 + near_d1 + same + recent
            score = _rounded(float(found / total))
            if score > scores[last]:
                _insert(rows[:k], scores[:k], i, score)
            if counts and score > scores[last_negative]:
                _insert(rows[k:], scores[k:], i, score)
            need = (scores[last] - _SLACK) * total
            least = min(need, (scores[last_negative] - _SLACK) * total)

    values = np.zeros((k + negatives, 1 + COMPONENTS))
    for place in range(k + negatives):
        row = int(rows[place])
        if row < 0:
            continue
        sessions, trend, volatility = _matches(int(situation[row]), q_situation)
        value = values[place]
        value[0] = scores[place]
        value[1] = _rounded(_decay(float(abs(log_atr_m15[row] - q_m15)) / width))
        value[2] = _rounded(_decay(float(abs(log_atr_d1[row] - q_d1)) / width))
        value[3], value[4], value[5] = _rounded(sessions), trend, volatility
        value[6] = 1.0 if w_strategy > 0.0 and strategy[row] == q_strategy else 0.0
        value[7] = _rounded(_decay(float(now - known_ns[row]) / life))
    return rows, values


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
    """Puts a row into a list kept best first, behind its equals; the last falls out."""
    place = len(rows) - 1
    while place > 0 and score > scores[place - 1]:
        rows[place], scores[place] = rows[place - 1], scores[place - 1]
        place -= 1
    rows[place], scores[place] = row, score


@jit
def _decay(x: float) -> float:
    """exp(-x) for x >= 0; 0 where x is NaN."""
    return math.exp(-x) if x >= 0.0 else 0.0


@jit
def _decay_bound(x: float) -> float:
    """At least `_decay(x)` and cheap: its Taylor polynomial up to 1, from there on (and NaN) 1/2."""
    y = x if x < 1.0 else 1.0
    return 1.0 - y + 0.5 * y * y


@jit
def _rounded(value: float) -> float:
    """To six decimals: the last bits of exp differ between machines, and an order must not."""
    return math.floor(value * _GRID + 0.5) / _GRID
