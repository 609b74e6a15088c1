"""dream models: who can decide."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

FREE = (
    ("rules", "takes every live set-up, first come by board order"),
    ("never", "never trades"),
    ("random:P", "enters with probability P at every question"),
    ("scripted:FILE", "answers from a JSONL file, one answer a line"),
    ("module:function", "your own function of the snapshot"),
)


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the deciders: models of the catalogue, and those that need no key.

    Example: dream models
    """
    from dream.llm.catalog import CATALOG

    rows: list[dict[str, Any]] = [
        {
            "alias": entry.alias,
            "id": entry.id,
            "endpoint": entry.base_url,
            "answer": entry.answer,
            "key": entry.key_env,
            "key_present": bool(os.environ.get(entry.key_env)),
            "training_cutoff": entry.cutoff,
            "cutoff_source": entry.cutoff_source,
        }
        for entry in CATALOG.values()
    ]
    if as_json:
        free = [{"name": name, "what": what} for name, what in FREE]
        typer.echo(json.dumps({"models": rows, "without_a_key": free}))
        return
    typer.echo("Models (dream run --model NAME):")
    for row in rows:
        key = f"{row['key']} {'is set' if row['key_present'] else 'is not set'}"
        known = row["training_cutoff"] or "unknown"
        typer.echo(f"  {row['alias']:<9}{row['id']:<20}trained to {known:<9}{key}")
    typer.echo("\nWithout a key:")
    for name, what in FREE:
        typer.echo(f"  {name:<17}{what}")
