"""Turn the kernel's event records into orders and trades. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dream.engine import kernel, layout
from dream.engine.layout import Event
from dream.types import Costs, Fill, Order, Trade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.types import Action, Bars

ACTIONS: dict[int, Action] = {kernel.BUY: "BUY", kernel.SELL: "SELL", kernel.CLOSE: "CLOSE"}


def events_of(table: Any) -> list[Event]:
    """(k,) EVENT records as a list of Event."""
    return [Event(*row) for row in table.tolist()]


_AT_OPEN = frozenset({"stop_gap", "target_gap", "close", "forced_late"})


def _no_dust(value: float) -> float:
    """0.45 and not 0.44999999999999996, which no reader of a journal asked for."""
    return round(value, 12)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads event records of one run.

    Attributes:
        bars: the series that the events index.
        names: strategy names in board order.
    """

    bars: Bars
    names: Sequence[str]

    def order(self, event: Event) -> Order:
        """A FILLED or REFUSED event as an order."""
        bar, filled = event.bar, event.kind == kernel.FILLED
        close_ns = int(self.bars.t_close_ns[bar])
        reason = layout.REASONS[event.reason]
        needs = event.needs
        at_close = reason in ("no_next_bar", *layout.REASONS[11:])
        return Order(
            seq=event.seq,
            action=ACTIONS[event.action],
            strategy=self.names[event.strategy],
            bar=bar,
            t_ns=close_ns if at_close else close_ns - self.bars.bar_ns,
            reason=None if filled else reason,
            price=self._price(event.price) if filled else None,
            lots=self._lots(event.steps) if filled else None,
            stop=self._level(event.stop),
            target=self._level(event.target),
            needs_equity=None if filled or math.isnan(needs) else needs,
        )

    def trade(self, event: Event) -> Trade:
        """A CLOSED event as a trade."""
        bars, unit = self.bars, self.bars.instrument.money_per_tick_step
        side, steps = event.action, event.steps
        entry, price, stop = event.entry, event.price, event.stop
        entry_bar, bar = event.entry_bar, event.bar
        why = layout.EXITS[event.reason]
        known_ns, lots, pnl = int(bars.t_close_ns[bar]), self._lots(steps), event.pnl
        entry_ns = int(bars.t_close_ns[entry_bar]) - bars.bar_ns
        down, up = max(entry - event.lo, 0), max(event.hi - entry, 0)
        per_tick = steps * unit
        return Trade(
            seq=event.seq,
            strategy=self.names[event.strategy],
            side=side,
            entry=Fill(entry_bar, entry_ns, self._price(entry), lots, "open"),
            exit=Fill(
                bar,
                known_ns - bars.bar_ns if why in _AT_OPEN else known_ns,
                self._price(price),
                lots,
                why,
            ),
            stop=self._price(stop),
            target=self._price(event.target),
            pnl=pnl,
            r=_no_dust(pnl / (abs(entry - stop) * per_tick)),
            mae=self._price(down if side > 0 else up),
            mfe=self._price(up if side > 0 else down),
            ambiguous=bool(event.ambiguous),
            costs=Costs(
                spread=_no_dust(event.spread * per_tick),
                slippage=_no_dust(event.slip * per_tick),
                commission=event.fee,
                swap=0.0 - event.swap,
            ),
            pnl_stop_first=pnl + side * (event.stop_first - price) * per_tick,
            pnl_target_first=pnl + side * (event.target_first - price) * per_tick,
            known_ns=known_ns,
        )

    def _price(self, ticks: int) -> float:
        return self.bars.instrument.to_price(ticks)

    def _level(self, ticks: int) -> float | None:
        """A price of an order that may have had none."""
        return None if ticks == kernel.MISSING else self._price(ticks)

    def _lots(self, steps: int) -> float:
        """Steps as lots, free of binary dust: 0.003 and not 0.0030000000000000001."""
        per_lot = round(1.0 / self.bars.instrument.lot_step)
        return steps / per_lot
