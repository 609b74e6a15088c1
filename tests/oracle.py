"""The rules of docs/fills.md a second time: a slow broker in plain Python.

Prices are integer ticks, sizes are integer lot steps, money is an exact fraction, so nothing here
can drift. Long and short are written out side by side instead of sharing a sign, and nothing is
imported from the engine: what the two have in common is the page alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dream.types import MISSING, Bars, Decision, Setups, Terms
from tests.ledger import (
    Held,
    Money,
    OracleOrder,
    OracleTrade,
    Outcome,
    Pending,
    exact,
    price_ticks,
    to_ticks,
)

if TYPE_CHECKING:
    from fractions import Fraction

AT_THE_OPEN = ("close", "stop_gap", "target_gap", "forced_late")
AT_THE_CLOSE = ("forced", "end_of_data", "end_of_run", "ruin")

Answer = Callable[[int, bool], Decision]
"""(bar, flat) -> the decision taken at that bar's close."""


class Broker:
    """One run over one series."""

    def __init__(self, bars: Bars, setups: Mapping[str, Setups], terms: Terms) -> None:
        instrument = bars.instrument
        self.bars, self.setups, self.terms = bars, setups, terms
        self.px = [tuple(int(x) for x in row) for row in bars.px]
        floor = to_ticks(terms.spread, instrument.tick)
        self.spread = [max(int(s), floor) for s in bars.spread]
        self.slip = to_ticks(terms.slippage, instrument.tick)
        self.closes_ns = [int(t) for t in bars.t_close_ns]
        self.day = [int(d) for d in bars.day]
        self.minute = [int(m) for m in bars.minute]
        self.last = len(self.px) - 1
        self.money = Money(instrument, terms)
        self.cash = exact(terms.equity)
        self.held: Held | None = None
        self.pending: Pending | None = None
        self.fills: Counter[tuple[str, int]] = Counter()
        self.out = Outcome()

    def open_ns(self, bar: int) -> int:
        return self.closes_ns[bar] - self.bars.bar_ns

    # 0. a new trading day ---------------------------------------------------------------------

    def charge_swap(self, bar: int) -> None:
        held = self.held
        if held is not None and self.day[bar] > held.charged_day:
            days = self.day[bar] - held.charged_day
            booked = self.money.swap(held.steps) * days
            self.cash += booked
            held.swap += booked
            held.charged_day = self.day[bar]

    # 1. the order decided at the previous close ------------------------------------------------

    def meet_open(self, bar: int) -> None:
        order, self.pending = self.pending, None
        if order is None:
            return
        o, s = self.px[bar][0], self.spread[bar]
        if order.action == "CLOSE":
            price = o - self.slip if self.held.side > 0 else o + s + self.slip
            self.record(order, bar, None, price=price, steps=self.held.steps)
            self.close(bar, price, "close", slipped=self.slip)
            return
        fill = o + s + self.slip if order.action == "BUY" else o - self.slip
        reason, steps = self.refused_at_open(order, bar, fill)
        if reason is not None:
            needs = None
            if reason == "min_lot":
                needs = self.money.needs_equity(fill, order.stop)
            self.record(order, bar, reason, needs=needs)
            return
        side = 1 if order.action == "BUY" else -1
        self.cash -= self.money.commission(steps)
        self.held = Held(
            seq=order.seq, strategy=order.strategy, side=side, bar=bar, entry=fill,
            entry_spread=s, steps=steps, stop=order.stop, target=order.target,
            charged_day=self.day[bar],
        )  # fmt: skip
        self.fills[order.strategy, self.day[bar]] += 1
        self.record(order, bar, None, price=fill, steps=steps)

    def refused_at_open(self, order: Pending, bar: int, fill: int) -> tuple[str | None, int]:  # noqa: PLR0911 - one return a row of the page
        """The first reason of the page's table that holds (None when filled), and the size."""
        setups = self.setups[order.strategy]
        expires, most = setups.expires_minute, setups.entries_per_day
        gap_ns = self.open_ns(bar) - self.closes_ns[order.bar]
        if self.terms.max_gap_ns is not None and gap_ns > self.terms.max_gap_ns:
            return "max_gap", 0
        other_day = self.day[bar] != self.day[order.bar]
        if expires > 0 and (other_day or self.minute[bar] > expires):
            return "expired", 0
        if most > 0 and self.fills[order.strategy, self.day[bar]] >= most:
            return "day_limit", 0
        o, s = self.px[bar][0], self.spread[bar]
        if order.action == "BUY" and (o <= order.stop or fill >= order.target):
            return "bracket", 0
        if order.action == "SELL" and (o + s >= order.stop or fill <= order.target):
            return "bracket", 0
        steps = self.money.size(fill, order.stop, self.cash)
        if steps < self.money.least_steps:
            return "min_lot", 0
        if steps * self.money.margin_per_step(fill) > self.cash:
            return "margin", 0
        return None, steps

    def record(
        self,
        order: Pending,
        bar: int,
        reason: str | None,
        *,
        price: int | None = None,
        steps: int | None = None,
        needs: Fraction | None = None,
    ) -> None:
        filled = reason is None and order.action != "CLOSE"
        self.out.orders.append(
            OracleOrder(
                order.seq, order.action, order.strategy, bar, self.open_ns(bar), reason,
                price, steps, order.stop if filled else None, order.target if filled else None,
                needs,
            )
        )  # fmt: skip

    # 2. exits inside the bar -------------------------------------------------------------------

    def try_exits(self, bar: int) -> None:
        held = self.held
        if held is None:
            return
        o, h, l, _ = self.px[bar]
        s, slip, stop, target = self.spread[bar], self.slip, held.stop, held.target
        if held.side > 0:
            open_, market = o, o - slip
            stop_at_open, target_at_open = o <= stop, o >= target
            stop_hit, target_hit = l <= stop, h >= target
            stop_price = stop - slip
        else:
            open_, market = o + s, o + s + slip
            stop_at_open, target_at_open = o + s >= stop, o + s <= target
            stop_hit, target_hit = h + s >= stop, l + s <= target
            stop_price = stop + slip
        entry_bar = bar == held.bar
        if not entry_bar and stop_at_open:
            self.close(bar, market, "stop_gap", slipped=slip)
        elif not entry_bar and target_at_open:
            self.close(bar, target, "target_gap", slipped=0)
        elif self.forced_minute_passed(bar):
            self.close(bar, market, "forced_late", slipped=slip)
        elif stop_hit and target_hit:
            stop_wins = self.stop_wins(abs(open_ - stop), abs(open_ - target))
            price, why = (stop_price, "stop") if stop_wins else (target, "target")
            self.close(bar, price, why, slipped=slip if stop_wins else 0, ambiguous=True)
        elif stop_hit:
            self.close(bar, stop_price, "stop", slipped=slip)
        elif target_hit:
            self.close(bar, target, "target", slipped=0)

    def stop_wins(self, to_stop: int, to_target: int) -> bool:
        if self.terms.intrabar == "stop_first":
            return True
        if self.terms.intrabar == "target_first":
            return False
        return to_stop <= to_target

    def forced_minute_passed(self, bar: int) -> bool:
        """Whether this bar comes too late for the forced close of the entry's trading day."""
        expires = self.setups[self.held.strategy].expires_minute
        entry_day = self.day[self.held.bar]
        return expires > 0 and (self.day[bar] > entry_day or self.minute[bar] > expires)

    # 3. the timed exit -------------------------------------------------------------------------

    def try_forced_close(self, bar: int) -> None:
        held = self.held
        if held is None:
            return
        expires = self.setups[held.strategy].expires_minute
        same_day = self.day[bar] == self.day[held.bar]
        if expires > 0 and same_day and self.minute[bar] == expires:
            c, s = self.px[bar][3], self.spread[bar]
            price = c - self.slip if held.side > 0 else c + s + self.slip
            self.close(bar, price, "forced", slipped=self.slip)

    # 4. the close of the bar -------------------------------------------------------------------

    def marked(self, bar: int) -> Fraction:
        held, c, s = self.held, self.px[bar][3], self.spread[bar]
        if held is None:
            return self.cash
        move = c - held.entry if held.side > 0 else held.entry - c - s
        return self.cash + move * held.steps * self.money.per_tick_step

    def close_at_the_close(self, bar: int, why: str) -> None:
        held = self.held
        if held is not None:
            c, s = self.px[bar][3], self.spread[bar]
            self.close(bar, c if held.side > 0 else c + s, why, slipped=0)

    def close(
        self, bar: int, price: int, why: str, *, slipped: int, ambiguous: bool = False
    ) -> None:
        held, self.held = self.held, None
        self.see_exit_bar(held, bar, price, why)
        each = held.steps * self.money.per_tick_step
        fees = 2 * self.money.commission(held.steps)

        def net(exit_price: int) -> Fraction:
            move = exit_price - held.entry if held.side > 0 else held.entry - exit_price
            return move * each - fees + held.swap

        pnl = stop_first = target_first = net(price)
        if ambiguous:
            stop_first = net(held.stop - self.slip if held.side > 0 else held.stop + self.slip)
            target_first = net(held.target)
        paid_spread = held.entry_spread if held.side > 0 else self.spread[bar]
        self.cash += pnl + self.money.commission(held.steps) - held.swap
        self.out.trades.append(
            OracleTrade(
                held.seq, held.strategy, held.side,
                held.bar, self.open_ns(held.bar), held.entry,
                bar, self.open_ns(bar) if why in AT_THE_OPEN else self.closes_ns[bar], price,
                why, held.steps, held.stop, held.target,
                pnl, pnl / (abs(held.entry - held.stop) * each),
                held.worst, held.best, ambiguous,
                paid_spread * each, (self.slip + slipped) * each, fees, -held.swap,
                stop_first, target_first, self.closes_ns[bar],
            )
        )  # fmt: skip

    # what the rules decider does -----------------------------------------------------------------

    def rules(self, bar: int) -> Decision:
        """Take the first live set-up, in board order, that has entries left today."""
        for name, setups in self.setups.items():
            side, most = int(setups.live[bar]), setups.entries_per_day
            exhausted = 0 < most <= self.fills[name, self.day[bar]]
            if self.held is None and side != 0 and not exhausted:
                return Decision("BUY" if side > 0 else "SELL", name)
        return Decision()

    # MAE and MFE -------------------------------------------------------------------------------

    def see_bar(self, held: Held, bar: int) -> None:
        _, h, l, _ = self.px[bar]
        s = 0 if held.side > 0 else self.spread[bar]
        held.see(l + s, h + s)

    def see_exit_bar(self, held: Held, bar: int, price: int, why: str) -> None:
        if why in AT_THE_CLOSE:
            self.see_bar(held, bar)
        s = 0 if held.side > 0 else self.spread[bar]
        held.see(self.px[bar][0] + s, price)

    # orders at the decision --------------------------------------------------------------------

    def take(self, seq: int, bar: int, decision: Decision, *, last: bool) -> None:
        if decision.action == "HOLD" or decision.status != "ok":
            return
        reason, stop, target = self.refused_at_decision(bar, decision, last=last)
        if reason is None:
            self.pending = Pending(seq, decision.action, decision.strategy, bar, stop, target)
            return
        self.out.orders.append(
            OracleOrder(
                seq, decision.action, decision.strategy, bar, self.closes_ns[bar], reason
            )
        )  # fmt: skip

    def refused_at_decision(  # noqa: PLR0911 - one return a row of the page
        self, bar: int, decision: Decision, *, last: bool
    ) -> tuple[str | None, int, int]:
        """The first reason that holds (None when accepted), and the levels in ticks."""
        entry = decision.action != "CLOSE"
        if not entry and self.held is None:
            return "flat", 0, 0
        if entry and self.held is not None:
            return "position_open", 0, 0
        if last:
            return "no_next_bar", 0, 0
        if not entry:
            return None, 0, 0
        side = 1 if decision.action == "BUY" else -1
        setups = self.setups.get(decision.strategy)
        if setups is None:
            return "unknown_strategy", 0, 0
        if side < 0 and self.terms.buy_only:
            return "buy_only", 0, 0
        live = int(setups.live[bar]) == side
        if self.terms.autonomy == "filter" and not live:
            return "not_live", 0, 0
        return self.levels(bar, decision, setups, live=live)

    def levels(
        self, bar: int, decision: Decision, setups: Setups, *, live: bool
    ) -> tuple[str | None, int, int]:
        tick, close = self.bars.instrument.tick, self.px[bar][3]
        found: list[int | None] = []
        for given, lent, reason in (
            (decision.stop, int(setups.stop[bar]), "no_stop"),
            (decision.target, int(setups.target[bar]), "no_target"),
        ):
            if given is not None:
                found.append(price_ticks(given, tick))
            elif live and lent != MISSING:
                found.append(lent if lent > 0 else None)
            else:
                return reason, 0, 0
        stop, target = found
        if stop is None or target is None:
            return "not_finite", 0, 0
        long = decision.action == "BUY"
        if long and (stop >= close or target <= close):
            return "wrong_side", 0, 0
        if not long and (stop <= close or target >= close):
            return "wrong_side", 0, 0
        return None, stop, target


