"""The reference breakout as a user would write it: one function over dream's indicators.

At the close of a bar: close > the highest high of the 20 bars before, and ATR > its average of 100,
where ATR is the simple average of 14 true ranges. Stop: close - 2 ATR; target: twice the stop's
distance above the close. It is the strategy with which other backtesters were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dream.indicators import rolling_max, sma, to_ticks, true_range
from dream.types import MISSING, Setups

if TYPE_CHECKING:
    from dream.types import Bars

LOOKBACK, ATR_BARS, FILTER_BARS = 20, 14, 100
STOP_ATR, TARGET_RISK = 2, 2


def breakout(bars: Bars) -> Setups:
    """Set-ups of every bar; long only, no forced close, any number of entries a day."""
    close = bars.px[:, 3]
    before = np.full(len(bars), MISSING, np.int32)
    before[1:] = rolling_max(bars.px[:, 1], LOOKBACK)[:-1]
    atr = sma(true_range(bars), ATR_BARS)
    rising = atr > sma(atr, FILTER_BARS)
    stop = to_ticks(close - STOP_ATR * atr)
    return Setups(
        live=((before != MISSING) & (close > before) & rising).astype(np.int8),
        stop=stop,
        target=np.where(stop != MISSING, close + TARGET_RISK * (close - stop), MISSING),
        trigger=before,
        levels={},
    )
