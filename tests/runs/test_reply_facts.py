"""What the journal tells of a call beyond its answer: how often it was tried, why it is unread."""

from __future__ import annotations

import json

import pytest

from dream.llm.parse import MAX_PROBLEM
from dream.runs import api
from dream.runs.access import Access
from dream.types import Decision
from tests.messages_server import MessagesServer
from tests.runs import made


@pytest.fixture
def straight(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(bars_path, folder, plan, **settings):
    """The run of a model behind a plan of answers."""
    with MessagesServer(plan) as server:
        access = Access(
            {"ANTHROPIC_API_KEY": "sk-ant-loopback-0123456789"},
            server.url,
            sleep=lambda _s: None,
            now_ns=lambda: 1_795_867_200_000_000_000,
        )
        what = made.spec(bars_path, model="sonnet", ask="every:90", **settings)
        return made.run(what, folder, options={"access": access})


@pytest.mark.usefixtures("straight")
def test_attempts_are_counted_from_one_in_the_journal_and_in_the_money(bars_path, tmp_path):
    run = ask(bars_path, tmp_path, ["ok", "429", "529", "ok", "text:?", "ok"], decisions=3)
    replies = [line for line in made.lines(run.folder) if line.kind == "reply"]
    assert [(r.record["seq"], r.record["turn"]) for r in replies] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (2, 1),
    ]
    assert [r.meta["attempts"] for r in replies] == [1, 3, 1, 1]
    assert all("attempts" not in r.record for r in replies)
    spend = [json.loads(line) for line in (run.folder / "spend.jsonl").read_text().splitlines()]
    begun = [
        (line["seq"], line["turn"], line["attempt"]) for line in spend if "ceiling_usd" in line
    ]
    assert begun == [(0, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 3), (2, 0, 1), (2, 1, 1)]
    assert api.replay(run.folder).digest == run.digest


@pytest.mark.usefixtures("straight")
def test_where_every_attempt_was_refused_the_price_is_known(bars_path, tmp_path):
    run = ask(bars_path, tmp_path, ["529"] * 6 + ["ok"], decisions=2, on_error="hold")
    first, second = made.of_kind(run.folder, "reply")
    assert (first["raw"], first["cost_usd"]) == (None, 0.0)
    assert run.summary["cost_usd"] == pytest.approx(second["cost_usd"])
    assert made.lines(run.folder)[1].meta["attempts"] == 6


@pytest.mark.usefixtures("straight")
def test_why_an_answer_was_not_read_stands_on_its_decision_and_is_replayed(bars_path, tmp_path):
    wrong = json.dumps({"action": "HOLD", "confidence": 7})
    run = ask(bars_path, tmp_path, ["text:?", f"text:{wrong}", "ok"], decisions=2)
    first, second = made.of_kind(run.folder, "decision")
    assert first["status"] == "parse_error"
    assert first["error"] == "confidence: Input should be less than or equal to 1, found 7"
    assert (second["status"], second["error"]) == ("ok", None)
    assert list(first).index("error") == list(first).index("status") + 1
    assert api.replay(run.folder).digest == run.digest


def test_the_reason_is_bounded_and_part_of_what_is_compared(bars_path, tmp_path):
    keys = {f"{n}{'k' * 90}": "v" * 90 for n in range(9)}
    answers = [json.dumps({"action": "HOLD", **keys}), Decision(status="truncated"), Decision()]
    run = made.run(made.spec(bars_path, decisions=3), tmp_path, decider=answers)
    errors = [d["error"] for d in made.of_kind(run.folder, "decision")]
    assert len(errors[0]) == MAX_PROBLEM == 300
    assert errors[0].endswith("...")
    assert errors[1:] == [None, None]
    assert api.replay(run.folder).digest == run.digest
