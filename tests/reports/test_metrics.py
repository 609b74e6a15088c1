from __future__ import annotations

import itertools
import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.reports.metrics import (
    cached_share,
    cost_sums,
    day_ends,
    max_drawdown,
    mean,
    profit_factor,
    sharpe_daily,
    summarise,
    win_rate,
)
from dream.types import Costs, Usage
from tests.reports.sample import FACTS, TABLE, trade

money = st.floats(1.0, 1e6, allow_nan=False)
results = st.lists(st.floats(-1e6, 1e6, allow_nan=False), max_size=30)


def series(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("start", "equity", "share"),
    [
        (10_000, (9_000, 9_500), 0.10),  # the first bar already falls below the starting money
        (10_000, (11_000, 10_450, 12_000, 11_700), 0.05),  # the first fall is the deepest
        (1, (5, 4, 3, 2), 0.60),  # against the running peak of 5, not the start of 1
        (10_000, (10_100, 10_200), 0.0),
        (10_000, (), 0.0),
        (100, (50, -25), 1.25),  # ruin past zero loses more than everything
    ],
)
def test_drawdown_by_hand(start: float, equity: tuple[float, ...], share: float) -> None:
    assert max_drawdown(series(*equity), start) == pytest.approx(share, abs=1e-12)


@given(money, st.lists(money, max_size=25))
def test_drawdown_is_the_worst_pair_of_an_earlier_and_a_later_value(
    start: float, equity: list[float]
) -> None:
    path = [start, *equity]
    worst = max((a - b) / a for i, a in enumerate(path) for b in path[i:])
    assert max_drawdown(series(*equity), start) == pytest.approx(worst, abs=1e-9)


def test_a_day_ends_at_its_last_bar() -> None:
    day = np.array([7, 7, 7, 8, 11, 11], dtype=np.int32)
    assert day_ends(series(1, 2, 3, 4, 5, 6), day).tolist() == [3, 4, 6]
    assert day_ends(series(5), day[:1]).tolist() == [5]
    assert day_ends(series(), day[:0]).tolist() == []


def test_sharpe_by_hand() -> None:
    equity = 10_000 * np.cumprod(1 + series(0.01, -0.005, 0.0075, 0, 0.0025))
    # in units of 0.0025 the returns are 4 -2 3 0 1: mean 1.2, squared deviations 7.84 + 10.24 +
    # 3.24 + 1.44 + 0.04 = 22.8, sample variance 5.7; 1.2 / sqrt(5.7) = 0.3 / sqrt(0.35625)
    by_hand = 0.3 / math.sqrt(0.35625) * math.sqrt(252)
    assert by_hand == pytest.approx(7.9789, abs=1e-4)
    assert sharpe_daily(equity, 10_000) == pytest.approx(by_hand)


def test_sharpe_takes_the_first_day_against_the_starting_money() -> None:
    # returns 1 % and 0: mean 0.5 %, sample deviation sqrt(0.5) %
    by_hand = 0.5 / math.sqrt(0.5) * math.sqrt(252)
    assert by_hand == pytest.approx(11.2250, abs=1e-4)
    assert sharpe_daily(series(10_100, 10_100), 10_000) == pytest.approx(by_hand)
    assert sharpe_daily(series(10_100, 10_100), 10_000, 63) == pytest.approx(by_hand / 2)


@pytest.mark.parametrize(
    "days",
    [
        (),
        (10_100,),
        (10_000, 10_000, 10_000),
        (10_100, 10_201, 10_303.01),  # equal returns up to rounding
        (10_000, 0, 50),  # nothing can be measured against nothing
    ],
)
def test_sharpe_is_none_where_it_has_no_meaning(days: tuple[float, ...]) -> None:
    assert sharpe_daily(series(*days), 10_000) is None


@given(money, st.lists(money, min_size=2, max_size=25))
def test_sharpe_agrees_with_the_standard_library(start: float, equity: list[float]) -> None:
    path = [start, *equity]
    returns = [b / a - 1 for a, b in itertools.pairwise(path)]
    spread = statistics.stdev(returns)
    found = sharpe_daily(series(*equity), start)
    if spread > 1e-9:
        assert found == pytest.approx(statistics.fmean(returns) / spread * math.sqrt(252))
    else:
        assert found is None or math.isfinite(found)


@pytest.mark.parametrize(
    ("pnls", "factor"),
    [
        ([100, -40, 25, -10], 2.5),  # 125 over 50; the net sum of 75 has nothing to do with it
        ([-5, 0], 0.0),
        ([100, 0], None),
        ([], None),
        ([1e308, -1e-308], None),  # too large for a number
    ],
)
def test_profit_factor_by_hand(pnls: list[float], factor: float | None) -> None:
    assert profit_factor(pnls) == factor


def test_a_draw_is_a_trade_but_neither_a_win_nor_a_loss() -> None:
    assert win_rate([1, 0, -1, 5]) == 0.5
    assert win_rate([0.0]) == 0.0
    assert win_rate([]) is None


def test_the_mean_of_nothing_is_none() -> None:
    assert mean([]) is None
    assert mean([-1, 3.5, 0.5]) == 1.0


def test_costs_are_summed_apart() -> None:
    rows = [Costs(spread=3, slippage=1), Costs(spread=4, commission=2, swap=-0.5)]
    assert cost_sums(rows) == {
        "spread": 7,
        "slippage": 1,
        "commission": 2,
        "swap": -0.5,
        "total": 9.5,
    }


