"""One small finished run whose every figure can be worked out by hand."""

from __future__ import annotations

import numpy as np

from dream.reports.metrics import RunFacts
from dream.types import Costs, Fill, RunTable, Terms, Trade, Usage

FACTS = RunFacts(
    run_id="8f3c2a91d0",
    journal="runs/8f3c2a91d0/journal.jsonl",
    bars="bars/xauusd.parquet",
    wall_s=62.0,
    terms=Terms(slippage=0.05),
    spent_usd=0.1834,
)


def trade(
    strategy: str,
    pnl: float,
    r: float,
    costs: Costs = Costs(),  # noqa: B008 - frozen
    target_first: float | None = None,
) -> Trade:
    """A trade with this result; ambiguous if it would have had another with the target first."""
    fill = Fill(bar=1, t_ns=0, price=2000.0, lots=0.025, why="open")
    return Trade(
        seq=0,
        strategy=strategy,
        side=1,
        entry=fill,
        exit=fill,
        stop=1990.0,
        target=2020.0,
        pnl=pnl,
        r=r,
        mae=1.0,
        mfe=1.0,
        ambiguous=target_first is not None,
        costs=costs,
        pnl_stop_first=pnl,
        pnl_target_first=pnl if target_first is None else target_first,
        known_ns=1,
    )


TABLE = RunTable(
    decider="sonnet",
    memory="hybrid",
    decisions=40,
    decisions_by_status={"ok": 39, "parse_error": 1},
    actions={"HOLD": 33, "BUY": 6},
    setups={"VolBreakout": 5, "PullbackEntry": 4},
    refused={"min_lot": 1, "day_limit": 1},
    needs_equity=12_500.25,
    trades=(
        trade("VolBreakout", 50.0, 2.0, Costs(spread=10.0, slippage=2.0)),
        trade("VolBreakout", -25.0, -1.0, Costs(spread=5.0), target_first=50.0),
        trade("VolBreakout", 0.0, 0.0),
        trade("PullbackEntry", 35.0, 1.4, Costs(spread=4.0, swap=1.0)),
    ),
    start_equity=10_000.0,
    final_equity=10_060.0,
    equity=np.array([10_000.0, 10_000.0, 10_050.0, 10_025.0, 10_040.0, 10_060.0]),
    day=np.array([20147, 20150, 20150, 20150, 20151, 20151], dtype=np.int32),
    bars_from_ns=1_740_960_900_000_000_000,
    bars_to_ns=1_741_124_700_000_000_000,
    asked_from=1,
    asked_from_ns=1_740_996_000_000_000_000,
    recall_calls=40,
    recalled=120,
    injected=7,
    cost_usd=0.1234,
    replies=41,
    tokens=Usage(8_000, 30_000, 2_000, 1_234, 0),
    prefix_bytes=6_000,
    silent=3,
    ended="decisions",
    digest="0" * 64,
)
