"""What the strategies share: the room under a stop, and the refusal of senseless parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators import atr, to_ticks
from dream.types import MINUTE_NS, MISSING

if TYPE_CHECKING:
    from dream.types import F8, I4, Bars

M5_FACTOR: Final[float] = math.sqrt(1 / 3)
"""ATR M5 over ATR M15 for a random walk: ranges grow with the square root of time."""

_DAY = 1440


def stop_buffer(bars: Bars, stop_atr: float, m5_factor: float) -> F8:
    """(n,) float64 room under a stop in ticks, NaN before known.

    stop_atr * ATR(14, M5) where the bars are M5 or finer; on M15 alone
    stop_atr * ATR(14, M15) * m5_factor.

    Raises:
        BarsInvalid: the bars are coarser than 15 minutes.
    """
    if 5 * MINUTE_NS % bars.bar_ns == 0:
        return stop_atr * atr(bars, 5)
    return stop_atr * m5_factor * atr(bars, 15)


def bracket(bars: Bars, low: I4, room: F8, target_risk: float) -> tuple[I4, I4]:
    """Stop under a session and a target of so many risks above the close.

    Args:
        bars: the series.
        low: (n,) int32 low of the session in ticks, MISSING before known.
        room: (n,) float64 ticks between the low and the stop.
        target_risk: close - stop, in ticks already, is one risk.

    Returns:
        stop, target: (n,) int32 ticks each, MISSING before known.
    """
    close = bars.px[:, 3]
    stop = to_ticks(np.where(low != MISSING, low - room, np.nan))
    risk = close - np.where(stop != MISSING, stop, np.nan)
    return stop, to_ticks(close + target_risk * risk)


def check_factors(strategy: str, **factors: float) -> None:
    """Refuses a factor that is negative, infinite or NaN.

    Raises:
        SpecInvalid: names the strategy and the factor.
    """
    for name, value in factors.items():
        if not 0 <= value < math.inf:
            raise SpecInvalid(
                f"{strategy}.{name}: expected a finite number of at least 0, found {value!r}; "
                "correct it in the run's settings"
            )


def whole(strategy: str, name: str, value: float, least: int = 0) -> int:
    """The value as an int from `least` to 1440, the minutes of a day.

    Raises:
        SpecInvalid: it is not such a number; names the strategy and the parameter.
    """
    if not (least <= value <= _DAY and value == int(value)):
        raise SpecInvalid(
            f"{strategy}.{name}: expected a whole number from {least} to {_DAY}, found {value!r}; "
            "correct it in the run's settings"
        )
    return int(value)
