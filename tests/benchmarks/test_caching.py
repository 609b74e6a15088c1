"""The prices that the measurement counts with, by hand, and what it is to show."""

from __future__ import annotations

import pytest

from benchmarks.caching import MOST, input_usd, measured
from dream.types import Usage


def test_the_input_is_priced_by_class():
    usages = [Usage(1_000, 10_000, 100, 60), Usage(3_000, 0, 0, 60)]
    cached = (4_000 * 2.0 + 10_000 * 0.1 + 100 * 2.5) / 1e6
    assert input_usd(usages, cached=True) == pytest.approx(cached / 2)
    assert input_usd(usages, cached=False) == pytest.approx(14_100 * 2.0 / 1e6 / 2)


@pytest.mark.parametrize("mode", ["automatic", "marked"])
def test_a_day_costs_a_quarter_of_what_it_would_uncached(bars_path, mode):
    share = {}
    for context in ("window", "day"):
        usages = measured(bars_path, context, "none", mode, decisions=120)
        share[context] = input_usd(usages, cached=True) / input_usd(usages, cached=False)
    assert share["day"] <= MOST < share["window"]
