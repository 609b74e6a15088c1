"""Recall over large memories, checked against a sort of everything."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.timing import Row, each, in_words
from dream.memory import recall
from dream.memory.episodes import Memory
from dream.types import Episode, Features, RecallQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.types import EpisodeTable, Recalled

SIZES = (100_000, 1_000_000)
NOW_NS = 1_704_150_000_000_000_000
"""2024-01-01: all trades were known before it."""
HYBRID = recall.hybrid({})
TRENDS, VOLATILITIES = ("range", "up", "down"), ("low", "normal", "high")
STRATEGIES = ("VolBreakout", "IntradayMomentum", "PullbackEntry")


def episodes(n: int) -> Iterator[Episode]:
    """Closed trades of every situation; a third lost money."""
    rng = np.random.default_rng([7, n])
    atr = np.exp(rng.normal(3.0, 0.4, n)).tolist()
    drawn = rng.integers(0, 3, (n, 3)).tolist()
    sessions = rng.integers(1, 8, n).tolist()
    pnl = rng.normal(10.0, 23.0, n).tolist()
    for i in range(n):
        known_ns = NOW_NS - 2_000_000_000 * (n - i)
        trend, volatility, strategy = drawn[i]
        features = Features(
            atr[i] / 9, atr[i], sessions[i], TRENDS[trend], VOLATILITIES[volatility], 50.0, None,
            STRATEGIES[strategy], i % 5, i % 24,
        )  # fmt: skip
        yield Episode(
            f"{i:016x}", "run", "rules", i, known_ns - 1, known_ns, features, STRATEGIES[strategy],
            1, 2000.0, 2000.0 + pnl[i], pnl[i], pnl[i] / 25, 1.0, 1.0, "stop", 0.5, "",
        )  # fmt: skip


@cache
def memory(n: int) -> Memory:
    """A memory of n trades."""
    return Memory(episodes(n))


def query(seq: int = 0) -> RecallQuery:
    """What is asked: the middle of the features."""
    features = Features(2.2, 20.0, 3, "up", "normal", 55.0, 0.1, "VolBreakout", 2, 10)
    return RecallQuery(seq, NOW_NS, features, 5, 0)


def check(found: list[Recalled], past: EpisodeTable) -> None:
    """Five trades, best first, one of them lost money, and none of the others scores higher.

    The score is computed again for every row, without the search.
    """
    assert len(found) == 5
    assert any(past[item.row].pnl < 0 for item in found)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    everything = _scores(past)
    for item in found:
        assert abs(item.score - everything[item.row]) < 2e-6
    best = np.sort(everything)[::-1]
    chosen = [item for item in found if item.mark != "injected"]
    assert chosen[-1].score >= best[len(chosen) - 1] - 2e-6


def _scores(past: EpisodeTable) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n,) score of every row by the definition: ATRs 1 + 1, sessions 2, trend 1, volatility 1."""
    asked = query().features
    shared = np.array([(a & asked.sessions).bit_count() for a in range(8)])
    either = np.array([(a | asked.sessions).bit_count() for a in range(8)])
    total = 2.0 * (shared / either)[past.column("sessions")]
    for name in ("atr_m15", "atr_d1"):
        total += np.exp(-np.abs(np.log(past.column(name) / getattr(asked, name))) / 0.5)
    for name in ("trend", "volatility"):
        word = past.words(name).index(getattr(asked, name))
        total += past.column(name) == word
    return total / 6.0


def seconds(n: int) -> float:
    """One recall, the door of memory and the check of what comes back included."""
    remembered = memory(n)
    check(HYBRID(query(), remembered.visible(NOW_NS)), remembered.visible(NOW_NS))
    calls = max(10, 20_000_000 // n)
    return each(lambda: recall.checked(HYBRID, query(), remembered.visible(NOW_NS)), calls)


def rows() -> list[Row]:
    """The lines of the report."""
    return [Row(f"hybrid recall over {n:,} episodes", in_words(seconds(n))) for n in SIZES]
