"""Rolling extremes, averages and true ranges: passes for any strategy.

Each pass gives as many rows as it was given; rows without enough values are NaN, or MISSING where
the result is int32.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dream.errors import SpecInvalid
from dream.indicators.series import jit, once, read_only
from dream.types import F8, I4, I8, MISSING, Bars

_I4_MAX = 2**31 - 1


@overload
def rolling_max(x: I4, k: int) -> I4: ...
@overload
def rolling_max(x: F8, k: int) -> F8: ...
def rolling_max(x: I4 | F8, k: int) -> I4 | F8:
    """The highest of the last k values, the present one included.

    Args:
        x: (n,) int32 or float64. A NaN makes every window that holds it NaN.
        k: length of the window, at least 1.

    Returns:
        (n,) of the same dtype; MISSING or NaN in the first k - 1 rows.

    Raises:
        SpecInvalid: k is not a whole number of at least 1.
    """
    return _extreme(x, _window(k), np.maximum)


@overload
def rolling_min(x: I4, k: int) -> I4: ...
@overload
def rolling_min(x: F8, k: int) -> F8: ...
def rolling_min(x: I4 | F8, k: int) -> I4 | F8:
    """The lowest of the last k values, the present one included; else as `rolling_max`."""
    return _extreme(x, _window(k), np.minimum)


def sma(x: I4 | I8 | F8, k: int) -> F8:
    """Simple average of the last k values, the present one included.

    Integers are summed exactly. Floats are summed afresh in every window, oldest first, so that no
    error and no NaN outlives its window.

    Args:
        x: (n,) int32, int64 or float64.
        k: length of the window, at least 1.

    Returns:
        (n,) float64 in the unit of x, NaN in the first k - 1 rows.

    Raises:
        SpecInvalid: k is not a whole number of at least 1.
    """
    k, n = _window(k), len(x)
    out = np.full(n, np.nan)
    if k > n:
        return read_only(out)
    if x.dtype.kind == "i":
        total = np.cumsum(x, dtype=np.int64)
        sums = total[k - 1 :].copy()
        sums[1:] -= total[:-k]
    else:
        sums = np.zeros(n - k + 1)
        for j in range(k):
            sums += x[j : j + n - k + 1]
    out[k - 1 :] = sums / k
    return read_only(out)


def wilder(x: npt.NDArray[Any], k: int) -> F8:
    """Wilder's average: the mean of the first k valid values, then (before * (k - 1) + x) / k.

    Source: J. W. Wilder, New Concepts in Technical Trading Systems, 1978.

    Args:
        x: (n,) numbers. Leading NaN are skipped; a later one makes all rows after it NaN.
        k: length of the average, at least 1.

    Returns:
        (n,) float64 in the unit of x, NaN before the k-th valid value.

    Raises:
        SpecInvalid: k is not a whole number of at least 1.
    """
    out = np.full(len(x), np.nan)
    _wilder(np.ascontiguousarray(x, dtype=np.float64), _window(k), out)
    return read_only(out)


def average_true_range(px: I4, k: int) -> F8:
    """`wilder(true_range_of(px), k)` in one pass over (n, 4) int32 open, high, low, close."""
    out = np.empty(len(px))
    _average_true_range(px, _window(k), out)
    return read_only(out)


def true_range(bars: Bars) -> F8:
    """(n,) float64 true range in ticks: max(high, close before) - min(low, close before).

    The first is NaN: it has no close before.
    """
    return once(bars, "true_range", lambda: true_range_of(bars.px))


def true_range_of(px: I4) -> F8:
    """The same for (n, 4) int32 open, high, low, close."""
    out = np.full(len(px), np.nan)
    before = px[:-1, 3]
    out[1:] = np.maximum(px[1:, 1], before) - np.minimum(px[1:, 2], before)
    return read_only(out)


def to_ticks(x: F8) -> I4:
    """(n,) float64 ticks to int32: floor(x + 0.5); MISSING where x is NaN or not representable."""
    return read_only(_round(x))


def _window(k: int) -> int:
    if int(k) != k or k < 1:
        raise SpecInvalid(
            f"length of a rolling window: expected a whole number of at least 1, found {k!r}; "
            "correct the call in the strategy"
        )
    return int(k)


def _extreme(x: I4 | F8, k: int, better: np.ufunc) -> Any:
    """Doubling: windows of 1, 2, 4 ... values, then two overlapping ones. Every step is SIMD."""
    n = len(x)
    out = np.full(n, np.nan if x.dtype.kind == "f" else MISSING, dtype=x.dtype)
    if k > n:
        return read_only(out)
    best, width = x, 1
    while 2 * width <= k:
        best = better(best[:-width], best[width:])
        width *= 2
    rest = k - width
    out[k - 1 :] = better(best[: len(best) - rest], best[rest:])
    return read_only(out)


@jit
def _wilder(x: F8, k: int, out: F8) -> None:
    n = len(x)
    start = 0
    while start < n and np.isnan(x[start]):
        start += 1
    if start + k > n:
        return
    total = 0.0
    for i in range(start, start + k):
        total += x[i]
    value = total / k
    out[start + k - 1] = value
    for i in range(start + k, n):
        value = (value * (k - 1) + x[i]) / k
        out[i] = value


@jit
def _average_true_range(px: I4, k: int, out: F8) -> None:
    n = len(px)
    out[: min(k, n)] = np.nan
    value = 0.0
    for i in range(1, n):
        before = px[i - 1, 3]
        reach = np.float64(max(px[i, 1], before) - min(px[i, 2], before))
        if i > k:
            value = (value * (k - 1) + reach) / k
            out[i] = value
        else:
            value += reach
            if i == k:
                value /= k
                out[i] = value


@jit
def _round(x: F8) -> I4:
    out = np.empty(len(x), dtype=np.int32)
    for i in range(len(x)):
        whole = np.floor(x[i] + 0.5)
        out[i] = np.int32(whole) if abs(whole) <= _I4_MAX else MISSING
    return out
