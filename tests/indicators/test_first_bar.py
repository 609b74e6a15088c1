"""The first bar that may decide, found without the values that are shown at it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.errors import BarsInvalid
from dream.indicators import facts, first_bar
from tests.indicators.series import FIRST_DAY, bars_of, real, walk

SHOWN = (
    "atr_m15", "atr_h1", "atr_d1", "rsi", "sma_50", "sma_200", "bb_low", "bb_mid", "bb_high",
    "adx_h1", "sma_20_h1", "atr_d1_pct",
)  # fmt: skip


def by_the_values(bars) -> int:
    """The first bar without a NaN among all that is shown; len(bars) if there is none."""
    shown = facts(bars)
    known = ~np.isnan([getattr(shown, name) for name in SHOWN]).any(axis=0)
    return int(np.argmax(known)) if known.any() else len(bars)


@settings(max_examples=25)
@given(seed=st.integers(0, 1_000), days=st.integers(1, 45), step=st.sampled_from([5, 15]))
def test_every_value_exists_from_the_first_bar_on(seed, days, step):
    bars = bars_of(walk(seed, days, step=step), bar_minutes=step)
    assert first_bar(bars) == by_the_values(bars) == facts(bars).first


@pytest.mark.parametrize("a_day", [1, 2, 7])
def test_days_of_few_bars_wait_for_the_averages_of_bars(a_day):
    """200 quarters of an hour, or 28 hours, may take longer than 34 days."""
    rows = [
        (FIRST_DAY + day, 600 + 15 * k, 50 + k, 60 + day % 3, 40, 52)
        for day in range(220)
        for k in range(a_day)
    ]
    bars = bars_of(rows)
    assert first_bar(bars) == by_the_values(bars) < len(bars)


def test_the_first_bar_of_real_bars(real_bars_path):
    bars = real(real_bars_path)
    assert first_bar(bars) == by_the_values(bars)


def test_a_series_without_bars_has_no_first_bar():
    assert first_bar(bars_of([])) == 0


def test_bars_too_coarse_have_no_first_bar():
    with pytest.raises(BarsInvalid, match="periods of 15 minutes"):
        first_bar(bars_of([(FIRST_DAY, 120, 1, 1, 1, 1)], bar_minutes=60))
