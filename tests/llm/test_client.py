"""Patience: what is repeated, how long is waited, who is told, and when it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dream.errors import BudgetSpent, ModelUnavailable
from dream.llm.catalog import resolve
from dream.llm.client import CallFailed, Client, MessageRequest, Patience
from dream.types import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

SONNET = resolve("sonnet")
REQUEST = MessageRequest(4, 0, SONNET, "system", "user", {"type": "object"})
GOOD = Reply("{}", "end_turn", SONNET.id, Usage(500, 1_000, 100, 150, 20))
COST_USD = (500 * 2.0 + 1_000 * 0.10 + 100 * 2.5 + 150 * 10.0) / 1e6
NOON_NS = 1_795_867_200_000_000_000


class Played:
    """A transport that plays outcomes, on a clock that only sleeping moves."""

    def __init__(self, *outcomes: Reply | Exception, takes_s: float = 0.0) -> None:
        self.outcomes = list(outcomes)
        self.waits: list[float] = []
        self.told: list[tuple[Any, ...]] = []
        self.takes_s = takes_s
        self.now_s = 0.0

    def send(self, request: MessageRequest) -> Reply:
        self.now_s += self.takes_s
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def begin(self, seq: int, turn: int, attempt: int, ceiling_usd: float | None) -> None:
        self.told.append(("begin", seq, turn, attempt, ceiling_usd))

    def end(self, seq: int, turn: int, attempt: int, cost_usd: float | None) -> None:
        self.told.append(("end", seq, turn, attempt, cost_usd))

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_s += seconds

    def now_ns(self) -> int:
        return NOON_NS + round(self.now_s * 1e9)

    def client(self, **options: Any) -> Client:
        return Client(self, sleep=self.sleep, now_ns=self.now_ns, **options)


def test_a_good_reply_is_priced_and_not_repeated() -> None:
    played = Played(GOOD)
    client = played.client()
    reply = client.send(REQUEST)
    assert reply == replace(GOOD, cost_usd=reply.cost_usd, attempts=1)
    assert reply.cost_usd == pytest.approx(COST_USD)
    assert (client.tried, played.waits) == (1, [])


def test_waits_double_up_to_the_cap() -> None:
    played = Played(CallFailed("busy"))
    with pytest.raises(ModelUnavailable):
        played.client(patience=Patience(attempts=8)).send(REQUEST)
    assert played.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_success_after_failures_counts_every_attempt() -> None:
    played = Played(CallFailed("busy"), CallFailed("busy"), GOOD)
    client = played.client()
    assert client.send(REQUEST).text == "{}"
    assert (client.tried, played.waits) == (3, [1.0, 2.0])
    client.send(REQUEST)
    assert client.tried == 4


@pytest.mark.parametrize(
    ("asked_s", "waited_s"), [(None, 1.0), (0.2, 1.0), (7.5, 7.5), (3_600.0, 30.0)]
)
def test_the_server_may_ask_for_a_longer_wait_up_to_the_cap(
    asked_s: float | None, waited_s: float
) -> None:
    played = Played(CallFailed("limit", retry_after_s=asked_s), GOOD)
    played.client().send(REQUEST)
    assert played.waits == [waited_s]


def test_stop_says_what_happened_and_that_the_run_can_go_on() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        Played(CallFailed("host: 529 overloaded")).client().send(REQUEST)
    said = str(caught.value)
    assert said.startswith("claude-sonnet-5-5: host: 529 overloaded (attempt 6, the last).")
    assert "the same command goes on where this one stopped" in said
    assert caught.value.exit_code == 5


def test_hold_gives_a_reply_without_text() -> None:
    reply = Played(CallFailed("host: 529")).client(on_error="hold").send(REQUEST)
    assert reply == Reply(None, error="host: 529 (attempt 6, the last)", attempts=6)


def test_a_failure_for_good_stops_at_once_even_where_errors_hold() -> None:
    played = Played(CallFailed("no such model", again=False, cost_usd=0.0))
    client = played.client(on_error="hold")
    with pytest.raises(ModelUnavailable, match="no such model"):
        client.send(REQUEST)
    assert (client.tried, played.waits) == (1, [])


def test_an_hour_that_a_server_asks_for_is_told_and_not_waited() -> None:
    told: list[tuple[float, int, str]] = []
    played = Played(CallFailed("host: 429", retry_after_s=3_600.0, cost_usd=0.0))
    patience = Patience(on_wait=lambda *wait: told.append(wait))
    with pytest.raises(ModelUnavailable, match="the same command goes on"):
        played.client(patience=patience).send(REQUEST)
    assert played.waits == [30.0] * 5
    assert told[0] == (30.0, 1, "host: 429 (the server asks to wait 3,600 s)")
    assert len(told) == 5


def test_no_attempt_begins_after_the_time_for_one_question() -> None:
    """Each attempt takes 100 s: they start at 0, 101 and 203 s; the next would start after 300."""
    played = Played(CallFailed("slow"), takes_s=100.0)
    client = played.client(patience=Patience(longest_s=300.0))
    with pytest.raises(ModelUnavailable, match="attempt 3"):
        client.send(REQUEST)
    assert played.waits == [1.0, 2.0]


@pytest.mark.parametrize("model", ["some-other-model", "claude-sonnet-5-5-mini", "", None])
@pytest.mark.parametrize("on_error", ["stop", "hold"])
def test_another_model_is_an_error_that_names_both(model: str | None, on_error: str) -> None:
    client = Played(replace(GOOD, model=model)).client(on_error=on_error)
    with pytest.raises(ModelUnavailable) as caught:
        client.send(REQUEST)
    assert f"asked claude-sonnet-5-5, but {model or 'nobody'} answered" in str(caught.value)
    assert client.tried == 2, "it may have stepped in for a moment, but not twice"


def test_a_dated_snapshot_is_the_model_that_was_asked() -> None:
    dated = replace(GOOD, model="claude-sonnet-5-5-20260928")
    assert Played(dated).client().send(REQUEST).model == "claude-sonnet-5-5-20260928"


def test_an_answer_that_does_not_say_why_it_stopped_is_repeated() -> None:
    played = Played(replace(GOOD, stop_reason=None), GOOD)
    client = played.client()
    assert client.send(REQUEST).stop_reason == "end_turn"
    assert client.tried == 2


def test_who_counts_the_money_is_told_before_and_after_each_attempt() -> None:
    refused, lost = CallFailed("429", cost_usd=0.0), CallFailed("cut")
    played = Played(refused, lost, replace(GOOD, stop_reason=None), GOOD)
    played.client(attempts=played).send(replace(REQUEST, turn=1))
    most_usd = (len(REQUEST.as_bytes()) * 2.5 + 2_048 * 10.0) / 1e6
    begun = [t for t in played.told if t[0] == "begin"]
    assert begun == [("begin", 4, 1, n, pytest.approx(most_usd)) for n in (1, 2, 3, 4)]
    assert [t for t in played.told if t[0] == "end"] == [
        ("end", 4, 1, 1, 0.0),
        ("end", 4, 1, 2, None),
        ("end", 4, 1, 3, pytest.approx(COST_USD)),
        ("end", 4, 1, 4, pytest.approx(COST_USD)),
    ]
    assert [t[0] for t in played.told] == ["begin", "end"] * 4


def test_the_ceiling_is_above_what_the_call_can_cost() -> None:
    played = Played(GOOD)
    long = replace(REQUEST, user="price 2309.85 | " * 500)
    played.client(attempts=played).send(long)
    (_, _, _, _, most_usd), (_, _, _, _, cost_usd) = played.told
    assert most_usd > cost_usd


def test_a_spent_budget_stops_before_the_call() -> None:
    class Spent(Played):
        def begin(self, *_: Any) -> None:
            raise BudgetSpent("no more")

    played = Spent(GOOD)
    played.send = None  # type: ignore[method-assign] - any use would fail
    with pytest.raises(BudgetSpent):
        played.client(attempts=played).send(REQUEST)
    assert played.told == []


def test_an_interrupted_attempt_never_ends() -> None:
    played = Played(KeyboardInterrupt())  # type: ignore[arg-type]

    def interrupted(request: MessageRequest) -> Reply:
        raise KeyboardInterrupt

    played.send = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        played.client(attempts=played).send(REQUEST)
    assert [t[0] for t in played.told] == ["begin"]


class TestRequest:
    def test_the_body_is_what_the_api_takes(self) -> None:
        assert REQUEST.body() == {
            "model": "claude-sonnet-5-5",
            "max_tokens": 2048,
            "system": [{"type": "text", "text": "system", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "user"}],
            "output_config": {
                "effort": "low",
                "format": {"type": "json_schema", "schema": {"type": "object"}},
            },
            "thinking": {"type": "between_tools"},
        }

    def test_a_forced_tool_takes_the_place_of_the_format(self) -> None:
        body = replace(REQUEST, entry=replace(resolve("haiku"), answer="tool")).body()
        assert body["tools"][0]["input_schema"] == {"type": "object"}
        assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
        assert body["output_config"] == {"effort": "low"}

    def test_a_model_asked_in_words_only_gets_no_settings_that_it_lacks(self) -> None:
        plain = replace(SONNET, answer="text", effort=None, thinking=None)
        body = replace(REQUEST, entry=plain).body()
        assert sorted(body) == ["max_tokens", "messages", "model", "system"]

    def test_no_sampling_parameter_is_ever_sent(self) -> None:
        assert not {"temperature", "top_p", "top_k", "seed"} & set(REQUEST.body())

    @pytest.mark.parametrize(
        "change",
        [
            lambda r: replace(r, system="other"),
            lambda r: replace(r, user="other"),
            lambda r: replace(r, schema={"type": "array"}),
            lambda r: replace(r, entry=resolve("opus")),
            lambda r: replace(r, entry=replace(SONNET, effort="high")),
            lambda r: replace(r, entry=replace(SONNET, max_tokens=4096)),
            lambda r: replace(r, entry=replace(SONNET, thinking=None)),
        ],
    )
    def test_the_hash_covers_all_that_is_asked(
        self, change: Callable[[MessageRequest], MessageRequest]
    ) -> None:
        assert change(REQUEST).sha256() != REQUEST.sha256()

    def test_the_hash_does_not_cover_where_and_when(self) -> None:
        elsewhere = replace(REQUEST, entry=replace(SONNET, base_url="http://127.0.0.1:1"))
        assert elsewhere.sha256() == REQUEST.sha256()
        assert replace(REQUEST, seq=9, turn=1).sha256() == REQUEST.sha256()

    def test_the_bytes_are_canonical(self) -> None:
        assert json.loads(REQUEST.as_bytes()) == REQUEST.body()
        assert REQUEST.as_bytes().startswith(b'{"max_tokens":2048,"messages":[{"content":"user"')
        assert replace(REQUEST, user="\ud800é").as_bytes().decode("utf-8")
        for user in ("user", "", '"content":""', "\ud800é\n", "x" * 9_000):
            asked = replace(REQUEST, user=user, system='"content":""')
            assert json.loads(asked.as_bytes()) == json.loads(
                json.dumps(asked.body()).encode("ascii").replace(b"\\ud800", b"?")
            )
            assert replace(asked, user="else").sha256_of()(user) == asked.sha256()
