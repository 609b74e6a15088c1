"""Whole runs that ask a model: the real SDK, a server on loopback, the command line."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dream.runs import api
from tests.cli.typed import dream
from tests.messages_server import HOLD, MessagesServer
from tests.runs import made

__all__ = ["dream"]

KEY = "sk-ant-" + "k9" * 20
MODEL = "claude-sonnet-5-5"


def trading(body):
    """An answer that follows the question: enters when it says there is no position."""
    text = body["messages"][0]["content"]
    return json.dumps({**json.loads(HOLD), **_entry(text)})


def _entry(text):
    rows = [line.split() for line in text.splitlines()]
    closes = [r for r in rows if len(r) > 5 and r[0][:2].isdigit()]
    return {"action": "CLOSE", "reasoning": f"{len(text)} characters, {len(closes)} rows"}


@pytest.fixture
def ask(dream, bars_path, monkeypatch):
    """`dream run` with a model at a loopback server and a key in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def run(server, *args, decisions=200):
        return dream(
            "run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url,
            "--decisions", decisions, *args,
        )  # fmt: skip

    run.folder = dream.folder / "runs"
    return run


def test_look(ask):
    with MessagesServer(["ok"], trading) as server:
        said = ask(server, decisions=3)
        print(said.code, said.err, said.out)
        print(server.seen[-1].body["messages"][0]["content"])
        print(server.seen[-1].headers)
    print((made.only_run(ask.folder) / made.JOURNAL).read_text()[-3000:])
    print((made.only_run(ask.folder) / "spend.jsonl").read_text())
    assert 0
