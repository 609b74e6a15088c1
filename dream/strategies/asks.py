"""When the agent is asked: at every bar, every few bars, or where a set-up appears."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from dream.errors import SpecInvalid
from dream.indicators import read_only
from dream.types import U1, Bars, Setups

if TYPE_CHECKING:
    import numpy.typing as npt

AskPolicy: TypeAlias = Callable[[Bars, Mapping[str, Setups], int], U1]
"""(bars, set-ups by strategy, first bar) to (n,) uint8 of WHEN_FLAT and WHEN_OPEN."""

WHEN_FLAT: Final = 1
WHEN_OPEN: Final = 2

_EVERY = re.compile(r"every:([1-9][0-9]{0,8})")


def policy(name: str, manage: bool) -> AskPolicy:
    """The policy of that name.

    Args:
        name: `bar` asks at every bar; `every:N` at the first bar and each Nth after it; `setup`
            where any strategy's set-up appears, when flat.
        manage: ask at every bar while a position is open, too.

    Returns:
        A function that gives, for every bar, WHEN_FLAT, WHEN_OPEN, both or 0; 0 before the first.

    Raises:
        SpecInvalid: there is no such policy.
    """
    every = _EVERY.fullmatch(name)
    if name == "setup":
        return lambda bars, setups, first: _setup(len(bars), setups, first, manage)
    if name != "bar" and every is None:
        raise SpecInvalid(
            f"ask: expected bar, setup or every:N with a whole N of at least 1, found {name!r}; "
            "for example --ask every:4"
        )
    step = int(every[1]) if every else 1
    return lambda bars, _setups, first: _every(len(bars), step, first, manage)


def rising_edges(setups: Setups) -> npt.NDArray[np.bool_]:
    """(n,) bool: the strategy is live here and was not, or on the other side, one bar before."""
    live = setups.live
    edges = live != 0
    edges[1:] &= live[1:] != live[:-1]
    return read_only(edges)


def _every(n: int, step: int, first: int, manage: bool) -> U1:
    ask = np.zeros(n, dtype=np.uint8)
    ask[first::step] = WHEN_FLAT | WHEN_OPEN
    if manage:
        ask[first:] |= WHEN_OPEN
    return read_only(ask)


def _setup(n: int, setups: Mapping[str, Setups], first: int, manage: bool) -> U1:
    ask = np.zeros(n, dtype=np.uint8)
    for strategy in setups.values():
        ask[rising_edges(strategy)] = WHEN_FLAT
    if manage:
        ask |= WHEN_OPEN
    ask[:first] = 0
    return read_only(ask)
