"""The only door to the bars: advance to the next event, submit a decision, never look ahead."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dream import indicators
from dream.engine import gate, kernel, layout
from dream.engine.causality import checked_setups
from dream.engine.trades import Reader, events_of
from dream.engine.walker import Walker
from dream.types import Account, BoardRow, Order, Position, Snapshot, Trade

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dream.types import F8, U1, Bars, Decision, Setups, Strategy, Terms

    Asks = Callable[[Bars, Mapping[str, Setups], int], U1]

WINDOW = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A decision is due: `submit` one."""

    snapshot: Snapshot
    bar: int


@dataclass(frozen=True, slots=True)
class OrderFilled:
    """An order met the market."""

    order: Order


@dataclass(frozen=True, slots=True)
class OrderRefused:
    """An order was refused; its reason is in `order.reason`."""

    order: Order


@dataclass(frozen=True, slots=True)
class TradeClosed:
    """A position was closed."""

    trade: Trade


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left: `decisions`, `end_of_data` or `ruin`."""

    why: str


Event = Asked | OrderFilled | OrderRefused | TradeClosed | Done


class _SetUp(NamedTuple):
    """A strategy, by its place on the board, and what it says at a bar, in quote currency."""

    strategy: int
    live: int
    stop: float | None
    target: float | None


class Session:
    """Walks bars, asks, fills. Takes strategies, never arrays of intents.

    Args:
        bars: the series.
        strategies: name to strategy, in board order; checked by the gate here.
        terms: money and costs.
        asks: policy that marks the bars at which a decision is due (strategies.asks).
        limit: number of decisions after which the run ends; None for no limit.
        seed: of the gate's cuts.

    Raises:
        LeakError: a strategy uses later bars.
    """

    def __init__(
        self,
        bars: Bars,
        strategies: Mapping[str, Strategy],
        terms: Terms,
        *,
        asks: Asks,
        limit: int | None = None,
        seed: int = 0,
    ) -> None:
        self.bars = bars
        self._facts = indicators.facts(bars)
        self.setups = checked_setups(strategies, bars, seed)
        self.terms = terms
        self._limit = limit
        self._due = asks(bars, self.setups, self._facts.first)
        self._board = gate.Board(self.setups, bars.instrument.ticks_per_unit)
        self._window = gate.Window(bars, WINDOW)
        self._reader = Reader(bars, self._board.names)
        self._begin()

    def _begin(self) -> None:
        self._walker = Walker(self.bars, self.setups, self.terms)
        self._state: Any = self._walker.state
        self._queue: list[Event] = []
        self._recent: tuple[Trade, ...] = ()
        self._closed = 0
        self._seq = 0
        self._asked = False
        self._done: Done | None = None

    def afresh(self) -> Session:
        """The same walk from its beginning; its strategies are not checked a second time."""
        other = copy(self)
        other._begin()  # noqa: SLF001 - another one of this class
        return other

    def show_day(self) -> None:
        """Show every bar of the trading day so far, and the last ones before it."""
        self._window.whole_day = True

    @property
    def equity(self) -> F8:
        """(k,) equity at the close of every bar walked so far."""
        return self._walker.curve[: int(self._state["bar"][0])]

    @property
    def first(self) -> int:
        """The first bar at which every shown value exists."""
        return self._facts.first

    @property
    def questions(self) -> int:
        """How many decisions are due at most; while a position is open there may be fewer."""
        due = int(np.count_nonzero(self._due))
        return due if self._limit is None else min(due, self._limit)

    def walked_setups(self) -> dict[str, int]:
        """Set-ups that appeared (rising edges of `live`) on the bars walked so far, by strategy."""
        a, b = self.first, len(self.equity)
        out: dict[str, int] = {}
        for name, setups in self.setups.items():
            live = setups.live[max(a - 1, 0) : b]
            edges = (live[1:] != 0) & (live[1:] != live[:-1])
            out[name] = int(edges.sum())
        return out

    def advance(self) -> Event:
        """Walk to the next event. After Asked, `submit` must come first."""
        assert not self._asked, "submit a decision before advancing"
        if self._queue:
            return self._next()
        if self._done is not None:
            return self._done
        code = self._walker.advance(self._due)
        if self._state["events"][0]:
            self._collect()
        if code == kernel.ASK:
            self._queue.append(self._ask())
        elif code != kernel.FULL:
            self._done = Done("ruin" if code == kernel.RUIN else "end_of_data")
            self._queue.append(self._done)
        return self._next() if self._queue else self.advance()

    def _next(self) -> Event:
        event = self._queue.pop(0)
        self._asked = isinstance(event, Asked)
        return event

    def _collect(self) -> None:
        for event in events_of(self._walker.drain()):
            if event.kind == kernel.CLOSED:
                # What a decider is shown is another object than what is counted.
                self._recent = (*self._recent[-4:], self._reader.trade(event))
                self._closed += 1
                self._queue.append(TradeClosed(self._reader.trade(event)))
            else:
                order = self._reader.order(event)
                refused = event.kind == kernel.REFUSED
                self._queue.append(OrderRefused(order) if refused else OrderFilled(order))

    def submit(self, decision: Decision) -> None:
        """Give the answer to the last question; legal only after Asked.

        Nothing is read from the snapshot: a decider had it in its hands.
        """
        assert self._asked, "no question is open"
        self._asked = False
        bar = int(self._state["bar"][0]) - 1
        last = self._seq == self._limit
        final = last or bar == len(self.bars) - 1
        if decision.status == "ok" and decision.action != "HOLD":
            row = self._set_up(bar, decision.strategy)
            reason = self._order(row, decision, bar, final)
            if reason is not None:
                self._queue.append(OrderRefused(self._refused(row, decision, bar, reason)))
        if last:
            self._walker.finish()
            self._collect()
            self._done = Done("decisions")
            self._queue.append(self._done)

    def _set_up(self, bar: int, strategy: str | None) -> _SetUp | None:
        if strategy not in self._board.names:
            return None
        k = self._board.names.index(strategy)
        live, (stop, target, _), _ = self._board.at(k, bar)
        return _SetUp(k, live, stop, target)

    def _refused(self, row: _SetUp | None, decision: Decision, bar: int, reason: str) -> Order:
        close = decision.action == "CLOSE"
        stop, target = (None, None) if close else _levels(decision, row)
        return Order(
            self._seq - 1, decision.action, decision.strategy, bar, int(self.bars.t_close_ns[bar]),
            reason, stop=_finite(stop), target=_finite(target),
        )  # fmt: skip

    def _order(self, row: _SetUp | None, decision: Decision, bar: int, final: bool) -> str | None:
        """Put the order before the next open, or say why not."""
        seq, flat = self._seq - 1, not self._state["side"][0]
        if decision.action == "CLOSE":
            reason = "flat" if flat else "no_next_bar" if final else None
            if reason is None:
                self._pend(kernel.CLOSE, seq, bar, (0, 0, 0))
            return reason
        if not flat:
            return "position_open"
        if final:
            return "no_next_bar"
        if row is None:
            return "unknown_strategy"
        side = kernel.BUY if decision.action == "BUY" else kernel.SELL
        reason, stop, target = self._judged(row, decision, side, int(self.bars.px[bar, 3]))
        if reason is None:
            self._pend(side, seq, bar, (row.strategy, stop, target))
        return reason

    def _judged(
        self, row: _SetUp, decision: Decision, side: int, close: int
    ) -> tuple[str | None, int, int]:
        """(reason to refuse or None, stop, target) of an entry; levels in ticks."""
        if side < 0 and self.terms.buy_only:
            return "buy_only", 0, 0
        if self.terms.autonomy == "filter" and row.live != side:
            return "not_live", 0, 0
        prices = _levels(decision, row)
        if None in prices:
            return "no_stop" if prices[0] is None else "no_target", 0, 0
        stop, target = (self._ticks(p) for p in prices if p is not None)
        reason = kernel.judge(side, stop, target, close, self.terms.buy_only)
        return layout.REASONS[reason] or None, stop, target

    def _ticks(self, price: float) -> int:
        """A price in ticks; 0, which `judge` refuses, for what no int32 price can be."""
        inst = self.bars.instrument
        good = math.isfinite(price) and 0.0 < price * inst.ticks_per_unit < 2**31 - 1
        return inst.to_ticks(price) if good else 0

    def _pend(self, kind: int, seq: int, bar: int, what: tuple[int, int, int]) -> None:
        s = self._state
        s["pend"], s["pend_seq"], s["pend_bar"] = kind, seq, bar
        s["pend_strategy"], s["pend_stop"], s["pend_target"] = what

    def _ask(self) -> Asked:
        state = self._state[0]
        bar = int(state["bar"]) - 1
        rows, t_close, minutes = self._window.at(bar)
        equity = float(self._walker.curve[bar])
        cash = float(state["cash"])
        day, minute = int(self.bars.day[bar]), int(minutes[-1])
        snapshot = Snapshot(
            seq=self._seq,
            now_ns=int(t_close[-1]),
            minute=minute,
            day=day,
            window=rows,
            window_close_ns=t_close,
            closed_at_minute=minutes,
            indicators=self._facts.at(bar),
            board=self._board_rows(bar, day, float(rows[-1, 3])),
            position=self._position(state, bar, equity - cash) if state["side"] else None,
            account=Account(self.terms.equity, cash, equity, self._closed, self._recent),
        )
        self._seq += 1
        return Asked(snapshot, bar)

    def _board_rows(self, bar: int, day: int, close: float) -> tuple[BoardRow, ...]:
        out: list[BoardRow] = []
        used: list[list[int]] = self._walker.used.tolist()
        limits: list[list[int]] = self._walker.limits.tolist()
        for k, name in enumerate(self._board.names):
            live, (stop, target, trigger), levels = self._board.at(k, bar)
            distance = None if trigger is None else round(trigger - close, 10)
            out.append(
                BoardRow(
                    name, live, stop, target, trigger, distance, levels,
                    entries_today=used[k][1] if used[k][0] == day else 0,
                    entries_per_day=limits[k][1],
                    expires_minute=limits[k][0],
                )
            )  # fmt: skip
        return tuple(out)

    def _position(self, state: Any, bar: int, unrealised: float) -> Position:
        inst = self.bars.instrument
        entry, stop, steps = int(state["entry"]), int(state["stop"]), int(state["steps"])
        entry_bar = int(state["entry_bar"])
        at_risk = abs(entry - stop) * steps * inst.money_per_tick_step
        return Position(
            seq=int(state["seq"]),
            strategy=self._board.names[int(state["strategy"])],
            side=int(state["side"]),
            entry_ns=int(self.bars.t_close_ns[entry_bar]) - self.bars.bar_ns,
            entry=inst.to_price(entry),
            lots=steps / round(1.0 / inst.lot_step),
            stop=inst.to_price(stop),
            target=inst.to_price(int(state["target"])),
            unrealised=unrealised,
            unrealised_r=unrealised / at_risk,
            bars_held=bar - entry_bar + 1,
        )


def _levels(decision: Decision, row: _SetUp | None) -> tuple[float | None, float | None]:
    """The decision's stop and target; what it leaves out is the board's if the set-up is live."""
    side = 1 if decision.action == "BUY" else -1
    lent = row if row is not None and row.live == side else None
    stop = lent.stop if decision.stop is None and lent else decision.stop
    target = lent.target if decision.target is None and lent else decision.target
    return stop, target


def _finite(price: float | None) -> float | None:
    return price if price is not None and math.isfinite(price) else None


@dataclass(frozen=True, eq=False)
class RuleRun:
    """What an unasked rule run gave.

    Attributes:
        equity: (k,) float64 at the close of every bar walked.
        events: the kernel's records, turned into trades and orders when those are read.
    """

    equity: F8
    events: Any
    reader: Reader

    @cached_property
    def trades(self) -> tuple[Trade, ...]:
        """The closed trades, in order."""
        closed = self.events[self.events["kind"] == kernel.CLOSED]
        return tuple(self.reader.trade(e) for e in events_of(closed))

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """The orders, filled and refused, in order."""
        ordered = self.events[self.events["kind"] != kernel.CLOSED]
        return tuple(self.reader.order(e) for e in events_of(ordered))


def run_rules(
    bars: Bars, strategies: Mapping[str, Strategy], terms: Terms, *, seed: int = 0
) -> RuleRun:
    """Take every live set-up as the `rules` decider would, in one kernel call.

    The first bar that may decide is the one at which every value shown to an agent exists, so the
    trades are those of the asked run.
    """
    # In a run of milliseconds, strategies of our own are cut once, at the first question.
    setups = checked_setups(strategies, bars, seed, prefixes=0)
    walker = Walker(bars, setups, terms)
    due = walker.take_live(setups, indicators.first_bar(bars))
    code, drained = kernel.FULL, []
    while code == kernel.FULL:
        code = walker.advance(due)
        drained.append(walker.drain())
    equity = walker.curve[: int(walker.state["bar"][0])]
    return RuleRun(equity, np.concatenate(drained), Reader(bars, tuple(setups)))