def test_a_summary_by_hand() -> None:
    summary = summarise(TABLE, FACTS)
    assert summary["trades"] == 4
    assert (summary["wins"], summary["losses"], summary["draws"]) == (2, 1, 1)
    assert summary["win_rate"] == 0.5
    low, high = summary["win_rate_interval"] or (0, 0)
    # Wilson for 2 of 4: centre 0.5, half-width 1.96 * sqrt(1/16 + 1.96^2/64) / (1 + 1.96^2/4)
    assert (low, high) == pytest.approx((0.15003, 0.84997), abs=5e-5)
    assert summary["net_pnl"] == summary["final_equity"] - summary["start_equity"] == 60
    assert summary["costs"]["total"] == 22
    assert summary["gross_pnl"] == 82
    assert summary["mean_r"] == pytest.approx((2 - 1 + 0 + 1.4) / 4)
    assert summary["expectancy"] == 15
    assert summary["profit_factor"] == pytest.approx(85 / 25)
    assert summary["profit_factor_note"] is None
    assert summary["setups"] == 9
    assert summary["setups_by_strategy"] == {"PullbackEntry": 4, "VolBreakout": 5}
    assert summary["trades_by_strategy"] == {"PullbackEntry": 1, "VolBreakout": 3}
    assert summary["wins_by_strategy"] == {"PullbackEntry": 1, "VolBreakout": 1}
    assert summary["net_pnl_by_strategy"] == {"PullbackEntry": 35, "VolBreakout": 25}
    assert summary["max_drawdown"] == pytest.approx(25 / 10_050)
    # day ends 10,025 and 10,060
    first, second = 25 / 10_000, 35 / 10_025
    by_hand = (first + second) / 2 / (abs(second - first) / math.sqrt(2)) * math.sqrt(252)
    assert summary["sharpe_daily"] == pytest.approx(by_hand)
    assert (summary["bars_from"], summary["bars_to"], summary["bars_walked"]) == (
        "2025-03-03T00:15:00Z",
        "2025-03-04T21:45:00Z",
        6,
    )
    assert summary["asked_from"] == "2025-03-03T10:00:00Z"
    assert (summary["cost_usd"], summary["spent_usd"]) == (0.1234, 0.1834)


def test_only_ambiguous_exits_are_repriced() -> None:
    # the loss of 25 was ambiguous: 50 with the target first; the other trades' prices are ignored
    summary = summarise(TABLE, FACTS)
    assert summary["ambiguous_bars"] == 1
    assert summary["final_equity_stop_first"] == 10_060
    assert summary["final_equity_target_first"] == 10_060 + 25 + 50


@pytest.mark.parametrize(
    ("ok", "share", "comparable"), [(20, 0.0, True), (19, 0.05, True), (18, 0.10, False)]
)
def test_too_many_decisions_that_are_not_the_agents_own(
    ok: int, share: float, comparable: bool
) -> None:
    statuses = {"api_error": 20 - ok, "ok": ok}
    summary = summarise(replace(TABLE, decisions=20, decisions_by_status=statuses), FACTS)
    assert summary["error_share"] == share
    assert summary["comparable"] is comparable
    assert list(summary["decisions_by_status"]) == [
        "ok",
        "parse_error",
        "truncated",
        "model_refusal",
        "api_error",
    ]


def test_a_run_without_questions_and_trades_is_summarised_without_a_number_it_cannot_have() -> None:
    nothing = replace(
        TABLE,
        decisions=0,
        decisions_by_status={},
        setups={},
        trades=(),
        final_equity=TABLE.start_equity,
        equity=series(),
        day=np.array([], dtype=np.int32),
    )
    summary = summarise(nothing, FACTS)
    undefined = ("win_rate", "win_rate_interval", "mean_r", "profit_factor", "sharpe_daily")
    assert [summary[name] for name in undefined] == [None] * len(undefined)
    assert summary["profit_factor_note"] == "no trades"
    assert summary["error_share"] is None
    assert summary["comparable"] is True
    assert summary["max_drawdown"] == 0
    winners = summarise(replace(TABLE, trades=(trade("VolBreakout", 5.0, 1.0),)), FACTS)
    assert winners["profit_factor_note"] == "no losing trade"


@given(results)
def test_every_summary_is_strict_json_and_its_money_adds_up(pnls: list[float]) -> None:
    trades = tuple(trade("VolBreakout", p, p / 25, Costs(spread=2)) for p in pnls)
    final = TABLE.start_equity + math.fsum(pnls)
    summary = summarise(replace(TABLE, trades=trades, final_equity=final), FACTS)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["wins"] + summary["losses"] + summary["draws"] == len(pnls)
    assert summary["net_pnl"] == pytest.approx(final - TABLE.start_equity, abs=1e-6)
    assert summary["gross_pnl"] == pytest.approx(summary["net_pnl"] + 2 * len(pnls), abs=1e-6)
    assert summary["final_equity_stop_first"] == summary["final_equity_target_first"] == final


@pytest.mark.parametrize(
    ("usage", "share"),
    [
        (Usage(), None),
        (Usage(input_tokens=100, output_tokens=5), None),
        (Usage(input_tokens=100, cache_read_tokens=0), 0.0),
        (Usage(input_tokens=100, cache_read_tokens=300), 0.75),
        (Usage(input_tokens=50, cache_read_tokens=300, cache_write_tokens=50), 0.75),
        (Usage(cache_read_tokens=0), None),
    ],
)
def test_the_cached_share_is_of_all_input(usage, share):
    assert cached_share(usage) == share
