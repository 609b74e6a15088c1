"""dream run: start a run, or go on with it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dream.cli.many import carry_out, repeated
from dream.cli.options import (
    AsJson,
    Ask,
    AtOnce,
    Autonomy,
    Bars,
    BaseUrl,
    Commission,
    Context,
    Decisions,
    Equity,
    Fresh,
    From,
    Intrabar,
    LocalThreads,
    Manage,
    MaxGap,
    Memory,
    Model,
    Money,
    OnError,
    Prompt,
    Quiet,
    Repeats,
    Reuse,
    Risk,
    Runs,
    Seed,
    Set,
    Shorts,
    Slippage,
    Spread,
    Strategies,
    Swap,
    Sync,
    Timeout,
    To,
)
from dream.cli.settings import check_variables, own_models
from dream.cli.specs import access_of, import_from_here, spec_of
from dream.cli.watching import watching
from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from dream.runs.estimate import Estimate
    from dream.runs.spec import RunSpec


def run(
    *,
    model: Model = "rules",
    decisions: Decisions = 2000,
    bars: Bars = None,
    from_: From = None,
    to: To = None,
    memory: Memory = "hybrid",
    ask: Ask = "bar",
    manage: Manage = False,
    context: Context = "window",
    prompt: Prompt = "v1",
    strategies: Strategies = "VolBreakout,IntradayMomentum,PullbackEntry",
    autonomy: Autonomy = "free",
    shorts: Shorts = False,
    equity: Equity = 10_000.0,
    risk: Risk = 0.0025,
    spread: Spread = 0.30,
    slippage: Slippage = 0.0,
    commission: Commission = 0.0,
    swap: Swap = 0.0,
    intrabar: Intrabar = "stop_first",
    max_gap: MaxGap = None,
    set_: Set = None,
    seed: Seed = 0,
    on_error: OnError = "stop",
    base_url: BaseUrl = None,
    budget: Money = None,
    timeout: Timeout = 120.0,
    local_threads: LocalThreads = 1,
    sync: Sync = "batch",
    fresh: Fresh = False,
    reuse_answers: Reuse = False,
    repeats: Repeats = None,
    at_once: AtOnce = 8,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Walk an agent through the bars; the same command goes on with a run that was stopped.

    Example: dream run --model sonnet --decisions 2000 --bars gold.parquet
    """
    given = dict(locals())
    check_variables(run, os.environ)
    if sync not in ("each", "batch"):
        raise SpecInvalid(f"--sync takes each or batch, found {sync!r}")
    import_from_here()
    own = own_models(Path())
    if repeats is not None:
        carry_out(repeated(given, own), given, own)
        return
    spec = spec_of(given, own)
    access = replace(
        access_of(given, own),
        on_wait=_tell_wait,
        on_estimate=_tell_estimate,
        on_note=_tell_note,
    )
    from dream.runs.api import Options

    with watching(spec.decisions, access.budget, show=not (quiet or as_json)) as watch:
        made = Options(runs, sync, fresh, reuse_answers, access, watch)
        _run(spec, made, as_json=as_json, synthetic=bars is None)


def _tell_wait(wait_s: float, attempt: int, reason: str) -> None:
    typer.echo(f"attempt {attempt} failed ({reason}); asking again in {wait_s:.0f} s", err=True)


def _tell_estimate(estimate: Estimate) -> None:
    typer.echo(estimate.told(), err=True)


def _tell_note(line: str) -> None:
    typer.echo(f"note: {line}", err=True)


def _run(spec: RunSpec, options: Any, *, as_json: bool, synthetic: bool) -> None:
    from dream.runs import api
    from dream.runs.drive import Stopped

    try:
        done = api.run(spec, options=options)
    except (Stopped, KeyboardInterrupt):
        words = [word for word in sys.argv[1:] if word != "--fresh"]
        command = shlex.join(["dream", *words])
        typer.echo(f"\nStopped; nothing is lost. Go on with:\n  {command}", err=True)
        raise typer.Exit(130) from None
    for note in done.notes:
        with suppress(OSError):  # whoever closed standard error wants the summary all the same
            typer.echo(f"note: {note}", err=True)
    if as_json:
        typer.echo(json.dumps(done.summary, allow_nan=False))
        return
    from rich.console import Console

    from dream.reports.summary import print_summary

    if done.already_done:
        typer.echo("This run was finished before; nothing was done. --fresh starts another.\n")
    print_summary(done.summary, Console())
    if synthetic:
        _say_what_this_was(spec.model)


def _say_what_this_was(model: str) -> None:
    decider = "the decider is no model" if model == "rules" else f"the decider is {model}"
    typer.echo(
        f"\nThe bars are synthetic and {decider}: this shows how it works, not what it earns.\n"
        "  real bars:    dream bars import FILE --clock utc -o gold.parquet\n"
        "  a real model: ANTHROPIC_API_KEY=... dream run --model sonnet --bars gold.parquet"
    )