def run(
    bars: Bars,
    setups: Mapping[str, Setups],
    terms: Terms,
    *,
    answer: Answer | None,
    asks: Sequence[int],
    limit: int | None = None,
) -> Outcome:
    """Walk the series.

    Args:
        bars, setups, terms: as the engine gets them.
        answer: gives the decision at the close of a bar; None for a rule run, where the rules
            decide and every order carries -1.
        asks: one number per bar: 1 to ask when flat, 2 to ask in a position, 3 for both.
        limit: the number of decisions after which the run ends.
    """
    broker = Broker(bars, setups, terms)
    out = broker.out
    for bar in range(len(bars)):
        broker.charge_swap(bar)
        broker.meet_open(bar)
        broker.try_exits(bar)
        broker.try_forced_close(bar)
        at_limit = False
        if broker.marked(bar) <= 0:
            out.why = "ruin"
            broker.close_at_the_close(bar, "ruin")
        elif asks[bar] & (1 if broker.held is None else 2):
            out.asked.append(bar)
            at_limit = limit is not None and len(out.asked) >= limit
            last = at_limit or bar == broker.last
            if answer is None:
                broker.take(-1, bar, broker.rules(bar), last=last)
            else:
                decision = answer(bar, broker.held is None)
                broker.take(len(out.asked) - 1, bar, decision, last=last)
        if at_limit:
            out.why = "decisions"
            broker.close_at_the_close(bar, "end_of_run")
        elif bar == broker.last and not out.why:
            out.why = "end_of_data"
            broker.close_at_the_close(bar, "end_of_data")
        if broker.held is not None:
            broker.see_bar(broker.held, bar)
        out.equity.append(broker.marked(bar))
        if out.why:
            break
    return out
