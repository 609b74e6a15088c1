"""A finished run as reports need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types.arrays import F8, I4
    from dream.types.asking import Usage
    from dream.types.trading import Trade


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """A finished run as reports need it, whether it was just run or read back.

    Attributes:
        bars_from_ns, bars_to_ns: close times of the first and last bar that the run walked.
        asked_from: index of the first bar at which every shown value exists; asked_from_ns: its
            close time.
        setups: rising edges of live set-ups from that bar on, asked about or not, by strategy.
        refused: refused orders by reason. needs_equity: cash with which every order refused as
            too small would have been taken at its time; None when there was none.
        equity: (n,) float64 at the walked bars' closes. day: (n,) int32 trading-day numbers.
        recalled, injected: episodes shown, and those of them that balance put in; totals.
        cost_usd: of the replies; None where a price is not known.
        tokens: of the replies, None for a class that no server counted.
        prefix_bytes: shortest beginning that questions to a model had in common, in UTF-8, the
            system prompt included; None without a model.
        silent: most replies in a row, within the life of a cache entry, without a cached token.
        ended: decisions, end_of_data or ruin.
    """

    decider: str
    memory: str
    decisions: int
    decisions_by_status: Mapping[str, int]
    actions: Mapping[str, int]
    setups: Mapping[str, int]
    refused: Mapping[str, int]
    needs_equity: float | None
    trades: tuple[Trade, ...]
    start_equity: float
    final_equity: float
    equity: F8
    day: I4
    bars_from_ns: int
    bars_to_ns: int
    asked_from: int
    asked_from_ns: int
    recall_calls: int
    recalled: int
    injected: int
    cost_usd: float | None
    replies: int
    tokens: Usage
    prefix_bytes: int | None
    silent: int
    ended: str
    digest: str
