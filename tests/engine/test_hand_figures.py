"""The hand-computed cases of data, clock, statistics and look-ahead, under their old numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dream.bars.clock.clocks import trading_clock
from dream.bars.store import read
from dream.errors import BarsInvalid
from dream.indicators.periods import periods
from dream.reports.metrics import (
    day_ends,
    max_drawdown,
    mean,
    profit_factor,
    sharpe_daily,
    win_rate,
)
from dream.types import MINUTE_NS, Bars, Decision, Terms
from tests.engine.driving import NAME, Run, drive
from tests.gen import make_bars, make_setups, scene

QUARTER_NS = 15 * MINUTE_NS
F = (100, 100.5, 99.5, 100)


@pytest.fixture
def reading(tmp_path):
    """Reads bars from a plain file of these prices, 15 minutes apart unless `times` says more."""

    def read_rows(*px, times=None) -> Bars:
        steps = range(len(px)) if times is None else times
        stamps = [np.datetime64("2024-01-09T08:00") + 15 * k for k in steps]
        lines = [f"{t}:00Z,{','.join(map(str, row))}" for t, row in zip(stamps, px, strict=True)]
        path = tmp_path / "bars.csv"
        path.write_text("\n".join(["timestamp,open,high,low,close", *lines, ""]))
        return read(path)

    return read_rows


def test_27_unsorted_stamps_are_refused_with_their_row(reading) -> None:
    with pytest.raises(BarsInvalid, match=r"earlier than the one before it .*line 4\b"):
        reading(F, F, F, times=[0, 2, 1])


def test_28_duplicate_stamps_are_refused_with_their_row(reading) -> None:
    with pytest.raises(BarsInvalid, match=r"there twice.*line 4\b"):
        reading(F, F, F, times=[0, 1, 1])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_29_a_price_that_is_no_number_is_refused_with_its_row(reading, bad) -> None:
    with pytest.raises(BarsInvalid, match=r"line 3: high is"):
        reading(F, (100, bad, 99, 100), F)


def test_30_a_high_under_the_close_is_refused_with_its_row(reading) -> None:
    with pytest.raises(BarsInvalid, match=r"high or low contradict.*line 3\b"):
        reading(F, (100, 100.5, 99, 101), F)


def test_30b_the_same_bars_without_the_fault_are_read(reading) -> None:
    bars = reading(F, (100, 101, 99, 101), F)
    assert bars.px[1].tolist() == [10_000, 10_100, 9_900, 10_100]


@pytest.mark.parametrize(("closes", "hour"), [("2026-01-15", 22), ("2026-07-15", 21)])
def test_32_a_trading_day_ends_at_17_new_york_in_winter_and_summer(closes, hour) -> None:
    close_ns = np.datetime64(f"{closes}T{hour}:00", "ns").astype(np.int64)
    opens = np.array([close_ns - QUARTER_NS, close_ns + 4 * QUARTER_NS])
    minute, day = trading_clock(opens, QUARTER_NS)
    assert minute.tolist() == [1440, 75]
    date = np.datetime64(closes, "D").astype(int)
    assert day.tolist() == [date, date + 1]


def series(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


@pytest.mark.parametrize(
    ("start", "equity", "share"),
    [
        pytest.param(10_000, (9_000, 9_500), 0.10, id="35 from the starting money"),
        pytest.param(10_000, (11_000, 10_450, 12_000, 11_700), 0.05, id="36 of the running peak"),
        pytest.param(1, (5, 4, 3, 2), 0.6, id="36b not of the last maximum"),
    ],
)
def test_drawdown(start, equity, share) -> None:
    assert max_drawdown(series(*equity), start) == pytest.approx(share)


def test_37_without_losses_the_profit_factor_is_undefined() -> None:
    assert profit_factor([10.0, 5.0]) is None
    assert win_rate([10.0, 5.0]) == 1.0


def test_38_without_trades_everything_is_undefined_and_still_strict_json() -> None:
    figures = [win_rate([]), profit_factor([]), mean([])]
    assert figures == [None, None, None]
    assert json.dumps(figures, allow_nan=False) == "[null, null, null]"


def test_39_profit_factor() -> None:
    assert profit_factor([20, -10, 5]) == pytest.approx(2.5), "(20 + 5) / 10"


def test_40_a_break_even_trade_is_no_win() -> None:
    assert win_rate([1, 0, -1]) == pytest.approx(1 / 3)


def test_41_sharpe_of_daily_returns() -> None:
    """Mean 0.3 %; squared deviations .49 .64 .2025 .09 .0025 add up to 1.425, over 4 is .35625."""
    equity = 10_000 * np.cumprod(1 + series(0.01, -0.005, 0.0075, 0.0, 0.0025))
    wanted = 0.3 / math.sqrt(0.35625) * math.sqrt(252)
    assert wanted == pytest.approx(7.9789, abs=1e-4)
    assert sharpe_daily(equity, 10_000) == pytest.approx(wanted)


def test_41b_the_first_day_counts() -> None:
    wanted = 0.5 / math.sqrt(0.5) * math.sqrt(252)
    assert sharpe_daily(series(10_100, 10_100), 10_000) == pytest.approx(wanted)


def test_41c_constant_equity_has_no_sharpe() -> None:
    assert sharpe_daily(series(10_000, 10_000), 10_000) is None


def test_42_it_is_annualised_by_day_whatever_the_bars_of_a_day() -> None:
    """Per bar, with 96 bars and 365 days, it would be 1.229 times too large."""
    daily = series(10_100, 10_050, 10_200, 10_150)
    per_bar = np.repeat(daily, 92)
    per_bar[::92] -= 40.0
    day = np.repeat(np.arange(4, dtype=np.int32), 92)
    assert math.sqrt(365 * 96 / (252 * 92)) == pytest.approx(1.229, abs=1e-3)
    ends = day_ends(per_bar, day)
    assert ends.tolist() == daily.tolist()
    assert sharpe_daily(ends, 10_000) == sharpe_daily(daily, 10_000)


def walk_without_gaps(n: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    close = 10_000 + np.cumsum(rng.integers(-60, 61, n))
    open_ = np.concatenate(([10_000], close[:-1]))
    high, low = np.maximum(open_, close) + 20, np.minimum(open_, close) - 20
    return np.column_stack([open_, high, low, close])


def breakout(px: np.ndarray) -> Run:
    """Buy a close above the highest high of the 19 bars before, as the agent sees them."""
    bars = make_bars(px, in_ticks=True)

    def answer(bar: int, flat: bool) -> Decision:
        if not flat or bar < 20 or px[bar, 3] <= px[bar - 19 : bar, 1].max():
            return Decision()
        close = px[bar, 3] / 100
        return Decision("BUY", NAME, stop=close - 1, target=close + 2)

    board = {NAME: make_setups(len(bars))}
    return drive(bars, board, Terms(spread=0.0), answer=answer, asks=3)


def test_48_later_bars_do_not_change_what_was_before_them() -> None:
    px, cut = walk_without_gaps(400), 250
    other = px.copy()
    other[cut + 1 :] += 500
    full, part = breakout(px), breakout(other)
    before = [t for t in full.trades if t.exit.bar <= cut]
    assert len(before) > 3
    assert before == [t for t in part.trades if t.exit.bar <= cut]
    assert full.equity[: cut + 1].tolist() == part.equity[: cut + 1].tolist()
    assert full.trades != part.trades


def test_49_an_hour_is_seen_when_it_has_ended() -> None:
    """Bars open at 01:00, 01:15 and so on: at 01:45 hour 01 is open, at 02:00 it closes at 4."""
    bars = make_bars([(p, p, p, p) for p in (1, 2, 3, 4, 5)])
    hours = periods(bars, 60)
    assert bars.minute.tolist() == [75, 90, 105, 120, 135]
    assert hours.last.tolist() == [-1, -1, -1, 0, 0]
    assert hours.px[:, 3].tolist() == [400]


def opens_away(bars: Bars) -> float:
    """Share of bars that open away from the close before."""
    return float((bars.px[1:, 0] != bars.px[:-1, 3]).mean())


def test_50_the_drawn_series_have_gaps_where_the_usual_random_walk_has_none() -> None:
    assert opens_away(make_bars(walk_without_gaps(400), in_ticks=True)) == 0.0
    drawn = [scene(seed).bars for seed in range(200)]
    shares = [opens_away(b) for b in drawn if len(b) > 1]
    assert 0.1 < float(np.mean(shares)) < 0.6
