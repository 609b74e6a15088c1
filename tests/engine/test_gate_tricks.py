"""What a strategy may try, knowingly or not, to carry the future past the gate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dream import indicators
from dream.engine.causality import checked_setups
from dream.engine.session import Asked, Session, run_rules
from dream.errors import DreamError, LeakError
from dream.types import MISSING, Bars, Setups, Terms
from tests.gen import MARKET, make_bars, make_setups, walk

N = 12_000


@pytest.fixture(scope="module")
def bars() -> Bars:
    px = walk(np.random.default_rng(6), N, base=200_000, scale=40)
    return make_bars(px, opens=MARKET[:N], in_ticks=True)


def live_at(n: int, rows: np.ndarray) -> Setups:
    live = np.zeros(n, np.int8)
    live[rows] = 1
    return replace(make_setups(n), live=live)


def once_a_day(bars: Bars) -> np.ndarray:
    """The bars that close at 12:00: honest set-ups, one a day."""
    return np.flatnonzero(bars.minute == 720)


class Survivors:
    """Drops the set-ups after which the next hours fall; where they are unknown, it keeps all."""

    def __init__(self, begins: int = 0) -> None:
        self.begins = begins

    def __call__(self, bars: Bars) -> Setups:
        rows = once_a_day(bars)
        close, last = bars.px[:, 3], len(bars) - 1
        later = close[np.minimum(rows + 40, last)]
        dropped = (later < close[rows]) & (rows + 40 <= last)
        absolute = bars.t_close_ns[rows] >= MARKET[self.begins]
        return live_at(len(bars), rows[~(dropped & absolute)])


@pytest.mark.parametrize("seed", range(10))
def test_set_ups_dropped_because_they_will_fail_are_missed(bars, seed) -> None:
    with pytest.raises(LeakError, match=r"live at bar \d+"):
        checked_setups({"survivors": Survivors()}, bars, seed)


def next_bar_rises(bars: Bars) -> Setups:
    """Of the honest set-ups only those whose next bar rises: one bar of the future, once a day."""
    rows = once_a_day(bars)
    rows = rows[rows + 1 < len(bars)]
    return live_at(len(bars), rows[bars.px[rows + 1, 3] > bars.px[rows, 3]])


@pytest.mark.parametrize("seed", range(10))
def test_one_bar_ahead_at_one_bar_a_day(bars, seed) -> None:
    with pytest.raises(LeakError, match=r"live at bar \d+"):
        checked_setups({"ahead": next_bar_rises}, bars, seed)


def test_what_was_kept_from_the_first_call_is_never_the_future(bars) -> None:
    """A module's global, filled once: it holds bars that come before the first question."""
    kept: dict[str, np.ndarray] = {}

    def remembers(bars: Bars) -> Setups:
        close = kept.setdefault("close", bars.px[:, 3])
        n = len(bars)
        rises = np.zeros(n, np.int8)
        m = min(n, len(close) - 8)
        rises[:m] = close[8 : m + 8] > close[:m]
        return replace(make_setups(n), live=rises)

    setups = checked_setups({"remembers": remembers}, bars, 0)
    assert not setups["remembers"].live[indicators.first_bar(bars) :].any()


def test_the_longest_series_seen_is_never_the_future(bars) -> None:
    kept = [np.zeros(0, np.int32)]

    def hoards(bars: Bars) -> Setups:
        n = len(bars)
        if n > len(kept[0]):
            kept[0] = bars.px[:, 3].copy()
        close, rises = kept[0], np.zeros(n, np.int8)
        m = min(n, len(close) - 8)
        rises[:m] = close[8 : m + 8] > close[:m]
        return replace(make_setups(n), live=rises)

    with pytest.raises(LeakError):
        checked_setups({"hoards": hoards}, bars, 0)


def test_bars_and_memo_that_a_strategy_spoils_are_its_own(bars) -> None:
    """It writes what it gets; the engine fills on the bars as they were."""
    before = {
        name: getattr(bars, name).copy() for name in ("px", "spread", "minute", "t_close_ns", "day")
    }
    facts = indicators.facts(bars)

    def spoils(bars: Bars) -> Setups:
        for name in before:
            array = getattr(bars, name)
            array.setflags(write=True)
            array[:] = 1
        indicators.facts(make_bars([(1, 1, 1, 1)]))
        bars.memo["facts"] = None
        return make_setups(len(bars))

    session = Session(bars, {"spoils": spoils}, Terms(), asks=lambda b, s, f: np.ones(N, np.uint8))
    for name, values in before.items():
        assert (getattr(session.bars, name) == values).all(), name
    assert bars.memo["facts"] is facts
    asked = session.advance()
    assert isinstance(asked, Asked)
    assert asked.snapshot.close == before["px"][asked.bar, 3] / 100


def test_arrays_that_a_strategy_keeps_are_not_the_engines(bars) -> None:
    """It repaints its own set-ups after they were checked."""
    given: list[Setups] = []

    def keeps(bars: Bars) -> Setups:
        px = bars.px
        nothing = np.full(len(bars), MISSING, np.int32)
        live = (bars.minute == 720).astype(np.int8)
        made = Setups(live, px[:, 2] - 500, px[:, 1] + 500, nothing, {"low": px[:, 2].copy()})
        given.append(made)
        return made

    honest = run_rules(bars, {"keeps": keeps}, Terms()).trades
    setups = checked_setups({"keeps": keeps}, bars, 0)["keeps"]
    for array in (given[-1].live, given[-1].stop, given[-1].levels["low"]):
        array.setflags(write=True)
        array[:] = 0
    assert setups.live.any()
    assert (setups.stop == bars.px[:, 2] - 500).all()
    assert (setups.levels["low"] == bars.px[:, 2]).all()
    with pytest.raises(TypeError):
        setups.levels["low"] = setups.stop
    assert len(honest) > 50


def test_a_strategy_that_fails_on_a_short_series_says_so(bars) -> None:
    def needs_many(bars: Bars) -> Setups:
        if len(bars) < 100:
            raise DreamError("too short")
        return make_setups(len(bars))

    with pytest.raises(DreamError, match="too short"):
        checked_setups({"many": needs_many}, bars.prefix(99), 0)


def clipped(bars: Bars, *, ahead: int = 4) -> Setups:
    """Wide rising bars, without those after which it fell: at the end a bar looks at itself."""
    close, opened = bars.px[:, 3], bars.px[:, 0]
    later = np.minimum(np.arange(len(bars)) + ahead, len(bars) - 1)
    body = close - opened
    wide = body > np.quantile(body[:3_000], 0.99)
    return live_at(len(bars), np.flatnonzero(wide & (close[later] >= close)))


@pytest.mark.parametrize("seed", range(10))
def test_losers_dropped_through_a_clipped_index(bars, seed) -> None:
    with pytest.raises(LeakError, match=r"live at bar \d+"):
        checked_setups({"clipped": clipped}, bars, seed)
