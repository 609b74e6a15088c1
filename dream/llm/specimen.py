"""Two made-up questions that together reach every branch of a prompt template.

A template's identity is what it makes of them, see `prompt.prompt_hash`. They must not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dream.llm.prompt_settings import PromptSettings
from dream.types import (
    Account,
    BoardRow,
    Costs,
    Episode,
    Features,
    Fill,
    Indicators,
    Position,
    Recalled,
    Shown,
    Snapshot,
    Terms,
    Trade,
)

if TYPE_CHECKING:
    from dream.llm.prompt_settings import Context

_NOON_NS = 1_717_754_400_000_000_000
"""2024-06-07 10:00 UTC, 13:00 by the trading clock, a Friday."""
_QUARTER_NS = 900_000_000_000


def specimens(
    version: str, context: Context = "window"
) -> tuple[tuple[PromptSettings, Snapshot, tuple[Shown, ...]], ...]:
    """Settings, snapshot and recalled episodes of each."""
    strategies = {"Alpha": "Buy strength.", "Beta": "Buy dips."}
    plain = PromptSettings(strategies, version=version, context=context)
    terms = Terms(
        buy_only=False, autonomy="filter", intrabar="nearer_first", max_gap_ns=_QUARTER_NS
    )
    asks = (_flat(), _holding())
    if context == "day":
        asks = tuple(replace(ask, **_two_days()) for ask in asks)
    return (
        (plain, asks[0], ()),
        (replace(plain, terms=terms, strategies={"Alpha": ""}), asks[1], _shown()),
    )


def _two_days() -> dict[str, Any]:
    """The last bars of a Thursday and the first and the newest ones of the Friday."""
    ago = np.array([54, 53, 51, 1, 0])
    px = 2000.0 + 0.25 * np.arange(5)
    rows = [px, px + 1.5, px - 0.75, px + 0.5, 900.0 - ago, np.array([0.3, 0.0, 0.45, 0.3, 0.3])]
    return {
        "window": np.stack(rows, axis=1),
        "window_close_ns": _NOON_NS - ago * _QUARTER_NS,
        "closed_at_minute": np.array([1410, 1425, 15, 765, 780], np.int16),
    }


def _flat() -> Snapshot:
    indicators = Indicators(
        2.5, 5.25, 30.0, 55.5, 2001.0, 1990.0, 1995.0, 2000.0, 2005.0, 21.0, 1999.0, 0.65,
        "up", "normal", 2,
    )  # fmt: skip
    levels = {"high": 2004.0, "low": None}
    board = (
        BoardRow("Alpha", 1, 1990.0, 2030.0, 2001.5, -0.5, levels, 0, 1, 1260),
        BoardRow("Beta", 0, None, None, None, None, {}, 1, 1, 0),
        BoardRow("Gamma", -1, 2010.0, 1980.0, 2003.0, 1.0, {}, 2, 0, 0),
    )
    rows = [
        [2000.0, 2003.0, 1999.5, 2002.0, 850.0, 0.3],
        [2002.0, 2002.5, 2001.0, 2002.0, 0.0, 0.0],
    ]
    return Snapshot(
        seq=0,
        now_ns=_NOON_NS,
        minute=780,
        day=19_881,
        window=np.array(rows),
        window_close_ns=np.array([_NOON_NS - _QUARTER_NS, _NOON_NS]),
        closed_at_minute=np.array([765, 780], np.int16),
        indicators=indicators,
        board=board,
        position=None,
        account=Account(10_000.0, 10_000.0, 10_000.0, 0, ()),
    )


def _holding() -> Snapshot:
    ask = _flat()
    entry = Fill(5, _NOON_NS - 40 * _QUARTER_NS, 2000.0, 0.01, "open")
    left = Fill(9, _NOON_NS - 36 * _QUARTER_NS, 1990.0, 0.01, "stop")
    trade = Trade(
        1, "Alpha", 1, entry, left, 1990.0, 2030.0, -10.0, -1.0, 10.0, 2.0, False, Costs(),
        -10.0, -10.0, _NOON_NS - 36 * _QUARTER_NS,
    )  # fmt: skip
    held = Position(
        3, "Alpha", -1, _NOON_NS - 8 * _QUARTER_NS, 2008.0, 0.012, 2018.0, 1980.0, 7.2, 0.6, 8
    )
    return replace(
        ask,
        seq=4,
        indicators=replace(ask.indicators, rsi=float("nan"), sessions=0, trend="unknown"),
        position=held,
        account=Account(10_000.0, 9_990.0, 9_997.2, 1, (trade,)),
    )


def _shown() -> tuple[Shown, ...]:
    then = Features(2.0, 28.0, 6, "up", "low", 61.0, 0.12, "Alpha", 0, 9)
    won = Episode(
        "e1", "r", "m", 1, 0, _NOON_NS - 3 * 96 * _QUARTER_NS, then, "Alpha", 1, 1980.0, 1990.0,
        10.0, 1.0, 1.0, 11.0, "target", 0.7, "Broke  out\nearly.", "Held to the target.",
    )  # fmt: skip
    other = replace(then, distance=None, sessions=0)
    lost = replace(
        won, id="e2", features=other, side=-1, pnl=-10.0, r=None, exit_reason="stop",
        reasoning="long " * 100, reflection="",
    )  # fmt: skip
    even = replace(lost, id="e3", pnl=0.0, r=0.0, reasoning="")
    return (
        Shown(won, Recalled(0, "e1", 0.9, {"sessions": 1.0})),
        Shown(lost, Recalled(1, "e2", 0.4, {"sessions": 0.0}, "injected")),
        Shown(even, Recalled(2, "e3", 0.0)),
    )
