"""Snapshots and answers for the tests of this folder, made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    Trade,
)

QUARTER_NS = 900_000_000_000
DAY_NS = 96 * QUARTER_NS
NOW_NS = 1_718_007_300_000_000_000
"""Monday 2024-06-10 08:15 UTC; New York 04:15, trading clock 11:15."""

INDICATORS = Indicators(
    atr_m15=2.134, atr_h1=4.871, atr_d1=28.4, rsi=61.27, sma_50=2304.118, sma_200=2311.95,
    bb_low=2299.47, bb_mid=2305.02, bb_high=2310.57, adx_h1=27.31, sma_20_h1=2303.3,
    atr_d1_pct=0.85, trend="up", volatility="high", sessions=2,
)  # fmt: skip

BOARD = (
    BoardRow(
        strategy="VolBreakout", live=1, stop=2291.87, target=2338.36, trigger=2308.26,
        distance=-1.59, levels={"session_high": 2304.0, "session_low": 2293.7},
        entries_today=0, entries_per_day=1, expires_minute=1260,
    ),
    BoardRow(
        strategy="IntradayMomentum", live=0, stop=None, target=None, trigger=None, distance=None,
        levels={"move": None}, entries_today=0, entries_per_day=1, expires_minute=1260,
    ),
    BoardRow(
        strategy="PullbackEntry", live=0, stop=2291.87, target=None, trigger=2301.18,
        distance=-8.67, levels={"swing_high": 2309.7}, entries_today=1, entries_per_day=1,
        expires_minute=960,
    ),
)  # fmt: skip


def window(n: int = 20) -> dict[str, Any]:
    """n bars of 15 minutes up to NOW_NS; closes rise by 0.25 to 2309.85."""
    last = 2309.85
    rows = [
        [last - 0.25 * (n - i), last - 0.25 * (n - 1 - i) + 0.4, last - 0.25 * (n - i) - 0.55,
         last - 0.25 * (n - 1 - i), 1000.0 + i, 0.3]
        for i in range(n)
    ]  # fmt: skip
    t_close = np.array([NOW_NS - (n - 1 - i) * QUARTER_NS for i in range(n)])
    minutes = [(675 - 15 * (n - 1 - i)) % 1440 or 1440 for i in range(n)]
    return {
        "window": np.array(rows),
        "window_close_ns": t_close,
        "closed_at_minute": np.array(minutes, np.int16),
    }


def flat(seq: int = 0) -> Snapshot:
    """Nothing traded yet, one set-up live."""
    return Snapshot(
        seq=seq, now_ns=NOW_NS, minute=675, day=19_884, **window(), indicators=INDICATORS,
        board=BOARD, position=None, account=Account(10_000.0, 10_000.0, 10_000.0, 0, ()),
    )  # fmt: skip


def holding(seq: int = 7) -> Snapshot:
    """A position open, two trades behind."""
    since = NOW_NS - 6 * QUARTER_NS
    held = Position(
        seq=5, strategy="VolBreakout", side=1, entry_ns=since, entry=2306.12, lots=0.017,
        stop=2291.87, target=2338.36, unrealised=6.341, unrealised_r=0.2618, bars_held=6,
    )  # fmt: skip
    account = Account(
        10_000.0, 9_987.655, 9_993.996, 2, (trade(1, 31.1, 1.24), trade(2, -43.4, -1.0))
    )
    return replace(flat(seq), position=held, account=account)


def trade(seq: int, pnl: float, r: float) -> Trade:
    """A closed long of VolBreakout."""
    opened, closed = NOW_NS - 2 * DAY_NS, NOW_NS - 2 * DAY_NS + 8 * QUARTER_NS
    why, price = ("target", 2331.5) if pnl > 0 else ("stop", 2292.25)
    return Trade(
        seq, "VolBreakout", 1, Fill(10, opened, 2300.4, 0.01, "open"),
        Fill(18, closed, price, 0.01, why), 2292.25, 2331.5, pnl, r, 3.0, 31.1, False, Costs(),
        pnl, pnl, closed,
    )  # fmt: skip


def recalled() -> tuple[Shown, ...]:
    """Two episodes: a similar winner, and a loser that balance put in."""
    then = Features(2.41, 26.9, 6, "up", "normal", 58.04, -0.062, "VolBreakout", 3, 15)
    won = Episode(
        "a1", "run-1", "claude-sonnet-5-5", 88, NOW_NS - 13 * DAY_NS, NOW_NS - 12 * DAY_NS, then,
        "VolBreakout", 1, 2290.0, 2321.1, 31.1, 1.24, 3.0, 33.0, "target", 0.7,
        "Closed above the Asia high\n with room to run.",
    )  # fmt: skip
    lost = replace(
        won, id="b2", seq=91, known_ns=NOW_NS - DAY_NS // 4, strategy="PullbackEntry", pnl=-25.0,
        r=None, exit_reason="stop_gap", reasoning="", reflection="Too late in the session.",
        features=replace(then, distance=None, sessions=1),
    )  # fmt: skip
    parts = {"atr_m15": 0.8, "sessions": 0.5}
    return (
        Shown(won, Recalled(0, "a1", 0.8349, parts)),
        Shown(lost, Recalled(4, "b2", 0.41, parts, "injected")),
    )


STRATEGIES = {
    "VolBreakout": "A close well above a wide enough morning range.",
    "IntradayMomentum": "A strong morning move that goes on.",
    "PullbackEntry": "A pullback after a breakout.",
}
SETTINGS = PromptSettings(STRATEGIES)
