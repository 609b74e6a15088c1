"""The session's protocol, and what it shows: board, position, account."""

from __future__ import annotations

import numpy as np
import pytest

from dream.engine.session import Asked, Done, OrderFilled, Session, TradeClosed
from dream.types import MISSING, Account, Decision, Position, Terms
from tests.engine.driving import FREE, NAME, drive, drive_scene, hand, long, short
from tests.gen import clock, fixed, make_bars, make_setups, scene

F = (100, 100.5, 99.5, 100)
E0 = (100, 101, 99, 100)
HOLD = Decision()


def session(rows, terms: Terms = FREE, ask: int = 3) -> Session:
    bars = make_bars(rows)
    strategies = {NAME: fixed(make_setups(len(bars)))}
    return Session(bars, strategies, terms, asks=lambda b, s, first: np.full(len(b), ask, np.uint8))


def test_events_come_one_by_one_in_order() -> None:
    s = session([F, (100, 101, 94, 96), F])
    first = s.advance()
    assert isinstance(first, Asked)
    assert (first.bar, first.snapshot.seq) == (0, 0)
    s.submit(long())
    filled = s.advance()
    assert isinstance(filled, OrderFilled)
    assert (filled.order.seq, filled.order.bar, filled.order.price) == (0, 1, 100.0)
    closed = s.advance()
    assert isinstance(closed, TradeClosed)
    assert (closed.trade.exit.bar, closed.trade.exit.why) == (1, "stop")
    second = s.advance()
    assert isinstance(second, Asked)
    assert (second.bar, second.snapshot.seq) == (1, 1)
    s.submit(HOLD)
    third = s.advance()
    assert isinstance(third, Asked)
    assert third.bar == 2
    s.submit(HOLD)
    assert s.advance() == Done("end_of_data")
    assert s.advance() == Done("end_of_data"), "the end stays the end"


def test_nothing_moves_while_a_question_is_open() -> None:
    s = session([F, F, F])
    with pytest.raises(AssertionError):
        s.submit(HOLD)
    s.advance()
    with pytest.raises(AssertionError):
        s.advance()
    s.submit(HOLD)
    with pytest.raises(AssertionError):
        s.submit(HOLD)


def test_equity_grows_with_the_walk() -> None:
    s = session([F, F, (100, 103, 98, 102), E0])
    s.advance()
    assert s.equity.tolist() == [10_000]
    s.submit(HOLD)
    s.advance()
    s.submit(long())
    while not isinstance(event := s.advance(), Asked):
        assert isinstance(event, OrderFilled)
    assert s.equity.tolist() == pytest.approx([10_000, 10_000, 10_010])


@pytest.mark.parametrize(("ask", "bars"), [(0, []), (1, [0, 1, 2, 5, 6]), (2, [3, 4]), (3, None)])
def test_it_asks_when_flat_or_in_a_position_as_told(ask, bars) -> None:
    """The position is open at the closes of bars 3 and 4; the policy that never asks gets none."""
    rows = [F, F, F, E0, E0, (100, 101, 94, 100), F]
    orders = {2: long()}
    setups = {NAME: make_setups(len(rows))}
    due = np.full(len(rows), ask, np.uint8)
    due[2] |= 1 if ask else 0
    run = drive(
        make_bars(rows), setups, FREE, answer=lambda bar, flat: orders.get(bar, HOLD), asks=due
    )
    wanted = list(range(7)) if bars is None else bars
    assert run.asked == sorted({*wanted, *([2] if ask else [])})


def test_a_position_as_it_is_shown() -> None:
    terms = Terms(spread=0.30, commission=3.5, buy_only=False)
    rows = [F, F, F, (100, 103, 98, 102), (102, 103, 101, 101), E0]
    run = hand(rows, {2: long()}, terms)
    assert run.snapshots[2].position is None
    shown = run.snapshots[4]
    entry_ns = shown.now_ns - 2 * 15 * 60 * 10**9
    assert shown.position == Position(
        seq=2, strategy=NAME, side=1, entry_ns=entry_ns, entry=100.3, lots=0.04,
        stop=95.0, target=110.0,
        unrealised=pytest.approx(2.8), unrealised_r=pytest.approx(2.8 / 21.2), bars_held=2,
    )  # fmt: skip
    cash = pytest.approx(10_000 - 0.14)
    assert shown.account == Account(10_000, cash, pytest.approx(10_002.66), 0, ())
    run = hand(rows, {2: short()}, terms)
    assert run.snapshots[4].position.unrealised == pytest.approx(5 * (100 - 101 - 0.3))
    assert run.snapshots[4].position.side == -1


