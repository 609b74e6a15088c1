"""Frozen values and protocols that cross parts of dream.

Prices inside the engine are int32 ticks; prices shown to a decider are float64 in the quote
currency. Instants are int64 nanoseconds UTC. A bar is known at its close time.
"""

from __future__ import annotations

from dream.types.arrays import ASIA, F8, I1, I2, I4, I8, LONDON, MINUTE_NS, MISSING, NEW_YORK, U1
from dream.types.asking import (
    AskingDecider,
    BoardRow,
    Decider,
    Decision,
    Indicators,
    Question,
    Reply,
    Snapshot,
    Status,
    Usage,
)
from dream.types.market import Bars, Instrument, Setups, Strategy, Terms
from dream.types.recalling import (
    Episode,
    EpisodeTable,
    Features,
    Recalled,
    RecallFn,
    RecallQuery,
    Shown,
)
from dream.types.results import RunTable
from dream.types.trading import Account, Action, Costs, Fill, Order, Position, Trade

__all__ = [
    "ASIA",
    "F8",
    "I1",
    "I2",
    "I4",
    "I8",
    "LONDON",
    "MINUTE_NS",
    "MISSING",
    "NEW_YORK",
    "U1",
    "Account",
    "Action",
    "AskingDecider",
    "Bars",
    "BoardRow",
    "Costs",
    "Decider",
    "Decision",
    "Episode",
    "EpisodeTable",
    "Features",
    "Fill",
    "Indicators",
    "Instrument",
    "Order",
    "Position",
    "Question",
    "RecallFn",
    "RecallQuery",
    "Recalled",
    "Reply",
    "RunTable",
    "Setups",
    "Shown",
    "Snapshot",
    "Status",
    "Strategy",
    "Terms",
    "Trade",
    "Usage",
]
