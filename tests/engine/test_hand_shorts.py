"""Hand-computed cases beyond the old ones: shorts, timed exits, limits, doubt, moves.

Bars 0 to 2 are flat at 100; a decision at the close of bar 2 meets bar 3. Shorts have their stop at
105 and their target at 90, with a spread of 0.30 where one is named.
"""

from __future__ import annotations

import pytest

from dream.types import MISSING, Costs, Decision, Terms
from tests.engine.driving import FREE, NAME, Run, hand, long, short
from tests.gen import clock, make_bars, make_setups

F = (100, 100.5, 99.5, 100)
E0 = (100, 101, 99, 100)
FREE_SHORT = Terms(spread=0.0, buy_only=False)
SPREAD = Terms(spread=0.30, buy_only=False)


def exits(run: Run) -> list[tuple[int, float, str]]:
    return [(t.exit.bar, t.exit.price, t.exit.why) for t in run.trades]


def refused(run: Run) -> list[tuple[int, str | None]]:
    return [(o.bar, o.reason) for o in run.orders]


@pytest.mark.parametrize(
    ("bar", "wanted"),
    [
        ((100, 104.69, 99, 100), (5, 100.3, "end_of_data")),
        ((100, 104.70, 99, 100), (4, 105.0, "stop")),
        ((100, 101, 89.71, 91), (5, 100.3, "end_of_data")),
        ((100, 101, 89.70, 91), (4, 90.0, "target")),
        ((104.70, 106, 104, 105), (4, 105.0, "stop_gap")),
        ((107, 108, 106, 107), (4, 107.3, "stop_gap")),
        ((89.70, 95, 89, 90), (4, 90.0, "target_gap")),
        ((85, 86, 84, 85), (4, 90.0, "target_gap")),
    ],
)
def test_a_short_is_tried_against_the_ask(bar, wanted) -> None:
    run = hand([F, F, F, E0, bar, F], {2: short()}, SPREAD)
    assert exits(run) == [wanted]
    assert run.trades[0].entry.price == 100.0, "sold at the bid"


def test_a_short_pays_the_spread_of_the_bar_it_leaves_in() -> None:
    bars = make_bars([F, F, F, E0, (100, 105, 99, 100)], spread=[0, 0, 0, 0.10, 0.50])
    run = hand(bars, {2: short()}, SPREAD)
    t = run.trades[0]
    assert (t.exit.price, t.entry.lots) == (105.0, 0.05)
    assert t.pnl == pytest.approx(-25.0)
    assert t.costs == Costs(spread=pytest.approx(2.5)), "5 ounces x 0.50"


def test_a_long_pays_the_spread_of_the_bar_it_enters_in() -> None:
    bars = make_bars([F, F, F, E0, (100, 111, 99, 110)], spread=[0, 0, 0, 0.50, 0.10])
    run = hand(bars, {2: long()}, FREE)
    t = run.trades[0]
    assert (t.entry.price, t.entry.lots) == (100.5, 0.04), "25 / 5.50"
    assert t.costs == Costs(spread=pytest.approx(2.0)), "4 ounces x 0.50"


def test_the_floor_lies_under_every_bars_own_spread() -> None:
    bars = make_bars([F, F, F, E0, E0], spread=[0, 0, 0, 0.10, 0.10])
    assert hand(bars, {2: long()}, SPREAD).trades[0].entry.price == 100.3


def test_slippage_is_against_a_short_too() -> None:
    terms = Terms(spread=0.30, slippage=0.10, buy_only=False)
    stopped = hand([F, F, F, E0, (100, 105, 99, 100)], {2: short()}, terms).trades[0]
    assert (stopped.entry.price, stopped.exit.price) == (99.9, 105.1)
    # distance 5.10 -> 25 / 510 -> 0.04 lot; 4 ounces x 5.20, of which 0.20 slipped and 0.30 spread
    assert stopped.pnl == pytest.approx(-20.8)
    assert stopped.costs.slippage == pytest.approx(0.8)
    assert stopped.costs.spread == pytest.approx(1.2)
    won = hand([F, F, F, E0, (100, 101, 89, 90)], {2: short()}, terms).trades[0]
    assert won.exit.price == 90.0
    assert won.costs.slippage == pytest.approx(0.4)


@pytest.mark.parametrize("o", [104.7, 105, 106, 90, 89])
def test_a_level_behind_the_price_refuses_a_short(o) -> None:
    run = hand([F, F, F, (o, o + 1, o - 1, o)], {2: short()}, SPREAD)
    assert refused(run) == [(3, "bracket")]


