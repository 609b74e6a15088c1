"""What is traded, its bars, what a strategy says of them, and the terms of trade."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types.arrays import F8, I1, I2, I4, I8


@dataclass(frozen=True, slots=True)
class Instrument:
    """What is traded.

    Attributes:
        symbol: name, such as XAUUSD.
        tick: smallest price step in quote currency.
        contract: units (ounces) in one lot.
        lot_step: smallest step of a position's size, in lots.
        lot_min: smallest position, in lots.
        lot_max: largest position, in lots.
    """

    symbol: str = "XAUUSD"
    tick: float = 0.01
    contract: float = 100.0
    lot_step: float = 0.001
    lot_min: float = 0.001
    lot_max: float = 100.0

    @property
    def ticks_per_unit(self) -> int:
        """Ticks in one unit of the quote currency; a tick always divides it."""
        return round(1.0 / self.tick)

    @property
    def money_per_tick_step(self) -> float:
        """Money won or lost by one lot step over one tick."""
        return self.contract * self.lot_step / self.ticks_per_unit

    def to_ticks(self, price: float) -> int:
        """A price in ticks by the one rounding rule, floor(price / tick + 0.5)."""
        return math.floor(price * self.ticks_per_unit + 0.5)

    def to_price(self, ticks: int) -> float:
        """Ticks as a price, correctly rounded."""
        return ticks / self.ticks_per_unit


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """A closed bar series: bid prices in ticks, each row known at its close. Read-only.

    Attributes:
        instrument: what the prices are of.
        bar_ns: length of a bar in nanoseconds.
        t_close_ns: (n,) int64, close time UTC; strictly increasing.
        minute: (n,) int16, minute of the trading day (New York + 7 h) at which the bar closes,
            counted in the day in which it opened: 15 ... 1440 for M15.
        day: (n,) int32, trading-day number: days since 1970-01-01 of the trading-clock date.
        px: (n, 4) int32, open, high, low, close in ticks.
        spread: (n,) int32, spread of the bar in ticks, 0 where unknown.
        volume: (n,) float64.
        atr_m5: (n,) float64, ATR(14) in ticks of the 5-minute bars that had ended when the bar
            closed, NaN before known; None where no finer bars were to be had, and in bars of 5
            minutes or less, whose own ranges tell it.
        memo: derived arrays, computed once per series by `indicators`; never part of identity.
    """

    instrument: Instrument
    bar_ns: int
    t_close_ns: I8
    minute: I2
    day: I4
    px: I4
    spread: I4
    volume: F8
    atr_m5: F8 | None = None
    memo: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def __len__(self) -> int:
        return len(self.t_close_ns)

    def prefix(self, n: int) -> Bars:
        """The first n bars as copies."""
        return self.between(0, n)

    def between(self, a: int, b: int) -> Bars:
        """Bars a ... b - 1 as copies, so that no view leads back to other rows."""
        arrays = [self.t_close_ns, self.minute, self.day, self.px, self.spread, self.volume]
        if self.atr_m5 is not None:
            arrays.append(self.atr_m5)
        copies: list[Any] = [array[a:b].copy() for array in arrays]
        for array in copies:
            array.flags.writeable = False
        return Bars(self.instrument, self.bar_ns, *copies)


@dataclass(frozen=True, slots=True, eq=False)
class Setups:
    """What a strategy says about every bar, all in ticks; row i uses bars up to i only.

    Attributes:
        live: (n,) int8: +1 a long set-up, -1 a short one, 0 none.
        stop: (n,) int32 stop that it would use, MISSING where not known.
        target: (n,) int32 target that it would use, MISSING where not known.
        trigger: (n,) int32 price at which it would become live, MISSING where there is none.
        levels: reference levels shown on the board, name to (n,) int32, MISSING where unknown.
        expires_minute: trading-clock minute at which a position is closed; 0 for never.
        entries_per_day: fills allowed per trading day; 0 for no limit.
    """

    live: I1
    stop: I4
    target: I4
    trigger: I4
    levels: Mapping[str, I4]
    expires_minute: int = 0
    entries_per_day: int = 0


class Strategy(Protocol):
    """A pure function of the bars. Causality is checked by the gate, not trusted.

    Its own parameters are keyword-only numbers with defaults, `(bars, *, lookback: float = 20)`:
    only these can be set by `--set`, and what is set arrives as a float.
    """

    def __call__(self, bars: Bars, *args: Any, **params: Any) -> Setups:
        """The set-ups of every bar."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of trade of a run; money in account currency, prices in quote currency.

    Attributes:
        equity: starting money. risk: share of equity at risk per trade. leverage: margin limit.
        spread: floor under the bar's own spread. slippage: against us on market and stop fills.
        commission: per lot and side. swap: per lot and change of trading day (negative costs).
        intrabar: which level counts first in a bar that reaches both after its open.
        buy_only: refuse SELL. autonomy: `free`, or `filter` to accept entries of live set-ups only.
        max_gap_ns: refuse a fill later than this after the decision; None for no limit.
    """

    equity: float = 10_000.0
    risk: float = 0.0025
    leverage: float = 20.0
    spread: float = 0.30
    slippage: float = 0.0
    commission: float = 0.0
    swap: float = 0.0
    intrabar: Literal["stop_first", "target_first", "nearer_first"] = "stop_first"
    buy_only: bool = True
    autonomy: Literal["free", "filter"] = "free"
    max_gap_ns: int | None = None
