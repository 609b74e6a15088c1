"""Pure passes over bars, known at each bar's close; each is computed once per series.

Units are ticks unless a docstring says otherwise. Every returned array is read-only. Row i of a
result depends on bars up to i only, and a period that is still forming is never visible.
"""

from __future__ import annotations

from dream.indicators.facts import Facts, facts, first_bar
from dream.indicators.passes import (
    rolling_max,
    rolling_min,
    sma,
    to_ticks,
    true_range,
    wilder,
)
from dream.indicators.periods import Periods, atr, atr_d1, atr_h1, atr_m15, periods
from dream.indicators.series import jit, once, read_only
from dream.indicators.sessions import SessionRange, session_range, sessions_at

__all__ = [
    "Facts",
    "Periods",
    "SessionRange",
    "atr",
    "atr_d1",
    "atr_h1",
    "atr_m15",
    "facts",
    "first_bar",
    "jit",
    "once",
    "periods",
    "read_only",
    "rolling_max",
    "rolling_min",
    "session_range",
    "sessions_at",
    "sma",
    "to_ticks",
    "true_range",
    "wilder",
]
