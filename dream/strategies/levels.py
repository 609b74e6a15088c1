"""What the strategies share: the room under a stop, and the refusal of senseless parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators import atr, atr_d1, once, read_only, to_ticks
from dream.types import I4, MINUTE_NS, MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dream.types import F8, Bars

M5_FACTOR: Final[float] = math.sqrt(1 / 3)
"""ATR M5 over ATR M15 for a random walk: ranges grow with the square root of time."""

_DAY = 1440
_MISSING = read_only(np.array([MISSING], np.int32))


def stop_room(bars: Bars, stop_atr: float, m5_factor: float) -> tuple[float, F8]:
    """The room under a stop: a share and (n,) float64 the average that it is of, in ticks.

    stop_atr of ATR(14, M5) where the bars are M5 or finer, or carry that average; on M15 alone
    stop_atr * m5_factor of ATR(14, M15).

    Raises:
        BarsInvalid: the bars are coarser than 15 minutes and have no M5 average.
    """
    if 5 * MINUTE_NS % bars.bar_ns == 0:
        return float(stop_atr), atr(bars, 5)
    if bars.atr_m5 is not None:
        return float(stop_atr), bars.atr_m5
    return stop_atr * m5_factor, atr(bars, 15)


def day_atr_ticks(bars: Bars) -> I4:
    """(n,) int32 ATR(14, D1) in ticks as the board shows it, MISSING before known."""
    return once(bars, "ticks:atr_d1", lambda: to_ticks(atr_d1(bars)))


def no_level(n: int) -> I4:
    """(n,) int32 MISSING, in the memory of one: for a price that a strategy does not have."""
    return np.ndarray((n,), np.int32, _MISSING, strides=(0,))


class Levels(Mapping[str, I4]):
    """Reference levels by name, each made when it is first read: a rule run reads none."""

    def __init__(self, **makes: Callable[[], I4]) -> None:
        self._makes = makes
        self._made: dict[str, I4] = {}

    def __getitem__(self, name: str) -> I4:
        if name not in self._made:
            self._made[name] = self._makes[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makes)

    def __len__(self) -> int:
        return len(self._makes)


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
