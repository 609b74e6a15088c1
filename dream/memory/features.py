"""What a decision is compared by, frozen at the decision, and its codes in columns."""

from __future__ import annotations

import math
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING

from dream.errors import InputError
from dream.types import Features

if TYPE_CHECKING:
    from dream.types import BoardRow, Snapshot

TREND = ("unknown", "range", "up", "down")
VOLATILITY = ("unknown", "low", "normal", "high")
"""Regime words; a column holds a word's place here. 0, unknown, matches nothing, nor itself."""

_values_of = attrgetter(*(field.name for field in fields(Features)))
_TREND_CODE = {word: code for code, word in enumerate(TREND)}
_VOLATILITY_CODE = {word: code for code, word in enumerate(VOLATILITY)}


def features_of(ask: Snapshot, strategy: str | None = None) -> Features:
    """The features of a decision, from what its snapshot shows and nothing else.

    Args:
        ask: the snapshot at the decision.
        strategy: the one chosen; None for the first live one in board order, if there is one.

    Returns:
        distance is (close - trigger) / ATR D1 of that strategy's row, None where it has no row, no
        trigger, or the ATR is unknown. Weekday and hour are those of the trading day; its last
        moment, minute 1440, belongs to hour 23.
    """
    row = _row(ask.board, strategy)
    shown = ask.indicators
    distance = None
    if row is not None and row.trigger is not None and shown.atr_d1 > 0.0:
        distance = (ask.close - row.trigger) / shown.atr_d1
    return Features(
        atr_m15=shown.atr_m15,
        atr_d1=shown.atr_d1,
        sessions=shown.sessions,
        trend=shown.trend,
        volatility=shown.volatility,
        rsi=shown.rsi,
        distance=distance,
        strategy=row.strategy if strategy is None and row is not None else strategy,
        weekday=(ask.day + 3) % 7,  # day 0, 1970-01-01, was a Thursday
        hour=min(ask.minute, 1439) // 60,
    )


def copied(features: Features) -> Features:
    """The same features in an object of its own."""
    return Features(*_values_of(features))


def _row(board: tuple[BoardRow, ...], strategy: str | None) -> BoardRow | None:
    for row in board:
        if row.strategy == strategy or (strategy is None and row.live):
            return row
    return None


def situation_of(features: Features) -> int:
    """Sessions, trend and volatility as one code: sessions + 8 x trend + 32 x volatility.

    Raises:
        InputError: a session set or a regime word that does not exist.
    """
    sessions = features.sessions
    trend = _TREND_CODE.get(features.trend)
    volatility = _VOLATILITY_CODE.get(features.volatility)
    if not 0 <= sessions < 8:
        raise InputError(f"sessions: expected a bit set from 0 to 7, found {sessions!r}")
    if trend is None:
        raise InputError(f"trend: expected one of {', '.join(TREND)}, found {features.trend!r}")
    if volatility is None:
        words = ", ".join(VOLATILITY)
        raise InputError(f"volatility: expected one of {words}, found {features.volatility!r}")
    return sessions + 8 * trend + 32 * volatility


def log_or_nan(value: float) -> float:
    """ln(value); NaN, which means unknown, where it is not a positive finite number."""
    return math.log(value) if 0.0 < value < math.inf else math.nan
