"""Money in a journal agrees to the cent, and where float64 has no cents, to its own rounding."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import JournalCorrupt
from dream.runs.journal import Journal
from dream.runs.records import TradeCosts
from dream.runs.verify import verify
from tests.runs import made
from tests.runs.journal_samples import QUICK, TRADE, closing, decision, opened, put

STEPS = st.tuples(
    st.floats(-0.5, 0.5), st.floats(0, 1e-3), st.lists(st.floats(-1e-4, 1e-4), max_size=4)
)


def walked(start, steps):
    """The cash of an account and its trades, added up part by part in the order of the engine."""
    cash, trades = start, []
    for move, share, swaps in steps:
        gross, fee, swap = abs(cash) * move, abs(cash) * share, 0.0
        cash -= fee
        for part in swaps:
            cost = abs(cash) * part
            cash += cost
            swap += cost
        cash += gross - fee
        trades.append((gross - 2.0 * fee + swap, 2.0 * fee, swap, len(swaps)))
    return cash, trades


def recorded(folder, start, trades, final):
    """A journal of these trades; each is closed as many days after its entry as it has swaps."""
    with Journal.open(folder, disk=QUICK) as journal:
        put(journal, [opened(terms={"equity": start}), decision(0, equity=start)])
        for pnl, fee, swap, days in trades:
            close = TRADE.exit.model_copy(update={"time": f"2024-01-{2 + days:02d}T10:30:00Z"})
            costs = TradeCosts(spread=0.0, slippage=0.0, commission=fee, swap=swap)
            journal.emit(TRADE.model_copy(update={"pnl": pnl, "costs": costs, "exit": close}))
        journal.emit(closing(journal, decisions=1, final_equity=final))


@given(start=st.floats(100, 1e15), steps=st.lists(STEPS, max_size=60))
def test_rounding_alone_is_never_taken_for_a_fault(tmp_path_factory, start, steps):
    cash, trades = walked(start, steps)
    folder = tmp_path_factory.mktemp("run")
    recorded(folder, start, trades, cash)
    exact = sum((Fraction(pnl) for pnl, *_ in trades), Fraction(0))
    assert verify(folder).pnl == pytest.approx(float(exact), rel=1e-9, abs=1e-9 * start)


@given(
    start=st.floats(5_000, 1e8),
    steps=st.lists(STEPS.filter(lambda s: abs(s[0]) < 0.01), min_size=1, max_size=60),
    cents=st.sampled_from([-1, 1]),
)
def test_a_cent_is_missed_in_every_account_that_has_cents(tmp_path_factory, start, steps, cents):
    cash, trades = walked(start, steps)
    folder = tmp_path_factory.mktemp("run")
    recorded(folder, start, trades, cash + 0.01 * cents)
    with pytest.raises(JournalCorrupt, match="closed line: expected equity"):
        verify(folder)


def test_a_forgotten_trade_is_missed_in_an_account_of_a_trillion(tmp_path):
    cash, trades = walked(1e12, [(0.001, 1e-6, [1e-7])] * 2_000)
    recorded(tmp_path / "whole", 1e12, trades, cash)
    assert verify(tmp_path / "whole").by_kind["trade"] == 2_000
    recorded(tmp_path / "one less", 1e12, trades[:-1], cash)
    with pytest.raises(JournalCorrupt, match="closed line: expected equity"):
        verify(tmp_path / "one less")


@pytest.mark.parametrize("equity", ["1e4", "1e12"])
def test_a_run_of_any_size_is_sound(bars_path, tmp_path, equity):
    terms = {"terms.equity": equity, "terms.swap": "-7.3", "terms.commission": "3.1"}
    spec = made.spec(bars_path, model="random:0.3", decisions=2_500, memory="none", set_=terms)
    run = made.run(spec, tmp_path)
    assert len(run.trades) > 40
    assert verify(run.folder).pnl == pytest.approx(run.summary["net_pnl"], rel=1e-9)
