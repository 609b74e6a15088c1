"""Statistics of one run: pure functions of its equity and trades, and the record of them all.

Every function says None where a number would be undefined; none returns NaN or infinity.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, get_args

import numpy as np

from dream.stats import wilson
from dream.types import F8, I4, Costs, RunTable, Status, Terms, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TRADING_DAYS_PER_YEAR: Final[int] = 252
MAX_ERROR_SHARE: Final[float] = 0.05
"""Share of decisions that are not the agent's own above which a run is not comparable."""

_ROUNDING: Final[float] = 1e-12
"""Spread of returns that float64 rounding alone can make: equal returns differ by about 1e-16."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run table does not know about its run.

    Attributes:
        run_id: name of the run. journal, bars: paths, as the user should see them.
        wall_s: seconds that the run took.
        terms: what it traded under; the summary shows its costs and limits.
        spent_usd: of all attempts at paid calls, failed ones at the most that they can have cost.
        cache_note: why an expected cache did nothing, None where it did or none was expected.
        usd: of the replies, by the kinds of `UsdSums`; None where no price is known.
        reused: replies that another run had paid for.
    """

    run_id: str
    journal: str
    bars: str
    wall_s: float
    terms: Terms
    spent_usd: float = 0.0
    cache_note: str | None = None
    usd: UsdSums | None = None
    reused: int = 0


class CostSums(TypedDict):
    """Costs of all trades in account currency, positive when they cost money."""

    spread: float
    slippage: float
    commission: float
    swap: float
    total: float


class RecallCounts(TypedDict):
    """How often memory was asked, and what it put before the decider."""

    calls: int
    recalled: int
    injected: int


class UsdSums(TypedDict):
    """US dollars of all replies by what they were paid for; thinking is part of output."""

    input: float
    cache_read: float
    cache_write: float
    output: float
    thinking: float


class TokenSums(TypedDict):
    """Tokens of all replies by what they cost; null where no server counted that class.

    input: neither read from a cache nor written to one. thinking: part of output.
    """

    input: int | None
    cache_read: int | None
    cache_write: int | None
    output: int | None
    thinking: int | None


class Summary(TypedDict):
    """One run in one JSON object. Money is unrounded, in account currency; shares are 0 ... 1.

    bars_from, bars_to: close times of the first and last bar walked, ISO 8601 UTC.
    asked_from: close time of the first question's bar; the statistics begin there.
    setups: that appeared from there on, whether they were asked about or not.
    cost_usd: of the replies. spent_usd: of all attempts, failed ones at the most that they can have
        cost; a paid call without a known price counts nothing.
    usd: of the replies by kind of token, by the prices of their hour.
    cached_share: of the input tokens, those that were read from a cache.
    cache_note: why an expected cache did nothing.
    final_equity_*_first: the same trades and lots, only the exits of ambiguous bars repriced.
    needs_equity: cash with which every order refused as too small had been taken at its time.
    """

    run_id: str
    journal: str
    bars: str
    bars_from: str
    bars_to: str
    bars_walked: int
    asked_from: str
    decider: str
    memory: str
    terms: dict[str, Any]
    decisions: int
    decisions_by_status: dict[str, int]
    error_share: float | None
    comparable: bool
    actions: dict[str, int]
    setups: int
    setups_by_strategy: dict[str, int]
    trades: int
    trades_by_strategy: dict[str, int]
    wins_by_strategy: dict[str, int]
    net_pnl_by_strategy: dict[str, float]
    wins: int
    losses: int
    draws: int
    win_rate: float | None
    win_rate_interval: list[float] | None
    mean_r: float | None
    expectancy: float | None
    profit_factor: float | None
    profit_factor_note: str | None
    start_equity: float
    final_equity: float
    gross_pnl: float
    costs: CostSums
    net_pnl: float
    max_drawdown: float
    sharpe_daily: float | None
    ambiguous_bars: int
    final_equity_stop_first: float
    final_equity_target_first: float
    refused: dict[str, int]
    needs_equity: float | None
    recall: RecallCounts
    ended: str
    cost_usd: float | None
    spent_usd: float
    replies: int
    reused: int
    tokens: TokenSums
    usd: UsdSums | None
    cached_share: float | None
    cache_note: str | None
    wall_s: float
    digest: str


