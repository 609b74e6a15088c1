"""Strategies: pure functions of the bars that say where a set-up is live and with which levels.

A user's own strategy is a function of the same form: `def mine(bars, *, ...) -> Setups`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dream.strategies.intraday_momentum import intraday_momentum
from dream.strategies.pullback_entry import pullback_entry
from dream.strategies.vol_breakout import vol_breakout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types import Strategy

__all__ = ["REGISTRY", "intraday_momentum", "pullback_entry", "vol_breakout"]

REGISTRY: Final[Mapping[str, Strategy]] = MappingProxyType(
    {
        "VolBreakout": vol_breakout,
        "IntradayMomentum": intraday_momentum,
        "PullbackEntry": pullback_entry,
    }
)
"""Name, as journals use it, to strategy; the order is the priority of the deciding rules.

Nothing is added to it: what is in it is proved by the tests of this package."""
