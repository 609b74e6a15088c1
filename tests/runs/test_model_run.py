"""Whole runs that ask a model: the real SDK, a server on loopback, the command line."""

from __future__ import annotations

import json
import re
import socket

import pytest

from dream.errors import Diverged
from dream.runs import api
from dream.runs.lines import NO_CHAIN, seal
from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.asked import MODEL, PRICE_USD, ask, trading, waits

__all__ = ["ask", "dream", "waits"]


def statuses(folder):
    return [d["status"] for d in made.of_kind(folder, "decision")]


def test_two_hundred_decisions_and_their_replay(ask, monkeypatch):
    with MessagesServer(answer=trading) as server:
        said = ask(server, "--json", decisions=200)
    assert said.code == 0, said.err
    summary = json.loads(said.out)
    assert summary["decisions_by_status"]["ok"] == summary["replies"] == 200
    assert summary["trades"] > 5
    assert summary["cost_usd"] == pytest.approx(200 * PRICE_USD)
    folder = made.only_run(ask.folder)
    check_what_was_asked(folder, server)

    def refused(*_):
        pytest.fail("a replay opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    again = api.replay(folder)
    assert (again.complete, again.decisions, again.digest) == (True, 200, summary["digest"])


def check_what_was_asked(folder, server):
    """Prompts and answers stand in the journal as they were sent, memory wherever there was any."""
    opened = made.lines(folder)[0].record
    replies, decisions = (made.of_kind(folder, kind) for kind in ("reply", "decision"))
    assert len(server.seen) == len(replies) == len(decisions) == 200
    remembered = 0
    for seen, reply, decision in zip(server.seen, replies, decisions, strict=True):
        body = seen.body
        prompt = body["messages"][0]["content"]
        assert body["model"] == reply["model"] == MODEL
        assert body["system"][0]["text"] == opened["system"]
        assert reply["user"] == prompt
        assert reply["raw"] == trading(body)
        assert json.loads(reply["raw"])["action"] == decision["action"]
        shown = re.findall(r"^\d\. (?:\+ )?long \w+, closed .* days ago", prompt, re.MULTILINE)
        assert len(shown) == len(decision["recalled"]) == min(5, decision["pool"])
        remembered += bool(decision["recalled"])
    assert 50 < remembered < 200
    at = [line.meta for line in made.lines(folder) if line.kind == "reply"]
    assert all(meta["asked"] <= meta["answered"] for meta in at)


def test_every_failure_has_its_own_word(ask):
    plan = ["refusal", "maxtok", "text:HOLD", "text:still no JSON", *["529"] * 6, "ok"]
    with MessagesServer(plan) as server:
        said = ask(server, "--on-error", "hold", decisions=6)
    assert said.code == 0, said.err
    folder = made.only_run(ask.folder)
    words = ["model_refusal", "truncated", "parse_error", "api_error", "ok", "ok"]
    assert statuses(folder) == words
    assert "NOT COMPARABLE" in said.out.upper()
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["decisions_by_status"] == dict.fromkeys(words, 1) | {"ok": 2}
    assert summary["actions"] == {"HOLD": 2}, "only what the model chose"
    assert (summary["comparable"], summary["error_share"]) == (False, pytest.approx(4 / 6))
    turns = [(r["seq"], r["turn"], r["purpose"]) for r in made.of_kind(folder, "reply")]
    assert turns[2:4] == [(2, 0, "decision"), (2, 1, "repair")]
    assert made.of_kind(folder, "reply")[4]["raw"] is None
    assert "529" in made.of_kind(folder, "reply")[4]["error"]
    assert api.replay(folder).digest == summary["digest"]


def test_an_answer_that_is_mended_counts(ask):
    with MessagesServer(["text:I would hold.", "ok", "ok"], trading) as server:
        said = ask(server, decisions=2)
    assert said.code == 0, said.err
    folder = made.only_run(ask.folder)
    assert statuses(folder) == ["ok", "ok"]
    assert len(server.seen) == len(made.of_kind(folder, "reply")) == 3
    assert "I would hold." in server.seen[1].body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("401", r"answered 401 .*Check the key in ANTHROPIC_API_KEY"),
        ("404", r"does not know this model"),
        ("echo:401", r"bad key Bearer \[key\]"),
        ("wrongmodel", r"asked claude-sonnet-5-5, but some-other-model answered"),
        ("503", r"answered 503 .*attempt 6, the last"),
        ("reset", r"attempt 6, the last"),
        ("nostop", r"does not say why it stopped"),
        ("cut", r"attempt 6, the last"),
    ],
)
def test_a_call_that_fails_stops_the_run_and_nothing_is_paid_twice(ask, fault, message):
    with MessagesServer(["ok"] * 4 + [fault], trading) as server:
        said = ask(server)
    assert (said.code, said.out) == (5, "")
    assert said.err.splitlines()[-1].startswith(f"dream: {MODEL}: ")
    assert re.search(message, said.err)
    assert "the same command goes on" in said.err
    folder = made.only_run(ask.folder)
    assert len(made.of_kind(folder, "decision")) == 4
    asked = len(server.seen)
    assert asked in (5, 6, 10)
    with MessagesServer(answer=trading) as server:
        said = ask(server)
        assert said.code == 0, said.err
        assert len(server.seen) == 6, "four of the ten were there"
        whole = ask(server, "--fresh")
    assert whole.code == 0
    again = ask.folder / f"{folder.name}-2"
    assert made.bodies(folder) == made.bodies(again)
    spent = [json.loads(line) for line in (folder / "spend.jsonl").read_text().splitlines()]
    assert len([s for s in spent if "ceiling_usd" in s]) == asked + 6
    # An answer of another model, or one that may be cut off, is billed as well.
    billed = asked - 4 if fault in ("wrongmodel", "nostop") else 0
    assert len([s for s in spent if s.get("cost_usd") == PRICE_USD]) == 10 + billed


