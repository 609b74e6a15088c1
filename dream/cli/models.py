"""dream models: who can decide."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dream.cli import local

if TYPE_CHECKING:
    from dream.llm.catalog import Entry

FREE = (
    ("rules", "takes every live set-up, first come by board order"),
    ("never", "never trades"),
    ("random:P", "tries to enter with probability P at each flat question"),
    ("scripted:FILE", "answers from a JSONL file, one answer a line"),
    ("module:function", "your own function of the snapshot"),
)

USUAL_TOKENS = 2_500
"""Of a prompt of a run: some models charge long prompts at another rate."""


app = typer.Typer(name="models")
app.command("install")(local.install)


@app.callback(invoke_without_command=True)
def models(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the deciders: models of the catalogue with their prices, and those that need no key.

    Example: dream models
    """
    if ctx.invoked_subcommand is not None:
        return
    from importlib.metadata import version

    from dream.llm.catalog import CATALOG

    now_ns = time.time_ns()
    day = datetime.fromtimestamp(now_ns // 10**9, UTC).date().isoformat()
    source = f"genai-prices {version('genai-prices')}"
    rows: list[dict[str, Any]] = [
        {
            "alias": entry.alias,
            "id": entry.id,
            "endpoint": entry.base_url,
            "answer": entry.answer,
            "key": entry.key_env,
            "key_present": bool(entry.key_env and os.environ.get(entry.key_env)),
            "training_cutoff": entry.cutoff,
            "cutoff_source": entry.cutoff_source,
            "usd_per_million": _rates(entry, now_ns),
        }
        for entry in CATALOG.values()
    ]
    if as_json:
        free = [{"name": name, "what": what} for name, what in FREE]
        prices = {"day": day, "source": source, "prompt_tokens": USUAL_TOKENS}
        typer.echo(json.dumps({"models": rows, "prices": prices, "without_a_key": free}))
        return
    typer.echo("Models (dream run --model NAME):")
    for row in rows:
        key = _key(row)
        cutoff = row["training_cutoff"]
        known = f"trained to {cutoff}" if cutoff else "training cutoff unknown"
        rates = _shown(row["usd_per_million"])
        typer.echo(f"  {row['alias']:<9}{row['id']:<28}{rates:<16}{known:<25}{key}")
    typer.echo(
        f"Prices: USD per million tokens, input / output, on {day} for prompts of "
        f"{USUAL_TOKENS:,} tokens, by {source}."
    )
    typer.echo("\nWithout a key:")
    for name, what in FREE:
        typer.echo(f"  {name:<17}{what}")


def _key(row: dict[str, Any]) -> str:
    """What is missing before the model can be asked."""
    if row["key"] is None:
        return f"needs no key; {local.state()}"
    return f"{row['key']} {'is set' if row['key_present'] else 'is not set'}"


def _rates(entry: Entry, now_ns: int) -> dict[str, float] | None:
    """USD per million tokens of input and of output, None where they are not known."""
    from dream.llm.catalog import price
    from dream.types import Usage

    tokens = USUAL_TOKENS
    asked = price(entry, Usage(input_tokens=tokens, output_tokens=0), now_ns)
    both = price(entry, Usage(input_tokens=tokens, output_tokens=tokens), now_ns)
    if asked is None or both is None:
        return None
    per_million = 10**6 / tokens
    return {
        "input": round(asked * per_million, 6),
        "output": round((both - asked) * per_million, 6),
    }


def _shown(rates: dict[str, float] | None) -> str:
    return "not known" if rates is None else f"{rates['input']:.2f} / {rates['output']:.2f}"
