"""A model as a decider: question, send, answer, one repair, and five statuses kept apart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from dream.errors import ModelUnavailable
from dream.llm.anthropic import AnthropicTransport
from dream.llm.catalog import Entry, resolve
from dream.llm.client import Client
from dream.llm.decider import MAX_QUOTED, ModelDecider
from dream.llm.prompt import system_prompt, user_prompt
from dream.types import Decision, Question, Reply
from tests.llm import cases
from tests.messages_server import MessagesServer

BUY = {
    "reasoning": "Above the trigger.",
    "action": "BUY",
    "strategy": "VolBreakout",
    "confidence": 0.6,
    "stop": None,
    "target": 2338.0,
}


class Unasked:
    """A transport that fails the test when it is used."""

    def send(self, request: Any) -> Reply:
        pytest.fail("question and answer are pure: nothing may be sent")


def offline(entry: Entry | None = None) -> ModelDecider:
    return ModelDecider(entry or resolve("sonnet"), Unasked(), cases.SETTINGS)


def run(
    server: MessagesServer, *, ask: Any = None, on_error: Any = "stop", entry: Entry | None = None
) -> tuple[Decision, list[Question], list[Reply]]:
    """One decision over the real SDK, as a run takes it."""
    transport = AnthropicTransport(
        key="sk-ant-loopback", key_env="ANTHROPIC_API_KEY", base_url=server.url, limit_s=5.0
    )
    client = Client(transport, sleep=lambda _s: None, now_ns=lambda: 0, on_error=on_error)
    decider = ModelDecider(entry or resolve("sonnet"), client, cases.SETTINGS)
    questions, replies = [decider.question(ask or cases.flat(3), cases.recalled())], []
    try:
        while True:
            replies.append(decider.send(questions[-1]))
            said = decider.answer(questions[-1], replies[-1])
            if isinstance(said, Decision):
                return said, questions, replies
            questions.append(said)
    finally:
        transport.close()


@pytest.mark.usefixtures("straight")
class TestStatuses:
    def test_a_choice_is_ok(self) -> None:
        with MessagesServer(["ok"], lambda _body: json.dumps(BUY)) as server:
            said, questions, _ = run(server)
        assert said == Decision("BUY", "VolBreakout", 0.6, None, 2338.0, "Above the trigger.")
        assert len(questions) == 1

    @pytest.mark.parametrize(
        ("step", "status"), [("maxtok", "truncated"), ("refusal", "model_refusal")]
    )
    def test_a_cut_answer_and_a_refusal_are_not_asked_again(self, step: str, status: Any) -> None:
        with MessagesServer([step]) as server:
            said, questions, _ = run(server)
            assert len(server.seen) == 1
        assert said == Decision(status=status)
        assert len(questions) == 1

    def test_a_failed_call_is_an_api_error_where_errors_hold(self) -> None:
        with MessagesServer(["529"]) as server:
            said, questions, replies = run(server, on_error="hold")
            assert len(server.seen) == 6
        assert said == Decision(status="api_error")
        assert len(questions) == 1
        assert "overloaded_error" in (replies[0].error or "")

    def test_a_failed_call_ends_the_run_where_errors_stop(self) -> None:
        with MessagesServer(["529"]) as server, pytest.raises(ModelUnavailable):
            run(server)

    def test_an_unreadable_answer_is_repaired_once(self) -> None:
        with MessagesServer(["text:I would buy.", "ok"], lambda _: json.dumps(BUY)) as server:
            said, questions, replies = run(server)
            first, second = (seen.body["messages"] for seen in server.seen)
        assert said.status == "ok"
        assert said.action == "BUY"
        assert [q.purpose for q in questions] == ["decision", "repair"]
        assert [q.seq for q in questions] == [3, 3]
        assert replies[0].text == "I would buy."
        assert second[0]["content"].startswith(first[0]["content"])
        assert "You wrote:\nI would buy.\n" in second[0]["content"]

    def test_two_unreadable_answers_are_a_parse_error(self) -> None:
        with MessagesServer(['text:{"action":"BUY"}']) as server:
            said, questions, _ = run(server)
            assert len(server.seen) == 2
        problem = "strategy: BUY needs the name of a strategy on the board"
        assert said == Decision(status="parse_error", error=problem)
        assert problem in (questions[1].user or "")

    def test_a_repair_that_is_cut_off_is_truncated(self) -> None:
        with MessagesServer(["text:?", "maxtok"]) as server:
            assert run(server)[0] == Decision(status="truncated")

    def test_a_model_asked_in_words_may_put_words_around_its_answer(self) -> None:
        words = replace(resolve("sonnet"), answer="text")
        fenced = f"Here you go:\n```json\n{json.dumps(BUY)}\n```"
        with MessagesServer([f"text:{fenced}"]) as server:
            said, questions, _ = run(server, entry=words)
            assert "format" not in server.seen[0].body["output_config"]
        assert (said.action, len(questions)) == ("BUY", 1)

    def test_the_answer_may_depend_on_the_question(self) -> None:
        def answer(body: dict[str, Any]) -> str:
            flat = "## Position\nnone" in body["messages"][0]["content"]
            return json.dumps(BUY if flat else {**BUY, "action": "CLOSE"})

        with MessagesServer(answer=answer) as server:
            assert run(server)[0].action == "BUY"
            assert run(server, ask=cases.holding())[0].action == "CLOSE"


def test_it_is_named_by_its_exact_id_and_paid() -> None:
    decider = offline(resolve("haiku"))
    assert (decider.name, decider.paid) == ("claude-haiku-5-5", True)
    assert decider.system == system_prompt(cases.SETTINGS)


def test_the_question_is_the_prompt_and_the_hash_of_the_whole_request() -> None:
    ask, shown = cases.holding(12), cases.recalled()
    question = offline().question(ask, shown)
    user = user_prompt(ask, shown, cases.SETTINGS)
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 2048,
        "system": [
            {
                "type": "text",
                "text": system_prompt(cases.SETTINGS),
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "messages": [{"role": "user", "content": user}],
        "output_config": {
            "effort": "low",
            "format": {"type": "json_schema", "schema": cases.SETTINGS.schema()},
        },
        "thinking": {"type": "between_tools"},
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert question == Question(
        12, "decision", user, hashlib.sha256(text.encode()).hexdigest(), ask, shown
    )


def test_question_and_answer_are_pure_so_a_recorded_reply_gives_the_same_again() -> None:
    for text in (json.dumps(BUY), "no", '{"action":"HOLD"}'):
        reply = Reply(text=text, stop_reason="end_turn", model="claude-sonnet-5-5")
        first, second = offline(), offline()
        one, two = (d.question(cases.flat(), ()) for d in (first, second))
        assert (one.user, one.sha256) == (two.user, two.sha256)
        said = [d.answer(q, reply) for d, q in ((first, one), (second, two), (first, one))]
        if isinstance(said[0], Question):
            assert {(q.user, q.sha256) for q in said} == {(said[0].user, said[0].sha256)}
        else:
            assert said[0] == said[1] == said[2]


def test_the_schema_names_the_strategies_of_the_run() -> None:
    schema = cases.SETTINGS.schema()
    assert schema["properties"]["strategy"]["anyOf"][0]["enum"] == list(cases.STRATEGIES)
    assert schema["properties"]["action"]["enum"] == ["BUY", "HOLD", "CLOSE"]


def test_a_repair_question_has_another_hash_and_a_bounded_quotation() -> None:
    decider = offline()
    question = decider.question(cases.flat(), ())
    said = decider.answer(question, Reply(text="z" * 50_000, stop_reason="end_turn"))
    assert isinstance(said, Question)
    assert said.sha256 != question.sha256
    extra = (said.user or "").removeprefix(question.user or "")
    assert "z" * MAX_QUOTED + "...\n" in extra
    assert "z" * (MAX_QUOTED + 1) not in extra
    assert json.dumps(cases.SETTINGS.schema()) in extra
    assert len(extra) < MAX_QUOTED + 2_000


def test_an_empty_answer_is_repaired_too() -> None:
    decider = offline()
    said = decider.answer(decider.question(cases.flat(), ()), Reply("", "end_turn"))
    assert isinstance(said, Question)
    assert "Problem: not JSON" in (said.user or "")
