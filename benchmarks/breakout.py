"""The reference breakout as a user would write it: one function over dream's indicators.

At the close of a bar: close > the highest high of the 20 bars before, and ATR > its average of 100,
where ATR is the simple average of 14 true ranges. Stop: close - 2 ATR; target: twice the stop's
distance above the close. It is the strategy with which other backtesters were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dream.indicators import jit, rolling_max, sma, true_range
from dream.types import F8, I1, I4, MISSING, Setups

if TYPE_CHECKING:
    from dream.types import Bars

LOOKBACK, ATR_BARS, FILTER_BARS = 20, 14, 100
STOP_ATR, TARGET_RISK = 2, 2


def breakout(bars: Bars) -> Setups:
    """Set-ups of every bar; long only, no forced close, any number of entries a day."""
    before = np.full(len(bars), MISSING, np.int32)
    before[1:] = rolling_max(bars.px[:, 1], LOOKBACK)[:-1]
    atr = sma(true_range(bars), ATR_BARS)
    live, stop, target = _walk(bars.px, before, atr, sma(atr, FILTER_BARS))
    return Setups(live, stop, target, before, levels={})


@jit
def _walk(px: I4, before: I4, atr: F8, average: F8) -> tuple[I1, I4, I4]:
    n = len(px)
    live, stop, target = np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        close = px[i, 3]
        live[i] = before[i] != MISSING and close > before[i] and atr[i] > average[i]
        known = atr[i] >= 0.0
        below = np.int32(np.floor(close - STOP_ATR * atr[i] + 0.5)) if known else MISSING
        stop[i] = below
        target[i] = close + TARGET_RISK * (close - below) if known else MISSING
    return live, stop, target
