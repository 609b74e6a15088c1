"""Bar series: their clock, their checks, their store, importers, and a generator.

This module holds what makes a series out of checked columns; it costs numpy alone to import.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from dream.bars.clock.clocks import trading_clock
from dream.types import Bars

if TYPE_CHECKING:
    from dream.types import F8, I4, I8, Instrument

__all__ = ["adopt", "content_hash", "series", "with_atr_m5"]


def series(
    instrument: Instrument, bar_ns: int, t_open_ns: I8, px: I4, spread: I4, volume: F8
) -> Bars:
    """Bars from columns that were checked before; the trading clock is added here.

    Args:
        instrument: what the prices are of.
        bar_ns: length of a bar in nanoseconds.
        t_open_ns: (n,) int64, open time UTC, strictly increasing.
        px: (n, 4) int32, open, high, low, close in ticks.
        spread: (n,) int32, ticks.
        volume: (n,) float64.

    Returns:
        A read-only series that owns its arrays.
    """
    return adopt(instrument, bar_ns, t_open_ns, px.copy(), spread.copy(), volume.copy())


def adopt(
    instrument: Instrument, bar_ns: int, t_open_ns: I8, px: I4, spread: I4, volume: F8
) -> Bars:
    """`series` of prices, spreads and volumes that nobody else holds: they are not copied."""
    minute, day = trading_clock(t_open_ns, bar_ns)
    t_close_ns = t_open_ns + bar_ns
    for a in (t_close_ns, minute, day, px, spread, volume):
        a.flags.writeable = False
    return Bars(instrument, bar_ns, t_close_ns, minute, day, px, spread, volume)


def with_atr_m5(bars: Bars, atr_m5: F8 | None) -> Bars:
    """The same bars with an average true range of 5-minute bars: (n,) float64, ticks, or none."""
    if atr_m5 is None:
        return bars if bars.atr_m5 is None else replace(bars, atr_m5=None, memo={})
    assert len(atr_m5) == len(bars)
    atr_m5 = atr_m5.copy()
    atr_m5.flags.writeable = False
    return replace(bars, atr_m5=atr_m5, memo={})


def content_hash(bars: Bars) -> str:
    """BLAKE2b-256 over everything that can change a run: instrument, bar length and all arrays.

    It does not depend on how a file is compressed. The trading clock is in it, so that a change of
    the time-zone database that moves a day is seen as other bars.
    """
    head = {"bar_ns": bars.bar_ns, "bars": len(bars), **asdict(bars.instrument)}
    digest = blake2b(json.dumps(head, sort_keys=True).encode(), digest_size=32)
    for a, dtype in (
        (bars.t_close_ns, "<i8"),
        (bars.minute, "<i2"),
        (bars.day, "<i4"),
        (bars.px, "<i4"),
        (bars.spread, "<i4"),
        (bars.volume, "<f8"),
    ):
        digest.update(a.astype(dtype).tobytes())
    if bars.atr_m5 is not None:
        known = np.where(
            np.isnan(bars.atr_m5), np.nan, bars.atr_m5
        )  # one NaN is as good as another
        digest.update(b"atr_m5" + known.astype("<f8").tobytes())
    return digest.hexdigest()
