"""The digest of what was shown at a question."""

from __future__ import annotations

import hashlib
from array import array as array_of
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dream.types import Snapshot

_NONE = -1e308
"""Stands for None among the numbers of an observation; no price is that low."""


def observation(ask: Snapshot) -> str:
    """Digest of all that the snapshot shows: 16 hex digits, equal only for equal snapshots."""
    now, account, held = ask.indicators, ask.account, ask.position
    words = [now.trend, now.volatility]
    numbers: list[float | None] = [
        ask.seq, ask.minute, ask.day, now.atr_m15, now.atr_h1, now.atr_d1, now.rsi, now.sma_50,
        now.sma_200, now.bb_low, now.bb_mid, now.bb_high, now.adx_h1, now.sma_20_h1,
        now.atr_d1_pct, now.sessions, account.start, account.cash, account.equity, account.trades,
    ]  # fmt: skip
    for row in ask.board:
        words.append(row.strategy)
        numbers += (row.live, row.stop, row.target, row.trigger, row.entries_today)
        numbers += row.levels.values()
    for trade in account.recent:
        words.append(trade.strategy)
        numbers += (trade.seq, trade.pnl, trade.r)
    if held is not None:
        words.append(held.strategy)
        numbers += (
            held.seq, held.side, held.entry, held.lots, held.stop, held.target, held.unrealised,
            held.bars_held,
        )  # fmt: skip
    h = hashlib.blake2b(digest_size=8)
    for array in (ask.window, ask.window_close_ns, ask.closed_at_minute):
        h.update(array.data)
    h.update(array_of("d", [_NONE if x is None else x for x in numbers]))
    h.update("\0".join(words).encode())
    return h.hexdigest()
