"""dream models fake: a server on this machine to rehearse a run against."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, cast

import typer

from dream.cli.words import many
from dream.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Generator

    from dream.llm.fake import FakeServer, Outcome, Plan

PORT = 8765
_OPTIONS = {"cache.mode": "cache", "cache.min_tokens": "cache-min"}
"""What of a plan is called otherwise on the command line."""

PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="TOML file that says which decision meets what.")
]
Port = Annotated[int, typer.Option(help="To listen on; 0 for any that is free.")]
Latency = Annotated[
    str | None, typer.Option(help="Seconds before each answer, or two to draw between: 0.2-0.5.")
]
Answers = Annotated[
    str | None, typer.Option(help="hold, drawn (BUY, HOLD and CLOSE by seed), or a JSONL file.")
]
Seed = Annotated[int | None, typer.Option(help="Of what is drawn, instead of the plan's.")]
CacheMode = Annotated[
    str | None, typer.Option("--cache", help="How prefixes are cached: marked, automatic or none.")
]
CacheMin = Annotated[int | None, typer.Option(help="Shortest prefix that is cached, in tokens.")]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="JSONL file for every request, its tokens and cost.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing ledger.")]
PriceAt = Annotated[
    str | None, typer.Option(help="Date or instant (UTC) whose prices count; else that of today.")
]
OutcomesOf = Annotated[
    int | None,
    typer.Option("--outcomes", help="Serve nothing: list how decisions 0 to N - 1 will end."),
]
RunName = Annotated[
    str, typer.Option("--run", help="With --outcomes: name of the run (/run/NAME in the URL).")
]
Attempts = Annotated[int, typer.Option(help="With --outcomes: how often the client asks.")]
Limit = Annotated[float, typer.Option(help="With --outcomes: seconds that it waits for an answer.")]
OnError = Annotated[
    str, typer.Option(help="With --outcomes: after the last attempt, hold or stop.")
]
AsJson = Annotated[bool, typer.Option("--json", help="With --outcomes: print one JSON object.")]


def fake(
    *,
    plan: PlanFile = None,
    port: Port = PORT,
    latency: Latency = None,
    answers: Answers = None,
    seed: Seed = None,
    cache: CacheMode = None,
    cache_min: CacheMin = None,
    ledger: LedgerFile = None,
    force: Force = False,
    price_at: PriceAt = None,
    outcomes: OutcomesOf = None,
    run: RunName = "",
    attempts: Attempts = 6,
    limit: Limit = 120.0,
    on_error: OnError = "hold",
    as_json: AsJson = False,
) -> None:
    """Serve a Messages API on this machine that goes wrong by plan, to rehearse a run for nothing.

    Example: dream models fake --plan plan.toml --ledger ledger.jsonl
    """
    from dream.bars.clock.clocks import parse_instant
    from dream.llm.fake import FakeServer, Patient
    from dream.llm.fake import outcomes as worked_out

    changes: dict[str, Any] = {"seed": seed, "cache.mode": cache, "cache.min_tokens": cache_min}
    if latency is not None:
        changes["latency_s"] = _latency(latency)
    whole = _plan(plan, answers, changes)
    if outcomes is not None:
        client = Patient(attempts=attempts, limit_s=limit, on_error=_on_error(on_error))
        if outcomes < 0 or attempts < 1:
            raise InputError("--outcomes takes 0 or more, --attempts 1 or more")
        _show(worked_out(whole, outcomes, client, run), outcomes, as_json=as_json)
        return
    price_at_ns = None if price_at is None else parse_instant(price_at)
    server = FakeServer(whole, now_ns=time.time_ns, port=port, price_at_ns=price_at_ns)
    failed: list[OSError] = []

    def tell(error: OSError) -> None:
        failed.append(error)
        typer.echo(
            f"dream: {ledger}: cannot be written: {error.strerror}; it ends here, with a line cut "
            f"off or no totals, and the server goes on without it",
            err=True,
        )

    with closing(server), _ledger(ledger, force=force) as file:
        if file is not None:
            server.ledger.write_to(file, tell)
        _serve(server)
    if failed:
        raise typer.Exit(1)


def _serve(server: FakeServer) -> None:
    """Until Ctrl-C or SIGTERM, which are the ordinary ends of a server."""
    ended = threading.Event()

    def end(_signal: int, _frame: Any) -> None:
        ended.set()

    ends = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, end) for number in ends}
    try:
        with server:
            typer.echo(
                f"Listening on {server.url}; Ctrl-C ends it. In another terminal:\n"
                f"  ANTHROPIC_API_KEY=any dream run --model sonnet --base-url {server.url}"
            )
            ended.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    totals = server.ledger.totals()
    typer.echo(
        f"{many(totals['requests'], 'request')} for {many(totals['decisions'], 'decision')}, "
        f"{totals['answered_whole']:,} answered whole: {totals['cost_usd']:.4f} USD; made and not "
        f"received: {totals['lost_usd']:.4f} USD; asked again: {totals['asked_again']:,}"
        + (f"; {totals['unpriced']:,} without a price" if totals["unpriced"] else "")
    )


def _plan(path: Path | None, answers: str | None, changes: dict[str, Any]) -> Plan:
    """The plan of the file with what the options say instead."""
    from pydantic import ValidationError

    from dream.llm.fake import Plan, load_answers, load_plan

    plan = Plan() if path is None else load_plan(path)
    if answers is not None:
        named = answers in ("hold", "drawn")
        changes["answers"] = answers if named else load_answers(Path(answers))
    table = plan.model_dump()
    for key, value in changes.items():
        if value is not None:
            part, _, name = key.rpartition(".")
            (table[part] if part else table)[name] = value
    try:
        # What the plan was given as stays as it was: "times" beside a request is not added.
        changed = Plan.model_validate({**table, "at": plan.at, "how": plan.how})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        option = _OPTIONS.get(".".join(map(str, first["loc"])), str(first["loc"][0]))
        raise InputError(f"--{option}: {first['msg']}, found {first['input']!r}") from None
    return changed


def _latency(text: str) -> float | tuple[float, float]:
    parts = text.split("-")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 <= n <= 3_600 for n in numbers):
        raise InputError(
            f"--latency takes seconds (0.2) or two ends of a range (0.2-0.5), found {text!r}"
        )
    return numbers[0] if len(numbers) == 1 else (min(numbers), max(numbers))


def _on_error(text: str) -> Literal["stop", "hold"]:
    if text == "stop":
        return "stop"
    if text == "hold":
        return "hold"
    raise InputError(f"--on-error takes hold or stop, found {text!r}")


@contextmanager
def _ledger(path: Path | None, *, force: bool) -> Generator[BinaryIO | None]:
    if path is None:
        yield None
        return
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        from dream.files import open_descriptor

        handle = open_descriptor(path, flags)
    except FileExistsError:
        raise InputError(f"{path} is there already; --force replaces it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be written: {reason}") from None
    with os.fdopen(handle, "wb", buffering=0) as file:
        yield cast("BinaryIO", file)


def _show(found: list[Outcome], n: int, *, as_json: bool) -> None:
    counts: dict[str, int] = {}
    for one in found:
        word = one.status or "never"
        counts[word] = counts.get(word, 0) + 1
    if as_json:
        rows = [
            {
                "decision": one.decision,
                "status": one.status,
                "requests": one.requests,
                "stops": one.stops,
                "faults": list(one.faults),
            }
            for one in found
        ]
        typer.echo(json.dumps({"outcomes": rows, "by_status": counts}))
        return
    for one in found:
        if one.faults or one.status != "ok":
            stops = f", after {many(one.stops, 'stop')}" if one.stops else ""
            met = " ".join(one.faults[:12]) + (" ..." if len(one.faults) > 12 else "")
            status = one.status or "never answered: the run does not get past it"
            asked = "" if one.status is None else f" ({many(one.requests, 'request')})"
            typer.echo(f"{one.decision:>7}  {status}{stops}{asked}: {met}")
    said = ", ".join(f"{word} {count:,}" for word, count in sorted(counts.items()))
    typer.echo(f"{many(n, 'decision')}: {said or 'none'}; those not listed are ok at once")