def max_drawdown(equity: F8, start: float) -> float:
    """Deepest fall from the running peak, as a share of that peak; above 1 after ruin.

    Args:
        equity: (n,) float64, account currency, in time order.
        start: starting money, > 0; the first peak.
    """
    assert start > 0
    path = np.concatenate(([start], equity))
    peak = np.maximum.accumulate(path)
    return float(np.max(1.0 - path / peak))


def day_ends(equity: F8, day: I4) -> F8:
    """Equity at the last bar of every trading day.

    Args:
        equity: (n,) float64, account currency, at each bar's close.
        day: (n,) int32, trading-day number of each bar, never falling.
    """
    assert len(equity) == len(day)
    return equity[np.append(day[1:] != day[:-1], [True])] if len(day) else equity


def sharpe_daily(
    day_end_equity: F8, start: float, days_per_year: float = TRADING_DAYS_PER_YEAR
) -> float | None:
    """Annualised Sharpe ratio of trading-day returns over a riskless rate of zero.

    Mean over sample deviation (n - 1), times the root of the days in a year. The first day's return
    is against the starting money. None below two days, without deviation, and where an equity that
    a return is measured against is not positive.

    Args:
        day_end_equity: (n,) float64, account currency, as `day_ends` gives it.
        start: starting money in account currency.
        days_per_year: trading days in a year.
    """
    before = np.concatenate(([start], day_end_equity[:-1]))
    if len(day_end_equity) < 2 or np.min(before) <= 0:
        return None
    returns = day_end_equity / before - 1.0
    deviation = float(np.std(returns, ddof=1))
    if deviation <= _ROUNDING:
        return None
    return float(np.mean(returns)) / deviation * math.sqrt(days_per_year)


def profit_factor(pnls: Sequence[float]) -> float | None:
    """Money won over money lost, each trade by its net result; None without a losing trade."""
    won = math.fsum(p for p in pnls if p > 0)
    lost = math.fsum(-p for p in pnls if p < 0)
    if lost == 0:
        return None
    factor = won / lost
    return factor if math.isfinite(factor) else None


