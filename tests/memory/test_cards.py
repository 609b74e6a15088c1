"""A table made earlier answers as it did, however many trades become known after it."""

from __future__ import annotations

import random

import pytest

from dream.memory.cards import BLOCK
from dream.memory.episodes import Memory
from dream.memory.recall import most_similar_balanced
from dream.types import RecallQuery
from tests.memory.made import episode, features

STEPS = (1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 1_000)


def drawn(seed):
    """Episodes of a few situations with wins and losses, one a nanosecond."""
    draw = random.Random(seed)
    trends, volatilities = ("up", "down", "range"), ("low", "normal", "high")
    return [
        episode(
            f"{n:016x}", n + 1, pnl=draw.choice((-5.0, 7.0)),
            features=features(
                trend=draw.choice(trends), volatility=draw.choice(volatilities),
                sessions=draw.randrange(8), atr_m15=draw.uniform(0.5, 5.0),
            ),
        )
        for n in range(1_200)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_blocks_that_fill_and_grow_change_no_earlier_answer(seed):
    episodes = drawn(seed)
    memory, kept = Memory(episodes), []
    asked = features(trend="up", volatility="high", sessions=3, atr_m15=2.0)
    for known in STEPS:
        past = memory.visible(known + 1)
        query = RecallQuery(0, known + 1, asked, 5, 0)
        kept.append((past, query, most_similar_balanced(query, past)))
    for (past, query, then), known in zip(kept, STEPS, strict=True):
        alone = Memory(episodes[:known]).visible(known + 1)
        assert len(past) == len(alone) == known
        assert most_similar_balanced(query, past) == then == most_similar_balanced(query, alone)
