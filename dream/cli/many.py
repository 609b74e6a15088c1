"""Runs beside each other on the command line: a line for each, one table at the end."""

from __future__ import annotations

import json
import math
import shlex
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import typer

from dream.cli.specs import access_of, spec_of
from dream.cli.watching import lines_of_progress
from dream.cli.words import many, shown
from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dream.cli.watching import Lines
    from dream.llm.catalog import Own
    from dream.runs.access import Access
    from dream.runs.estimate import Estimate
    from dream.runs.many import Job, Outcome
    from dream.runs.spec import RunSpec


RUN: Final = "{run}"
"""Stands for the id of a run in the base URL of several, so that a rehearsal tells them apart."""


def repeated(given: Mapping[str, Any], own: Own) -> dict[str, RunSpec]:
    """The repeats of one run, by name.

    Args:
        given: every parameter of the command `dream run`, by its name.
        own: models of dream.toml.

    Raises:
        SpecInvalid: the number of the repeat is set as well.
    """
    if any(text.startswith("repeat=") for text in given["set_"] or []):
        raise SpecInvalid("--repeats numbers the runs itself; leave --set repeat=... out")
    spec = spec_of(given, own)
    return {f"repeat {n}": spec.model_copy(update={"repeat": n}) for n in range(given["repeats"])}


def carry_out(specs: Mapping[str, RunSpec], given: Mapping[str, Any], own: Own) -> None:
    """Make runs beside each other, print what became of them, and end with the right exit code.

    Args:
        specs: the runs by name.
        given: how all of them are reached, kept and shown: parameters of `dream run` by name.
        own: models of dream.toml.
    """
    from dream.llm.limiter import Limiters
    from dream.runs.many import run_all, threads

    with lines_of_progress(show=not (given["quiet"] or given["as_json"])) as lines:
        shared = replace(access_of(given, own), limiters=Limiters(given["at_once"]))
        jobs = list(_jobs(specs, given, shared, lines))
        outcomes: dict[str, Outcome] = {}
        try:
            for outcome in run_all(jobs, threads(given["at_once"])):
                outcomes[outcome.job.name] = outcome
                lines.end(outcome.job.name, told(outcome), failed=outcome.run is None)
        except KeyboardInterrupt:
            pass
    ended = [outcomes[name] for name in specs if name in outcomes]
    if given["as_json"]:
        typer.echo(json.dumps(_record(ended), allow_nan=False))
    else:
        _print_table(ended)
    failed = [outcome.error for outcome in ended if outcome.error is not None]
    if len(ended) < len(specs) or any(outcome.stopped for outcome in ended):
        command = shlex.join(["dream", *(word for word in sys.argv[1:] if word != "--fresh")])
        typer.echo(f"\nStopped; nothing is lost. Go on with:\n  {command}", err=True)
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _jobs(
    specs: Mapping[str, RunSpec], given: Mapping[str, Any], shared: Access, lines: Lines
) -> Iterable[Job]:
    from dream.runs.api import Options
    from dream.runs.many import Job

    base_url = shared.base_url
    for name, spec in specs.items():
        access = replace(
            shared,
            base_url=None if base_url is None else base_url.replace(RUN, spec.run_id()),
            on_wait=partial(_tell_wait, lines, name),
            on_estimate=partial(_tell_estimate, lines, name),
            on_note=partial(_tell_note, lines, name),
        )
        watch = lines.watch(name, spec.decisions)
        kept = (given["runs"], given["sync"], given["fresh"], given["reuse_answers"])
        yield Job(name, spec, Options(*kept, access, watch))


def _tell_wait(lines: Lines, name: str, wait_s: float, attempt: int, reason: str) -> None:
    lines.tell(f"{name}: attempt {attempt} failed ({reason}); asking again in {wait_s:.0f} s")


def _tell_estimate(lines: Lines, name: str, estimate: Estimate) -> None:
    lines.say(f"{name}: {estimate.told()}")


def _tell_note(lines: Lines, name: str, note: str) -> None:
    lines.tell(f"{name}: {note}")


def told(outcome: Outcome) -> str:
    """What became of a run, in one line."""
    if outcome.error is not None:
        return str(outcome.error)
    if outcome.run is None:
        return "stopped, can be gone on with"
    summary = outcome.run.summary
    before = ", finished before" if outcome.run.already_done else ""
    return (
        f"{many(summary['decisions'], 'decision')}, {many(summary['trades'], 'trade')}, "
        f"equity {summary['final_equity']:,.2f}, spent {summary['spent_usd']:,.4f} USD{before}"
    )


def _record(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    runs = [(o.job.name, o.run.summary) for o in outcomes if o.run is not None]
    return {
        "runs": [{"name": name, "summary": summary} for name, summary in runs],
        "unfinished": [
            {"name": o.job.name, "run_id": o.job.spec.run_id(), "why": told(o)}
            for o in outcomes
            if o.run is None
        ],
        "spent_usd": math.fsum(summary["spent_usd"] for _, summary in runs),
    }


def _print_table(outcomes: Sequence[Outcome]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("Run", overflow="fold")
    for heading in ("decisions", "errors", "trades", "net", "Sharpe", "USD"):
        table.add_column(heading, justify="right", no_wrap=True)
    width = max((len(outcome.job.name) for outcome in outcomes), default=0)
    places: list[str] = []
    for outcome in outcomes:
        name = outcome.job.name
        if outcome.run is None:
            table.add_row(Text(name), *["-"] * 6)
            places.append(f"{name:<{width}}  {told(outcome)}")
            continue
        s = outcome.run.summary
        sharpe = s["sharpe_daily"]
        errors = s["decisions"] - s["decisions_by_status"]["ok"]
        table.add_row(
            Text(name), f"{s['decisions']:,}", f"{errors:,}", f"{s['trades']:,}",
            f"{s['net_pnl']:+,.2f}", "-" if sharpe is None else f"{sharpe:.2f}",
            f"{s['spent_usd']:,.4f}",
        )  # fmt: skip
        places.append(f"{name:<{width}}  {outcome.run.folder}")
    Console().print(table)
    typer.echo("\n" + shown("\n".join(places)))
    if usd := math.fsum(o.run.summary["spent_usd"] for o in outcomes if o.run is not None):
        typer.echo(f"\nspent by finished runs: {usd:,.4f} USD at most")
