"""What is shown to the agent: by hand, against exact decimals, and never from the future."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.errors import BarsInvalid
from dream.indicators import atr_d1, atr_h1, atr_m15, facts
from dream.indicators.facts import adx, bollinger, rank, rsi
from dream.types import Indicators
from tests.indicators import slow
from tests.indicators.series import FIRST_DAY, GRID, bars_of, real, rows_of, walk

PRICES = (
    "atr_m15",
    "atr_h1",
    "atr_d1",
    "sma_50",
    "sma_200",
    "bb_low",
    "bb_mid",
    "bb_high",
    "sma_20_h1",
)
SHARES = ("rsi", "adx_h1", "atr_d1_pct")
WORDS = ("trend", "volatility", "sessions")


def closes(*moves):
    return np.cumsum([1_000, *moves]).astype(np.int32)


def test_rsi_by_hand():
    # seven gains of 2 and seven losses of 1: averages 1 and 0.5, so 100 * 1 / 1.5
    found = rsi(closes(*[2, -1] * 7, 14))
    assert np.isnan(found[:14]).all()
    assert found[14] == pytest.approx(200 / 3)
    # then a gain of 14: averages (13 + 14) / 14 and 6.5 / 14, so 100 * 27 / 33.5
    assert found[15] == pytest.approx(2700 / 33.5)


@pytest.mark.parametrize(("move", "value"), [(3, 100.0), (-3, 0.0), (0, 50.0)])
def test_rsi_of_one_way_and_of_no_way(move, value):
    assert (rsi(closes(*[move] * 30))[14:] == value).all()


def test_bollinger_by_hand():
    low, middle, high = bollinger(closes(*[2, -2] * 15))
    # ten closes of 1000 and ten of 1002: mean 1001, population deviation 1
    for band, value in ((low, 999.0), (middle, 1001.0), (high, 1003.0)):
        assert np.isnan(band[:19]).all()
        assert (band[19:] == value).all()


def test_bollinger_of_a_flat_market_has_no_width():
    low, middle, high = bollinger(np.full(40, 2**31 - 1, dtype=np.int32))
    assert (low[19:] == 2**31 - 1).all()
    np.testing.assert_array_equal(low, middle)
    np.testing.assert_array_equal(high, middle)


@given(st.lists(st.integers(1, 2**31 - 1), min_size=20, max_size=45))
def test_bollinger_agrees_with_decimals_however_far_the_price_jumps(prices):
    _, middle, high = bollinger(np.array(prices, dtype=np.int32))
    for i in (19, len(prices) - 1):
        known = prices[: i + 1]
        assert middle[i] == float(slow.mean(known, 20))
        away = 2 * float(slow.deviation(known, 20))
        assert high[i] - middle[i] == pytest.approx(away, rel=1e-9, abs=1e-6)


def test_adx_of_a_straight_rise_is_100_from_the_28th_period():
    px = np.array([[i, i + 3, i - 3, i] for i in range(100, 140)], dtype=np.int32)
    found = adx(px)
    assert np.isnan(found[:27]).all()
    assert (found[27:] == 100.0).all()


def test_adx_without_direction_is_0():
    outside = [
        [50, 60 + i, 40 - i, 50] for i in range(40)
    ]  # both sides widen alike: neither counts
    assert (adx(np.array(outside, dtype=np.int32))[27:] == 0.0).all()


def test_rank_by_hand():
    nan = float("nan")
    found = rank(np.array([nan, 3.0, 1.0, 2.0, 2.0, 9.0, 0.5]), 4)
    # [3 1 2 2]: three at or below 2; [1 2 2 9]: all; [2 2 9 0.5]: only itself
    np.testing.assert_array_equal(found, [nan, nan, nan, nan, 0.75, 1.0, 0.25])


@pytest.mark.parametrize("seed", [1, 2])
def test_facts_agree_with_exact_decimals(seed):
    rows = walk(seed, 44)
    found = facts(bars_of(rows))
    assert found.first < len(rows)
    rng = np.random.default_rng(seed)
    samples = [0, 13, 14, 19, 199, found.first - 1, found.first, len(rows) - 1]
    for i in [*samples, *rng.integers(0, len(rows), 5).tolist()]:
        assert_agrees(found, rows, i)


def test_facts_of_the_real_series_agree_with_exact_decimals(real_bars_path):
    bars = real(real_bars_path)
    rows, found = rows_of(bars), facts(bars)
    for i in (found.first, 41_007):
        assert_agrees(found, rows, i)


def assert_agrees(found, rows, i):
    expected, at = slow.facts(rows[: i + 1]), found.at(i)
    for name, value in expected.items():
        if name in WORDS:
            assert getattr(at, name) == value, name
            continue
        scale = 0.01 if name in PRICES else 1.0
        wanted = float("nan") if value is None else float(value) * scale
        assert getattr(at, name) == pytest.approx(wanted, rel=1e-9, abs=1e-9, nan_ok=True), name


def test_words_at_the_edges_of_volatility(real_bars_path):
    found = facts(real(real_bars_path))
    word = np.array(["unknown", "low", "normal", "high"])[found.volatility]
    for share, expected in ((0.25, "low"), (0.3, "normal"), (0.75, "normal"), (0.8, "high")):
        shown = word[found.atr_d1_pct == share]
        assert len(shown) > 0
        assert set(shown) == {expected}


def test_a_quiet_stretch_is_low_and_a_wild_one_high():
    def day(number, half):
        return [(number, m, 5_000, 5_000 + half, 5_000 - half, 5_000) for m in GRID]

    def last(halves):
        rows = [row for d, half in enumerate(halves) for row in day(FIRST_DAY + d, half)]
        return facts(bars_of(rows)).at(len(rows) - 1)

    calm, wild = last([400 - 5 * d for d in range(40)]), last([100 + 5 * d for d in range(40)])
    assert (calm.atr_d1_pct, calm.volatility) == (0.05, "low")
    assert (wild.atr_d1_pct, wild.volatility) == (1.0, "high")


def test_trend_has_a_side():
    def last(step):
        rows = [
            (FIRST_DAY + d, m, p, p + 20, p - 20, p)
            for d in range(2)
            for k, m in enumerate(GRID)
            for p in [9_000 + step * (92 * d + k)]
        ]
        return facts(bars_of(rows)).at(len(rows) - 1).trend

    assert (last(3), last(-3), last(0)) == ("up", "down", "range")


def test_a_close_at_its_average_has_no_side():
    """Highs and lows rise, so ADX is 100; every close is the same."""
    px = [(5_000, 6_000 + 5 * k, 4_000 + 5 * k, 5_000) for k in range(2 * 92)]
    rows = [(FIRST_DAY + k // 92, GRID[k % 92], *row) for k, row in enumerate(px)]
    at = facts(bars_of(rows)).at(len(rows) - 1)
    assert (at.adx_h1, at.trend) == (100.0, "range")


def test_a_trend_begins_at_an_adx_of_25(real_bars_path):
    found = facts(real(real_bars_path))
    trending = found.trend >= 2
    assert trending[(found.adx_h1 >= 25.0) & (found.adx_h1 < 25.2)].all()
    assert not trending[(found.adx_h1 >= 24.8) & (found.adx_h1 < 25.0)].any()


def test_the_first_bar_is_the_end_of_the_34th_full_day():
    rows = walk(7, 36, holes=False)
    found = facts(bars_of(rows))
    assert found.first == 34 * 92 - 1
    before, at = found.at(found.first - 1), found.at(found.first)
    assert math.isnan(before.atr_d1_pct)
    assert before.volatility == "unknown"
    assert not any(math.isnan(getattr(at, name)) for name in PRICES + SHARES)
    for name in PRICES + SHARES:
        assert not np.isnan(getattr(found, name)[found.first :]).any()
    assert found.trend[found.first :].all()
    assert found.volatility[found.first :].all()


def test_too_short_a_series_has_no_first_bar():
    for rows in (walk(7, 33), []):
        assert facts(bars_of(rows)).first == len(rows)


def test_prices_are_shown_in_quote_currency():
    rows = [(FIRST_DAY, m, 187_641, 187_641, 187_641, 187_641) for m in GRID]
    at = facts(bars_of(rows)).at(91)
    assert at.bb_mid == at.sma_50 == at.sma_20_h1 == pytest.approx(1876.41)
    coarse = facts(bars_of(rows, tick=0.5)).at(91)
    assert coarse.sma_50 == 187_641 * 0.5
    assert coarse.rsi == 50.0


def test_only_a_bar_of_the_series_can_be_shown():
    found = facts(bars_of(walk(1, 1)))
    for i in (-1, len(found.rsi)):
        with pytest.raises(AssertionError):
            found.at(i)


def test_every_indicator_is_there_for_every_bar():
    rows = walk(1, 3)
    found = facts(bars_of(rows))
    for field in fields(Indicators):
        array = getattr(found, field.name)
        assert array.shape == (len(rows),)
        assert not array.flags.writeable
    plain = found.at(len(rows) - 1)
    assert {type(getattr(plain, f.name)) for f in fields(Indicators)} == {float, str, int}


@settings(max_examples=25)
@given(st.integers(0, 10), st.integers(0, 3_400))
def test_a_prefix_shows_the_same(seed, cut):
    bars = bars_of(walk(seed, 38))
    whole, part = facts(bars), facts(bars.prefix(cut))
    for field in fields(Indicators):
        np.testing.assert_array_equal(
            getattr(part, field.name), getattr(whole, field.name)[:cut], field.name
        )
    assert part.first == min(whole.first, cut)


def test_nothing_shown_up_to_ten_changes_with_what_comes_after():
    rows = walk(9, 40, holes=False)
    day = rows[-92 * 3][0]
    cut = next(i for i, r in enumerate(rows) if r[0] == day and r[1] == 600) + 1
    other = rows[:cut] + [(*r[:2], 7, 700_000, 3, 9) for r in rows[cut:]]
    before, after = facts(bars_of(rows)), facts(bars_of(other))
    assert before.first == after.first < cut
    for i in range(before.first, cut):
        assert before.at(i) == after.at(i)
    assert before.at(cut) != after.at(cut)


def test_finer_bars_show_the_same_at_the_quarters():
    """Five-minute bars, put together by hand into quarters, are the same market."""
    fine = walk(13, 38, holes=False, step=5, scale=60)
    quarters = []
    for k in range(0, len(fine), 3):
        a, b, c = fine[k : k + 3]
        quarters.append((*c[:2], a[2], max(a[3], b[3], c[3]), min(a[4], b[4], c[4]), c[5]))
    five, fifteen = facts(bars_of(fine, bar_minutes=5)), facts(bars_of(quarters))
    assert five.first == 3 * fifteen.first + 2 < len(fine)
    for i in range(fifteen.first, len(quarters)):
        assert five.at(3 * i + 2) == fifteen.at(i)
        if i + 1 < len(quarters):
            assert five.atr_m15[3 * i + 3] == fifteen.atr_m15[i]


def test_bars_too_coarse_for_quarters_are_refused():
    with pytest.raises(BarsInvalid, match="periods of 15 minutes"):
        facts(bars_of([(FIRST_DAY, 120, 1, 1, 1, 1)], bar_minutes=60))


def test_facts_are_made_once_and_share_their_parts():
    bars = bars_of(walk(1, 20))
    found = facts(bars)
    assert facts(bars) is found
    assert found.atr_m15 is atr_m15(bars)
    assert found.atr_h1 is atr_h1(bars)
    assert found.atr_d1 is atr_d1(bars)
