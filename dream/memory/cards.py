"""The rows of a memory as the search reads them: a card each, those of one situation together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

CARD: Final = np.dtype(
    [
        ("row", np.int64),
        ("known_ns", np.int64),
        ("log_atr_m15", np.float64),
        ("log_atr_d1", np.float64),
        ("strategy", np.int32),
        ("situation", np.uint8),
        ("negative", np.bool_),
    ],
    align=True,
)
"""What a search may read of a row: its number and its values in the columns of these names."""

CARD_COLUMNS: Final = (
    "known_ns",
    "log_atr_m15",
    "log_atr_d1",
    "strategy",
    "situation",
    "negative",
)

BLOCK: Final = 64
"""Cards in a block: all of one situation, in the order of their rows."""

SITUATIONS: Final = 256
"""Codes that a byte can hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """The cards of all rows of a table, in blocks.

    Attributes:
        rows: how many there are.
        blocks: how many are in use.
        cards: (room for blocks * BLOCK,) CARD; what no block has reached yet means nothing.
        before: (room for blocks,) int64, the block of the same situation before each one, -1 for
            none.
        ends: (SITUATIONS,) int64, the place behind the newest card of each, 0 where it has none.
    """

    rows: int
    blocks: int
    cards: npt.NDArray[Any]
    before: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


NO_CARDS: Final = Cards(
    0, 0, np.zeros(0, CARD), np.zeros(0, np.int64), np.zeros(SITUATIONS, np.int64)
)


def dealt(old: Cards, columns: Mapping[str, npt.NDArray[Any]]) -> Cards:
    """The old cards and those of new rows.

    The new ones lie behind the old ones in the same memory, where the old ones do not look; so what
    is dealt to must be the newest.

    Args:
        old: the cards so far.
        columns: the values of the new rows; of them those that a card has are read.
    """
    from dream.memory.scan import deal  # noqa: PLC0415 - numba, only where memory is filled

    new = len(columns["situation"])
    cards, before, ends = old.cards, old.before, old.ends.copy()
    # each situation fills its blocks but for the last one
    most = old.blocks + new // BLOCK + min(new, SITUATIONS)
    if most > len(before):
        room = max(most, 2 * len(before))
        cards, before = np.zeros(room * BLOCK, CARD), np.zeros(room, np.int64)
        cards[: old.blocks * BLOCK] = old.cards[: old.blocks * BLOCK]
        before[: old.blocks] = old.before[: old.blocks]
    values = [columns[name] for name in CARD_COLUMNS]
    blocks = deal(cards, before, ends, old.blocks, old.rows, *values)
    return Cards(old.rows + new, blocks, cards, before, ends)
