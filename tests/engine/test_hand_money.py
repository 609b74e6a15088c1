"""The hand-computed cases of costs, size, time and accounting; the numbers are their old names.

The scene is that of test_hand_fills.py.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from dream.reports.metrics import win_rate
from dream.types import Instrument, Terms
from tests.engine.driving import Run, hand, long
from tests.gen import clock, make_bars

F = (100, 100.5, 99.5, 100)
E0 = (100, 101, 99, 100)


def pnl(run: Run) -> float:
    """Of the first trade."""
    return run.trades[0].pnl


def test_16_buys_at_the_ask_and_stops_on_the_bid() -> None:
    run = hand([F, F, F, E0, (100, 101, 94.9, 96), E0], {2: long()}, Terms(spread=0.30))
    t = run.trades[0]
    assert (t.entry.price, t.exit.bar, t.exit.price) == (100.3, 4, 95.0)
    # 16b: distance 5.30 -> 25 / 530 = 0.0471 -> 0.04 lot = 4 ounces; (95 - 100.30) x 4
    assert t.entry.lots == 0.04
    assert t.pnl == pytest.approx(-21.2)
    assert t.costs.spread == pytest.approx(1.2)


def test_16c_a_low_above_the_stop_does_not_touch_it() -> None:
    run = hand([F, F, F, E0, (100, 101, 95.1, 96), E0], {2: long()}, Terms(spread=0.30))
    assert run.trades[0].exit.why == "end_of_data"


def test_17_a_flat_market_costs_the_spread_once() -> None:
    still = (100, 100.1, 99.9, 100)
    run = hand([F, F, F, still, still], {2: long()}, Terms(spread=0.30))
    assert run.equity[-1] == pytest.approx(10_000 - 1.2), "4 ounces x 0.30"


def test_18_commission_is_paid_on_both_sides() -> None:
    run = hand([F, F, F, (100, 111, 99, 110), E0], {2: long()}, Terms(spread=0.0, commission=3.5))
    assert pnl(run) == pytest.approx(49.65), "50 - 2 x 3.5 x 0.05"
    assert run.trades[0].costs.commission == pytest.approx(0.35)


def test_19_a_gross_winner_may_be_a_net_loser() -> None:
    run = hand([F, F, F, (100, 100.2, 99.9, 100.05)], {2: long()}, Terms(spread=0, commission=7))
    assert pnl(run) == pytest.approx(-0.45), "0.05 x 5 ounces - 0.70"
    assert win_rate([t.pnl for t in run.trades]) == 0.0


def test_20_slippage_is_against_us_on_both_market_fills() -> None:
    terms = Terms(spread=0.0, slippage=0.10)
    run = hand([F, F, F, E0, (100, 101, 94, 96), E0], {2: long()}, terms)
    t = run.trades[0]
    assert (t.entry.price, t.exit.price) == (100.1, 94.9)
    assert t.pnl == pytest.approx(-20.8), "4 ounces x 5.20"
    assert t.costs.slippage == pytest.approx(0.8)


def test_20b_a_target_never_slips() -> None:
    terms = Terms(spread=0.0, slippage=0.10)
    run = hand([F, F, F, (100, 111, 99, 110), E0], {2: long()}, terms)
    assert run.trades[0].exit.price == 110.0


def test_21_size_is_rounded_down() -> None:
    run = hand([F, F, F, F], {2: long(stop=97.0)})
    assert run.trades[0].entry.lots == 0.08, "25 / 3.00 = 8.33 ounces"


def test_22_size_is_never_rounded_up_to_the_smallest_lot() -> None:
    run = hand([F, F, F, F], {2: long(stop=70.0, target=200.0)})
    assert run.trades == []
    assert [(o.bar, o.reason) for o in run.orders] == [(3, "min_lot")], "25 / 30.00 = 0.83 ounces"
    assert run.orders[0].needs_equity == pytest.approx(12_000), "1 ounce x 30.00 / 0.25 %"


def test_23_size_survives_binary_fractions() -> None:
    run = hand([F, F, F, F], {2: long(stop=99.0)}, Terms(spread=0.0, equity=11_600))
    assert run.trades[0].entry.lots == 0.29, "29 money over 1.00, where 0.29 / 0.01 is 28.99"


def test_24_size_is_taken_at_the_fill() -> None:
    run = hand([F, F, F, (102, 103, 101, 102), (102, 102.5, 94, 95), E0], {2: long()})
    assert run.trades[0].entry.lots == 0.03, "25 / 7"
    assert pnl(run) == pytest.approx(-21.0)


@pytest.mark.parametrize("o", [96, 98, 100, 102, 104, 108])
def test_24b_so_a_stop_inside_a_bar_never_costs_more_than_was_planned(o) -> None:
    """Sizing at the signal's close, 35 lost here where 25 was planned, is not offered."""
    run = hand([F, F, F, (o, o + 0.5, o - 0.5, o), (o, o, 94, 95)], {2: long()})
    assert run.trades[0].exit.price == 95
    assert -25.0 - 1e-9 <= pnl(run) < 0