def test_a_finished_run_needs_neither_key_nor_server(ask, monkeypatch):
    with MessagesServer() as server:
        first = ask(server, "--json", decisions=3)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    again = ask(server, "--json", decisions=3)
    assert (again.code, again.out) == (0, first.out)
    assert len(server.seen) == 3


def test_an_alias_and_its_exact_id_are_one_run(ask):
    with MessagesServer(["dated"]) as server:
        assert ask(server, decisions=2).code == 0
        assert ask(server, model=MODEL, decisions=2).code == 0
        assert len(server.seen) == 2
    made.only_run(ask.folder)


def test_a_passing_fault_is_waited_out(ask, waits):
    with MessagesServer(["429:7", "529", "500", "ok"], trading) as server:
        said = ask(server, decisions=3)
    assert said.code == 0, said.err
    assert waits == [7.0, 2.0, 4.0]
    told = [line for line in said.err.splitlines() if "asking again" in line]
    assert [line.rsplit(" in ")[1] for line in told] == ["7 s", "2 s", "4 s"]
    assert told[0].startswith("attempt 1 failed (")
    assert "429" in told[0]
    assert statuses(made.only_run(ask.folder)) == ["ok"] * 3


def test_another_endpoint_is_told_where_a_run_goes_on_or_is_finished(ask):
    """What a stand-in answered is not taken for the model's without a word."""
    with MessagesServer(["ok"] * 4 + ["nostop"], trading) as server:
        assert ask(server).code == 5
    for _ in ("goes on", "is finished"):
        with MessagesServer(answer=trading) as other:
            said = ask(other)
        assert said.code == 0, said.err
        assert "note: the run was begun with answers from http://127.0.0.1:" in said.err
        assert f"now {other.url} is named" in said.err
    with MessagesServer(answer=trading) as same:
        assert ask(same, "--fresh").code == 0
        assert "begun with answers" not in ask(same).err


def test_without_a_key_nothing_is_asked_or_made(ask, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with MessagesServer() as server:
        said = ask(server)
    assert (said.code, server.seen) == (5, [])
    assert "set ANTHROPIC_API_KEY" in said.err
    assert not ask.folder.exists()


def test_an_edited_answer_is_found(ask):
    """Even with checksum and chain made right again: the decision after it does not fit."""
    with MessagesServer(answer=trading) as server:
        assert ask(server, decisions=4).code == 0
    folder = made.only_run(ask.folder)
    path = folder / made.JOURNAL
    before, edited = NO_CHAIN, b""
    for line in made.lines(folder):
        body = line.body.replace(b'\\"confidence\\": 0.7', b'\\"confidence\\": 0.9')
        sealed, before = seal(body, line.meta, before)
        edited += sealed
    assert edited != path.read_bytes()
    path.write_bytes(edited)
    with pytest.raises(Diverged, match=r"field confidence: recorded 0\.7, now 0\.9") as caught:
        api.replay(folder)
    assert made.of_kind(folder, "decision")[caught.value.seq]["action"] == "BUY"
