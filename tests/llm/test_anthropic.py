"""The real SDK against a real server on loopback: every fault, every byte, and the key."""

from __future__ import annotations

import signal
import socket
import time
from dataclasses import replace

import pytest

from dream.errors import ModelUnavailable
from dream.llm.catalog import resolve
from dream.llm.client import CallFailed
from dream.types import Reply, Usage
from tests.llm.line import KEY, REQUEST, SONNET, Line
from tests.messages_server import HOLD, MessagesServer

pytestmark = pytest.mark.usefixtures("straight")


def test_a_whole_reply_arrives_with_its_counts_and_its_price() -> None:
    with MessagesServer() as server, Line(server.url) as line:
        reply = line.send()
    assert reply == Reply(
        text=HOLD,
        stop_reason="end_turn",
        model="claude-sonnet-5-5",
        usage=Usage(500, 1_000, 100, 150, 20),
        cost_usd=pytest.approx((500 * 2 + 1_000 * 0.1 + 100 * 2.5 + 150 * 10) / 1e6),
    )


def test_the_bytes_on_the_wire_are_what_was_hashed() -> None:
    with MessagesServer() as server, Line(server.url) as line:
        line.send()
        (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert seen.body == REQUEST.body()
    assert "stream" not in seen.body
    assert seen.headers["anthropic-version"] == "2026-10-21"
    assert seen.headers["content-type"] == "application/json"


def test_the_key_is_in_one_header_and_nowhere_else() -> None:
    with MessagesServer() as server, Line(server.url) as line:
        line.send()
        (seen,) = server.seen
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert [name for name, value in seen.headers.items() if KEY in value] == ["authorization"]
    assert KEY.encode() not in seen.raw


def test_nothing_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-ant-from-the-environment",
        "ANTHROPIC_AUTH_TOKEN": "token-from-the-environment",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_CUSTOM_HEADERS": "x-extra: 1\nAuthorization: Bearer other\nx-api-key: third",
        "ANTHROPIC_PROFILE": "someone",
    }.items():
        monkeypatch.setenv(name, value)
    with MessagesServer() as server, Line(server.url) as line:
        line.send()
        (seen,) = server.seen
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert not {"x-extra", "x-api-key"} & set(seen.headers)
    assert "environment" not in str(seen.headers)


@pytest.mark.parametrize("fault", ["429", "500", "503", "529", "408", "409", "502"])
def test_a_refusal_that_passes_is_repeated(fault: str) -> None:
    with MessagesServer([fault, fault, "ok"]) as server, Line(server.url) as line:
        assert line.send().text == HOLD
        assert len(server.seen) == line.client.tried == 3
    assert line.waits == [1.0, 2.0]


@pytest.mark.parametrize("fault", ["reset", "cut", "badjson", "notmessage", "nostop"])
def test_a_broken_answer_is_repeated(fault: str) -> None:
    with MessagesServer([fault, "ok"]) as server, Line(server.url) as line:
        assert line.send().text == HOLD
        assert len(server.seen) == 2
    assert line.waits == [1.0]


@pytest.mark.parametrize(
    ("retry_after", "waited_s"), [("7", 7.0), ("0.5", 1.0), ("3600", 30.0), ("soon", 1.0)]
)
def test_a_retry_after_is_obeyed_up_to_the_cap(retry_after: str, waited_s: float) -> None:
    with MessagesServer([f"429:{retry_after}", "ok"]) as server, Line(server.url) as line:
        line.send()
    assert line.waits == [waited_s]


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("400", "check that it is meant for this model"),
        ("401", "Check the key in ANTHROPIC_API_KEY"),
        ("403", "The key in ANTHROPIC_API_KEY may not use this model"),
        ("404", "check the model and the base URL"),
        ("422", "It would answer the same again"),
    ],
)
@pytest.mark.parametrize("on_error", ["stop", "hold"])
def test_a_refusal_that_does_not_pass_stops_at_once(
    status: str, advice: str, on_error: str
) -> None:
    with MessagesServer([status]) as server, Line(server.url, on_error=on_error) as line:
        with pytest.raises(ModelUnavailable) as caught:
            line.send()
        assert len(server.seen) == 1
    said = str(caught.value)
    assert said.startswith(f"claude-sonnet-5-5: {server.url} answered {status} ")
    assert f"scripted {status}" in said
    assert advice in said


@pytest.mark.parametrize("fault", ["429", "529", "500", "reset", "cut", "badjson"])
def test_after_the_last_attempt_the_run_stops_resumable(fault: str) -> None:
    with MessagesServer([fault]) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match=r"attempt 6, the last.*same command"):
            line.send()
        assert len(server.seen) == line.client.tried == 6
    assert line.waits == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_or_the_failed_call_is_written_down() -> None:
    with MessagesServer(["529"]) as server, Line(server.url, on_error="hold") as line:
        reply = line.send()
    assert reply.text is None
    assert reply.error == (
        f"{server.url} answered 529 overloaded_error: scripted 529 (attempt 6, the last)"
    )


def test_silence_ends_at_the_limit() -> None:
    with MessagesServer(["timeout:30", "ok"]) as server, Line(server.url, limit_s=0.3) as line:
        started = time.monotonic()
        assert line.send().text == HOLD
        assert time.monotonic() - started < 5.0
        assert len(server.seen) == 2


