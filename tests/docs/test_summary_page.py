"""docs/summary.md has every field of the summary, and what it says of units is so."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from dream.reports.metrics import (
    MAX_ERROR_SHARE,
    CostSums,
    RecallCounts,
    Summary,
    TokenSums,
    UsdSums,
    max_drawdown,
    sharpe_daily,
)
from tests.docs.pages import README, ROOT, links, table
from tests.runs import made

PAGE = ROOT / "docs" / "summary.md"


def rows():
    return {name: (unit, what) for name, unit, what in table(PAGE, "## Fields", "field")}


def test_every_field_is_there_in_its_order_with_unit_and_meaning():
    assert list(rows()) == list(Summary.__annotations__)
    assert all(unit and what for unit, what in rows().values())
    assert "docs/summary.md" in links(README)


def test_a_run_prints_these_fields(bars_path, tmp_path):
    summary = made.run(made.spec(bars_path, memory="none", decisions=5), tmp_path).summary
    assert list(summary) == list(rows())


def test_the_parts_of_an_object_are_named():
    for name, parts in (
        ("costs", CostSums),
        ("recall", RecallCounts),
        ("tokens", TokenSums),
        ("usd", UsdSums),
    ):
        said = re.findall(r"\b\w+\b", rows()[name][1])
        assert set(parts.__annotations__) <= set(said)


def test_null_is_said_where_it_can_be():
    can = {name for name, kind in Summary.__annotations__.items() if "None" in str(kind)}
    assert any("None" in str(kind) for kind in TokenSums.__annotations__.values())
    can.add("tokens")  # a part of it
    assert can == {name for name, (_, what) in rows().items() if "null" in what}


def test_the_numbers_are_those_of_the_code():
    assert f"above {MAX_ERROR_SHARE:g}" in rows()["comparable"][1]
    assert rows()["max_drawdown"][0] == "share of the peak"
    assert max_drawdown(np.array([200.0, 150.0]), 100.0) == 0.25
    assert rows()["sharpe_daily"][0] == "ratio, annualised"
    equity = np.array([110.0, 110.0])  # returns of 0.1 and 0: mean 0.05, deviation 0.1 / root 2
    by_hand = 0.05 / (0.1 / math.sqrt(2)) * math.sqrt(252)
    assert sharpe_daily(equity, 100.0) == pytest.approx(by_hand)


@pytest.mark.parametrize("page", ["summary.md", "journal.md", "deciders.md", "fills.md"])
def test_every_link_leads_to_a_file(page):
    for target in links(ROOT / "docs" / page):
        assert (ROOT / "docs" / target.partition("#")[0]).is_file(), target


def test_arms_of_memory_have_other_digests_though_their_trades_are_equal(bars_path, tmp_path):
    """As the README says under Comparing, of a decider that does not read its memory."""
    arms = ("none", "similarity", "hybrid")
    runs = [made.run(made.spec(bars_path, memory=m, decisions=2_500), tmp_path) for m in arms]
    trades = [made.of_kind(tmp_path / run.id, "trade") for run in runs]
    results = [[(t["entry"], t["exit"], t["pnl"]) for t in kept] for kept in trades]
    assert results[0]
    assert results[0] == results[1] == results[2]
    assert len({run.digest for run in runs}) == 3
