"""Proof by hiding: a strategy's set-ups must not change when later bars are taken away.

A numba function can read past a slice and a numpy view leads back to its base, so handing out a
part of an array proves nothing. What does: computing the set-ups again from copies that end earlier
and comparing every row. The first call gets the bars before the first question, longer series
follow and the whole comes last, so that what a strategy keeps between calls cannot help it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dream.errors import LeakError, SpecInvalid
from dream.indicators import first_bar
from dream.types import Bars, Setups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.types import Strategy

PREFIXES: Final = 4
"""Seeded prefixes of the whole series, for every strategy."""

STRETCHES, CUTS, STRIDE, WARM_UP = 12, 12, 4, 4_096
"""For a strategy of the user's: so many stretches, all over the series, and as many behind bars of
a wide range, each with so many cuts, so many bars apart, after so many bars. A set-up that is
dropped because it will fail is to be seen only where the bars end between the two, so cuts lie
close together, and where set-ups are likely. 44 days of M15 come before."""

_FIELDS: Final = ("live", "stop", "target", "trigger")
_LEVELS, _NAME, _MINUTES = 32, 64, 1440
"""Most levels, longest name of one, latest forced close."""


def checked_setups(
    strategies: Mapping[str, Strategy], bars: Bars, seed: int, prefixes: int = PREFIXES
) -> dict[str, Setups]:
    """Compute every strategy's set-ups and prove that none of them uses a later bar.

    Every strategy runs on the bars before the first question, on seeded prefixes and then on the
    whole series. One of the user's gets copies of its own, also runs on short stretches that end a
    few bars apart, and again right behind bars at which it is live.

    Args:
        strategies: name to strategy, in board order.
        bars: the series.
        seed: of the cuts.
        prefixes: how many; none at all will do for strategies of this package, whose tests cut
            them everywhere. One of the user's gets PREFIXES at least.

    Raises:
        LeakError: a row differs; names the strategy, the array, the bar and the cut.
        SpecInvalid: a strategy returns something other than Setups of the bars' length.
    """
    rng = np.random.default_rng([seed, len(bars)])
    theirs = {name: s for name, s in strategies.items() if not _is_ours(s)}
    first = min(first_bar(bars), len(bars) // 2)
    prefixes = max(prefixes, PREFIXES) if theirs else prefixes
    before: dict[str, Setups] = {}
    for end in dict.fromkeys((first, *_parts(first, len(bars), rng, prefixes), len(bars))):
        shared = bars if end == len(bars) else bars.prefix(end)
        now = {
            name: _owned(name, s, bars.prefix(end)) if name in theirs else s(shared)
            for name, s in strategies.items()
        }
        for name, setups in before.items():
            _compare(name, bars, setups, now[name], levels=name in theirs)
        if not before:
            for name, strategy in theirs.items():
                _walk_stretches(name, strategy, bars, first, rng)
        before = now
    for name, strategy in theirs.items():
        _cut_behind_live(name, strategy, bars, before[name], rng)
    return before


def _is_ours(strategy: Any) -> bool:
    """Whether it is one of this package, whose tests cut its strategies at every bar.

    That is the function itself, with numbers bound at most: names can be copied, as
    `functools.wraps` does. The registry is not imported here; while nobody has, nothing is in it.
    """
    while type(strategy) is partial:
        bound = cast("partial[Any]", strategy)
        if bound.args or not all(type(value) in (int, float) for value in bound.keywords.values()):
            return False
        strategy = bound.func
    registry: Mapping[str, object] = getattr(sys.modules.get("dream.strategies"), "REGISTRY", {})
    return any(strategy is own for own in registry.values())


def _parts(a: int, b: int, rng: np.random.Generator, count: int) -> Iterator[int]:
    """One cut in each part of a ... b, ascending: who begins to cheat late is a cheat too."""
    for low, high in _spans(a, b, count):
        yield int(rng.integers(low, high))


def _spans(a: int, b: int, count: int) -> Iterator[tuple[int, int]]:
    """A ... b in so many parts, none of them empty: fewer, if there are not enough bars."""
    edges = np.linspace(a, b, min(count, b - a) + 1).astype(np.int64)
    return pairwise(edges.tolist())


def _walk_stretches(
    name: str, strategy: Strategy, bars: Bars, first: int, rng: np.random.Generator
) -> None:
    """In each part of the bars, compare set-ups of bars that end a few bars apart."""
    widest = [
        low + int(np.argmax(np.ptp(bars.px[low:high], axis=1)))
        for low, high in _spans(first, len(bars), STRETCHES)
    ]
    for begin in (*_parts(first, len(bars), rng, STRETCHES), *widest):
        cuts = [begin + 1 + STRIDE * i for i in range(CUTS)]
        cuts = [cut for cut in cuts if cut <= len(bars)]
        a = max(begin - WARM_UP, 0)
        before: Setups | None = None
        for cut in cuts:
            if cut < first:
                continue
            now = _owned(name, strategy, bars.between(a, cut))
            if before is not None:
                _compare(name, bars, before, now, a)
            before = now


def _cut_behind_live(
    name: str, strategy: Strategy, bars: Bars, full: Setups, rng: np.random.Generator
) -> None:
    """Cut right behind live bars, one in each part of them: the next bar may have made them so."""
    live = np.flatnonzero(full.live[:-1])
    if not len(live):
        return
    for rows in np.array_split(live, min(STRETCHES, len(live))):
        part = bars.prefix(int(rng.choice(rows)) + 1)
        _compare(name, bars, _owned(name, strategy, part), full)


def _owned(name: str, strategy: Strategy, bars: Bars) -> Setups:
    """The strategy's set-ups of these bars, in arrays that it cannot change afterwards.

    Raises:
        SpecInvalid: naming the field, what was expected and what was found.
    """
    setups: Any = strategy(bars)
    if not isinstance(setups, Setups):
        msg = f"strategy {name} returned {type(setups).__name__}, expected dream.types.Setups"
        raise SpecInvalid(msg)
    levels: Any = setups.levels
    names: list[Any] = list(levels) if isinstance(levels, Mapping) else [None]
    if len(names) > _LEVELS or not all(type(x) is str and 0 < len(x) <= _NAME for x in names):
        msg = (
            f"strategy {name}: levels must map at most {_LEVELS} names of at most {_NAME} "
            f"characters to arrays, found {_shown(levels)}"
        )
        raise SpecInvalid(msg)
    for field, most in (("expires_minute", _MINUTES), ("entries_per_day", 2**31 - 1)):
        found: Any = getattr(setups, field)
        if type(found) is not int or not 0 <= found <= most:
            msg = f"strategy {name}: {field} must be an int from 0 to {most}, found {_shown(found)}"
            raise SpecInvalid(msg)
    n = len(bars)
    kept = {field: _column(name, field, array, n) for field, array in _arrays(setups).items()}
    wrong = np.flatnonzero((kept["live"] > 1) | (kept["live"] < -1))
    if len(wrong):
        found = kept["live"][wrong[0]]
        msg = f"strategy {name}: live at bar {wrong[0]} is {found}, expected 1, 0 or -1"
        raise SpecInvalid(msg)
    columns = list(kept.values())
    live, stop, target, trigger = columns[: len(_FIELDS)]
    board = MappingProxyType(dict(zip(names, columns[len(_FIELDS) :], strict=True)))
    return Setups(live, stop, target, trigger, board, setups.expires_minute, setups.entries_per_day)


def _column(name: str, field: str, array: Any, n: int) -> Any:
    """A copy of the array, if it is what it should be."""
    dtype = np.dtype(np.int8 if field == "live" else np.int32)
    if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != dtype:
        shape, kind = getattr(array, "shape", ""), getattr(array, "dtype", type(array).__name__)
        msg = f"strategy {name}: {field} is {kind}{shape}, expected {dtype}({n},)"
        raise SpecInvalid(msg)
    owned = np.array(array)
    owned.flags.writeable = False
    return owned


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _arrays(setups: Setups, *, levels: bool = True) -> dict[str, Any]:
    arrays: dict[str, Any] = {field: getattr(setups, field) for field in _FIELDS}
    if levels:
        arrays |= {f"level {level}": values for level, values in setups.levels.items()}
    return arrays


def _compare(
    name: str, bars: Bars, part: Setups, full: Setups, a: int = 0, *, levels: bool = True
) -> None:
    """Every row of `part`, which ends earlier, must be that of `full`; both begin at bar `a`.

    The levels of our own strategies are made only where somebody reads them.
    """
    cut = a + len(part.live)
    fewer, more = _arrays(part, levels=levels), _arrays(full, levels=levels)
    for field in sorted(fewer.keys() ^ more.keys()):
        raise LeakError(f"strategy {name}: {field} comes or goes with the bars from {cut} on")
    for field, values in fewer.items():
        same = more[field][: cut - a] == values
        if not same.all():
            row = int(np.argmin(same))
            when = np.datetime64(int(bars.t_close_ns[a + row]), "ns").astype("datetime64[s]")
            raise LeakError(
                f"strategy {name} sees the future: {field} at bar {a + row} ({when}Z) is "
                f"{more[field][row]} with the bars {a} to {a + len(full.live) - 1} and "
                f"{values[row]} when the bars from {cut} on are hidden. Use bars up to and "
                f"including the row's own only."
            )
    scalars = (full.expires_minute, full.entries_per_day)
    if scalars != (part.expires_minute, part.entries_per_day):
        raise LeakError(f"strategy {name}: forced close or entries a day depend on later bars")
