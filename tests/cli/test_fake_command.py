"""`dream models fake`: a server as a process, its ledger, its outcomes, and wrong words."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time

import pytest

from dream.llm.fake import load_plan, outcomes
from tests.llm.fake.asking import body, get, post
from tests.llm.line import KEY
from tests.runs import made

PLAN = """\
seed = 7

[shares]
"429" = 0.1
"529" = 0.05
refusal = 0.02

[how."529"]
times = 7

[[at]]
decision = 11
fault = "no_answer"
times = 2

[[at]]
decision = 60
fault = "context_exceeded"
"""


class Started:
    """The command as a process of its own, once it listens."""

    def __init__(self, *args, cwd) -> None:
        self.process = subprocess.Popen(
            made.command("models", "fake", "--port", 0, *args),
            cwd=cwd, env=made.environment(PYTHONUNBUFFERED="1"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        first = self.process.stdout.readline()
        self.url = re.match(r"Listening on (http://127\.0\.0\.1:[0-9]+);", first)[1]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path):
    begun = []

    def starting(*args):
        begun.append(Started(*args, cwd=tmp_path))
        return begun[-1]

    yield starting
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_says_what_it_cost(start, tmp_path, number):
    """Prices of 2026-11-15: 2 USD a million in, 10 out; an answer has 35 tokens."""
    server = start("--ledger", "ledger.jsonl", "--price-at", "2026-11-15")
    for n in range(3):
        request = body("x" * 399 + str(n), system="", model="claude-sonnet-5-5")
        assert post(server.url, request)["usage"]["output_tokens"] == 35
    code, out, err = server.end(number)
    assert (code, err) == (0, "")
    cost_usd = 3 * (102 * 2 + 35 * 10) / 1e6
    assert out.splitlines()[-1] == (
        f"3 requests for 3 decisions, 3 answered whole: {cost_usd:.4f} USD; made and not received: "
        f"0.0000 USD; asked again: 0"
    )
    text = (tmp_path / "ledger.jsonl").read_text()
    *rows, last = [json.loads(line) for line in text.splitlines()]
    assert [row["decision"] for row in rows] == [0, 1, 2]
    assert last["totals"]["cost_usd"] == pytest.approx(cost_usd, abs=1e-12)
    assert KEY not in text


def test_a_signal_while_an_answer_is_out(start):
    server = start("--latency", "20")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as sock:
        said = json.dumps({"model": "m", "max_tokens": 1, "messages": [{}]}).encode()
        head = f"POST /v1/messages HTTP/1.1\r\ncontent-length: {len(said)}\r\n\r\n"
        sock.sendall(head.encode() + said)
        while not get(f"{server.url}/ledger")["totals"]["in_flight"]:
            time.sleep(0.02)
        began = time.monotonic()
        code, out, err = server.end()
    assert (code, err) == (0, "")
    assert "1 request for 1 decision, 0 answered whole" in out
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plan", "none.toml"], "none.toml: cannot be read"),
        (["--plan", "wrong.toml"], "wrong.toml, line 1: sed: there is no such key"),
        (["--latency", "fast"], "--latency takes seconds"),
        (["--latency", "-1"], "--latency takes seconds"),
        (["--answers", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--cache", "some"], "--cache: Input should be"),
        (["--cache-min", "-1"], "--cache-min: Input should be"),
        (["--ledger", "there.jsonl"], "there.jsonl is there already; --force replaces it"),
        (["--ledger", "no/folder.jsonl"], "cannot be written"),
        (["--price-at", "soon"], "soon"),
        (["--port", "70000"], "cannot listen on 127.0.0.1:70000"),
        (["--outcomes", "-1"], "--outcomes takes 0 or more"),
        (["--outcomes", "5", "--on-error", "cry"], "--on-error takes hold or stop"),
        (["--outcomes", "5", "--attempts", "0"], "--attempts 1 or more"),
    ],
)
def test_wrong_words_are_one_line(dream, words, said):
    (dream.folder / "wrong.toml").write_text("sed = 1")
    (dream.folder / "there.jsonl").write_text("mine")
    found = dream("models", "fake", *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1
    assert (dream.folder / "there.jsonl").read_text() == "mine"
    assert not (dream.folder / "no").exists()


def test_a_port_that_is_taken_leaves_no_ledger(dream):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = dream("models", "fake", "--port", port, "--ledger", "l.jsonl")
    assert (said.code, said.out) == (2, "")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said.err
    assert said.err.count("\n") == 1
    assert list(dream.folder.iterdir()) == []


def test_the_outcomes_are_listed(dream):
    (dream.folder / "plan.toml").write_text(PLAN)
    words = ("models", "fake", "--plan", "plan.toml", "--outcomes", 80)
    told = json.loads(dream(*words, "--json").out)
    found = outcomes(load_plan(dream.folder / "plan.toml"), 80)
    assert [(o["decision"], o["status"], o["requests"]) for o in told["outcomes"]] == [
        (o.decision, o.status, o.requests) for o in found
    ]
    assert sum(told["by_status"].values()) == 80
    shown = dream(*words).out
    assert re.search(
        r"^ +11  parse_error \(2 requests\): no_answer no_answer$", shown, re.MULTILINE
    )
    assert re.search(r"^ +60  truncated \(1 request\): context_exceeded$", shown, re.MULTILINE)
    assert shown.splitlines()[-1].startswith("80 decisions: api_error ")
    assert dream(*words, "--seed", 8).out != shown
