"""Whether two bar series are the same, array by array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dream.types import Bars

FIELDS = ("t_close_ns", "minute", "day", "px", "spread", "volume")


def same(a: Bars, b: Bars) -> bool:
    arrays = all(
        getattr(a, f).dtype == getattr(b, f).dtype and np.array_equal(getattr(a, f), getattr(b, f))
        for f in FIELDS
    )
    averages = [x.atr_m5 is not None for x in (a, b)]
    if all(averages):
        arrays = arrays and np.array_equal(a.atr_m5, b.atr_m5, equal_nan=True)
    kind = (a.instrument, a.bar_ns, averages[0]) == (b.instrument, b.bar_ns, averages[1])
    return arrays and kind
