"""dream models check: one tiny question to a model, the way a run would ask it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dream.cli.settings import keys_of, own_models
from dream.cli.words import printable
from dream.errors import ModelUnavailable

if TYPE_CHECKING:
    from dream.llm.anthropic import AnthropicTransport
    from dream.llm.catalog import Entry
    from dream.llm.client import MessageRequest
    from dream.llm.local.transport import LocalTransport
    from dream.types import Reply

    Connected = AnthropicTransport | LocalTransport

_SYSTEM: Final = """\
You check that a trading program can read your answers. Answer with one JSON object and nothing \
else: {"reasoning": text, "action": "BUY", "HOLD" or "CLOSE", "strategy": null, "confidence": \
number from 0 to 1, "stop": null, "target": null}.
"""
_USER: Final = "This is a test without a market. Decide HOLD, and say so in one short sentence.\n"
_AGAIN: Final = "Is the server up? It may be busy: try again later; a run would ask up to six times"
_FILLER: Final = "Line {n}: this line only makes the prompt long enough for a cache to keep it.\n"
_LINES: Final = 400
"""Of some 17 tokens each: more than the longest known minimum of a cache, 4,096 tokens."""


def check(
    model: Annotated[str, typer.Argument(help="A model of dream models.", show_default=False)],
    cache: Annotated[
        bool, typer.Option("--cache", help="Ask a long prompt twice, and see what is cached.")
    ] = False,
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of the model instead of its own.")
    ] = None,
    limit_s: Annotated[float, typer.Option(min=0.1, help="Longest wait for an answer, s.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask a model one tiny question: can it be reached, is its answer readable, what does it cost.

    The call is made and read as in a run, and is paid for: some hundred tokens.

    Example: dream models check sonnet
    """
    from dream.llm.catalog import resolve
    from dream.runs.access import Access

    own = own_models(Path())
    entry = resolve(model, own)
    access = Access(keys_of(own, os.environ), base_url, limit_s=limit_s, own=own)
    transport = access.transport(entry)
    try:
        found = _asked(entry, transport, access.host(entry) or "this machine", cache=cache)
    finally:
        transport.close()
    if as_json:
        typer.echo(json.dumps(found))
    else:
        _print(found)


def _asked(entry: Entry, transport: Connected, host: str, *, cache: bool) -> dict[str, Any]:
    """What one call, or two, showed.

    Raises:
        ModelUnavailable: no answer, or none that a run could read; says what to do.
    """
    from dream.llm.catalog import price
    from dream.llm.client import FormRefused, MessageRequest
    from dream.llm.parse import answer_schema, tight_schema

    schema = (tight_schema if entry.tight else answer_schema)(["VolBreakout"], allow_sell=False)
    long = "".join(_FILLER.format(n=n) for n in range(_LINES)) if cache else ""
    request = MessageRequest(0, 0, entry, _SYSTEM + long, _USER, schema)
    refused: str | None = None
    try:
        reply, latency_s = _sent(request, transport)
    except FormRefused as error:
        if entry.fallback is None:
            raise
        refused = error.reason
        request = replace(request, entry=replace(entry, answer=entry.fallback))
        try:
            reply, latency_s = _sent(request, transport)
        except FormRefused:
            raise error from None
    answer = request.entry.answer
    said = _read(entry, reply, answer)
    replies = [reply, _sent(request, transport)[0]] if cache else [reply]
    costs = [price(entry, r.usage, time.time_ns()) for r in replies]
    usage = replies[-1].usage
    return {
        "model": entry.alias, "id": entry.id, "answered": reply.model, "endpoint": host,
        "answer": answer, "refused": refused, "action": said, "latency_s": round(latency_s, 3),
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "thinking_tokens": usage.thinking_tokens, "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": reply.usage.cache_write_tokens, "cache_asked": cache,
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
    }  # fmt: skip


def _sent(request: MessageRequest, transport: Connected) -> tuple[Reply, float]:
    """The reply to one attempt, and how long it took in seconds."""
    from dream.llm.client import CallFailed, FormRefused, check

    try:
        transport.connect()
        started = time.perf_counter()
        reply = transport.send(request)
        check(request.entry, reply)
    except CallFailed as failure:
        said = f"{request.entry.id}: {failure}"
        if failure.form:
            raise FormRefused(said, str(failure)) from None
        raise ModelUnavailable(f"{said}. {_AGAIN}" if failure.again else said) from None
    return reply, time.perf_counter() - started


def _read(entry: Entry, reply: Reply, answer: str) -> str:
    """The action of an answer.

    Raises:
        ModelUnavailable: a run could not read it.
    """
    from dream.llm.parse import Unreadable, read_reply

    try:
        decision = read_reply(reply, tolerant=answer == "text")
    except Unreadable as problem:
        hint = "A run asks once more after such an answer; if that fails too, it is a parse_error"
        if answer != "text":
            hint = (
                f'The endpoint does not force it: make an entry of your own with answer = "text" '
                f"(id = {entry.id!r}) in dream.toml, see docs/models.md"
            )
        raise ModelUnavailable(
            f"{entry.id}: it answers, but not readably as {answer}: {problem}. {hint}"
        ) from None
    if decision.status != "ok":
        hints = {
            "truncated": f"Raise max_tokens ({entry.max_tokens}) in an entry of your own",
            "model_refusal": "Try another model",
        }
        raise ModelUnavailable(
            f"{entry.id}: it answers, but the answer is {decision.status} (stop reason "
            f"{reply.stop_reason}). {hints.get(decision.status, 'Try again')}"
        )
    return decision.action


def _print(found: dict[str, Any]) -> None:
    cost = found["cost_usd"]
    counted = [
        f"{found[f'{kind}_tokens']:,} {word}"
        for kind, word in (
            ("input", "in"), ("cache_read", "read from the cache"),
            ("cache_write", "written to it"), ("output", "out"),
        )
        if found[f"{kind}_tokens"] is not None
    ]  # fmt: skip
    form = f"{found['answer']}: {found['action']} was read"
    if found["refused"] is not None:
        form += f"; the endpoint refused the first form ({found['refused']}), a run would say so"
    lines = {
        "answered by": f"{found['answered']} at {found['endpoint']}, in {found['latency_s']:.2f} s",
        "form": form,
        "tokens": ", ".join(counted) or "not counted by the server",
        "cost": "not known" if cost is None else f"{cost:.6f} USD",
    }
    if found["cache_asked"]:
        read = found["cache_read_tokens"]
        lines["cache"] = (
            "the second call read nothing from it: no prefix is cached, or the server does not say"
            if not read
            else f"the second call read {read:,} tokens from it"
        )
    for name, text in lines.items():
        typer.echo(f"{name:<13}{printable(text)}")
