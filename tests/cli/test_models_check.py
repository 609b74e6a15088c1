"""`dream models check`: one tiny question the way a run asks it; whatever is wrong is one line."""

from __future__ import annotations

import json
import socket

import pytest

from tests.messages_server import HOLD, MessagesServer

KEY = "sk-ant-" + "w3" * 20


@pytest.fixture
def check(dream, monkeypatch):
    """`dream models check` of a server on loopback, with a key in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def run(server, *args, model="sonnet"):
        url = server if isinstance(server, str) else server.url
        said = dream("models", "check", model, "--base-url", url, *args)
        assert KEY not in said.out + said.err
        assert "Traceback" not in said.err
        assert said.err.count("\n") == (said.code != 0)
        return said

    run.folder = dream.folder
    return run


def test_a_model_that_answers(check):
    with MessagesServer() as server:
        said = check(server)
        found = json.loads(check(server, "--json").out)
        (body, _) = (seen.body for seen in server.seen)
    assert said.code == 0, said.err
    assert f"claude-sonnet-5-5 at {server.url}" in said.out
    assert "schema: HOLD was read" in said.out
    assert "500 in, 1,000 read from the cache, 100 written to it, 150 out" in said.out
    assert "0.002850 USD" in said.out
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert len(json.dumps(body)) < 3_000
    assert (found["cost_usd"], found["action"], found["refused"]) == (0.00285, "HOLD", None)
    assert found["latency_s"] > 0


def test_the_cache_is_asked_only_where_that_is_wanted(check):
    with MessagesServer() as server:
        said = check(server, "--cache")
        first, second = (seen.body for seen in server.seen)
    assert first == second
    assert len(json.dumps(first)) > 24_000
    assert "the second call read 1,000 tokens from it" in said.out
    assert "0.005700 USD" in said.out


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("401", "Check the key in ANTHROPIC_API_KEY"),
        ("404", "check the model and the base URL"),
        ("403", "may not use this model"),
        ("400", "The endpoint does not take what dream sends"),
        ("429:3600", "try again"),
        ("529", "try again"),
        ("reset", "try again"),
        ("cut", "try again"),
        ("badjson", "the answer is no message"),
        ("body:<html>Welcome</html>", "the answer is no message"),
        ("big", "longer than 1048576 bytes"),
        ("timeout:30", "no answer within 0.5 s"),
        ("wrongmodel", "but some-other-model answered"),
        ("redirect", "answered 307"),
        ("refusal", "the answer is model_refusal"),
        ("maxtok", "the answer is truncated (stop reason max_tokens). Raise max_tokens (2048)"),
        ("text:I would hold.", "not readably as schema: not JSON"),
        ('text:{"action":"buy now"}', "not readably as schema"),
        ('text:{"action":"HOLD","confidence":85}', "less than or equal to 1"),
        ("text:持有", "not readably as schema"),
        ("echo:401", "bad key Bearer [key]"),
    ],
)
def test_whatever_is_wrong_is_one_line_and_exit_code_5(check, step, words):
    with MessagesServer([step]) as server:
        said = check(server, "--limit-s", "0.5")
    assert (said.code, said.out) == (5, "")
    assert words in said.err
    assert said.err.startswith("dream: claude-sonnet-5-5: ")


def test_a_refused_form_is_told_and_the_other_one_tried(check):
    with MessagesServer(["400", "ok"]) as server:
        said = check(server)
        bodies = [seen.body for seen in server.seen]
    assert said.code == 0, said.err
    assert "text: HOLD was read; the endpoint refused the first form" in said.out
    assert ["format" in body["output_config"] for body in bodies] == [True, False]


def test_deepseek_is_asked_with_its_own_key_header_and_a_tool(check):
    with MessagesServer() as server:
        said = check(server, model="deepseek")
        (seen,) = server.seen
    assert said.code == 0, said.err
    assert "tool: HOLD was read" in said.out
    assert seen.headers["x-api-key"] == KEY
    assert "authorization" not in seen.headers
    assert (seen.body["thinking"], seen.body["temperature"]) == ({"type": "disabled"}, 0.0)


def test_a_forced_tool_that_is_ignored_is_told(check):
    with MessagesServer(["text:Let me think."]) as server:
        said = check(server, model="deepseek")
    assert said.code == 5
    assert "not readably as tool: not JSON" in said.err
    assert 'answer = "text"' in said.err


def test_a_server_without_a_key_gets_none_and_its_words_are_read(check):
    words = f"text:<think>{{}}</think>Well:\n```json\n{HOLD}\n```"
    with MessagesServer([words]) as server:
        said = check(server, model="ollama/llama3.2:3b")
        (seen,) = server.seen
    assert said.code == 0, said.err
    assert "text: HOLD was read" in said.out
    assert "cost         not known" in said.out
    assert not {"authorization", "x-api-key"} & set(seen.headers)
    assert KEY.encode() not in seen.raw


def test_a_server_that_wants_a_key_is_told_how_to_give_one(check):
    with MessagesServer(["401"]) as server:
        said = check(server, model="vllm/x")
    assert said.code == 5
    assert "No key was sent: name the variable that holds it with key_env" in said.err


def test_nobody_there(check):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        said = check(f"http://127.0.0.1:{taken.getsockname()[1]}", model="ollama/x")
    assert said.code == 5
    assert "refused. Is the server up?" in said.err


@pytest.mark.parametrize(
    ("model", "url", "code", "words"),
    [
        ("sonet", "http://x", 2, "unknown model 'sonet'"),
        ("rules", "http://x", 2, "unknown model 'rules'"),
        ("sonnet", "api.anthropic.com", 2, "must be an http or https address"),
    ],
)
def test_bad_input(check, model, url, code, words):
    said = check(url, model=model)
    assert (said.code, said.out) == (code, "")
    assert words in said.err


def test_without_a_key(check, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    said = check("http://127.0.0.1:9")
    assert said.code == 5
    assert "set ANTHROPIC_API_KEY" in said.err


def test_the_model_of_this_machine_is_asked_as_in_a_run(dream):
    said = dream("models", "check", "local")
    assert (said.code, said.out) == (5, "")
    assert "dream models install local" in said.err
    assert said.err.count("\n") == 1