def test_a_long_is_refused_where_the_spread_reaches_its_target() -> None:
    wide = make_bars([F, F, F, E0], spread=[0, 0, 0, 10.0])
    assert refused(hand(wide, {2: long()})) == [(3, "bracket")]
    just_under = make_bars([F, F, F, E0], spread=[0, 0, 0, 9.99])
    assert refused(hand(just_under, {2: long()})) == [(3, None)]


CLOSE = Decision("CLOSE")


def test_close_fills_at_the_next_open() -> None:
    terms = Terms(spread=0.30, slippage=0.10, buy_only=False)
    rows = [F, F, F, E0, (102, 103, 101, 102), F]
    assert exits(hand(rows, {2: long(), 3: CLOSE}, terms)) == [(4, 101.9, "close")]
    assert exits(hand(rows, {2: short(), 3: CLOSE}, terms)) == [(4, 102.4, "close")]


def test_close_comes_before_a_gap_at_the_same_open() -> None:
    rows = [F, F, F, E0, (112, 113, 111, 112), F]
    assert exits(hand(rows, {2: long(), 3: CLOSE})) == [(4, 112.0, "close")]


def test_close_without_a_position_is_refused_at_once() -> None:
    run = hand([F, F, F, F], {2: CLOSE})
    assert refused(run) == [(2, "flat")]
    assert run.events[-3:] == ["OrderRefused", "Asked", "Done"]


AT_10_00 = clock("2024-01-09T09:00")
"""Four bars that close at 09:15 to 10:00, then the next hour."""


def times(*quarters: int) -> list[int]:
    return [AT_10_00 + 15 * q for q in quarters]


@pytest.mark.parametrize(
    ("opens", "wanted"),
    [
        pytest.param(times(0, 1, 2, 3, 4), [(3, 99.9, "forced")], id="the entry bar ends at it"),
        pytest.param(times(-1, 0, 1, 2, 3), [(4, 100.9, "forced")], id="a later bar ends at it"),
        pytest.param(times(-1, 0, 1, 2, 4), [(4, 101.9, "forced_late")], id="that bar is missing"),
        pytest.param(times(-1, 0, 1, 2, 96), [(4, 101.9, "forced_late")], id="the day is over"),
    ],
)
def test_a_forced_close(opens, wanted) -> None:
    setups = make_setups(5, expires_minute=600)
    rows = [F, F, F, E0, (102, 103, 100, 101)]
    run = hand(rows, {2: long()}, Terms(spread=0, slippage=0.10), opens=opens, setups=setups)
    assert exits(run) == wanted
    at_the_open = wanted[0][2] == "forced_late"
    closed = run.trades[0].known_ns
    assert run.trades[0].exit.t_ns == (closed - 15 * 60 * 10**9 if at_the_open else closed)


def test_a_forced_close_of_a_short_pays_the_ask() -> None:
    setups = make_setups(4, expires_minute=600)
    terms = Terms(spread=0.30, slippage=0.10, buy_only=False)
    run = hand([F, F, F, E0], {2: short()}, terms, opens=times(0, 1, 2, 3), setups=setups)
    assert exits(run) == [(3, 100.4, "forced")]


def test_a_gap_comes_before_a_late_forced_close_and_that_before_the_levels() -> None:
    setups = make_setups(5, expires_minute=600)
    opens = times(-1, 0, 1, 2, 4)
    for bar, wanted in (
        ((94, 96, 93, 95), (4, 94.0, "stop_gap")),
        ((111, 112, 110, 111), (4, 110.0, "target_gap")),
        ((100, 112, 94, 95), (4, 100.0, "forced_late")),
    ):
        run = hand([F, F, F, E0, bar], {2: long()}, opens=opens, setups=setups)
        assert exits(run) == [wanted]
        assert not run.trades[0].ambiguous


def test_a_stop_comes_before_the_forced_close_of_the_same_bar() -> None:
    setups = make_setups(4, expires_minute=600)
    rows = [F, F, F, (100, 101, 95, 100)]
    run = hand(rows, {2: long()}, opens=times(0, 1, 2, 3), setups=setups)
    assert exits(run) == [(3, 95.0, "stop")]


@pytest.mark.parametrize(
    ("opens", "reason"),
    [
        pytest.param(times(0, 1, 2, 3), None, id="closes at the minute"),
        pytest.param(times(0, 1, 2, 4), "expired", id="closes after it"),
        pytest.param(times(0, 1, 2, 96), "expired", id="another day, before the minute"),
    ],
)
def test_an_entry_that_the_forced_close_would_meet_is_expired(opens, reason) -> None:
    setups = make_setups(4, expires_minute=600)
    run = hand([F, F, F, E0], {2: long()}, opens=opens, setups=setups)
    assert refused(run) == [(3, reason)]


