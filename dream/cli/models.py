"""dream models: who can decide."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dream.cli import local
from dream.cli.check import check
from dream.cli.fake import fake
from dream.cli.settings import own_models
from dream.cli.words import printable

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

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

app = typer.Typer(name="models")
app.command("check")(check)
app.command("fake")(fake)
app.command("install")(local.install)


@app.callback(invoke_without_command=True)
def models(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the deciders: models of the catalogue and of dream.toml, and those that need no key.

    Example: dream models
    """
    if ctx.invoked_subcommand is None:
        show(as_json=as_json)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the deciders, as dream models alone does.

    Example: dream models list --json
    """
    show(as_json=as_json)


def show(*, as_json: bool) -> None:
    """Print all models; never a key."""
    from importlib.metadata import version

    from dream.llm.catalog import CATALOG, SERVERS

    own = own_models(Path())
    now_ns = time.time_ns()
    day = datetime.fromtimestamp(now_ns // 10**9, UTC).date().isoformat()
    source = f"genai-prices {version('genai-prices')}"
    yours = [entry for name, entry in own.models.items() if name not in CATALOG]
    rows = [
        _row(entry, now_ns, f"{source}, {day}")
        for entry in (*(own.placed(row) for row in CATALOG.values()), *yours)
    ]
    servers = [_row(own.placed(row), now_ns, None) for row in SERVERS.values()]
    if as_json:
        free = [{"name": name, "what": what} for name, what in FREE]
        prices = {"day": day, "source": source, "prompt_tokens": USUAL_TOKENS}
        told = {"models": rows, "servers": servers, "prices": prices, "without_a_key": free}
        typer.echo(json.dumps(told))
        return
    _print(rows)
    typer.echo(
        f"\nPrices: USD per million tokens, input / output, on {day} for prompts of "
        f"{USUAL_TOKENS:,} tokens, by {source}; those marked * are by dream.toml."
    )
    typer.echo("\nModels of a server of yours, under the name that it knows them by:")
    for row in servers:
        at = f"{row['endpoint']}, {_key(row)}"
        typer.echo(f"  {row['alias']:<17}{row['answer']:<8}{printable(at)}")
    typer.echo("\nWithout a key:")
    for name, what in FREE:
        typer.echo(f"  {name:<17}{what}")


def _row(entry: Entry, now_ns: int, source: str | None) -> dict[str, Any]:
    from dream.llm.catalog import LOCAL

    rates = _rates(entry, now_ns)
    if entry.alias == LOCAL and entry.prices is not None and not entry.prices.output:
        source = "runs on this machine"
    elif entry.prices is not None:
        source = f"dream.toml, {entry.prices.date or 'not dated'}"
    present = bool(os.environ.get(entry.key_env)) if entry.key_env else None
    return {
        "alias": entry.alias,
        "id": entry.id,
        "endpoint": entry.base_url,
        "answer": entry.answer,
        "fallback": entry.fallback,
        "key": entry.key_name,
        "key_present": present,
        "training_cutoff": entry.cutoff,
        "cutoff_source": entry.cutoff_source,
        "usd_per_million": rates,
        "price_source": None if rates is None else source,
        "max_tokens": entry.max_tokens,
        "effort": entry.effort,
        "thinking": entry.thinking,
        "temperature": entry.temperature,
        "seed": entry.seed,
        "cache": entry.cache,
        "cache_min_tokens": entry.cache_min_tokens,
        "note": entry.note,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    """The rows by endpoint and key, each with what is short."""
    typer.echo("Models (dream run --model NAME):")
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"{row['endpoint']}, {_key(row)}", []).append(row)
    for at, group in groups.items():
        typer.echo(f"\n{printable(at)}")
        for row in group:
            cutoff = row["training_cutoff"]
            known = f"trained to {cutoff}" if cutoff else "training cutoff unknown"
            mark = "*" if (row["price_source"] or "").startswith("dream.toml") else ""
            typer.echo(
                f"  {row['alias']:<14}{row['id']:<26} {row['answer']:<8}"
                f"{_shown(row['usd_per_million']) + mark:<16}{known}"
            )


def _key(row: dict[str, Any]) -> str:
    from dream.llm.catalog import LOCAL

    if row["key"] is None:
        return f"no key; {local.state()}" if row["alias"] == LOCAL else "no key"
    if row["key_present"] is None:
        return f"key by {row['key']}, not run"
    return f"{row['key']} {'is set' if row['key_present'] else 'is not set'}"


def _rates(entry: Entry, now_ns: int) -> dict[str, float] | None:
    """USD per million tokens by kind, None where they are not known."""
    from dream.llm.catalog import rates

    found = rates(entry, USUAL_TOKENS, now_ns)
    if found is None:
        return None
    return {name: round(usd * 10**6, 6) for name, usd in asdict(found).items()}


def _shown(rates: dict[str, float] | None) -> str:
    return "not known" if rates is None else f"{rates['input']:.2f} / {rates['output']:.2f}"
