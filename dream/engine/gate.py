"""The point-in-time gate: set-ups are checked on prefixes, snapshots own copies.

A numba function can read past a slice and a numpy view leads back to its base, so neither is a
gate. What is: computing the set-ups again without the later bars and comparing, and handing out
copies only.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dream.errors import LeakError, SpecInvalid
from dream.types import MISSING, Bars, Setups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dream.types import F8, I4, Strategy

CUTS = 8


def checked_setups(
    strategies: Mapping[str, Strategy], bars: Bars, seed: int, cuts: int = CUTS
) -> dict[str, Setups]:
    """Compute every strategy's set-ups and prove that none of them uses a later bar.

    Each strategy runs on the whole series and on `cuts` seeded prefixes of it; every row of a
    prefix must come out the same.

    Raises:
        LeakError: a row differs; names the strategy, the array, the bar and the cut.
        SpecInvalid: a strategy returns arrays of another length or type.
    """
    full = {name: _computed(name, strategy, bars) for name, strategy in strategies.items()}
    for cut in _cut_points(full, len(bars), seed, cuts):
        prefix = bars.prefix(cut)
        for name, strategy in strategies.items():
            _compare(name, bars, full[name], _computed(name, strategy, prefix), cut)
    return full


def _computed(name: str, strategy: Strategy, bars: Bars) -> Setups:
    setups = strategy(bars)
    if not isinstance(setups, Setups):  # pyright: ignore[reportUnnecessaryIsInstance]
        msg = f"strategy {name} returned {type(setups).__name__}, expected dream.types.Setups"
        raise SpecInvalid(msg)
    for field, array in _arrays(setups):
        dtype = np.int8 if field == "live" else np.int32
        if array.shape != (len(bars),) or array.dtype != dtype:
            msg = (
                f"strategy {name}: {field} has shape {array.shape} and type {array.dtype}, "
                f"expected ({len(bars)},) and {np.dtype(dtype)}"
            )
            raise SpecInvalid(msg)
    return setups


def _arrays(setups: Setups) -> Iterator[tuple[str, Any]]:
    yield "live", setups.live
    yield "stop", setups.stop
    yield "target", setups.target
    yield "trigger", setups.trigger
    for level, values in setups.levels.items():
        yield f"level {level}", values


def _cut_points(full: Mapping[str, Setups], n: int, seed: int, cuts: int) -> list[int]:
    """Where to hide the future: anywhere, half of the cuts right behind a live bar.

    They lie all over the series: a strategy that begins to cheat late is a cheat too.
    """
    if n < 2 or cuts < 1:
        return []
    rng = np.random.default_rng([seed, n])
    drawn = [int(x) for x in rng.integers(1, n, size=cuts)]
    live = [np.flatnonzero(s.live[: n - 1]) for s in full.values()]
    live = [rows for rows in live if len(rows)]
    for i in range(0, cuts, 2):
        if live:
            rows = live[(i // 2) % len(live)]
            drawn[i] = int(rows[rng.integers(len(rows))]) + 1
    return sorted({cut for cut in drawn if 0 < cut < n})


def _compare(name: str, bars: Bars, full: Setups, prefix: Setups, cut: int) -> None:
    before, after = dict(_arrays(full)), dict(_arrays(prefix))
    for field in sorted(before.keys() ^ after.keys()):
        raise LeakError(f"strategy {name}: {field} comes or goes with the bars from {cut} on")
    for field, values in after.items():
        same = before[field][:cut] == values
        if not same.all():
            bar = int(np.argmin(same))
            when = np.datetime64(int(bars.t_close_ns[bar]), "ns").astype("datetime64[s]")
            raise LeakError(
                f"strategy {name} sees the future: {field} at bar {bar} ({when}Z) is "
                f"{before[field][bar]} with all bars and {values[bar]} when the bars from {cut} "
                f"on are hidden. Use bars up to and including the row's own only."
            )
    scalars = (full.expires_minute, full.entries_per_day)
    if scalars != (prefix.expires_minute, prefix.entries_per_day):
        raise LeakError(f"strategy {name}: forced close or entries a day depend on later bars")


class Window:
    """Hands out copies of the last k closed bars.

    The float matrix behind it is private; every copy owns its memory and is read-only.
    """

    def __init__(self, bars: Bars, k: int) -> None:
        per_unit = bars.instrument.ticks_per_unit
        self._k = k
        self._bars = bars
        self._rows = np.empty((len(bars), 6))
        np.divide(bars.px, per_unit, out=self._rows[:, :4])
        self._rows[:, 4] = bars.volume
        np.divide(bars.spread, per_unit, out=self._rows[:, 5])

    def at(self, bar: int) -> tuple[F8, Any, Any]:
        """(rows, close times, close minutes) of the k bars that end with `bar`."""
        a, b = max(bar + 1 - self._k, 0), bar + 1
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