def test_entries_a_day_are_counted_by_fills_and_start_again_with_the_day() -> None:
    stopped = (100, 101, 94, 100)
    setups = make_setups(8, entries_per_day=1)
    rows = [F, (120, 121, 119, 120), stopped, stopped, F, stopped, stopped, F]
    opens = [clock("2024-01-09T22:45") + 15 * i for i in range(5)]
    opens += [clock("2024-01-10T01:00") + 15 * i for i in range(3)]
    orders = {bar: long() for bar in (0, 1, 2, 4, 5)}
    orders[1] = long(stop=95, target=125)
    run = hand(rows, orders, opens=opens, setups=setups)
    assert refused(run) == [
        (1, "bracket"),
        (2, None),
        (3, "day_limit"),
        (5, None),
        (6, "day_limit"),
    ]


BOTH = (100, 111, 94, 100)


@pytest.mark.parametrize(
    ("intrabar", "o", "side", "wanted"),
    [
        ("stop_first", 100, "BUY", (95.0, "stop")),
        ("target_first", 100, "BUY", (110.0, "target")),
        ("nearer_first", 102.49, "BUY", (95.0, "stop")),
        ("nearer_first", 102.50, "BUY", (95.0, "stop")),
        ("nearer_first", 102.51, "BUY", (110.0, "target")),
        ("nearer_first", 97.21, "SELL", (105.0, "stop")),
        ("nearer_first", 97.20, "SELL", (105.0, "stop")),
        ("nearer_first", 97.19, "SELL", (90.0, "target")),
    ],
)
def test_a_bar_that_reaches_both(intrabar, o, side, wanted) -> None:
    """A short is nearer to the level by its ask: 97.20 + 0.30 lies half-way from 90 to 105."""
    terms = Terms(spread=0.30 if side == "SELL" else 0.0, intrabar=intrabar, buy_only=False)
    order = long() if side == "BUY" else short()
    run = hand([F, F, F, E0, (o, 112, 85, 100)], {2: order}, terms)
    t = run.trades[0]
    assert (t.exit.price, t.exit.why) == wanted
    assert t.ambiguous


def test_an_ambiguous_trade_is_priced_both_ways() -> None:
    terms = Terms(spread=0.0, slippage=0.10, commission=3.5)
    run = hand([F, F, F, E0, BOTH, F], {2: long()}, terms)
    t = run.trades[0]
    # 0.04 lot in at 100.10; out at 94.90 or 110.00, less 2 x 3.5 x 0.04
    assert t.pnl == t.pnl_stop_first == pytest.approx(-20.8 - 0.28)
    assert t.pnl_target_first == pytest.approx(39.6 - 0.28)


def test_a_clear_trade_has_one_price() -> None:
    t = hand([F, F, F, E0, (100, 111, 99, 110)], {2: long()}).trades[0]
    assert not t.ambiguous
    assert t.pnl_stop_first == t.pnl_target_first == t.pnl == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("bar", "mae", "mfe"),
    [
        pytest.param((100, 101, 99, 100), 2.0, 3.0, id="end of data: the whole bar"),
        pytest.param((101, 120, 94, 99), 5.0, 3.0, id="stop: open and exit, not the high"),
        pytest.param((98, 120, 97, 99), 2.0, 10.0, id="target: open and exit, not the low"),
        pytest.param((93, 120, 92, 99), 7.0, 3.0, id="stop gap: the open"),
        pytest.param((113, 120, 92, 99), 2.0, 13.0, id="target gap: the open was there"),
    ],
)
def test_moves_against_and_for(bar, mae, mfe) -> None:
    """The entry bar at 100 went from 98 to 103."""
    t = hand([F, F, F, (100, 103, 98, 100), bar], {2: long()}).trades[0]
    assert (t.mae, t.mfe) == (mae, mfe)


def test_moves_of_a_short_are_seen_at_the_ask() -> None:
    run = hand([F, F, F, (100, 103, 98, 100), E0], {2: short()}, SPREAD)
    assert (run.trades[0].mae, run.trades[0].mfe) == (3.3, 1.7)


def test_moves_are_never_negative() -> None:
    run = hand([F, F, F, (100, 100, 100, 100)], {2: long()}, SPREAD)
    assert (run.trades[0].mae, run.trades[0].mfe) == (0.3, 0.0)


def test_equity_is_marked_at_what_the_position_would_fetch() -> None:
    rows = [F, F, F, (100, 103, 98, 102), E0]
    assert hand(rows, {2: long()}, SPREAD).equity.tolist()[3] == pytest.approx(10_000 + 4 * 1.7)
    assert hand(rows, {2: short()}, SPREAD).equity.tolist()[3] == pytest.approx(10_000 - 5 * 2.3)


