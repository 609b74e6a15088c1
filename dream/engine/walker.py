"""The kernel's arrays for one run, and the calls that use them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dream.engine import kernel, layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types import U1, Bars, Setups, Terms

_BUFFER = 4096
_INTRABAR = {
    "stop_first": kernel.STOP_FIRST,
    "target_first": kernel.TARGET_FIRST,
    "nearer_first": kernel.NEARER_FIRST,
}


class Walker:
    """The kernel's arrays for one run."""

    def __init__(self, bars: Bars, setups: Mapping[str, Setups], terms: Terms) -> None:
        inst, n, m = bars.instrument, len(bars), len(setups)
        self.bars = bars
        floor = np.int32(inst.to_ticks(terms.spread))
        self.spread = np.maximum(bars.spread, floor)
        self.live_bars = np.zeros(0, np.int64)
        self.setups = np.zeros((0, m, 3), np.int32)
        limits = [(s.expires_minute, s.entries_per_day) for s in setups.values()]
        self.limits = np.array(limits, np.int32).reshape(m, 2)
        self.used = np.zeros((m, 2), np.int32)
        self.used[:, 0] = kernel.MISSING
        self.cfg = _config(bars, terms)
        self.state = np.zeros(1, layout.STATE)
        self.state["cash"] = terms.equity
        self.events = np.zeros(_BUFFER, layout.EVENT)
        self.curve = np.empty(n)

    def take_live(self, setups: Mapping[str, Setups], first: int) -> U1:
        """Have the kernel take every live set-up from bar `first` on; returns its `due` bits."""
        live = np.zeros(len(self.bars), np.bool_)
        for s in setups.values():
            live |= s.live != 0
        live[:first] = False
        self.live_bars = at = np.flatnonzero(live)
        self.setups = np.empty((len(at), len(setups), 3), np.int32)
        for k, s in enumerate(setups.values()):
            for j, array in enumerate((s.live, s.stop, s.target)):
                self.setups[:, k, j] = array[at]
        self.cfg["auto"] = 1
        return live.view(np.uint8) * np.uint8(kernel.DUE_LIVE)

    def advance(self, due: U1) -> int:
        """Walk on; the code of kernel.advance."""
        bars = self.bars
        return kernel.advance(
            bars.t_close_ns, bars.minute, bars.day, bars.px, self.spread, due, self.live_bars,
            self.setups, self.limits, self.used, self.cfg, self.state, self.events, self.curve,
        )  # fmt: skip

    def finish(self) -> None:
        """End the run at the bar that closed last."""
        kernel.finish(self.bars.px, self.spread, self.cfg, self.state, self.events, self.curve)

    def drain(self) -> Any:
        """The events since the last drain, as a copy."""
        out = self.events[: int(self.state["events"][0])].copy()
        self.state["events"] = 0
        return out


def _config(bars: Bars, terms: Terms) -> Any:
    inst = bars.instrument
    cfg = np.zeros(1, layout.CONFIG)
    cfg["risk"], cfg["leverage"] = terms.risk, terms.leverage
    cfg["unit"] = inst.money_per_tick_step
    cfg["fee"] = terms.commission * inst.lot_step
    cfg["swap"] = terms.swap * inst.lot_step
    cfg["min_steps"] = math.ceil(inst.lot_min / inst.lot_step - 1e-9)
    cfg["max_steps"] = math.floor(inst.lot_max / inst.lot_step + 1e-9)
    cfg["max_gap_ns"] = -1 if terms.max_gap_ns is None else terms.max_gap_ns
    cfg["bar_ns"] = bars.bar_ns
    cfg["slip"] = inst.to_ticks(terms.slippage)
    cfg["intrabar"] = _INTRABAR[terms.intrabar]
    cfg["buy_only"] = terms.buy_only
    return cfg