def test_an_answer_that_trickles_ends_at_the_limit_too() -> None:
    """A byte every 50 ms never runs into a limit per read; the whole would take half a minute."""
    with MessagesServer(["trickle:0.05", "ok"]) as server, Line(server.url, limit_s=0.4) as line:
        started = time.monotonic()
        assert line.send().text == HOLD
        assert time.monotonic() - started < 5.0
        assert len(server.seen) == 2


def test_a_late_answer_within_the_limit_is_taken() -> None:
    with MessagesServer(["timeout:0.2"]) as server, Line(server.url) as line:
        assert line.send().text == HOLD
        assert line.client.tried == 1


alarms = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")


@alarms
def test_a_signal_that_is_handled_lets_the_call_in_flight_end() -> None:
    """So that Ctrl-C can wait for an answer that is already paid for."""
    came: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: came.append(number))
    try:
        with MessagesServer(["timeout:0.4"]) as server, Line(server.url) as line:
            line.transport._connect().close()  # the import does not count
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            assert line.send().text == HOLD
            assert (came, line.client.tried) == ([signal.SIGALRM], 1)
    finally:
        signal.signal(signal.SIGALRM, before)


@alarms
def test_a_signal_that_raises_leaves_the_call_at_once() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with MessagesServer(["timeout:20"]) as server, Line(server.url) as line:
            line.transport._connect().close()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                line.send()
            assert time.monotonic() - started < 5.0
    finally:
        signal.signal(signal.SIGALRM, before)


def test_nobody_listening_is_an_error_that_costs_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Line(url) as line, pytest.raises(CallFailed, match="refused") as caught:
            line.transport.send(REQUEST)
    assert caught.value.cost_usd == 0.0
    assert caught.value.again


@pytest.mark.parametrize(
    ("fault", "cost_usd"), [("529", 0.0), ("400", 0.0), ("cut", None), ("badjson", None)]
)
def test_only_a_refused_call_is_known_to_be_free(fault: str, cost_usd: float | None) -> None:
    with (
        MessagesServer([fault]) as server,
        Line(server.url) as line,
        pytest.raises(CallFailed) as caught,
    ):
        line.transport.send(REQUEST)
    assert caught.value.cost_usd == cost_usd


def test_another_model_is_named() -> None:
    with MessagesServer(["wrongmodel"]) as server, Line(server.url) as line:
        with pytest.raises(
            ModelUnavailable, match=r"asked claude-sonnet-5-5, but some-other-model"
        ):
            line.send()
        assert len(server.seen) == 2, "the second one is what the endpoint gives"


def test_a_model_that_stepped_in_once_is_asked_past() -> None:
    with MessagesServer(["wrongmodel", "429:0", "ok"]) as server, Line(server.url) as line:
        assert line.send().model == "claude-sonnet-5-5"
        assert len(server.seen) == 3
    with MessagesServer(["wrongmodel", "429:0", "wrongmodel", "ok"]) as server:
        with Line(server.url) as line, pytest.raises(ModelUnavailable):
            line.send()
        assert len(server.seen) == 3


def test_a_dated_snapshot_is_taken() -> None:
    with MessagesServer(["dated"]) as server, Line(server.url) as line:
        assert line.send().model == "claude-sonnet-5-5-20260928"


def test_a_redirect_is_not_followed() -> None:
    with MessagesServer(["redirect", "ok"]) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match="answered 307"):
            line.send()
        assert [seen.path for seen in server.seen] == ["/v1/messages"]


@pytest.mark.parametrize(
    ("step", "text", "stop_reason"),
    [
        ("refusal", "", "refusal"),
        ("maxtok", '{"reasoning":"The mark', "max_tokens"),
        ("text:hm, let me see", "hm, let me see", "end_turn"),
    ],
)
def test_what_is_no_answer_arrives_as_it_came(step: str, text: str, stop_reason: str) -> None:
    with MessagesServer([step]) as server, Line(server.url) as line:
        reply = line.send()
    assert (reply.text, reply.stop_reason, reply.error) == (text, stop_reason, None)


def test_a_forced_tool_gives_the_same_text() -> None:
    request = replace(REQUEST, entry=replace(resolve("haiku"), answer="tool"))
    with MessagesServer() as server, Line(server.url) as line:
        reply = line.send(request)
    assert reply.text == HOLD
    assert reply.stop_reason == "tool_use"


def test_a_model_without_a_price_costs_none() -> None:
    with MessagesServer() as server, Line(server.url) as line:
        reply = line.send(replace(REQUEST, entry=replace(SONNET, id="llama")))
    assert (reply.text, reply.cost_usd) == (HOLD, None)


def test_a_server_that_counts_nothing_is_understood() -> None:
    """Local servers leave the usage out, whole or in part."""
    with MessagesServer(["nousage"]) as server, Line(server.url) as line:
        reply = line.send()
    assert (reply.text, reply.usage, reply.cost_usd) == (HOLD, Usage(), None)


def test_no_test_can_reach_the_real_endpoint() -> None:
    with (
        Line("https://api.anthropic.com") as line,
        pytest.raises(pytest.fail.Exception, match=r"api\.anthropic\.com: only loopback"),
    ):
        line.send()


def test_one_connection_serves_many_calls_without_delay() -> None:
    """A kept-alive call on loopback takes about a millisecond; 40 ms would be a delayed ACK."""
    with MessagesServer() as server, Line(server.url) as line:
        line.send()
        best = 1.0
        for _ in range(15):
            started = time.perf_counter()
            line.send()
            best = min(best, time.perf_counter() - started)
    assert best < 0.03
