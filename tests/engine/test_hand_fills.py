"""The hand-computed cases of fills and of the order of events; the numbers are their old names.

Bars 0 to 2 are flat at 100; a decision at the close of bar 2 has its stop at 95 and its target at
110; bar 3 is the entry bar. 25 money at risk over a distance of 5 are 0.05 lot = 5 ounces.
"""

from __future__ import annotations

import pytest

from dream.types import Terms
from tests.engine.driving import FREE, Run, hand, long

F = (100, 100.5, 99.5, 100)
E0 = (100, 101, 99, 100)


def outcome(run: Run) -> tuple[float, int, float, str] | None:
    """Entry price, exit bar, exit price and reason of the first trade."""
    if not run.trades:
        return None
    t = run.trades[0]
    return t.entry.price, t.exit.bar, t.exit.price, t.exit.why


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        pytest.param(
            [E0, (100, 111, 94, 100), E0], (100, 4, 95, "stop"), id="01 both in a later bar: stop"
        ),
        pytest.param(
            [(100, 101, 94, 96), (96, 97, 95.5, 96)], (100, 3, 95, "stop"),
            id="02 stop on the entry bar",
        ),
        pytest.param(
            [(100, 111, 99, 108), (108, 109, 107, 108)], (100, 3, 110, "target"),
            id="03 target on the entry bar",
        ),
        pytest.param(
            [(100, 111, 94, 100), E0], (100, 3, 95, "stop"), id="04 both on the entry bar: stop"
        ),
        pytest.param(
            [E0, (93, 94, 92, 93), (93, 94, 92, 93)], (100, 4, 93, "stop_gap"),
            id="05 gap through the stop fills at the open",
        ),
        pytest.param(
            [E0, (112, 113, 111.5, 112), E0], (100, 4, 110, "target_gap"),
            id="06 gap through the target fills at the level",
        ),
        pytest.param(
            [E0, (112, 112, 94, 95), (95.5, 96, 95.2, 95.5)], (100, 4, 110, "target_gap"),
            id="07 opens above the target, later low under the stop: the target came first",
        ),
        pytest.param(
            [E0, (94, 111, 93, 110), E0], (100, 4, 94, "stop_gap"),
            id="07b opens under the stop, later high over the target: out at the open",
        ),
        pytest.param(
            [E0, (100, 101, 95, 99), (99, 100, 98, 99)], (100, 4, 95, "stop"),
            id="08 low touches the stop exactly",
        ),
        pytest.param(
            [E0, (100, 110, 99, 105), (105, 106, 104, 105)], (100, 4, 110, "target"),
            id="08b high touches the target exactly",
        ),
        pytest.param(
            [E0, (100, 109.99, 95.01, 99), (99, 100, 98, 99)], (100, 5, 99, "end_of_data"),
            id="08c one tick short of both: open until the end",
        ),
        pytest.param(
            [(94, 96, 93, 95.5), (96, 97, 95.5, 96)], None, id="09 entry bar opens under the stop"
        ),
        pytest.param(
            [(112, 113, 111, 112), E0], None, id="10 entry bar opens over the target"
        ),
        pytest.param([], None, id="11 decision on the last bar"),
        pytest.param(
            [(100, 104, 99, 103)], (100, 3, 103, "end_of_data"), id="12 open at the end: last close"
        ),
    ],
)  # fmt: skip
def test_fills_inside_a_bar(rest, wanted) -> None:
    assert outcome(hand([F, F, F, *rest], {2: long()})) == wanted


def test_05b_a_gap_loses_more_than_was_planned() -> None:
    run = hand([F, F, F, E0, (93, 94, 92, 93)], {2: long()})
    assert run.trades[0].pnl == pytest.approx(-35.0), "7 x 5 ounces, where 25 was planned"


@pytest.mark.parametrize("intrabar", ["stop_first", "target_first", "nearer_first"])
def test_06b_a_target_gap_never_improves_the_price(intrabar) -> None:
    """Filling at the better open is not offered: under every term the level is the price."""
    run = hand(
        [F, F, F, E0, (112, 113, 111.5, 112), E0],
        {2: long()},
        Terms(spread=0.0, slippage=0.0, intrabar=intrabar),
    )
    assert outcome(run) == (100, 4, 110, "target_gap")
    assert run.trades[0].pnl == pytest.approx(50.0)


@pytest.mark.parametrize("bar", [(94, 96, 93, 95.5), (112, 113, 111, 112)], ids=["09b", "10b"])
def test_a_level_behind_the_price_refuses_and_costs_nothing(bar) -> None:
    run = hand([F, F, F, bar, bar], {2: long()})
    assert [(o.bar, o.reason) for o in run.orders] == [(3, "bracket")]
    assert run.equity[-1] == FREE.equity


def test_11b_the_last_bar_refuses_with_a_reason() -> None:
    run = hand([F, F, F], {2: long()})
    assert [(o.bar, o.reason) for o in run.orders] == [(2, "no_next_bar")]


def test_12b_the_end_of_the_data_is_marked_and_paid() -> None:
    run = hand([F, F, F, (100, 104, 99, 103)], {2: long()})
    assert (run.trades[0].exit.why, run.why) == ("end_of_data", "end_of_data")
    assert run.equity[-1] == pytest.approx(10_015.0), "3 x 5 ounces"


def test_13_the_close_of_the_exit_bar_may_decide_again() -> None:
    rows = [F, F, F, (100, 101, 94, 100), (100, 101, 99, 100), (100, 111, 99, 100)]
    run = hand(rows, {2: long(), 3: long()})
    assert [(t.entry.bar, t.exit.bar) for t in run.trades] == [(3, 3), (4, 5)]


def test_14_one_position_at_a_time() -> None:
    rows = [F, F, F, E0, E0, (100, 111, 99, 110)]
    run = hand(rows, {2: long(), 3: long(), 4: long()})
    assert len(run.trades) == 1
    refused = [(o.bar, o.reason) for o in run.orders if o.reason]
    assert refused == [(3, "position_open"), (4, "position_open")]


def test_15_entries_with_a_stop_out_between_are_two_trades() -> None:
    stopped = (100, 101, 94, 100)
    rows = [F, F, F, stopped, E0, E0, E0, stopped, E0, E0]
    run = hand(rows, {2: long(), 5: long()})
    assert [(t.entry.bar, t.exit.bar, t.exit.why) for t in run.trades] == [
        (3, 3, "stop"),
        (6, 7, "stop"),
    ]
