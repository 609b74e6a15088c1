"""Episodes, questions and snapshots for the tests of memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from dream.memory.episodes import Memory
from dream.types import (
    Account,
    BoardRow,
    Episode,
    Features,
    Indicators,
    RecallQuery,
    Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dream.memory.episodes import Past

LATER = 10**18


def features(**changes: Any) -> Features:
    given = {
        "atr_m15": 2.0,
        "atr_d1": 20.0,
        "sessions": 2,
        "trend": "up",
        "volatility": "normal",
        "rsi": 55.0,
        "distance": 0.25,
        "strategy": "VolBreakout",
        "weekday": 1,
        "hour": 9,
    }
    return Features(**{**given, **changes})


def episode(name: str = "a", known_ns: int = 100, **changes: Any) -> Episode:
    given = {
        "id": name,
        "run_id": "run",
        "model": "scripted",
        "seq": 0,
        "opened_ns": known_ns - 10,
        "known_ns": known_ns,
        "features": features(),
        "strategy": "VolBreakout",
        "side": 1,
        "entry": 2000.0,
        "exit": 2001.0,
        "pnl": 1.0,
        "r": 0.5,
        "mae": 0.4,
        "mfe": 1.2,
        "exit_reason": "target",
        "confidence": 0.6,
        "reasoning": "",
    }
    return Episode(**{**given, **changes})


def past_of(episodes: Iterable[Episode], now_ns: int = LATER) -> Past:
    return Memory(episodes).visible(now_ns)


def asking(k: int = 5, now_ns: int = LATER, seq: int = 7, **changes: Any) -> RecallQuery:
    return RecallQuery(seq, now_ns, features(**changes), k, 0)


def row(strategy: str, live: int = 0, trigger: float | None = None) -> BoardRow:
    return BoardRow(strategy, live, None, None, trigger, None, {}, 0, 1, 0)


def snapshot(
    board: tuple[BoardRow, ...] = (),
    *,
    close: float = 2000.0,
    atr_d1: float = 20.0,
    minute: int = 600,
    day: int = 19723,
) -> Snapshot:
    shown = Indicators(
        atr_m15=2.5,
        atr_h1=6.0,
        atr_d1=atr_d1,
        rsi=61.0,
        sma_50=1.0,
        sma_200=2.0,
        bb_low=3.0,
        bb_mid=4.0,
        bb_high=5.0,
        adx_h1=30.0,
        sma_20_h1=6.0,
        atr_d1_pct=0.5,
        trend="up",
        volatility="high",
        sessions=6,
    )
    window = np.array([[1990.0, 2010.0, 1980.0, close, 5.0, 0.3]])
    times, minutes = np.array([LATER]), np.array([minute], np.int16)
    account = Account(10_000.0, 10_000.0, 10_000.0, 0, ())
    return Snapshot(3, LATER, minute, day, window, times, minutes, shown, board, None, account)


some_features = st.builds(
    Features,
    atr_m15=st.sampled_from([math.nan, 0.0, 1.0, 1.5, 2.0, 3.7, 40.0]),
    atr_d1=st.sampled_from([math.nan, math.inf, 9.0, 20.0, 21.0, 33.3]),
    sessions=st.integers(0, 7),
    trend=st.sampled_from(["unknown", "range", "up", "down"]),
    volatility=st.sampled_from(["unknown", "low", "normal", "high"]),
    rsi=st.floats(0, 100),
    distance=st.none() | st.floats(-3, 3),
    strategy=st.sampled_from([None, "VolBreakout", "PullbackEntry", "Other"]),
    weekday=st.integers(0, 6),
    hour=st.integers(0, 23),
)


@st.composite
def some_episodes(draw: Any, max_size: int = 30) -> list[Episode]:
    """Episodes with many equal times and equal features, in any order."""
    size = draw(st.integers(0, max_size))
    return [
        episode(
            f"e{i}",
            draw(st.integers(1, 6)) * 10**15,
            features=draw(some_features),
            strategy=draw(st.sampled_from(["VolBreakout", "PullbackEntry"])),
            pnl=draw(st.sampled_from([-30.0, -0.01, 0.0, 12.5])),
        )
        for i in draw(st.permutations(range(size)))
    ]
