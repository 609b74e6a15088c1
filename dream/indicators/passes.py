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
_STRETCH = 1024
"""Values that are worked on at a time, few enough for the fastest memory."""


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
    return _extreme(x, window(k), np.maximum)


@overload
def rolling_min(x: I4, k: int) -> I4: ...
@overload
def rolling_min(x: F8, k: int) -> F8: ...
def rolling_min(x: I4 | F8, k: int) -> I4 | F8:
    """The lowest of the last k values, the present one included; else as `rolling_max`."""
    return _extreme(x, window(k), np.minimum)


def sma(x: I4 | I8 | F8, k: int) -> F8:
    """Simple average of the last k values, the present one included.

    Integers are summed exactly. A window of floats is summed from its own values alone, by halves,
    so that no error and no NaN outlives it and equal windows have equal averages.

    Args:
        x: (n,) int32, int64 or float64.
        k: length of the window, at least 1.

    Returns:
        (n,) float64 in the unit of x, NaN in the first k - 1 rows.

    Raises:
        SpecInvalid: k is not a whole number of at least 1.
    """
    k, out = window(k), np.empty(len(x))
    if x.dtype.kind == "i":
        _mean_of_whole(x, k, out)
    else:
        _mean(x, k, out)
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
    _wilder(np.ascontiguousarray(x, dtype=np.float64), window(k), out)
    return read_only(out)


def average_true_range(px: I4, k: int) -> F8:
    """`wilder(true_range_of(px), k)` in one pass over (n, 4) int32 open, high, low, close."""
    out = np.empty(len(px))
    _average_true_range(px, window(k), out)
    return read_only(out)


def true_range(bars: Bars) -> F8:
    """(n,) float64 true range in ticks: max(high, close before) - min(low, close before).

    The first is NaN: it has no close before.
    """
    return once(bars, "true_range", lambda: true_range_of(bars.px))


def true_range_of(px: I4) -> F8:
    """The same for (n, 4) int32 open, high, low, close."""
    out = np.empty(len(px))
    _true_range(px, out)
    return read_only(out)


def to_ticks(x: F8) -> I4:
    """(n,) float64 ticks to int32: floor(x + 0.5); MISSING where x is NaN or not representable."""
    return read_only(_round(x))


def window(k: int) -> int:
    """The length of a rolling window as an int.

    Raises:
        SpecInvalid: it is not a whole number of at least 1.
    """
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
    best, width, spare = x, 1, [np.empty_like(out), np.empty_like(out)]
    while 2 * width <= k:
        spare.reverse()
        best = better(best[:-width], best[width:], out=spare[0][: len(best) - width])
        width *= 2
    rest = k - width
    better(best[: len(best) - rest], best[rest:], out=out[k - 1 :])
    return read_only(out)


@jit
def _true_range(px: I4, out: F8) -> None:
    out[:1] = np.nan
    for i in range(1, len(px)):
        before = px[i - 1, 3]
        out[i] = max(px[i, 1], before) - min(px[i, 2], before)


@jit
def _mean_of_whole(x: Any, k: int, out: F8) -> None:
    total = 0
    for i in range(len(x)):
        total += x[i]
        if i >= k:
            total -= x[i - k]
        out[i] = total / k if i >= k - 1 else np.nan


@jit
def _mean(x: Any, k: int, out: F8) -> None:
    """Doubling: sums of 1, 2, 4 ... values, of which a window of k is made; a stretch at a time."""
    n, stretch = len(x), max(_STRETCH, 4 * k)
    sums, longer, total = np.empty(stretch + k), np.empty(stretch + k), np.empty(stretch + k)
    for start in range(0, n, stretch):
        first = max(start - k + 1, 0)
        m = min(start + stretch, n) - first
        sums[:m] = x[first : first + m]
        total[:m] = 0.0
        summed = 0
        width = 1
        while width <= k:
            if k & width:
                _add(total[summed:m], sums[: m - summed], total[summed:m])
                summed += width
            if 2 * width <= k:
                _add(sums[width:m], sums[: m - width], longer[width:m])
                sums, longer = longer, sums
            width *= 2
        for i in range(start - first, m):
            out[first + i] = total[i] / k
    out[: k - 1] = np.nan


@jit
def _add(a: F8, b: F8, out: F8) -> None:
    for i in range(len(out)):
        out[i] = a[i] + b[i]


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