def test_the_account_shows_the_last_five_trades_that_are_known() -> None:
    stopped = (100, 101, 94, 100)
    run = hand([F, *[stopped] * 8], {bar: long() for bar in range(8)})
    assert len(run.trades) == 8
    for bar, snapshot in enumerate(run.snapshots):
        known = run.trades[:bar]
        assert snapshot.account.trades == len(known)
        assert snapshot.account.recent == tuple(known[-5:])
        assert all(t.known_ns <= snapshot.now_ns for t in snapshot.account.recent)


def test_the_board_as_it_is_shown() -> None:
    level = np.array([9_900, MISSING, 9_950, 9_960, 9_970], np.int32)
    setups = make_setups(
        5, live={1: 1, 2: -1}, stop=[9_500, 9_510, 10_520, MISSING, 9_540],
        target=[11_000, 11_010, 9_020, 11_030, MISSING],
        trigger=[10_150, 10_025, MISSING, 9_900, 10_000],
        levels={"low": level}, expires_minute=1_260, entries_per_day=2,
    )  # fmt: skip
    run = hand([F] * 5, {}, setups=setups)
    rows = [snapshot.board[0] for snapshot in run.snapshots]
    assert [r.strategy for r in rows] == [NAME] * 5
    assert [r.live for r in rows] == [0, 1, -1, 0, 0]
    assert [r.stop for r in rows] == [95.0, 95.1, 105.2, None, 95.4]
    assert [r.target for r in rows] == [110.0, 110.1, 90.2, 110.3, None]
    assert [r.trigger for r in rows] == [101.5, 100.25, None, 99.0, 100.0]
    assert [r.distance for r in rows] == [1.5, 0.25, None, -1.0, 0.0]
    assert [r.levels["low"] for r in rows] == [99.0, None, 99.5, 99.6, 99.7]
    assert {(r.expires_minute, r.entries_per_day, r.entries_today) for r in rows} == {(1260, 2, 0)}


def test_the_board_counts_the_days_fills() -> None:
    stopped = (100, 101, 94, 100)
    opens = [clock("2024-01-09T23:15") + 15 * i for i in range(3)]
    opens += [clock("2024-01-10T01:00") + 15 * i for i in range(2)]
    setups = make_setups(5, entries_per_day=1)
    run = hand([F, stopped, F, F, F], {0: long()}, opens=opens, setups=setups)
    rows = [snapshot.board[0] for snapshot in run.snapshots]
    assert [r.entries_today for r in rows] == [0, 1, 1, 0, 0]
    assert [r.exhausted for r in rows] == [False, True, True, False, False]


def test_the_board_keeps_the_order_of_the_mapping() -> None:
    drawn = next(s for s in map(scene, range(100)) if len(s.setups) == 3 and len(s.bars) > 5)
    run = drive_scene(drawn)
    assert [row.strategy for row in run.snapshots[0].board] == ["b_first", "a_second", "c_third"]


def shown(run, bar: int) -> str:
    """Everything in a snapshot as text; arrays too."""
    s = run.snapshots[bar]
    arrays = (s.window.tolist(), s.window_close_ns.tolist(), s.closed_at_minute.tolist())
    rest = (s.seq, s.now_ns, s.minute, s.day, s.indicators, s.board, s.position, s.account)
    return repr((arrays, rest))


@pytest.mark.parametrize("seed", range(15))
def test_scrambling_the_future_changes_no_snapshot_before_it(seed) -> None:
    drawn = scene(seed, length=(20, 40))
    cut = len(drawn.bars) // 2
    px = drawn.bars.px.copy()
    px[cut:] = px[cut:][::-1] + 7
    other = make_bars(
        px,
        opens=(drawn.bars.t_close_ns // 60_000_000_000 + 105).tolist(),
        spread=drawn.bars.spread[:cut].tolist() + [3] * (len(px) - cut),
        instrument=drawn.bars.instrument,
        in_ticks=True,
    )
    runs = [
        drive(b, drawn.setups, drawn.terms, answer=drawn.answer, asks=3)
        for b in (drawn.bars, other)
    ]
    for bar in range(min(cut, len(runs[0].asked))):
        assert shown(runs[0], bar) == shown(runs[1], bar)
    assert runs[0].equity.tolist()[:cut] == runs[1].equity.tolist()[:cut]
