"""dream run: start a run, or go on with it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dream.cli.settings import check_variables
from dream.cli.words import bar_file, many, runs_folder
from dream.errors import InputError, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dream.runs.drive import Tally, Watch
    from dream.runs.spec import RunSpec
    from dream.types import Snapshot

SYNTHETIC_BARS, SYNTHETIC_SEED = 50_802, 1
_SYNTHETIC = "<synthetic>"

_OPTIONS = {"terms.buy_only": "--shorts", "terms.max_gap_ns": "--max-gap"}
"""Options that are called otherwise than what they set."""

_MONEY, _PRICE = "account currency", "quote currency"
Model = Annotated[
    str,
    typer.Option(
        help="rules, never, random:P, scripted:FILE, a model (dream models), or module:function."
    ),
]
Decisions = Annotated[int, typer.Option(help="End the run at this many decisions.")]
Bars = Annotated[
    str | None,
    typer.Option(help="Parquet or CSV file of bars; without it, synthetic bars are made once."),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        envvar="DREAM_FROM",
        help="Leave out bars that open before this date or instant (UTC).",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        envvar="DREAM_TO",
        help="Leave out bars that close after this date or instant (UTC).",
    ),
]
Memory = Annotated[str, typer.Option(help="none, similarity, hybrid, or module:function.")]
Ask = Annotated[str, typer.Option(help="When to ask: bar, every:N or setup.")]
Manage = Annotated[
    bool, typer.Option("--manage", help="Also ask at every bar while a position is open.")
]
Strategies = Annotated[
    str, typer.Option(help="Comma-separated names or module:function, in board order.")
]
Autonomy = Annotated[
    str, typer.Option(help="free, or filter to accept entries of live set-ups only.")
]
Shorts = Annotated[bool, typer.Option("--shorts/--no-shorts", help="Allow SELL.")]
Equity = Annotated[float, typer.Option(help=f"Starting money, {_MONEY}.")]
Risk = Annotated[float, typer.Option(help="Share of equity at risk per trade; 0.0025 is 0.25 %.")]
Spread = Annotated[float, typer.Option(help=f"Floor under the bars' own spread, {_PRICE}.")]
Slippage = Annotated[float, typer.Option(help=f"Against us on market and stop fills, {_PRICE}.")]
Commission = Annotated[float, typer.Option(help=f"Per lot and side, {_MONEY}.")]
Swap = Annotated[
    float, typer.Option(help=f"Per lot and change of trading day, {_MONEY}; negative costs.")
]
Intrabar = Annotated[
    str, typer.Option(help="A bar reaches both levels: stop_first, target_first or nearer_first.")
]
MaxGap = Annotated[
    float | None, typer.Option(help="Refuse a fill more than this many minutes after the decision.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        envvar="DREAM_SET",
        help="Any other setting: VolBreakout.range_atr=0.4, memory.k=3, instrument.lot_step=0.01.",
    ),
]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]
OnError = Annotated[
    str, typer.Option(help="A call that keeps failing: stop the run (it can be resumed) or hold.")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="Endpoint of the model instead of the catalogue's.")
]
LocalThreads = Annotated[
    int, typer.Option(min=1, max=64, help="Processor threads of the model local.")
]
Sync = Annotated[str, typer.Option(help="batch, or each to write every line through to the disk.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", show_envvar=False, help="Start another run although this one exists."),
]
Runs = Annotated[Path, typer.Option(help="Folder that holds the run folders.")]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="DREAM_JSON", help="Print exactly one JSON object.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar.")]


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
    local_threads: LocalThreads = 1,
    sync: Sync = "batch",
    fresh: Fresh = False,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Walk an agent through the bars; the same command goes on with a run that was stopped.

    Example: dream run --model sonnet --decisions 2000 --bars gold.parquet
    """
    check_variables(run, os.environ)
    from dream.runs.spec import gap_ns, make_spec

    terms = {
        "equity": equity, "risk": risk, "spread": spread, "slippage": slippage,
        "commission": commission, "swap": swap, "intrabar": intrabar, "buy_only": not shorts,
        "autonomy": autonomy, "max_gap_ns": None if max_gap is None else gap_ns(max_gap),
    }  # fmt: skip
    settings: dict[str, Any] = {
        "model": model, "decisions": decisions, "from": from_, "to": to, "memory": memory,
        "ask": ask, "manage": manage, "seed": seed, "on_error": on_error, "terms": terms,
        "strategies": [name.strip() for name in strategies.split(",")],
        "bars": _SYNTHETIC if bars is None else bars,
    }  # fmt: skip
    own = {*settings, *(f"terms.{name}" for name in terms)} - {"terms"}
    spec = make_spec(settings, _pairs(set_ or [], own))
    synthetic = spec.bars == _SYNTHETIC
    runs_folder(runs)
    if not synthetic:
        bar_file(Path(spec.bars).absolute())  # the folder's name is part of it
    else:
        spec = spec.model_copy(update={"bars": str(_synthetic_bars())})
    from dream.runs.api import Options
    from dream.runs.assemble import Access

    if sync not in ("each", "batch"):
        raise SpecInvalid(f"--sync takes each or batch, found {sync!r}")
    access = Access(_keys(), base_url, time.sleep, time.time_ns, _tell_wait, local_threads)
    import_from_here()
    with _watching(spec.decisions, show=not (quiet or as_json)) as watch:
        options = Options(runs, sync, fresh, access, watch)
        _run(spec, options, as_json=as_json, synthetic=synthetic)


