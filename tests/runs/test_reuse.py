"""`--reuse-answers`: what another run has paid for is not asked again."""

from __future__ import annotations

import json

import pytest

from dream.runs import api
from dream.runs.stores import JOURNAL
from dream.runs.verify import verify
from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.asked import KEY, PRICE_USD, ask, trading, waits

__all__ = ["ask", "dream", "waits"]

N = 30


def test_another_endpoint_gives_nothing(ask):
    for decisions in (5, 8):
        with MessagesServer() as server:
            assert ask(server, "--reuse-answers", decisions=decisions).code == 0
            assert len(server.seen) == decisions


def test_the_same_endpoint(ask, dream, bars_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with MessagesServer(answer=trading) as server:
        assert ask(server, decisions=N).code == 0
        first = made.only_run(ask.folder)
        said = ask(server, "--reuse-answers", "--json", decisions=N + 10)
        assert len(server.seen) == N + 10
        repeated = ask(server, "--reuse-answers", "--set", "repeat=1", decisions=N)
        assert len(server.seen) == 2 * N + 10, "a repeat is there to be asked anew"
        assert repeated.code == 0
        assert ask(server, "--set", "repeat=2", decisions=N).code == 0
        assert len(server.seen) == 3 * N + 10, "nothing is reused unasked"
    summary = json.loads(said.out)
    assert summary["cost_usd"] == pytest.approx(10 * PRICE_USD)
    longer = ask.folder / summary["run_id"]
    old, new = made.of_kind(first, "reply"), made.of_kind(longer, "reply")
    for was, now in zip(old, new, strict=False):
        assert {**was, "usage": None, "cost_usd": 0.0} == now
    marks = [line.meta.get("reused") for line in made.lines(longer) if line.kind == "reply"]
    assert marks == [first.name] * N + [None] * 10
    told = [
        [(d["action"], d["reasoning"], d["equity"]) for d in made.of_kind(folder, "decision")]
        for folder in (first, longer)
    ]
    assert told[1][:N] == told[0]
    assert verify(longer).closed
    assert api.replay(longer).complete
    (cost,) = json.loads(dream("cost", longer, "--json").out)["runs"]
    assert (cost["replies"], cost["reused"], cost["attempts"]) == (N + 10, N, 10)
    assert cost["replies_without_counts"] == 0


def test_another_path_of_the_same_host_is_another_endpoint(ask):
    with MessagesServer() as server:
        for path, decisions in (("/a", 4), ("/b", 5), ("/a/", 6)):
            said = ask(
                server, "--base-url", server.url + path, "--reuse-answers", decisions=decisions
            )
            assert said.code == 0
        assert len(server.seen) == 4 + 5 + 2


def test_failed_and_cut_answers_are_asked_again(ask):
    plan = ["ok"] * 3 + ["400"]
    with MessagesServer(plan) as server:
        assert ask(server, decisions=10).code == 5
        server.plan = ["ok"]
        assert ask(server, "--reuse-answers", "--memory", "none", decisions=8).code == 0
        assert len(server.seen) == 4 + 5


def test_a_damaged_journal_gives_nothing_and_is_told(ask):
    with MessagesServer() as server:
        assert ask(server, decisions=5).code == 0
        journal = made.only_run(ask.folder) / JOURNAL
        data = bytearray(journal.read_bytes())
        data[len(data) // 2] ^= 1
        journal.write_bytes(data)
        said = ask(server, "--reuse-answers", decisions=6)
        assert said.code == 0
        assert "1 journals of other runs are damaged" in said.err
        assert len(server.seen) == 11