def win_rate(pnls: Sequence[float]) -> float | None:
    """Share of all trades that won money; a draw is a trade but no win. None without trades."""
    return sum(p > 0 for p in pnls) / len(pnls) if pnls else None


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean (of R, or of money: the expectancy of a trade); None of nothing."""
    return math.fsum(values) / len(values) if values else None


def cost_sums(costs: Iterable[Costs]) -> CostSums:
    """Each kind of cost summed over trades, and all of them together."""
    rows = list(costs)
    spread = math.fsum(c.spread for c in rows)
    slippage = math.fsum(c.slippage for c in rows)
    commission = math.fsum(c.commission for c in rows)
    swap = math.fsum(c.swap for c in rows)
    return {
        "spread": spread,
        "slippage": slippage,
        "commission": commission,
        "swap": swap,
        "total": math.fsum((spread, slippage, commission, swap)),
    }


def token_sums(usage: Usage) -> TokenSums:
    """Tokens by class, from their sums."""
    return {
        "input": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
        "thinking": usage.thinking_tokens,
    }


def cached_share(usage: Usage) -> float | None:
    """Share of the input tokens that a cache gave; None without any, or where nobody says."""
    if usage.cache_read_tokens is None:
        return None
    whole = (usage.input_tokens or 0) + usage.cache_read_tokens + (usage.cache_write_tokens or 0)
    return usage.cache_read_tokens / whole if whole else None


def summarise(table: RunTable, facts: RunFacts) -> Summary:
    """The whole summary of a finished run, ready for `json.dumps(allow_nan=False)`."""
    trades = table.trades
    pnls = [t.pnl for t in trades]
    wins, losses = sum(p > 0 for p in pnls), sum(p < 0 for p in pnls)
    interval, factor = wilson(wins, len(pnls)), profit_factor(pnls)
    costs = cost_sums(t.costs for t in trades)
    equity, day = table.equity[table.asked_from :], table.day[table.asked_from :]
    share = _error_share(table)
    names = dict.fromkeys((*table.setups, *sorted(t.strategy for t in trades)))
    taken = Counter(t.strategy for t in trades)
    won = Counter(t.strategy for t in trades if t.pnl > 0)
    return {
        "run_id": facts.run_id,
        "journal": facts.journal,
        "bars": facts.bars,
        "bars_from": _iso(table.bars_from_ns),
        "bars_to": _iso(table.bars_to_ns),
        "bars_walked": len(table.equity),
        "asked_from": _iso(table.asked_from_ns),
        "decider": table.decider,
        "memory": table.memory,
        "terms": asdict(facts.terms),
        "decisions": table.decisions,
        "decisions_by_status": _counts(table.decisions_by_status, get_args(Status)),
        "error_share": share,
        "comparable": share is None or share <= MAX_ERROR_SHARE,
        "actions": _counts(table.actions),
        "setups": sum(table.setups.values()),
        "setups_by_strategy": _counts(table.setups, names),
        "trades": len(trades),
        "trades_by_strategy": _counts(taken, names),
        "wins_by_strategy": _counts(won, names),
        "net_pnl_by_strategy": {
            n: math.fsum(t.pnl for t in trades if t.strategy == n) for n in names
        },
        "wins": wins,
        "losses": losses,
        "draws": len(pnls) - wins - losses,
        "win_rate": win_rate(pnls),
        "win_rate_interval": None if interval is None else [float(x) for x in interval],
        "mean_r": mean([t.r for t in trades]),
        "expectancy": mean(pnls),
        "profit_factor": factor,
        "profit_factor_note": _why_no_factor(len(pnls)) if factor is None else None,
        "start_equity": float(table.start_equity),
        "final_equity": float(table.final_equity),
        "gross_pnl": math.fsum((*pnls, costs["total"])),
        "costs": costs,
        "net_pnl": math.fsum(pnls),
        "max_drawdown": max_drawdown(equity, table.start_equity),
        "sharpe_daily": sharpe_daily(day_ends(equity, day), table.start_equity),
        "ambiguous_bars": sum(t.ambiguous for t in trades),
        "final_equity_stop_first": _repriced(table, [t.pnl_stop_first for t in trades]),
        "final_equity_target_first": _repriced(table, [t.pnl_target_first for t in trades]),
        "refused": _counts(table.refused),
        "needs_equity": table.needs_equity,
        "recall": _recall_counts(table),
        "ended": table.ended,
        "cost_usd": table.cost_usd,
        "spent_usd": facts.spent_usd,
        "replies": table.replies,
        "reused": facts.reused,
        "tokens": token_sums(table.tokens),
        "usd": facts.usd,
        "cached_share": cached_share(table.tokens),
        "cache_note": facts.cache_note,
        "wall_s": facts.wall_s,
        "digest": table.digest,
    }


def _counts(counts: Mapping[str, int], always: Iterable[str] = ()) -> dict[str, int]:
    """Counts in a fixed order: the names that are always there, then the others by name."""
    names = dict.fromkeys((*always, *sorted(counts)))
    return {name: int(counts.get(name, 0)) for name in names}


def _recall_counts(table: RunTable) -> RecallCounts:
    return {
        "calls": table.recall_calls,
        "recalled": table.recalled,
        "injected": table.injected,
    }


def _error_share(table: RunTable) -> float | None:
    """Share of decisions whose status is not ok; None for a run in which nobody was asked."""
    if table.decisions == 0:
        return None
    return (table.decisions - table.decisions_by_status.get("ok", 0)) / table.decisions


def _why_no_factor(trades: int) -> str:
    return "no losing trade" if trades else "no trades"


def _repriced(table: RunTable, pnls: Sequence[float]) -> float:
    """Final equity had the ambiguous exits, and only those, paid these amounts."""
    changes = (p - t.pnl for p, t in zip(pnls, table.trades, strict=True) if t.ambiguous)
    return float(table.final_equity) + math.fsum(changes)


def _iso(t_ns: int) -> str:
    return datetime.fromtimestamp(t_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
