"""Drive the engine through a scene and put what it gave beside what the slow broker gave."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from dream.engine.session import (
    Asked,
    Done,
    OrderFilled,
    OrderRefused,
    Session,
    TradeClosed,
    run_rules,
)
from dream.types import Bars, Decision, Order, Setups, Snapshot, Terms, Trade
from tests import oracle
from tests.gen import Scene, fixed, make_bars, make_setups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.ledger import OracleOrder, OracleTrade, Outcome

MONEY = 1e-9
"""Relative tolerance of money: the engine adds floats, the slow broker fractions."""


@dataclass
class Run:
    """What came out of a session, in the order in which it came."""

    trades: list[Trade] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    why: str = ""
    equity: np.ndarray = field(default_factory=lambda: np.empty(0))


def drive(
    bars: Bars,
    setups: dict[str, Setups],
    terms: Terms,
    *,
    answer: Callable[[int, bool], Decision],
    asks: np.ndarray | int,
    limit: int | None = None,
) -> Run:
    """Run a session to its end; asks as in `oracle.run`, one number for all bars if it is one."""
    due = np.full(len(bars), asks, np.uint8) if isinstance(asks, int) else asks
    session = Session(
        bars,
        {name: fixed(s) for name, s in setups.items()},
        terms,
        asks=lambda bars, setups, first: due,
        limit=limit,
    )
    return follow(session, lambda asked: answer(asked.bar, asked.snapshot.position is None))


def follow(session: Session, decide: Callable[[Asked], Decision]) -> Run:
    """Advance a session to its end and keep all that it gives."""
    run = Run()
    while True:
        event = session.advance()
        run.events.append(type(event).__name__)
        if isinstance(event, Asked):
            run.asked.append(event.bar)
            run.snapshots.append(event.snapshot)
            session.submit(decide(event))
        elif isinstance(event, OrderFilled | OrderRefused):
            run.orders.append(event.order)
        elif isinstance(event, TradeClosed):
            run.trades.append(event.trade)
        elif isinstance(event, Done):
            run.why = event.why
            run.equity = np.array(session.equity)
            return run


def drive_scene(scene: Scene) -> Run:
    """Run the engine over a drawn scene."""
    return drive(
        scene.bars,
        scene.setups,
        scene.terms,
        answer=scene.answer,
        asks=scene.asks,
        limit=scene.limit,
    )


def oracle_scene(scene: Scene) -> Outcome:
    """Run the slow broker over a drawn scene."""
    return oracle.run(
        scene.bars,
        scene.setups,
        scene.terms,
        answer=scene.answer,
        asks=scene.asks.tolist(),
        limit=scene.limit,
    )


NAME = "hand"
"""The only strategy on the board of the hand-computed cases."""
FREE = Terms(spread=0.0)
"""10,000 money, 0.25 % risk, no costs."""


def long(stop: float | None = 95.0, target: float | None = 110.0) -> Decision:
    """An order to buy."""
    return Decision("BUY", NAME, stop=stop, target=target)


def short(stop: float | None = 105.0, target: float | None = 90.0) -> Decision:
    """An order to sell."""
    return Decision("SELL", NAME, stop=stop, target=target)


def hand(
    rows: Sequence[Sequence[float]] | Bars,
    at: Mapping[int, Decision],
    terms: Terms = FREE,
    *,
    opens: Sequence[int] | str = "2024-01-09T01:00",
    setups: Setups | None = None,
    limit: int | None = None,
) -> Run:
    """A hand-computed case: asked at every bar, answering what `at` says and else HOLD.

    The slow broker runs it too and must agree, so that each case tests both.
    """
    bars = rows if isinstance(rows, Bars) else make_bars(rows, opens=opens)
    board = {NAME: setups or make_setups(len(bars))}
    answer = partial(_from, at)
    found = drive(bars, board, terms, answer=answer, asks=3, limit=limit)
    asks = [3] * len(bars)
    wanted = oracle.run(bars, board, terms, answer=answer, asks=asks, limit=limit)
    Comparison(bars, "by hand").run(found, wanted)
    return found


def _from(at: Mapping[int, Decision], bar: int, flat: bool) -> Decision:
    return at.get(bar, Decision())


def rule_run(bars: Bars, setups: dict[str, Setups], terms: Terms) -> Run:
    """An unasked rule run, put into the same form."""
    found = run_rules(bars, {name: fixed(s) for name, s in setups.items()}, terms)
    return Run(list(found.trades), list(found.orders), equity=np.array(found.equity))


class Difference(AssertionError):  # noqa: N818 - what it is, not that it went wrong
    """The engine and the slow broker disagree."""


def _brief(order: Order | OracleOrder | None) -> tuple | None:
    """What tells an order apart from its neighbours."""
    return order and (order.seq, order.action, order.bar, order.t_ns, order.reason)


def same_money(found: float, wanted: object, scale: float) -> bool:
    """Equal but for the noise of sums of floats; scale is the size of what was summed."""
    return math.isclose(found, float(wanted), rel_tol=MONEY, abs_tol=MONEY * max(1.0, scale))


class Comparison:
    """Compares one run; ticks exactly, money to a billionth."""

    def __init__(self, bars: Bars, where: str) -> None:
        self.n = round(1.0 / bars.instrument.tick)
        self.per_lot = round(1.0 / bars.instrument.lot_step)
        self.where = where

    def need(self, holds: bool, what: str, found: object, wanted: object) -> None:
        if not holds:
            raise Difference(f"{self.where}: {what}: engine {found!r}, oracle {wanted!r}")

    def exact(self, what: str, found: object, wanted: object) -> None:
        self.need(found == wanted, what, found, wanted)

    def price(self, what: str, found: float | None, ticks: int | None) -> None:
        self.exact(what, found, None if ticks is None else ticks / self.n)

    def lots(self, what: str, found: float | None, steps: int | None) -> None:
        self.exact(what, found, None if steps is None else steps / self.per_lot)

    def run(self, found: Run, wanted: Outcome) -> None:
        self.exact("bars asked at", found.asked, wanted.asked)
        self.exact("how it ended", found.why, wanted.why)
        self.money_and_orders(found, wanted)

    def money_and_orders(self, found: Run, wanted: Outcome) -> None:
        self.orders(found.orders, wanted.orders)
        self.trades(found.trades, wanted.trades)
        self.equity(found.equity, wanted.equity)

    def orders(self, found: list[Order], wanted: list[OracleOrder]) -> None:
        for a, b in zip_longest(found, wanted):
            self.exact("next order", _brief(a), _brief(b))
        for a, b in zip(found, wanted, strict=True):
            at = f"order {b.seq} at bar {b.bar} ({b.reason})"
            self.price(f"{at}: price", a.price, b.price)
            self.lots(f"{at}: lots", a.lots, b.steps)
            if b.action != "CLOSE":
                self.exact(f"{at}: strategy", a.strategy, b.strategy)
            if b.stop is not None:
                self.price(f"{at}: stop", a.stop, b.stop)
                self.price(f"{at}: target", a.target, b.target)
            self.exact(f"{at}: needs", a.needs_equity is None, b.needs_equity is None)
            if b.needs_equity is not None:
                ok = math.isclose(a.needs_equity, float(b.needs_equity), rel_tol=1e-6)
                self.need(ok, f"{at}: needs_equity", a.needs_equity, float(b.needs_equity))

    def trades(self, found: list[Trade], wanted: list[OracleTrade]) -> None:
        self.exact("number of trades", len(found), len(wanted))
        for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
            self.trade(f"trade {k} ({b.why} at bar {b.exit_bar})", a, b)

    def trade(self, at: str, a: Trade, b: OracleTrade) -> None:
        self.exact(f"{at}: whose", (a.seq, a.strategy, a.side), (b.seq, b.strategy, b.side))
        self.exact(f"{at}: why", (a.entry.why, a.exit.why), ("open", b.why))
        self.exact(f"{at}: bars", (a.entry.bar, a.exit.bar), (b.entry_bar, b.exit_bar))
        times = (a.entry.t_ns, a.exit.t_ns, a.known_ns)
        self.exact(f"{at}: times", times, (b.entry_ns, b.exit_ns, b.known_ns))
        self.price(f"{at}: entry", a.entry.price, b.entry)
        self.price(f"{at}: exit", a.exit.price, b.exit)
        self.price(f"{at}: stop", a.stop, b.stop)
        self.price(f"{at}: target", a.target, b.target)
        self.price(f"{at}: mae", a.mae, b.mae)
        self.price(f"{at}: mfe", a.mfe, b.mfe)
        self.lots(f"{at}: lots", a.entry.lots, b.steps)
        self.lots(f"{at}: lots out", a.exit.lots, b.steps)
        self.exact(f"{at}: ambiguous", a.ambiguous, b.ambiguous)
        scale = b.steps * b.entry / self.n
        for name, found, wanted in (
            ("pnl", a.pnl, b.pnl),
            ("stop first", a.pnl_stop_first, b.pnl_stop_first),
            ("target first", a.pnl_target_first, b.pnl_target_first),
            ("spread", a.costs.spread, b.spread),
            ("slippage", a.costs.slippage, b.slippage),
            ("commission", a.costs.commission, b.commission),
            ("swap", a.costs.swap, b.swap),
        ):
            self.need(same_money(found, wanted, scale), f"{at}: {name}", found, float(wanted))
        ok = math.isclose(a.r, float(b.r), rel_tol=1e-6, abs_tol=1e-9)
        self.need(ok, f"{at}: r", a.r, float(b.r))

    def equity(self, found: np.ndarray, wanted: list) -> None:
        self.exact("bars walked", len(found), len(wanted))
        for bar, (a, b) in enumerate(zip(found.tolist(), wanted, strict=True)):
            self.need(same_money(a, b, 1e6), f"equity at bar {bar}", a, float(b))
