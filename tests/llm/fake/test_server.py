"""The server as such: forms of answers, bounds, loopback only, and a clean end."""

from __future__ import annotations

import errno
import http.client
import io
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import anthropic
import httpx2
import pytest

from dream.errors import InputError
from dream.llm.catalog import CATALOG, price
from dream.llm.fake.server import MAX_REQUEST
from dream.llm.parse import parse_answer
from tests.llm.fake.asking import asked, body, get, plan, serve
from tests.llm.line import KEY, NOON_NS, REQUEST, SONNET, Line

pytestmark = pytest.mark.usefixtures("straight")


def connection(server):
    return http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)


def post(server, data, path="/v1/messages", **headers):
    """Status and body of a request made by hand."""
    conn = connection(server)
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    conn.request("POST", path, raw, headers)
    response = conn.getresponse()
    found = response.status, json.loads(response.read())
    conn.close()
    return found


@pytest.mark.parametrize("answer", ["schema", "tool", "text"])
def test_without_a_plan_every_answer_is_a_hold(answer):
    with serve() as server, Line(server.url) as line:
        reply = line.send(asked(0, answer))
    assert parse_answer(reply.text).action == "HOLD"
    assert reply.stop_reason == ("tool_use" if answer == "tool" else "end_turn")
    assert reply.model == SONNET.id


def test_usage_is_counted_by_the_rule():
    """A token is four bytes begun; the server's own schema block and each role's letter count."""
    request = replace(REQUEST, system="s" * 7_999, user="u" * 99)
    schema = {"type": "json_schema", "schema": dict(request.schema)}
    form = -(-len(json.dumps(schema, sort_keys=True)) // 4)
    some = plan(thinking_tokens=40)
    with serve(some) as server, Line(server.url) as line:
        first = line.send(request)
        second = line.send(replace(request, user="v" * 103))
    output = -(-len(first.text) // 4) + 40
    assert (first.usage.input_tokens, first.usage.cache_read_tokens) == (25, 0)
    assert first.usage.cache_write_tokens == second.usage.cache_read_tokens == 2_000 + form
    assert (second.usage.input_tokens, second.usage.cache_write_tokens) == (26, 0)
    assert first.usage.output_tokens == second.usage.output_tokens == output
    assert first.usage.thinking_tokens == 40


def test_the_ledger_prices_as_the_client_does():
    with serve(price_at_ns=NOON_NS) as server, Line(server.url) as line:
        replies = [line.send(asked(n)) for n in range(5)]
        found = get(f"{server.url}/ledger")
    assert [row["cost_usd"] for row in found["rows"]] == [r.cost_usd for r in replies]
    assert found["totals"]["cost_usd"] == sum(r.cost_usd for r in replies) > 0
    assert found["totals"]["unpriced"] == 0
    assert replies[0].cost_usd == price(SONNET, replies[0].usage, NOON_NS)


def test_prices_of_ones_own_and_models_without_any():
    own = {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}
    with serve(plan(prices=own)) as server:
        post(server, body("x" * 399, system="", model="mine"))
        (row,) = server.ledger.rows()
    assert row["cost_usd"] == (row["input_tokens"] + 2 * row["output_tokens"]) / 1e6 > 0
    with serve() as server:
        post(server, body("x", model="mine"))
        (row,) = server.ledger.rows()
        assert row["cost_usd"] is None
        assert server.ledger.totals()["unpriced"] == 1


def test_the_ledger_as_a_file_is_in_order_and_holds_no_key():
    file = io.BytesIO()
    server = serve(plan(at=[{"decision": 0, "fault": "silence", "seconds": 0.5}]))
    server.ledger.write_to(file, pytest.fail)
    with server, ThreadPoolExecutor(2) as pool:
        slow = pool.submit(post, server, body("first"), authorization=f"Bearer {KEY}")
        time.sleep(0.1)
        post(server, body("second"), **{"x-api-key": KEY})
        assert file.getvalue() == b"", "the first has not ended"
        assert slow.result()[0] == 200
        post(server, body("second"))
    *rows, last = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [(r["n"], r["decision"], r["attempt"], r["again"]) for r in rows] == [
        (0, 0, 1, False), (1, 1, 1, False), (2, 1, 2, True),
    ]  # fmt: skip
    assert last["totals"]["requests"] == 3
    assert last["totals"]["asked_again"] == 1
    assert KEY.encode() not in file.getvalue()


def test_a_ledger_that_is_full_is_told_once_and_the_server_goes_on():
    told = []
    with Path("/dev/full").open("wb", buffering=0) as file, serve() as server:
        server.ledger.write_to(file, told.append)
        assert [post(server, body(str(n)))[0] for n in range(3)] == [200] * 3
        until = time.monotonic() + 5
        while not told and time.monotonic() < until:
            time.sleep(0.01)
        assert server.ledger.totals()["requests"] == 3
    assert [error.errno for error in told] == [errno.ENOSPC]


def test_no_key_is_needed_and_none_is_sent_back():
    with serve() as server:
        assert post(server, body("a"))[0] == 200
        status, said = post(server, body("b"), authorization=f"Bearer {KEY}")
        assert status == 200
        assert KEY not in json.dumps([said, get(f"{server.url}/ledger")])


def test_drawn_answers_name_strategies_and_are_the_same_each_time():
    board = "## Board\nVolBreakout: not live; entries today 0 of 1\n## Position\nnone\n"
    said = board + "The newest bar closed at 2000.00.\n"

    def walk():
        with serve(plan(answers="drawn", seed=3)) as server:
            found = [post(server, body(f"{n} {said}"))[1] for n in range(40)]
        return [parse_answer(one["content"][0]["text"]) for one in found]

    first = walk()
    assert {d.action for d in first} == {"BUY", "HOLD"}, "nothing to close when flat"
    (bought, *_) = [d for d in first if d.action == "BUY"]
    assert (bought.strategy, bought.stop, bought.target) == ("VolBreakout", 1990.0, 2010.0)
    assert walk() == first


def test_drawn_answers_without_a_board_take_the_schema():
    with serve(plan(answers="drawn")) as server, Line(server.url) as line:
        found = [parse_answer(line.send(asked(n)).text) for n in range(30)]
    assert {d.action for d in found} == {"BUY", "HOLD", "CLOSE"}
    assert {d.strategy for d in found} == {"VolBreakout", None}


def test_answers_of_ones_own():
    texts = ('{"action": "CLOSE"}', "raw words")
    with serve(plan(answers=texts)) as server:
        found = [post(server, body(f"{n}."))[1]["content"][0]["text"] for n in range(3)]
    assert found[:2] == list(texts)
    assert parse_answer(found[2]).action == "HOLD"


def test_runs_by_path():
    with serve(plan(at=[{"decision": 1, "run": "a", "fault": "529"}])) as server:
        with Line(server.url_of("a")) as a, Line(server.url_of("b")) as b:
            for n in range(3):
                a.send(asked(n))
                b.send(asked(n))
        rows = server.ledger.rows()
    assert [r["decision"] for r in rows if r["run"] == "a"] == [0, 1, 1, 2]
    assert [r["decision"] for r in rows if r["run"] == "b"] == [0, 1, 2]


def test_the_models_are_what_the_sdk_understands():
    with (
        serve() as server,
        anthropic.Anthropic(
            api_key=KEY, base_url=server.url, max_retries=0, http_client=httpx2.Client()
        ) as client,
    ):
        listed = list(client.models.list())
        one = client.models.retrieve(SONNET.id)
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("claude-none")
        counted = client.messages.count_tokens(
            model=SONNET.id, messages=[{"role": "user", "content": "x" * 39}]
        )
    assert [m.id for m in listed] == [entry.id for entry in CATALOG.values()]
    assert one.max_tokens >= SONNET.max_tokens
    assert one.lifecycle == "active"
    assert one.capabilities.structured_outputs.supported
    assert one.capabilities.effort.low.supported
    assert counted.input_tokens == 10


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ({"max_tokens": 1, "messages": [1]}, "model"),
        ({"model": "m", "messages": [1]}, "max_tokens"),
        ({"model": "m", "max_tokens": 0, "messages": [1]}, "max_tokens"),
        ({"model": "m", "max_tokens": 5, "messages": []}, "messages"),
        ({"model": "m", "max_tokens": 5, "messages": [1], "stream": True}, "stream"),
    ],
)
def test_what_is_no_request_is_a_400_and_not_in_the_ledger(data, said):
    with serve() as server:
        status, found = post(server, data)
        assert server.ledger.totals()["requests"] == 0
    assert (status, found["type"]) == (400, "error")
    assert said in found["error"]["message"]


