"""What became of decisions: orders, fills, positions and trades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["BUY", "SELL", "HOLD", "CLOSE"]


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution.

    Attributes:
        bar: index of the bar.
        t_ns: the bar's open time for fills at the open, else its close time, when it is known.
        price: in quote currency, after spread and slippage.
        lots: size.
        why: open (an entry), stop, stop_gap, target, target_gap, close, forced, forced_late,
            end_of_data, end_of_run, ruin.
    """

    bar: int
    t_ns: int
    price: float
    lots: float
    why: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What a trade paid, in account currency.

    Attributes:
        spread, slippage, commission: zero or more. swap: negative where it was a credit.
    """

    spread: float = 0.0
    slippage: float = 0.0
    commission: float = 0.0
    swap: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the four."""
        return self.spread + self.slippage + self.commission + self.swap


@dataclass(frozen=True, slots=True)
class Trade:
    """A closed trade; money in account currency, prices in quote currency.

    Attributes:
        seq: the question that opened it (-1 in an unasked rule run).
        strategy: its name on the board. side: 1 long, -1 short.
        entry, exit: the two fills. stop, target: its levels.
        pnl: net of all costs. r: pnl over the money at risk between fill and stop.
        mae, mfe: largest adverse and favourable move in quote currency, clipped at the exit.
        ambiguous: the exit bar reached stop and target after its open.
        costs: what it paid, already taken off pnl.
        pnl_stop_first, pnl_target_first: the same trade under either order of an ambiguous bar.
        known_ns: close time of the bar in which it ended.
    """

    seq: int
    strategy: str
    side: int
    entry: Fill
    exit: Fill
    stop: float
    target: float
    pnl: float
    r: float
    mae: float
    mfe: float
    ambiguous: bool
    costs: Costs
    pnl_stop_first: float
    pnl_target_first: float
    known_ns: int


@dataclass(frozen=True, slots=True)
class Order:
    """What became of an order.

    Attributes:
        seq: the question that gave it (-1 in an unasked rule run).
        bar, t_ns: where it was filled (open time) or refused (the decision's close or the open).
        reason: why it was refused, None when it was filled.
        price, lots, stop, target: of the fill; price and lots are None when refused.
        needs_equity: for `min_lot`, the cash that would have taken it at its time.
    """

    seq: int
    action: Action
    strategy: str | None
    bar: int
    t_ns: int
    reason: str | None
    price: float | None = None
    lots: float | None = None
    stop: float | None = None
    target: float | None = None
    needs_equity: float | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """The open position; money in account currency, prices in quote currency.

    Attributes:
        seq: the question that opened it. strategy: its name on the board.
        side: 1 long, -1 short.
        entry_ns: open time of the bar in which it was filled, nanoseconds UTC.
        entry: fill price. lots: size. stop, target: its levels.
        unrealised: equity minus cash: the move from the fill to this close, spread paid, without
            commission and swap.
        unrealised_r: the same over the money at risk between fill and stop.
        bars_held: closed bars since the fill, the entry bar counted.
    """

    seq: int
    strategy: str
    side: int
    entry_ns: int
    entry: float
    lots: float
    stop: float
    target: float
    unrealised: float
    unrealised_r: float
    bars_held: int


@dataclass(frozen=True, slots=True)
class Account:
    """Money at a decision, in account currency.

    Attributes:
        start: at the beginning of the run. cash: realised. equity: marked to this close.
        trades: closed so far. recent: the last five of them, newest last.
    """

    start: float
    cash: float
    equity: float
    trades: int
    recent: tuple[Trade, ...]
