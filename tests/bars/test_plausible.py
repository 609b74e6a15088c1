"""Prices of their year and signs of made-up bars: real files pass, invented ones do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import synth
from dream.bars.checks import plausible, quality
from dream.bars.clock.clocks import instants, trading_clock
from tests.bars import by_hand

MINUTE_NS = 60 * 10**9
DAY_NS = 1440 * MINUTE_NS
MONDAY = 19_723  # 2024-01-01
GOLD_FILES = [name for name in by_hand.READ if "eurusd" not in name]
NO_MARKET = {"invented_h1.csv", "mt4_v400_d1.hst"}
"""Made up, and without any movement."""


def without_filler(name: str) -> by_hand.Columns:
    c = by_hand.read(name)
    kept = ~quality.filler(c.t, c.px, c.volume, c.bar_ns, has_volume=c.has_volume)
    return replace(c, t=c.t[kept], px=c.px[kept])


# Levels


@pytest.mark.parametrize("name", GOLD_FILES)
def test_levels_of_the_files(name: str) -> None:
    c = by_hand.read(name)
    seen = plausible.level(c.t, c.px, c.tick, "XAUUSD")
    if name == "invented_h1.csv":  # 2,300 at the beginning of 2026
        assert (seen.outside, seen.share, seen.first, seen.looks_like) == (500, 1.0, 0, "")
    else:
        assert (seen.metal, seen.outside, seen.first) == ("gold", 0, None)


@pytest.mark.parametrize(
    ("symbol", "metal"),
    [
        ("XAUUSD", "gold"), ("xauusd.m", "gold"), ("OANDA:XAUUSD", "gold"), ("XAU_USD", "gold"),
        ("XAU/USD", "gold"), ("GOLD", "gold"), ("GOLDm#", "gold"), ("GC=F", "gold"),
        ("GC1!", "gold"), ("XAGUSD", "silver"), ("SI=F", "silver"), ("Silver", "silver"),
        ("XAUEUR", ""), ("EURUSD", ""), ("GOLDMAN", ""), ("GCX", ""), ("", ""),
    ],
)  # fmt: skip
def test_names_of_metals(symbol: str, metal: str) -> None:
    assert plausible.metal(symbol) == metal


def priced(*prices: float, day: int = MONDAY) -> plausible.Level:
    """Bars of these prices, one a day."""
    t = (day + np.arange(len(prices))) * DAY_NS
    px = np.repeat(np.round(np.array(prices) * 100).astype(np.int32)[:, None], 4, axis=1)
    return plausible.level(t, px, 0.01, "XAUUSD")


def test_the_first_row_outside() -> None:
    seen = priced(2050, 2060, 1200, 2070, 20_700)
    assert (seen.outside, seen.share, seen.first, seen.looks_like) == (2, 0.4, 2, "")


@pytest.mark.parametrize(
    ("price", "looks_like"),
    [
        (29.6, "silver"),
        (270_000.0, "gold with all prices times 100"),
        (2.7, "gold with all prices times 0.001"),
        (700.0, ""),
    ],
)
def test_what_other_prices_look_like(price: float, looks_like: str) -> None:
    assert priced(*[price] * 5, day=20_100).looks_like == looks_like  # January 2025


def test_years_beyond_the_table_are_judged_more_widely() -> None:
    assert plausible.band("gold", 2027) == (1970, 11_200)
    assert plausible.band("gold", 1970)[0] < 35 < plausible.band("gold", 1970)[1]
    low, high = plausible.band("gold", 2024)
    assert (low, high) == (pytest.approx(1587.2), pytest.approx(3487.5))


def test_tables_are_whole() -> None:
    for table in plausible.TABLES.values():
        assert len(table) == 2026 - 1975 + 1
        assert all(low < high for low, high in table)
        # A year begins where the one before it ended.
        assert all(a[0] < b[1] and b[0] < a[1] for a, b in pairwise(table))


@given(st.lists(st.integers(-70 * 365, 229 * 365), min_size=1, max_size=30))
def test_every_row_is_in_its_year(days: list[int]) -> None:
    t = np.sort(np.array(days, np.int64)) * DAY_NS
    years = np.zeros(len(t), np.int64)
    for rows, year in plausible._years(t):
        years[rows] = year
    assert np.array_equal(
        years, t.astype("datetime64[ns]").astype("datetime64[Y]").astype(int) + 1970
    )


def test_another_instrument_is_not_looked_at() -> None:
    c = by_hand.read("dukascopy_eurusd_2019-01-04_bid_min_1.bi5")
    assert plausible.level(c.t, c.px, c.tick, "EURUSD") == plausible.Level("", 0, 0.0, None, "")


# Made-up bars


@pytest.mark.parametrize("name", list(by_hand.READ))
def test_made_up_bars_of_the_files(name: str) -> None:
    c = without_filler(name)
    seen = plausible.invented(c.t, c.px, c.bar_ns)
    assert seen.is_invented == (name == "invented_h1.csv")
    if name == "invented_h1.csv":
        assert (seen.windows, seen.made_up, seen.first) == (1, 1, 0)
        assert len(seen.signs) == 4
        assert seen.weekend_bars > 130
        assert seen.weekend_width == pytest.approx(0.95, abs=0.01)
    else:
        assert (seen.made_up, seen.signs) == (0, ())
    if name == "vendor_m15_weekend_bars.csv":
        # The README counts 96 on Saturday and on Sunday by UTC; four of these are Monday's, and
        # the last hour before they open counts as closed.
        assert seen.weekend_bars == 188
        assert seen.weekend_width == pytest.approx(0.26 / 8.6, abs=0.01)


@pytest.mark.parametrize(
    "name", [n for n in by_hand.READ if n not in NO_MARKET and "cents" not in n]
)
def test_the_margin_of_the_files(name: str) -> None:
    c = without_filler(name)
    figures = [
        plausible._figures(c.t[k : k + 500], c.px[k : k + 500])
        for k in range(0, len(c.px) - 199, 500)
    ]
    memory, tail, profile = np.array([f for f in figures if f is not None]).T
    assert memory.min() > 0.2
    assert tail.min() > 4.35
    assert not np.nanmin(profile, initial=9.0) < 1.85


def longer(c: by_hand.Columns, bar_min: int) -> tuple[np.ndarray, np.ndarray]:
    """Bars of the trading clock made from shorter ones."""
    minute, day = trading_clock(c.t, 0)
    key = day.astype(np.int64) * 1440 + minute // bar_min * bar_min
    first = np.append(0, np.flatnonzero(np.diff(key)) + 1)
    last = np.append(first[1:], len(key)) - 1
    high, low = np.maximum.reduceat(c.px[:, 1], first), np.minimum.reduceat(c.px[:, 2], first)
    return c.t[first], np.stack([c.px[first, 0], high, low, c.px[last, 3]], axis=1)


@pytest.mark.parametrize("bar_min", [30, 60, 120, 240, 1440])
def test_longer_bars_of_the_clean_series_pass(bar_min: int) -> None:
    t, px = longer(by_hand.read("xauusd_m15_real.parquet"), bar_min)
    seen = plausible.invented(t, px, bar_min * MINUTE_NS)
    assert (seen.is_invented, seen.made_up) == (False, 0)
    assert seen.windows >= 3


def walk(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    steps = {
        "normal": rng.normal(0, 300, n),
        "uniform": rng.uniform(-500, 500, n),
        "heavy": rng.standard_t(5, n) * 250,
    }[kind]
    close = 2_000_000 + np.cumsum(steps)
    o = np.append(2_000_000, close[:-1])
    wick = np.abs(rng.normal(0, 150, (2, n)))
    px = [o, np.maximum(o, close) + wick[0], np.minimum(o, close) - wick[1], close]
    return np.stack(px, axis=1).round().astype(np.int32)


def weekdays(bar_min: int, n: int) -> np.ndarray:
    days = np.array([MONDAY + k // 5 * 7 + k % 5 for k in range(n)])
    minutes = np.arange(0, 1380, bar_min) * MINUTE_NS
    return (instants(days, 60)[:, None] + minutes).ravel()


@pytest.mark.parametrize("bar_min", [1, 5, 15, 60])
@pytest.mark.parametrize("kind", ["normal", "uniform", "heavy"])
@pytest.mark.parametrize("seed", range(5))
def test_random_walks_are_found(bar_min: int, kind: str, seed: int) -> None:
    t = weekdays(bar_min, max(10 * bar_min, 20))[:6000]
    seen = plausible.invented(t, walk(kind, len(t), seed), bar_min * MINUTE_NS)
    assert seen.is_invented
    assert "says nothing of the next" in seen.signs[0]


def test_made_up_bars_among_real_ones() -> None:
    c = by_hand.read("mt5_export_m15_tab.csv")
    px = c.px.copy()
    px[10_000:12_000] = walk("normal", 2_000, 3)
    seen = plausible.invented(c.t, px, c.bar_ns)
    assert seen.is_invented
    assert seen.made_up in (3, 4)  # one of four may look lively by accident
    assert seen.first == 10_000


def test_bars_of_the_generator_pass() -> None:
    bars = synth.make(20_000, 5)
    seen = plausible.invented(bars.t_close_ns - bars.bar_ns, bars.px, bars.bar_ns)
    assert (seen.is_invented, seen.made_up) == (False, 0)


def test_too_few_bars_and_bars_without_movement_say_nothing() -> None:
    t = weekdays(15, 10)
    for px in (walk("normal", 199, 1), np.full((len(t), 4), 7, np.int32)):
        seen = plausible.invented(t[: len(px)], px, 15 * MINUTE_NS)
        assert (seen.is_invented, seen.windows) == (False, 0)


# Made-up rows before a hole


@pytest.mark.parametrize("name", list(by_hand.READ))
def test_heads_of_the_files(name: str) -> None:
    c = by_hand.read(name)
    head = plausible.invented_head(c.t, c.px, c.bar_ns)
    if name == "m15_invented_head_then_hole.csv":
        assert head.rows == 10
        assert len(head.signs) == 3
        assert head.signs[2] == "10 of 10 bars lie in times without trading"
    else:
        assert head == plausible.Head(0)


def test_a_head_needs_a_hole_and_two_signs() -> None:
    bar_ns = 15 * MINUTE_NS
    t = weekdays(15, 40)
    px = walk("normal", len(t), 2)
    px[1:, 0] += 3  # no open at the close before it
    late = np.delete(t, np.s_[10 : 15 * 92])
    rest = np.delete(px, np.s_[10 : 15 * 92], axis=0)
    neat = rest.copy()
    neat[:10] = neat[:10] // 10 * 10
    neat[1:10, 0] = neat[:9, 3]
    assert plausible.invented_head(late, neat, bar_ns).rows == 10
    assert plausible.invented_head(t, px, bar_ns).rows == 0
    assert plausible.invented_head(t[: len(neat)], neat, bar_ns).rows == 0  # no hole
    one = rest.copy()
    one[1:10, 0] = one[:9, 3]
    on_tuesday = late + DAY_NS  # the first of January is closed, the second is not
    assert plausible.invented_head(late, one, bar_ns).rows == 10
    assert plausible.invented_head(on_tuesday, one, bar_ns).rows == 0
    assert plausible.invented_head(t[:1], px[:1], bar_ns).rows == 0
