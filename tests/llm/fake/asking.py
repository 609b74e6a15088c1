"""A server and a client for tests: real sockets, the real SDK, waits that are not waited."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from typing import Any

from dream.llm.fake import FakeServer, Plan
from dream.llm.parse import answer_schema
from tests.llm.line import KEY, NOON_NS, REQUEST, SONNET

SCHEMA = answer_schema(["VolBreakout"], allow_sell=False)


def serve(plan: Plan | None = None, **options: Any) -> FakeServer:
    """A server whose clock stands at noon."""
    return FakeServer(plan, now_ns=options.pop("now_ns", lambda: NOON_NS), **options)


def plan(**given: Any) -> Plan:
    """A plan as its file would say it."""
    return Plan.model_validate(given)


def always(fault: str, **how: Any) -> Plan:
    """Every decision meets the fault once, or as `how` says."""
    return plan(shares={fault: 1.0}, how={fault: how})


def asked(n: int, answer: str = "schema", **entry: Any) -> Any:
    """Request number n of a run."""
    form = replace(SONNET, answer=answer, **entry)
    return replace(REQUEST, seq=n, user=f"question {n}", entry=form)


def body(user: str, system: str = "You trade.", model: str = SONNET.id) -> dict[str, Any]:
    """A plain request."""
    return {
        "model": model,
        "max_tokens": 100,
        "system": system,
        "messages": [{"role": "user", "content": user}],
    }


def get(url: str) -> Any:
    """What lies there, as JSON."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as response:
        return json.load(response)


def post(url: str, request: dict[str, Any]) -> Any:
    """The answer to a request made without the SDK."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    made = urllib.request.Request(f"{url}/v1/messages", json.dumps(request).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(made) as response:
        return json.load(response)
