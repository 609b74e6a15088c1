"""dream cost: what runs have cost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dream.cli.settings import own_models
from dream.cli.words import many, printable, run_folder

if TYPE_CHECKING:
    from dream.runs.costs import RunCost

_WORDS = {
    "input": "input, uncached",
    "cache_read": "input, from the cache",
    "cache_write": "input, into the cache",
    "output": "output",
}


def cost(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs, or their journals.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what runs have cost so far, by kind of token, with what failed attempts may have cost.

    Example: dream cost runs/claude_sonnet_5_5-hybrid-0123456789ab
    """
    from dream.runs.costs import cost_of

    own = own_models(Path())
    runs = [cost_of(run_folder(folder), own) for folder in folders]
    spent_usd = math.fsum(run.spent_usd for run in runs)
    if as_json:
        typer.echo(json.dumps({"runs": [_record(r) for r in runs], "spent_usd": spent_usd}))
        return
    for run in runs:
        typer.echo("\n".join(_lines(run)))
    if len(runs) > 1:
        typer.echo(f"all {len(runs)} runs: {_usd(spent_usd)} at most")


def _record(run: RunCost) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "model": run.model,
        "replies": run.replies,
        "reused": run.reused,
        "replies_without_counts": run.uncounted,
        "tokens": dict(run.tokens),
        "usd": run.usd,
        "usd_unsplit": run.usd_unsplit,
        "cached_share": run.cached_share,
        "cost_usd": run.cost_usd,
        "attempts": run.attempts,
        "unsure_attempts": run.unsure,
        "unsure_usd": run.unsure_usd,
        "open_attempts": run.open,
        "open_usd": run.open_usd,
        "known_usd": run.known_usd,
        "spent_usd": run.spent_usd,
    }


def _lines(run: RunCost) -> list[str]:
    out = [f"{printable(run.run_id)}: {printable(run.model)}, {many(run.replies, 'reply')}"]
    if run.reused:
        out[0] += f", {run.reused:,} of them reused from other runs"
    for name, words in _WORDS.items():
        thinking = ""
        if name == "output" and run.tokens["thinking"]:
            thinking = f", {run.tokens['thinking']:,} of them thinking"
        tokens = f"{run.tokens[name]:>13,} tokens"
        out.append(f"  {words:<22}{tokens}{_usd(run.usd[name]):>15}{thinking}")
    share = run.cached_share
    known = "price not known" if run.cost_usd is None else _usd(run.cost_usd)
    cached = "" if share is None else f"; {share:.0%} of the input came from the cache"
    out.append(f"  {'replies':<22}{'':>20}{known:>15}{cached}")
    if run.usd_unsplit:
        out.append(f"  {_usd(run.usd_unsplit)} of it could not be told apart by token")
    out.append(f"  {'all attempts':<22}{'':>20}{_spent(run, run.known_usd):>15}, {_counted(run)}")
    if run.unsure or run.open:
        out.append(f"  {'at most':<22}{'':>20}{_spent(run, run.spent_usd):>15}")
    return out


def _counted(run: RunCost) -> str:
    words = many(run.attempts, "attempt")
    if run.unsure:
        words += f"; {run.unsure:,} without a known cost, at most {_spent(run, run.unsure_usd)}"
    if run.open:
        words += f"; {run.open:,} in flight or interrupted, at most {_spent(run, run.open_usd)}"
    return words


def _spent(run: RunCost, usd: float) -> str:
    """Money of attempts, which count nothing where no price was known."""
    return "not known" if run.cost_usd is None and not usd else _usd(usd)


def _usd(usd: float) -> str:
    return f"{usd:,.4f} USD"
