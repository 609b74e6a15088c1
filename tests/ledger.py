"""What the slow broker of tests/oracle.py keeps and gives: exact records, ticks and steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dream.types import Instrument, Terms

LARGEST_TICKS = 2**31 - 1


def exact(value: float) -> Fraction:
    """The decimal number that was written, without the noise of its binary form."""
    return Fraction(str(float(value)))


def to_ticks(price: float, tick: float) -> int:
    """The one rounding rule, floor(price / tick + 0.5), with the tick as 1 / n."""
    return math.floor(price * round(1.0 / tick) + 0.5)


@dataclass(frozen=True)
class OracleTrade:
    """A closed trade: prices and moves in ticks, size in lot steps, money exact."""

    seq: int
    strategy: str
    side: int
    entry_bar: int
    entry_ns: int
    entry: int
    exit_bar: int
    exit_ns: int
    exit: int
    why: str
    steps: int
    stop: int
    target: int
    pnl: Fraction
    r: Fraction
    mae: int
    mfe: int
    ambiguous: bool
    spread: Fraction
    slippage: Fraction
    commission: Fraction
    swap: Fraction
    pnl_stop_first: Fraction
    pnl_target_first: Fraction
    known_ns: int


@dataclass(frozen=True)
class OracleOrder:
    """What became of an order; price, stop and target in ticks, size in lot steps."""

    seq: int
    action: str
    strategy: str | None
    bar: int
    t_ns: int
    reason: str | None
    price: int | None = None
    steps: int | None = None
    stop: int | None = None
    target: int | None = None
    needs_equity: Fraction | None = None


@dataclass(frozen=True)
class Pending:
    """An order between the close that decided it and the open that meets it."""

    seq: int
    action: str
    strategy: str | None
    bar: int
    stop: int = 0
    target: int = 0


@dataclass
class Held:
    """The open position. worst and best are the moves against and for it so far, in ticks."""

    seq: int
    strategy: str
    side: int
    bar: int
    entry: int
    entry_spread: int
    steps: int
    stop: int
    target: int
    charged_day: int
    swap: Fraction = Fraction(0)
    worst: int = 0
    best: int = 0

    def see(self, *prices: int) -> None:
        """Widen the moves by prices at which the position could have been left."""
        for price in prices:
            move = price - self.entry if self.side > 0 else self.entry - price
            self.best, self.worst = max(self.best, move), max(self.worst, -move)


@dataclass
class Outcome:
    """All that a run gave, in the order in which it became known."""

    trades: list[OracleTrade] = field(default_factory=list)
    orders: list[OracleOrder] = field(default_factory=list)
    equity: list[Fraction] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    why: str = ""


class Money:
    """What size, margin and costs come to, from the instrument and the terms alone."""

    def __init__(self, instrument: Instrument, terms: Terms) -> None:
        self.terms = terms
        self.tick, self.lot_step = exact(instrument.tick), exact(instrument.lot_step)
        self.units_per_step = self.lot_step * exact(instrument.contract)
        self.per_tick_step = self.tick * self.units_per_step
        self.least_steps = math.ceil(exact(instrument.lot_min) / self.lot_step)
        self.most_steps = math.floor(exact(instrument.lot_max) / self.lot_step)

    def size(self, fill: int, stop: int, cash: Fraction) -> int:
        risked = exact(self.terms.risk) * cash
        steps = math.floor(risked / (abs(fill - stop) * self.per_tick_step) + exact(1e-9))
        return min(steps, self.most_steps)

    def margin_per_step(self, fill: int) -> Fraction:
        return self.units_per_step * fill * self.tick / exact(self.terms.leverage)

    def commission(self, steps: int) -> Fraction:
        """One side's commission."""
        return exact(self.terms.commission) * steps * self.lot_step

    def swap(self, steps: int) -> Fraction:
        """What one change of day books."""
        return exact(self.terms.swap) * steps * self.lot_step

    def needs_equity(self, fill: int, stop: int) -> Fraction:
        """The smallest account that would have taken the order.

        With C money the size is floor(C / a) steps, a being the money per step that the risk rule
        asks for, at least the smallest and at most the largest lot; s steps need C >= s x b of
        margin. The smallest size fits into C = max(least x a, least x b) unless so much money
        already buys another step; every larger size fits worse, until the largest lot stops growth.
        """
        a = abs(fill - stop) * self.per_tick_step / exact(self.terms.risk)
        b = self.margin_per_step(fill)
        smallest = self.least_steps * max(a, b)
        if smallest < (self.least_steps + 1) * a:
            return smallest
        return self.most_steps * max(a, b)


def price_ticks(price: float, tick: float) -> int | None:
    """The level in ticks, None where it is no price."""
    if not math.isfinite(price) or price <= 0:
        return None
    if price > LARGEST_TICKS:
        return None
    ticks = to_ticks(price, tick)
    return ticks if 0 < ticks <= LARGEST_TICKS else None
