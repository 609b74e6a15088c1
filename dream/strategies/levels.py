"""What the strategies share: the room under a stop, and the refusal of senseless parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators import SessionRange, atr, atr_d1, jit, once, read_only, to_ticks
from dream.types import MINUTE_NS, MISSING

if TYPE_CHECKING:
    from dream.types import F8, I4, Bars

M5_FACTOR: Final[float] = math.sqrt(1 / 3)
"""ATR M5 over ATR M15 for a random walk: ranges grow with the square root of time."""

_DAY = 1440
_I4_MAX = 2**31 - 1


def stop_buffer(bars: Bars, stop_atr: float, m5_factor: float) -> F8:
    """(n,) float64 room under a stop in ticks, NaN before known.

    stop_atr * ATR(14, M5) where the bars are M5 or finer; on M15 alone
    stop_atr * ATR(14, M15) * m5_factor.

    Raises:
        BarsInvalid: the bars are coarser than 15 minutes.
    """
    fine = 5 * MINUTE_NS % bars.bar_ns == 0
    minutes, factor = (5, stop_atr) if fine else (15, stop_atr * m5_factor)
    room = once(bars, f"stop_buffer:{minutes}:{factor}", lambda: factor * atr(bars, minutes))
    return read_only(room)


def no_level(bars: Bars) -> I4:
    """(n,) int32 MISSING everywhere, in the memory of one number."""
    return np.broadcast_to(np.int32(MISSING), len(bars))


def day_atr_ticks(bars: Bars) -> I4:
    """(n,) int32 ATR(14, D1) in ticks as the board shows it, MISSING before known."""
    return once(bars, "ticks:atr_d1", lambda: to_ticks(atr_d1(bars)))


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
    stop, target = np.empty(len(bars), np.int32), np.empty(len(bars), np.int32)
    _bracket(bars.px, low, room, float(target_risk), (stop, target))
    return read_only(stop), read_only(target)


def outer(bars: Bars, session: SessionRange, room: F8, target_range: float) -> tuple[I4, I4]:
    """Stop under a session and a target of so many of its ranges above the close.

    Args:
        bars: the series.
        session: (n,) int32 ticks, MISSING before known.
        room: (n,) float64 ticks between the low and the stop.
        target_range: distance of the target from the close, in ranges.

    Returns:
        stop, target: (n,) int32 ticks each, MISSING before known.
    """
    stop, target = np.empty(len(bars), np.int32), np.empty(len(bars), np.int32)
    _outer(bars.px, session.low, session.range, (room, float(target_range)), (stop, target))
    return read_only(stop), read_only(target)


@jit
def _tick(x: float) -> Any:
    """floor(x + 0.5), MISSING where x is NaN or no int32."""
    whole = np.floor(x + 0.5)
    return np.int32(whole) if abs(whole) <= _I4_MAX else np.int32(MISSING)


@jit
def _bracket(px: I4, low: I4, room: F8, target_risk: float, out: tuple[I4, I4]) -> None:
    stop, target = out
    for i in range(len(px)):
        at = _tick(low[i] - room[i]) if low[i] != MISSING else np.int32(MISSING)
        stop[i] = at
        close = px[i, 3]
        target[i] = _tick(close + target_risk * (close - at)) if at != MISSING else MISSING


@jit
def _outer(px: I4, low: I4, size: I4, how: tuple[F8, float], out: tuple[I4, I4]) -> None:
    room, target_range = how
    stop, target = out
    for i in range(len(px)):
        if low[i] == MISSING:
            stop[i] = MISSING
            target[i] = MISSING
        else:
            stop[i] = _tick(low[i] - room[i])
            target[i] = _tick(px[i, 3] + target_range * size[i])


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
