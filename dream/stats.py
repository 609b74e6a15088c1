"""Intervals: pure functions of counts."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a share; None when nothing was counted.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927), 209-212; without continuity correction.

    Args:
        successes: 0 ... n.
        n: trials.
        level: confidence, between 0 and 1; two-sided.

    Raises:
        ValueError: the counts or the level are out of range.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"wilson: expected 0 <= successes <= n, found {successes} of {n}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"wilson: expected a level between 0 and 1, found {level!r}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    share, z2 = successes / n, z * z
    middle = share + z2 / (2 * n)
    half = z * math.sqrt(share * (1.0 - share) / n + z2 / (4 * n * n))
    scale = 1.0 + z2 / n
    # the ends that are exact must not show rounding
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == n else (middle + half) / scale
    return low, high