def test_a_request_that_is_too_long_is_not_read():
    with serve() as server:
        conn = connection(server)
        conn.putrequest("POST", "/v1/messages")
        conn.putheader("content-length", str(MAX_REQUEST + 1))
        conn.endheaders()
        assert conn.getresponse().status == 413
        conn.close()
        status, _ = post(server, b"x", path="/v1/other")
        assert status == 404


def test_a_request_without_a_length():
    with serve() as server:
        conn = connection(server)
        conn.request("POST", "/v1/messages", iter([b"{}"]), encode_chunked=True)
        assert conn.getresponse().status in (400, 411)
        conn.close()


def test_concurrent_requests_do_not_wait_for_each_other():
    with serve(plan(latency_s=0.3)) as server, ThreadPoolExecutor(8) as pool:
        began = time.monotonic()
        found = list(pool.map(lambda n: post(server, body(f"{n}."))[0], range(8)))
        took_s = time.monotonic() - began
    assert found == [200] * 8
    assert 0.3 <= took_s < 1.2, "one after another they would take 2.4 s"


def test_a_drawn_latency_is_within_its_ends():
    with serve(plan(latency_s=[0.02, 0.15])) as server:
        took = []
        for n in range(12):
            began = time.monotonic()
            post(server, body(f"{n}."))
            took.append(time.monotonic() - began)
    assert min(took) >= 0.02
    assert len({round(t, 2) for t in took}) > 3


def test_only_loopback_is_bound():
    with serve() as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server._http.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_that_there_is_not(port):
    with pytest.raises(InputError, match="cannot listen"):
        serve(port=port)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"127\.0\.0\.1:{port}: .*in use; give another port"):
            serve(port=port)


def test_the_end_waits_for_nobody():
    """Silent answers, idle and half-open connections: all threads are gone at once."""
    before = threading.active_count()
    with serve(plan(shares={"silence": 0.5, "trickle": 0.5})) as server:
        conns = [connection(server) for _ in range(6)]
        for n, conn in enumerate(conns[:4]):
            conn.request("POST", "/v1/messages", json.dumps(body(f"{n}.")))
        conns[4].connect()
        conns[5].connect()
        conns[5].sock.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-le")
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert threading.active_count() == before
    assert server.ledger.totals()["requests"] == 4
    for conn in conns:
        conn.close()