def test_25_margin_refuses_and_says_so() -> None:
    rows = [(4000, 4001, 3999, 4000)] * 5
    terms = Terms(spread=0.0, equity=1_000, risk=0.05)
    run = hand(rows, {2: long(stop=3998.5, target=4010)}, terms)
    # 50 / 1.5 -> 33 ounces x 4,000 / 20 = 6,600 > 1,000
    assert [(o.bar, o.reason) for o in run.orders] == [(3, "margin")]


def test_26_the_contract_multiplies() -> None:
    rows = [(2000, 2000.5, 1999.5, 2000)] * 3 + [(2000, 2021, 1999, 2020)] * 2
    run = hand(rows, {2: long(stop=1995, target=2020)}, Terms(spread=0.0, risk=0.05))
    assert run.trades[0].entry.lots == 1.0, "500 / 5 ounces"
    assert pnl(run) == pytest.approx(2_000.0), "20 x 100 ounces"


WEEKEND = [
    *(clock(f"2024-01-05T23:{m}") for m in (15, 30, 45)),
    *(clock(f"2024-01-08T01:{m:02}") for m in (0, 15)),
]
AFTER_WEEKEND = [F, F, F, (97, 98, 96.5, 97), (97, 98, 96, 97)]


def test_31_an_order_of_friday_fills_on_monday() -> None:
    run = hand(AFTER_WEEKEND, {2: long()}, opens=WEEKEND)
    t = run.trades[0]
    assert (t.entry.bar, t.entry.price) == (3, 97.0)
    assert t.entry.lots == 0.12, "sized there: 25 / 2"


def test_31b_or_is_refused_where_the_gap_is_too_long() -> None:
    terms = Terms(spread=0.0, max_gap_ns=timedelta(hours=1) // timedelta(microseconds=1) * 1_000)
    run = hand(AFTER_WEEKEND, {2: long()}, terms, opens=WEEKEND)
    assert [(o.bar, o.reason) for o in run.orders] == [(3, "max_gap")]


def test_33_swap_is_charged_for_each_change_of_trading_day() -> None:
    """From 23:00 on the trading clock, which is 21:00 UTC in January."""
    run = hand(
        [F, F, F, E0, E0], {2: long()}, Terms(spread=0.0, swap=-5.0), opens="2024-01-09T23:00"
    )
    assert pnl(run) == pytest.approx(-0.25), "0.05 lot, one change"
    assert run.equity[-1] == pytest.approx(9_999.75)
    assert run.trades[0].costs.swap == pytest.approx(0.25)


def test_33b_and_a_weekend_counts_three() -> None:
    run = hand(
        [F, F, F, E0, E0], {2: long()}, Terms(spread=0.0, swap=-5.0), opens="2024-01-05T23:00"
    )
    assert pnl(run) == pytest.approx(-0.75)


def test_43_trades_add_up_to_the_change_of_equity() -> None:
    rows = [F, F, F, (100, 101, 94, 100), E0, (100, 111, 99, 110), E0]
    run = hand(rows, {2: long(), 3: long()}, Terms(spread=0.30, commission=3.5))
    assert len(run.trades) == 2
    assert sum(t.pnl for t in run.trades) == pytest.approx(run.equity[-1] - 10_000)


def test_44_no_open_bar_is_without_its_stop() -> None:
    rows = [F, F, F, (100, 101, 94, 100), E0, (100, 111, 99, 110), E0]
    run = hand(rows, {2: long(), 3: long()})
    assert [t.exit.why for t in run.trades] == ["stop", "target"]
    assert all(t.stop < t.entry.price < t.target for t in run.trades)


def test_45_a_gap_beyond_ruin_ends_the_run() -> None:
    rows = [F, F, F, E0, (5, 6, 4, 5), (5, 6, 4, 5)]
    run = hand(rows, {2: long()}, Terms(spread=0.0, equity=100, risk=0.5, leverage=1000))
    assert pnl(run) == pytest.approx(-950.0), "50 / 5 = 10 ounces x 95"
    assert (run.why, len(run.equity), run.asked[-1]) == ("ruin", 5, 3)


def test_46_one_rounding_rule() -> None:
    assert round(2.675, 2) == 2.67, "what the language's own rounding gives"
    assert Instrument().to_ticks(2.675) == 268
    run = hand([F, F, F, F], {2: long(stop=97.125, target=102.675)})
    assert (run.trades[0].stop, run.trades[0].target) == (97.13, 102.68)


def test_47_a_thousand_small_wins_do_not_drift() -> None:
    assert sum([0.1] * 1000) != 100.0, "what a running sum of floats gives"
    row = (100, 100.02, 99.99, 100)
    rows = [row] * 1001
    orders = {bar: long(stop=95.0, target=100.02) for bar in range(1000)}
    run = hand(make_bars(rows), orders)
    assert len(run.trades) == 1000
    assert {t.exit.price for t in run.trades} == {100.02}
    assert {t.entry.lots for t in run.trades} == {0.05}, "25.25 money at the end: still 5 ounces"
    assert run.equity[-1] == pytest.approx(10_100.0, abs=1e-8)
