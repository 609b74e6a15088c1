"""What the kernel's records hold, and the words behind its reason numbers.

The codes that jitted code compares with stay in kernel.py: numba's disk cache does not notice a
changed constant of another file. A changed dtype here is a new signature and does recompile.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

REASONS: Final = (
    "",
    "max_gap",
    "expired",
    "day_limit",
    "bracket",
    "min_lot",
    "margin",
    "flat",
    "position_open",
    "no_next_bar",
    "unknown_strategy",
    "buy_only",
    "not_live",
    "no_stop",
    "no_target",
    "not_finite",
    "wrong_side",
)
"""Why an order was refused; an event holds the index."""

EXITS: Final = (
    "",
    "stop",
    "stop_gap",
    "target",
    "target_gap",
    "close",
    "forced",
    "forced_late",
    "end_of_data",
    "end_of_run",
    "ruin",
)
"""Why a position was closed; an event holds the index."""

CONFIG: Final = np.dtype(
    [
        ("risk", "f8"),
        ("leverage", "f8"),
        ("unit", "f8"),  # money per tick and lot step
        ("fee", "f8"),  # commission per lot step and side
        ("swap", "f8"),  # money per lot step and change of trading day
        ("min_steps", "i8"),
        ("max_steps", "i8"),
        ("max_gap_ns", "i8"),  # negative: no limit
        ("bar_ns", "i8"),
        ("slip", "i4"),
        ("intrabar", "i4"),
        ("buy_only", "i4"),
        ("auto", "i4"),  # take every live set-up without asking
    ],
    align=True,
)

STATE: Final = np.dtype(
    [
        ("bar", "i8"),  # the next bar to walk
        ("events", "i8"),
        ("cash", "f8"),
        ("swap", "f8"),  # booked to the open position
        ("steps", "i8"),
        ("seq", "i8"),
        ("entry_bar", "i8"),
        ("pend_bar", "i8"),
        ("pend_seq", "i8"),
        ("side", "i4"),
        ("strategy", "i4"),
        ("entry", "i4"),
        ("entry_spread", "i4"),
        ("stop", "i4"),
        ("target", "i4"),
        ("lo", "i4"),
        ("hi", "i4"),
        ("entry_day", "i4"),
        ("swap_day", "i4"),
        ("pend", "i4"),
        ("pend_strategy", "i4"),
        ("pend_stop", "i4"),
        ("pend_target", "i4"),
    ],
    align=True,
)

EVENT: Final = np.dtype(
    [
        ("bar", "i8"),
        ("seq", "i8"),
        ("steps", "i8"),
        ("entry_bar", "i8"),
        ("pnl", "f8"),
        ("fee", "f8"),
        ("swap", "f8"),
        ("needs", "f8"),
        ("kind", "i4"),
        ("action", "i4"),  # BUY, SELL or CLOSE; of a closed trade, its side
        ("strategy", "i4"),
        ("reason", "i4"),  # index into REASONS or EXITS
        ("price", "i4"),
        ("stop", "i4"),
        ("target", "i4"),
        ("entry", "i4"),
        ("spread", "i4"),  # ticks of spread that the trade paid
        ("slip", "i4"),  # ticks of slippage that the trade paid
        ("lo", "i4"),
        ("hi", "i4"),
        ("ambiguous", "i4"),
        ("stop_first", "i4"),  # exit price under either order of an ambiguous bar
        ("target_first", "i4"),
    ],
    align=True,
)


class Event(NamedTuple):
    """One EVENT record in plain Python numbers."""

    bar: int
    seq: int
    steps: int
    entry_bar: int
    pnl: float
    fee: float
    swap: float
    needs: float
    kind: int
    action: int
    strategy: int
    reason: int
    price: int
    stop: int
    target: int
    entry: int
    spread: int
    slip: int
    lo: int
    hi: int
    ambiguous: int
    stop_first: int
    target_first: int


assert Event._fields == EVENT.names
