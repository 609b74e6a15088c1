"""dream replay and dream verify: check a journal against its bars, or by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dream.cli.words import bar_file, many, run_folder

RunFolder = Annotated[Path, typer.Argument(help="Folder of the run, or its journal.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def replay(
    folder: RunFolder,
    bars: Annotated[
        str | None, typer.Option(help="The bars, if they are not where they were.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Derive every line of a journal again from bars and recorded replies; nothing is sent.

    Example: dream replay runs/rules-hybrid-0123456789ab
    """
    from dream.cli.specs import import_from_here
    from dream.runs import api

    import_from_here()
    path = run_folder(folder)
    done = api.replay(path, bars=None if bars is None else str(bar_file(bars)))
    rate = done.decisions / done.wall_s
    if as_json:
        found = {
            "run_id": path.name,
            "decisions": done.decisions,
            "complete": done.complete,
            "identical": True,
            "digest": done.digest,
            "wall_s": round(done.wall_s, 3),
            "decisions_per_s": round(rate, 1),
        }
        typer.echo(json.dumps(found))
        return
    state = "" if done.complete else "; the run is unfinished, the same command goes on with it"
    typer.echo(
        f"identical: {many(done.decisions, 'decision')} in {done.wall_s:.2f} s "
        f"({rate:,.0f} a second), digest {done.digest}{state}"
    )


def verify(folder: RunFolder, as_json: AsJson = False) -> None:
    """Check a journal by itself: checksums, chain, schema, order and money; no bars are needed.

    Example: dream verify runs/rules-hybrid-0123456789ab
    """
    from dream.runs.verify import verify as check

    path = run_folder(folder)
    found = check(path)
    if as_json:
        facts = {
            "run_id": path.name,
            "lines": found.lines,
            "decisions": found.decisions,
            "by_kind": dict(found.by_kind),
            "closed": found.closed,
            "torn_bytes": found.torn_bytes,
            "digest": found.digest,
            "net_pnl": found.pnl,
        }
        typer.echo(json.dumps(facts))
        return
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in found.by_kind.items())
    state = "finished" if found.closed else "unfinished"
    state += f", {many(found.decisions, 'decision')}"
    torn = (
        f"; a torn tail of {many(found.torn_bytes, 'byte')} is ignored" if found.torn_bytes else ""
    )
    typer.echo(f"good: {many(found.lines, 'line')} ({kinds}), {state}, digest {found.digest}{torn}")
