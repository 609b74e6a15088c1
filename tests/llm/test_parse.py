"""What is an answer, and what every other text becomes."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dream.llm.parse import (
    MAX_REASONING,
    MAX_TEXT,
    Unreadable,
    answer_schema,
    load_json,
    parse_answer,
    read_reply,
    well_formed,
)
from dream.types import Decision, Reply

FULL = {
    "reasoning": "Strong close.",
    "action": "BUY",
    "strategy": "VolBreakout",
    "confidence": 0.62,
    "stop": 2291.5,
    "target": 2330,
}


def test_a_full_answer_is_read_field_by_field() -> None:
    assert parse_answer(json.dumps(FULL)) == Decision(
        "BUY", "VolBreakout", 0.62, 2291.5, 2330.0, "Strong close.", "ok"
    )


def test_only_the_action_is_required_without_an_entry() -> None:
    assert parse_answer(' {"action": "CLOSE"} \n') == Decision("CLOSE")
    assert parse_answer('{"action":"HOLD","confidence":null}') == Decision("HOLD")


def test_what_the_engine_judges_is_not_judged_here() -> None:
    sell = parse_answer('{"action":"SELL","strategy":"Nobody knows","stop":-5}')
    assert sell == Decision("SELL", "Nobody knows", stop=-5.0)


def test_a_hold_keeps_what_it_says_and_needs_no_strategy() -> None:
    assert parse_answer('{"action":"HOLD","strategy":"VolBreakout","stop":1}').stop == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: ''"),
        ("BUY", "not JSON"),
        ("null", "expected one JSON object, found null"),
        ("true", "found a boolean"),
        ("[]", "found a list"),
        ("12", "found a number"),
        ('"HOLD"', "found a string"),
        ("{}", "action: Field required"),
        ('{"action":"hold"}', "action: Input should be 'BUY', 'SELL', 'HOLD' or 'CLOSE'"),
        ('{"action":"BUY"}', "strategy: BUY needs the name of a strategy"),
        ('{"action":"SELL","strategy":""}', "strategy: SELL needs"),
        ('{"action":"HOLD","stop_loss":1}', "stop_loss: Extra inputs"),
        ('{"action":"HOLD","confidence":1.01}', "confidence: "),
        ('{"action":"HOLD","confidence":-0.01}', "confidence: "),
        ('{"action":"HOLD","confidence":"0.5"}', "confidence: Input should be a valid number"),
        ('{"action":"HOLD","confidence":true}', "confidence: Input should be a valid number"),
        ('{"action":"HOLD","stop":NaN}', "NaN is not a number"),
        ('{"action":"HOLD","stop":-Infinity}', "-Infinity is not a number"),
        ('{"action":"HOLD","stop":1e999}', "stop: Input should be a finite number"),
        ('{"action":"HOLD","stop":' + "9" * 400 + "}", "stop: "),
        ('{"action":"HOLD","stop":' + "9" * 9000 + "}", "thousands of digits"),
        ('{"action":"HOLD","reasoning":null}', "reasoning: "),
        ('{"action":"HOLD","strategy":"' + "x" * 101 + '"}', "strategy: "),
        ('{"action":"HOLD","action":"BUY"}', "the key 'action' is there twice"),
        ('{"action":"HOLD","x":{"a":1,"a":2}}', "the key 'a' is there twice"),
        ('{"action":"HOLD"} {"action":"BUY"}', "not JSON"),
        ('```json\n{"action":"HOLD"}\n```', "not JSON"),
        ("[" * 60_000, "nested too deeply"),
        ('{"action":"HOLD","x":' + "[" * 900 + "]" * 900 + "}", "x: Extra inputs"),
        ('{"action":"HOLD"}' + " " * MAX_TEXT, "characters, at most 65536"),
    ],
)
def test_every_other_text_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse_answer(text)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_reason_counts_what_it_leaves_out() -> None:
    with pytest.raises(Unreadable, match=r"\(and 2 more\)"):
        parse_answer('{"action":"HOLD","a":1,"b":2,"c":3,"d":4,"e":5}')


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"action":"CLOSE"}\n```',
        'I would close.\n\n{"action":"CLOSE"}\nGood luck!',
        '{"action":"CLOSE"}',
    ],
)
def test_tolerance_takes_an_object_with_something_around_it(text: str) -> None:
    assert parse_answer(text, tolerant=True) == Decision("CLOSE")


@pytest.mark.parametrize("text", ["", "no object", "} {", '{"action":"HOLD"} or {"action":"BUY"}'])
def test_tolerance_does_not_guess(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_answer(text, tolerant=True)


def test_long_reasoning_is_cut_and_says_by_how_much() -> None:
    text = json.dumps({"action": "HOLD", "reasoning": "x" * (MAX_REASONING + 37)})
    kept = parse_answer(text).reasoning
    assert kept == "x" * MAX_REASONING + " [37 more characters cut]"


def test_lone_surrogates_do_not_reach_a_file() -> None:
    said = parse_answer('{"action":"HOLD","reasoning":"a\\ud800b"}')
    assert said.reasoning.encode("utf-8") == b"a?b"
    with pytest.raises(Unreadable, match="strategy"):
        parse_answer('{"action":"BUY","strategy":"\\udfff"}')
    assert well_formed("\U0001f4c8 é") == "\U0001f4c8 é"


@given(st.text(st.characters()) | st.text('{}[]":,01eE.-+ntfaclsuBUYHOLD\\ \n`', max_size=60))
@example("\ud800")
@example('{"action":"HOLD","\ud800":1}')
def test_no_text_makes_it_crash(text: str) -> None:
    for tolerant in (False, True):
        said = outcome(text, tolerant=tolerant)
        assert said.encode("utf-8")


def outcome(text: str, *, tolerant: bool) -> str:
    """The action read, or why there is none; any other exception fails the test."""
    try:
        return parse_answer(text, tolerant=tolerant).action
    except Unreadable as problem:
        return str(problem)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
names = st.sampled_from([*FULL, "other"])


@given(st.dictionaries(names, values | st.sampled_from(["BUY", "HOLD", "VolBreakout"])))
def test_what_is_read_is_always_a_sound_decision(answer: dict[str, object]) -> None:
    try:
        said = parse_answer(json.dumps(answer))
    except Unreadable:
        return
    assert said.action in ("BUY", "SELL", "HOLD", "CLOSE")
    assert said.confidence is None or 0.0 <= said.confidence <= 1.0
    assert all(x is None or math.isfinite(x) for x in (said.stop, said.target))
    assert set(answer) <= set(FULL)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(text=None, error="gone"), "api_error"),
        (Reply(text=json.dumps(FULL), stop_reason="max_tokens"), "truncated"),
        (Reply(text="{", stop_reason="model_context_window_exceeded"), "truncated"),
        (Reply(text="", stop_reason="refusal"), "model_refusal"),
        (Reply(text='{"action":"HOLD"}', stop_reason="end_turn"), "ok"),
    ],
)
def test_silence_is_not_a_chosen_hold(reply: Reply, status: str) -> None:
    assert read_reply(reply) == Decision("HOLD", status=status)


def test_a_whole_answer_that_cannot_be_read_is_said_to_be_one() -> None:
    with pytest.raises(Unreadable, match="not JSON"):
        read_reply(Reply(text="well...", stop_reason="end_turn"))


def test_the_schema_stays_in_the_subset_that_servers_take() -> None:
    schema = answer_schema(["A", "B"], allow_sell=False)
    assert list(schema["properties"]) == [
        "reasoning", "action", "strategy", "confidence", "stop", "target",
    ]  # fmt: skip
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["action"]["enum"] == ["BUY", "HOLD", "CLOSE"]
    assert schema["properties"]["strategy"]["anyOf"][0]["enum"] == ["A", "B"]
    for word in ("minimum", "maximum", "minLength", "maxLength", "pattern"):
        assert word not in json.dumps(schema)
    both = answer_schema(["A"], allow_sell=True)
    assert both["properties"]["action"]["enum"] == ["BUY", "SELL", "HOLD", "CLOSE"]


def test_the_schema_has_the_form_that_the_sdk_gives_to_its_own() -> None:
    from anthropic import transform_schema  # noqa: PLC0415 - takes about a second

    schema = answer_schema(["A", "B"], allow_sell=True)
    assert transform_schema(schema) == schema


def test_strict_json_passes_ordinary_json() -> None:
    assert load_json('{"a":[1,2.5,null,"x"]}') == {"a": [1, 2.5, None, "x"]}
