"""What is handed out of the bars and the set-ups at a decision: copies that end there."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dream.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types import F8, I4, Bars, Setups


class Window:
    """Hands out copies of the last k closed bars.

    The float matrix behind it is private; every copy owns its memory and is read-only.

    Attributes:
        whole_day: hand out every bar of the trading day so far, and the k before it.
    """

    def __init__(self, bars: Bars, k: int) -> None:
        per_unit = bars.instrument.ticks_per_unit
        self._k = k
        self._bars = bars
        self.whole_day = False
        self._rows = np.empty((len(bars), 6))
        np.divide(bars.px, per_unit, out=self._rows[:, :4])
        self._rows[:, 4] = bars.volume
        np.divide(bars.spread, per_unit, out=self._rows[:, 5])

    def at(self, bar: int) -> tuple[F8, Any, Any]:
        """(rows, close times, close minutes) of the bars that end with `bar`."""
        b = bar + 1
        since = int(np.searchsorted(self._bars.day, self._bars.day[bar])) if self.whole_day else b
        a = max(since - self._k, 0)
        rows = self._rows[a:b].copy()
        t_close, minute = self._bars.t_close_ns[a:b].copy(), self._bars.minute[a:b].copy()
        for array in (rows, t_close, minute):
            array.flags.writeable = False
            assert array.base is None
        return rows, t_close, minute


class Board:
    """Board values of every strategy as int32 rows, turned into prices when they are asked for.

    Reference levels stand still for most of a day, so the last ones are kept: a bar with the same
    levels gets the same read-only mapping.
    """

    def __init__(self, setups: Mapping[str, Setups], per_unit: int) -> None:
        self._per_unit = per_unit
        self.names = tuple(setups)
        self._names = [tuple(s.levels) for s in setups.values()]
        self._now = [
            _rows(len(s.live), s.live, s.stop, s.target, s.trigger) for s in setups.values()
        ]
        self._levels = [_rows(len(s.live), *s.levels.values()) for s in setups.values()]
        self._kept: list[tuple[bytes, Mapping[str, float | None]]] = [
            (b"none yet", {}) for _ in setups
        ]

    def at(self, k: int, bar: int) -> tuple[int, list[float | None], Mapping[str, float | None]]:
        """Of strategy k: live, [stop, target, trigger] and levels, in quote currency."""
        live, *now = self._now[k][bar].tolist()
        key = self._levels[k][bar].tobytes()
        kept, levels = self._kept[k]
        if key != kept:
            prices = self._prices(self._levels[k][bar].tolist())
            levels = MappingProxyType(dict(zip(self._names[k], prices, strict=True)))
            self._kept[k] = key, levels
        return live, self._prices(now), levels

    def _prices(self, ticks: list[int]) -> list[float | None]:
        per_unit = self._per_unit
        return [None if t == MISSING else t / per_unit for t in ticks]


def _rows(n: int, *columns: Any) -> I4:
    """(n, len(columns)) int32."""
    rows = np.empty((n, len(columns)), np.int32)
    for j, column in enumerate(columns):
        rows[:, j] = column
    return rows