def test_an_open_loss_beyond_the_account_is_ruin() -> None:
    """Ten times the account at risk over 5: 2,000 ounces, which 0.51 x 2,000 already ruins."""
    terms = Terms(spread=0.0, slippage=0.10, equity=1_000, risk=10.0, leverage=1e9)
    run = hand([F, F, F, (100, 101, 99, 99.5), E0], {2: long()}, terms)
    assert run.why == "ruin"
    assert exits(run) == [(3, 99.5, "ruin")]
    assert len(run.equity) == 4
    assert run.equity[-1] == pytest.approx(1_000 + run.trades[0].pnl)


def test_the_last_cent_may_be_margin_and_losing_it_is_ruin() -> None:
    """1,000 over a distance of 5 are 200 ounces, whose margin is 200 x 100 / 20: all there is."""
    terms = Terms(spread=0.0, equity=1_000, risk=1.0)
    run = hand([F, F, F, E0, (100, 101, 95, 96), E0], {2: long()}, terms)
    assert refused(run) == [(3, None)]
    assert run.trades[0].entry.lots == 2.0
    assert run.equity.tolist()[3:] == [1_000, 0.0]
    assert run.why == "ruin"


def test_a_limit_ends_the_run_at_that_decision() -> None:
    rows = [F, F, F, (100, 103, 98, 102), E0, E0]
    run = hand(rows, {2: long()}, limit=4)
    assert exits(run) == [(3, 102.0, "end_of_run")]
    assert (run.why, len(run.equity)) == ("decisions", 4)
    refused_last = hand(rows, {2: long()}, limit=3)
    assert refused(refused_last) == [(2, "no_next_bar")]
    assert refused_last.events[-2:] == ["OrderRefused", "Done"]


LIVE = {"live": {2: 1}, "stop": 9_500, "target": 11_000}


@pytest.mark.parametrize(
    ("order", "terms", "board", "reason"),
    [
        (Decision("BUY", "nobody", stop=95, target=110), FREE, LIVE, "unknown_strategy"),
        (Decision("BUY", None, stop=95, target=110), FREE, LIVE, "unknown_strategy"),
        (short(), FREE, LIVE, "buy_only"),
        (short(), Terms(buy_only=False, autonomy="filter"), LIVE, "not_live"),
        (long(), Terms(autonomy="filter"), {}, "not_live"),
        (long(stop=None), FREE, {}, "no_stop"),
        (long(target=None), FREE, {}, "no_target"),
        (long(stop=float("nan"), target=None), FREE, {}, "no_target"),
        (short(stop=None), FREE_SHORT, LIVE, "no_stop"),
        (long(stop=None), FREE, LIVE | {"stop": MISSING}, "no_stop"),
        (long(stop=float("nan")), FREE, LIVE, "not_finite"),
        (long(target=float("inf")), FREE, LIVE, "not_finite"),
        (long(stop=-5.0), FREE, LIVE, "not_finite"),
        (long(stop=0.0), FREE, LIVE, "not_finite"),
        (long(target=1e300), FREE, LIVE, "not_finite"),
        (long(target=3e9), FREE, LIVE, "not_finite"),
        (long(stop=100.0), FREE, LIVE, "wrong_side"),
        (long(target=100.0), FREE, LIVE, "wrong_side"),
        (long(stop=105, target=90), FREE, LIVE, "wrong_side"),
        (short(stop=100.0), FREE_SHORT, LIVE, "wrong_side"),
        (short(target=100.0), FREE_SHORT, LIVE, "wrong_side"),
    ],
)
def test_an_order_refused_at_the_decision(order, terms, board, reason) -> None:
    run = hand([F, F, F, E0, E0], {2: order}, terms, setups=make_setups(5, **board))
    assert refused(run) == [(2, reason)]
    assert run.orders[0].t_ns == run.snapshots[2].now_ns
    assert run.trades == []


def test_levels_left_out_are_lent_by_a_live_set_up() -> None:
    setups = make_setups(5, **LIVE)
    t = hand([F, F, F, E0, E0], {2: long(stop=None, target=None)}, setups=setups).trades[0]
    assert (t.stop, t.target) == (95.0, 110.0)
    t = hand([F, F, F, E0, E0], {2: long(stop=97, target=None)}, setups=setups).trades[0]
    assert (t.stop, t.target) == (97.0, 110.0)


@pytest.mark.parametrize("status", ["parse_error", "truncated", "model_refusal", "api_error"])
def test_only_the_agents_own_choice_is_executed(status) -> None:
    order = Decision("BUY", NAME, stop=95, target=110, status=status)
    run = hand([F, F, F, E0, E0], {2: order})
    assert run.orders == []