def _tell_wait(wait_s: float, attempt: int, reason: str) -> None:
    typer.echo(f"attempt {attempt} failed ({reason}); asking again in {wait_s:.0f} s", err=True)


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


def import_from_here() -> None:
    """Let `module:function` name modules of the working folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _pairs(texts: list[str], own: set[str]) -> dict[str, str]:
    """The pairs of --set, DREAM_SET or dream.toml; none of what an option of its own sets.

    Such a pair would win over the option, be it typed or not, and nothing would say so.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SpecInvalid(f"--set takes key=value, found {text!r}")
        if key in own:
            option = "--" + key.removeprefix("terms.").replace("_", "-")
            raise SpecInvalid(f"--set {key}: use {_OPTIONS.get(key, option)}")
        if key in pairs:
            raise SpecInvalid(f"--set {key} is given twice")
        pairs[key] = value
    return pairs


def _keys() -> dict[str, str]:
    from dream.llm.catalog import CATALOG

    names = {entry.key_env for entry in CATALOG.values()}
    return {name: os.environ[name] for name in names if name and os.environ.get(name)}


def _synthetic_bars() -> Path:
    """The bars of a bare run, made on its first time and kept in the user's cache."""
    from platformdirs import user_cache_path

    from dream.bars import store, synth

    name = f"synthetic-{synth.VERSION}-{SYNTHETIC_BARS}-{SYNTHETIC_SEED}.parquet"
    path = user_cache_path("dream") / name
    try:
        store.read(path)
    except InputError:  # not there yet, damaged, or of another layout: it can be made again
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make {path.parent} for the synthetic bars: {error.strerror}; name a "
                f"folder that can be written in XDG_CACHE_HOME, or give bars with --bars"
            ) from None
        made = synth.make(SYNTHETIC_BARS, SYNTHETIC_SEED)
        store.write(made, path, source_clock="utc", force=True)
    return path


@contextmanager
def _watching(decisions: int, *, show: bool) -> Generator[Watch]:
    """Progress on a terminal, and Ctrl-C: the first ends after the decision in flight."""
    from dream.runs.drive import Watch

    asked_to_stop = False

    def interrupt(_signal: int, _frame: Any) -> None:
        nonlocal asked_to_stop
        if asked_to_stop:
            raise KeyboardInterrupt
        asked_to_stop = True
        with suppress(OSError):  # unbuffered: the signal may have come inside a write to stderr
            os.write(2, b"\nfinishing the decision in flight; Ctrl-C again to drop it\n")

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        with _progress(decisions, show and sys.stderr is not None and sys.stderr.isatty()) as tell:
            yield Watch(tell, lambda: asked_to_stop, lambda: datetime.now(UTC).isoformat())
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _progress(decisions: int, show: bool) -> Generator[Callable[[Tally, Snapshot], None]]:
    if not show:
        yield lambda _tally, _ask: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=decisions)
        due = 0.0

        def tell(tally: Tally, ask: Snapshot) -> None:
            nonlocal due
            now = time.monotonic()
            if now < due:
                return
            due = now + 0.1
            errors = tally.decisions - tally.statuses["ok"]
            spent = (
                "" if not tally.replies or tally.cost_usd is None else f", {tally.cost_usd:.2f} USD"
            )
            text = f"{many(len(tally.trades), 'trade')}, equity {ask.account.equity:,.2f}{spent}"
            bar.update(
                task,
                completed=tally.decisions,
                description=text + (f", {many(errors, 'error')}" if errors else ""),
            )

        yield tell
