"""Every fault, through the real SDK: what the transport makes of it, and what it costs."""

from __future__ import annotations

import json
import time
from typing import get_args

import pytest

from dream.errors import ModelUnavailable
from dream.llm.client import CallFailed, OtherModel, check
from dream.llm.fake import faults
from dream.llm.fake.faults import Effect, Fault
from dream.llm.parse import Unreadable, read_reply
from tests.llm.fake.asking import always, asked, get, plan, serve
from tests.llm.line import Line

pytestmark = pytest.mark.usefixtures("straight")

LIMIT_S = 1.0
ALL = get_args(Fault)


def wait_for(server) -> None:
    """Until nothing is in flight."""
    end = time.monotonic() + 10
    while server.ledger.totals()["in_flight"]:
        assert time.monotonic() < end
        time.sleep(0.02)


AGAIN = ("again", "again_once", "for_good")


def met(line: Line, request) -> str:
    """What a client does after one attempt, in the words of `Effect`."""
    try:
        reply = line.transport.send(request)
        check(request.entry, reply)
        return read_reply(reply, tolerant=request.entry.answer == "text").status
    except CallFailed as failure:
        if isinstance(failure, OtherModel):
            return "again_once"
        return "again" if failure.again else "for_good"
    except Unreadable:
        return "unreadable"


def each_in_turn():
    """Decision n meets fault n, once; a slow one takes longer than the client waits."""
    at = [
        {"decision": n, "fault": fault, **({"seconds": 20.0} if fault in faults.SLOW else {})}
        for n, fault in enumerate(ALL)
    ]
    return plan(at=at)


@pytest.mark.parametrize("answer", ["schema", "tool", "text"])
def test_the_table_of_effects_is_what_the_client_does(answer):
    with serve(each_in_turn()) as server, Line(server.url, limit_s=LIMIT_S) as line:
        found = {
            fault: (met(line, asked(n, answer)), met(line, asked(n, answer)))
            for n, fault in enumerate(ALL)
        }
    supposed = {
        fault: faults.effect(fault, seconds=20.0, limit_s=LIMIT_S, answer=answer) for fault in ALL
    }
    assert {fault: first for fault, (first, _) in found.items()} == supposed
    assert set(supposed.values()) <= set(get_args(Effect))
    kept = {fault: first for fault, first in supposed.items() if first not in AGAIN}
    assert {fault: second for fault, (_, second) in found.items()} == dict.fromkeys(
        ALL, "ok"
    ) | kept


@pytest.mark.parametrize("fault", ["silence", "trickle"])
def test_a_slow_answer_within_the_limit_is_an_answer(fault):
    with serve(always(fault, seconds=0.3)) as server, Line(server.url) as line:
        began = time.monotonic()
        assert json.loads(line.send(asked(0)).text)["action"] == "HOLD"
        assert time.monotonic() - began >= 0.25


@pytest.mark.parametrize("status", ["429", "529", "408"])
def test_a_retry_after_is_sent(status):
    with serve(always(status, retry_after_s=7.5)) as server, Line(server.url) as line:
        line.send(asked(0))
        assert line.waits == [7.5]


def test_without_one_none_is_sent():
    with serve(always("429", times=2)) as server, Line(server.url) as line:
        line.send(asked(0))
        assert line.waits == [1.0, 2.0]


def test_a_fault_for_ever():
    with serve(always("500", times="always")) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match="attempt 6, the last"):
            line.send(asked(0))
        assert server.ledger.totals()["requests"] == 6


BILLED = {
    "no_stop", "wrong_model", "refusal", "max_tokens", "context_exceeded", "no_answer", "prose",
}  # fmt: skip


def test_what_is_billed():
    """Whole answers are; errors are not; what was made and did not arrive is in the second sum."""
    with serve(each_in_turn()) as server:
        with Line(server.url, limit_s=LIMIT_S) as line:
            for n in range(len(ALL)):
                met(line, asked(n))
        wait_for(server)
        rows = get(f"{server.url}/ledger")["rows"]
    assert [row["fault"] for row in rows] == list(ALL)
    assert {row["fault"] for row in rows if row["cost_usd"]} == BILLED
    lost = {row["fault"] for row in rows if row["lost_usd"]}
    assert lost == set(ALL) - BILLED - set(faults.NEVER_MADE) == {*faults.UNSEEN, *faults.SLOW}
    made = {row["fault"] for row in rows if row["output_tokens"]}
    assert made == (BILLED | lost) - {"refusal"}
    for row in rows:
        fault = row["fault"]
        status = None if fault == "reset" else int(fault) if fault.isdigit() else 200
        assert row["status"] == status, fault


def test_a_cut_off_answer_used_up_its_limit():
    with serve(always("max_tokens")) as server, Line(server.url) as line:
        assert line.send(asked(0)).usage.output_tokens == 2_048


def test_a_client_that_goes_away_is_noticed_and_the_answer_is_lost():
    slow = plan(latency_s=30.0)
    with serve(slow) as server:
        with Line(server.url, limit_s=0.2, on_error="hold") as line, pytest.raises(CallFailed):
            line.transport.send(asked(0))
        wait_for(server)
        totals = server.ledger.totals()
    assert (totals["cost_usd"], totals["answered_whole"]) == (0.0, 0)
    assert totals["lost_usd"] > 0
