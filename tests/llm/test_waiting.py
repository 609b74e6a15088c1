"""What is told while a call is repeated, what a failed one costs, and who may answer."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from dream.errors import ModelUnavailable
from dream.llm.client import CallFailed, OtherModel, Patience, check
from dream.types import Reply
from tests.llm.line import KEY, SONNET, Line
from tests.messages_server import HOLD, MessagesServer

pytestmark = pytest.mark.usefixtures("straight")


class Told:
    def __init__(self) -> None:
        self.waits: list[tuple[float, int, str]] = []

    def __call__(self, wait_s: float, attempt: int, reason: str) -> None:
        self.waits.append((wait_s, attempt, reason))


def test_every_wait_is_told_before_it_begins() -> None:
    told = Told()
    patience = Patience(on_wait=told)
    with MessagesServer(["429:7", "529", "reset", "ok"]) as server:
        with Line(server.url, patience=patience) as line:
            reply = line.send()
        busy, over = "rate_limit_error: scripted 429", "overloaded_error: scripted 529"
        assert told.waits[:2] == [
            (7.0, 1, f"{server.url} answered 429 {busy}"),
            (2.0, 2, f"{server.url} answered 529 {over}"),
        ]
    assert told.waits[2][:2] == (4.0, 3)
    assert [wait_s for wait_s, _, _ in told.waits] == line.waits
    assert (reply.text, reply.attempts) == (HOLD, 4)


def test_who_is_told_has_waited_for_nothing_yet_and_sees_no_key() -> None:
    told = Told()
    patience = Patience(on_wait=told)
    with MessagesServer(["echo:529", "ok"]) as server, Line(server.url, patience=patience) as line:
        told_after: list[int] = []
        line.client._sleep = lambda _s: told_after.append(len(told.waits))
        line.send()
    assert told_after == [1]
    assert "[key]" in told.waits[0][2]
    assert KEY not in told.waits[0][2]


def test_no_wait_is_told_where_none_is() -> None:
    told = Told()
    patience = Patience(on_wait=told)
    with MessagesServer(["ok", "401"]) as server, Line(server.url, patience=patience) as line:
        assert line.send().attempts == 1
        with pytest.raises(ModelUnavailable):
            line.send()
    assert told.waits == []


def test_a_stop_says_how_to_go_on_at_a_prompt_and_in_a_program() -> None:
    with (
        MessagesServer(["529"]) as server,
        Line(server.url) as line,
        pytest.raises(ModelUnavailable) as caught,
    ):
        line.send()
    assert "--on-error hold" in str(caught.value)
    assert "on_error=hold in a spec" in str(caught.value)
    assert "price" not in str(caught.value)


@pytest.mark.parametrize(
    ("plan", "cost_usd"), [(["529"], 0.0), (["529", "cut", "529"], None), (["badjson"], None)]
)
def test_a_call_that_failed_for_good_costs_nothing_where_nothing_was_answered(
    plan: list[str], cost_usd: float | None
) -> None:
    with MessagesServer(plan) as server, Line(server.url, on_error="hold") as line:
        reply = line.send()
    assert (reply.text, reply.cost_usd, reply.attempts) == (None, cost_usd, 6)


def test_where_nobody_listens_nothing_is_spent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Line(url, on_error="hold") as line:
            reply = line.send()
    assert (reply.text, reply.cost_usd) == (None, 0.0)
    assert "refused" in (reply.error or "")


def test_a_name_of_a_million_letters_is_another_model_and_is_cut() -> None:
    with MessagesServer(["longname"]) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match=r"but m{100}\.\.\. answered") as caught:
            line.send()
        assert len(server.seen) == 2
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("claude-sonnet-5-5", "claude-sonnet-5-5", True),
        ("claude-sonnet-5-5", "claude-sonnet-5-5-20260928", True),
        ("claude-sonnet-5-5-20260928", "claude-sonnet-5-5-20260928", True),
        ("claude-sonnet-5-5-20260928", "claude-sonnet-5-5-20270101", False),
        ("claude-sonnet-5-5-20260928", "claude-sonnet-5-5", False),
        ("claude-sonnet-5", "claude-sonnet-5-5", False),
        ("claude-sonnet-5-5", "claude-sonnet-5-5-2026092", False),
        ("claude-sonnet-5-5", "claude-sonnet-5-5-latest", False),
        ("claude-sonnet-5-5", "claude-sonnet-5-5-٢٠٢٦٠٩٢٨", False),
        ("claude-sonnet-5-5", "claude-sonnet-5-5-20260928\n", False),
        ("claude-sonnet-5-5", "Claude-Sonnet-5-5", False),
        ("claude-sonnet-5-5", "claude-sonnet-5.5", False),
    ],
)
def test_only_the_asked_model_or_a_dated_one_of_it_may_answer(
    asked: str, answered: str, same: bool
) -> None:
    entry, reply = replace(SONNET, id=asked), Reply("{}", "end_turn", answered)
    if same:
        check(entry, reply)
        return
    with pytest.raises(CallFailed, match=f"asked {asked}, but ") as caught:
        check(entry, reply)
    assert isinstance(caught.value, OtherModel)
    assert "\n" not in str(caught.value)
