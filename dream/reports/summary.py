"""The summary of a run as a trader reads it in a terminal: about thirty lines, 80 columns.

Names that a user chose go in as `Text`, never as markup. A console that is no terminal gets the
same words without colour codes.
"""

from __future__ import annotations

import math
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dream.reports.metrics import MAX_ERROR_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console, RenderableType

    from dream.reports.metrics import Summary

_ENDED: Final = {
    "decisions": "all decisions made",
    "end_of_data": "to the end of the data",
    "ruin": "ruined",
}


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary; paths and commands are never cut, so that they can be copied."""
    console.print(render(summary), crop=False)


def render(summary: Summary) -> RenderableType:
    """The summary as a rich renderable."""
    parts: list[RenderableType] = [_heading(summary), _figures(summary)]
    if summary["setups_by_strategy"]:
        parts += [Text(), _strategies(summary)]
    parts += [Text(), _circumstances(summary)]
    if summary["cache_note"]:
        parts += [Text(), Text(f"Cache: {summary['cache_note']}.", style="yellow")]
    if not summary["comparable"]:
        parts += [Text(), _not_comparable(summary)]
    parts += [Text(), _next_steps(summary)]
    return Group(*parts)


def _heading(summary: Summary) -> Text:
    """Which run, who decided, over what."""
    ended = _ENDED.get(summary["ended"], summary["ended"])
    span = f"{_to_minute(summary['bars_from'])} to {_to_minute(summary['bars_to'])} UTC"
    asked = f"first question {_to_minute(summary['asked_from'])}, {ended}"
    return Text.assemble(
        (f"{summary['run_id']}\n", "bold"),
        f"{summary['decider']}, memory {summary['memory']}\n",
        (f"{span}, {summary['bars_walked']:,} bars\n{asked}\n", "dim"),
    )


def _figures(summary: Summary) -> Table:
    """The result, four lines of two figures."""
    start, final = summary["start_equity"], summary["final_equity"]
    change = final - start
    trades = (
        f"{summary['trades']:,}: {summary['wins']:,} won, {summary['losses']:,} lost, "
        f"{summary['draws']:,} drawn"
    )
    note = summary["profit_factor_note"]
    factor = f"- ({note})" if note else _number(summary["profit_factor"])
    equity = Text.assemble(
        (f"{final:,.2f} USD ", "bold"),
        (f"({_signed(change)}, {_signed(100 * change / start)}%)", _colour(change)),
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
    grid.add_row("Final equity", equity, "Max drawdown", f"{summary['max_drawdown']:.2%}")
    grid.add_row("Trades", trades, "Sharpe, daily", _number(summary["sharpe_daily"]))
    grid.add_row("Win rate", _win_rate(summary), "Mean R", _signed(summary["mean_r"]))
    grid.add_row("Profit factor", factor, "Mean USD", _signed(summary["expectancy"]))
    return grid


def _strategies(summary: Summary) -> Table:
    """Set-ups and what was made of them, a line a strategy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("Strategy")
    for heading in ("set-ups", "trades", "won", "net USD"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, setups in summary["setups_by_strategy"].items():
        net = summary["net_pnl_by_strategy"][name]
        table.add_row(
            Text(name),
            f"{setups:,}",
            f"{summary['trades_by_strategy'][name]:,}",
            f"{summary['wins_by_strategy'][name]:,}",
            Text(_signed(net), _colour(net)),
        )
    return table


def _circumstances(summary: Summary) -> Table:
    """What the result rests on: decisions, refusals, costs, doubts, memory, money spent."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("Decisions", _decisions(summary))
    grid.add_row("Answers", _listed(summary["actions"]) or "none")
    grid.add_row("Refused", _refused(summary))
    grid.add_row("Costs", _costs(summary))
    grid.add_row("Terms", _terms(summary))
    grid.add_row("Ambiguous", _ambiguous(summary))
    grid.add_row("Memory", _memory(summary))
    grid.add_row("Spent", f"{_spent(summary)}, {_duration(summary['wall_s'])}")
    if tokens := _tokens(summary):
        grid.add_row("Tokens", tokens)
    return grid


def _not_comparable(summary: Summary) -> Text:
    share = summary["error_share"] or 0.0
    return Text(
        f"Not comparable: {share:.1%} of the decisions are not the agent's own "
        f"(limit {MAX_ERROR_SHARE:.0%}).",
        style="bold yellow",
    )


def _next_steps(summary: Summary) -> Text:
    """Where everything is written, and the commands that check it; lines to copy, never broken."""
    run = shlex.quote(str(PurePath(summary["journal"]).parent))
    lines = (
        f"Journal  {summary['journal']}",
        f"Check    dream verify {run}",
        f"Repeat   dream replay {run}",
    )
    return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def _decisions(summary: Summary) -> str:
    counts = summary["decisions_by_status"]
    setups = f"{summary['setups']:,} set-ups appeared"
    return f"{summary['decisions']:,} ({_listed(counts) or 'nobody was asked'}), {setups}"


def _refused(summary: Summary) -> str:
    """Refusals by reason, and the account that would have taken those refused as too small."""
    refused = summary["refused"]
    if not sum(refused.values()):
        return "none"
    text = f"{sum(refused.values()):,} ({_listed(refused)})"
    needs = summary["needs_equity"]
    if needs is None:
        return text
    return f"{text}; the largest needed {math.ceil(needs):,} USD at its time"


def _costs(summary: Summary) -> str:
    """What was paid, by kind, and the result before it."""
    costs = summary["costs"]
    kinds = {
        "spread": costs["spread"],
        "slippage": costs["slippage"],
        "commission": costs["commission"],
        "swap": costs["swap"],
    }
    apart = ", ".join(f"{kind} {money:,.2f}" for kind, money in kinds.items() if money)
    paid = f"{costs['total']:,.2f} USD" + (f" ({apart})" if apart else "")
    return f"{paid}, {_signed(summary['gross_pnl'])} before costs"


def _terms(summary: Summary) -> str:
    terms = summary["terms"]
    costs = ", ".join(f"{kind} {terms[kind]:g}" for kind in ("slippage", "commission", "swap"))
    return f"risk {terms['risk']:.2%}, spread floor {terms['spread']:g}, {costs}"


def _ambiguous(summary: Summary) -> str:
    """How far the order of prices inside a bar, which bars do not tell, could move the result."""
    bars = summary["ambiguous_bars"]
    if not bars:
        return "no exit bar reached both stop and target"
    stop, target = summary["final_equity_stop_first"], summary["final_equity_target_first"]
    bars_named = "1 exit bar" if bars == 1 else f"{bars:,} exit bars"
    return f"{bars_named}: {stop:,.2f} USD if stops came first, {target:,.2f} if targets"


def _memory(summary: Summary) -> str:
    recall = summary["recall"]
    if not recall["calls"]:
        return "not asked"
    return (
        f"asked {recall['calls']:,} times, {recall['recalled']:,} episodes shown, "
        f"{recall['injected']:,} of them put in for balance"
    )


def _spent(summary: Summary) -> str:
    if not summary["replies"]:
        return "0.00 USD, no model was asked"
    cost, spent = summary["cost_usd"], summary["spent_usd"]
    money = (
        "price not known" if cost is None else f"{cost:,.{2 if cost >= 1 or not cost else 4}f} USD"
    )
    lost = "" if cost is None or spent - cost < 0.005 else f" ({spent:,.2f} with failed attempts)"
    replies = "1 reply" if summary["replies"] == 1 else f"{summary['replies']:,} replies"
    reused = f", {summary['reused']:,} of them reused" if summary["reused"] else ""
    return f"{money}{lost}, {replies}{reused}"


def _tokens(summary: Summary) -> str:
    """Input and output by what they cost; nothing where no server counted."""
    tokens, usd = summary["tokens"], summary["usd"]
    if tokens["input"] is None and tokens["output"] is None:
        return ""
    share = "" if summary["cached_share"] is None else f" ({summary['cached_share']:.0%})"
    kinds: tuple[tuple[str, int | None, float | None], ...] = (
        ("in", tokens["input"], usd and usd["input"]),
        (f"from cache{share}", tokens["cache_read"], usd and usd["cache_read"]),
        ("to cache", tokens["cache_write"], usd and usd["cache_write"]),
        ("out", tokens["output"], usd and usd["output"]),
        ("of it thinking", tokens["thinking"], usd and usd["thinking"]),
    )
    return ", ".join(
        f"{n:,} {kind}" + (f" ({cost:.2f} USD)" if cost and cost >= 0.005 else "")
        for kind, n, cost in kinds
        if n is not None
    )


def _win_rate(summary: Summary) -> str:
    rate, interval = summary["win_rate"], summary["win_rate_interval"]
    if rate is None or interval is None:
        return "-"
    low, high = interval
    return f"{rate:.1%} (95% Wilson {low:.1%} to {high:.1%})"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items() if n)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _signed(value: float | None) -> str:
    """Two digits with a sign; what rounds to nothing is +0.00, never -0.00."""
    return "-" if value is None else f"{round(value, 2) + 0.0:+,.2f}"


def _colour(money: float) -> str:
    return "green" if money > 0 else "red" if money < 0 else ""


def _to_minute(iso: str) -> str:
    return iso[:16].replace("T", " ")


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
