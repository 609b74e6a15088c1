"""Requests of the Messages API as llama.cpp is asked them, and its answers in the API's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dream.llm.local.messages import Refused, message, read_request

SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}},
    "required": ["a"],
    "additionalProperties": False,
}
FORM = {"format": {"type": "json_schema", "schema": SCHEMA}}
TOOLS = [{"name": "decide", "description": "d", "input_schema": SCHEMA}]


def body(**over: Any) -> bytes:
    asked = {
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "now"}],
    }
    return json.dumps(asked | over).encode()


def answered(text: str, *, reason: str = "stop", said: int = 7) -> dict[str, Any]:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": said,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    return {
        "choices": [{"finish_reason": reason, "message": {"content": text}}],
        "usage": usage,
    }


def test_what_is_asked() -> None:
    asked = read_request(body(output_config=FORM | {"effort": "low"}), "m")
    assert asked.tool is None
    assert asked.chat == {
        "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": "now"}],
        "max_tokens": 100,
        "temperature": 0,
        "seed": 1,
        "cache_prompt": True,
        "grammar": r'root ::= "{\"a\":" ("\"x\"" | "\"y\"") "}"',
    }
    assert "grammar" not in read_request(body(), "m").chat


def test_a_forced_tool_is_the_same_form() -> None:
    by_schema = read_request(body(output_config=FORM), "m")
    for choice in ({"type": "tool", "name": "decide"}, {"type": "any"}):
        by_tool = read_request(body(tools=TOOLS, tool_choice=choice), "m")
        assert by_tool.chat == by_schema.chat
        said = message(by_tool, answered('{"a":"x"}'), "m", 1)
        assert said["stop_reason"] == "tool_use"
        assert said["content"][0]["input"] == {"a": "x"}
        assert said["content"][0]["name"] == "decide"


@pytest.mark.parametrize(
    ("reason", "said", "stop_reason"),
    [
        ("stop", 7, "end_turn"),
        ("length", 100, "max_tokens"),
        ("length", 60, "model_context_window_exceeded"),
    ],
)
def test_what_is_answered(reason: str, said: int, stop_reason: str) -> None:
    asked = read_request(body(), "m")
    told = message(asked, answered("text", reason=reason, said=said), "m", 3)
    assert told["content"] == [{"type": "text", "text": "text"}]
    assert (told["model"], told["stop_reason"], told["id"]) == ("m", stop_reason, "msg_3")
    assert told["usage"] == {
        "input_tokens": 10,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 0,
        "output_tokens": said,
    }


@pytest.mark.parametrize(
    ("raw", "status", "why"),
    [
        (b"", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b"[]", 400, "no JSON object"),
        (body(model="n"), 404, "only m is here"),
        (body(stream=True), 400, "stream: not supported"),
        (body(temperature=0), 400, "temperature: not supported"),
        (body(max_tokens=0), 400, "max_tokens: expected"),
        (body(max_tokens=True), 400, "max_tokens: expected"),
        (body(max_tokens=9, output_config=FORM), 400, "8 is too few"),
        (body(messages=[]), 400, "at least one"),
        (body(messages=["now"]), 400, "messages.0.role"),
        (body(messages=[{"role": "assistant", "content": "{"}]), 400, "the user's"),
        (body(system=[{"type": "image"}]), 400, "system: expected text"),
        (body(output_config={"format": {"type": "text"}}), 400, "json_schema"),
        (body(output_config={"format": {"type": "json_schema"}}), 400, "schema: no type"),
        (body(tools=TOOLS), 400, "forces one"),
        (body(tools=TOOLS, tool_choice={"type": "auto"}), 400, "tool or any"),
        (body(tools=TOOLS, tool_choice={"type": "tool", "name": "x"}), 400, "no tool"),
        (body(tools=3, tool_choice={"type": "any"}), 400, "no tool"),
    ],
)
def test_what_is_refused(raw: bytes, status: int, why: str) -> None:
    with pytest.raises(Refused, match=why) as caught:
        read_request(raw, "m")
    assert caught.value.status == status
    assert caught.value.body()["type"] == "error"


def test_an_error_of_the_engine_is_one_of_the_api() -> None:
    asked = read_request(body(), "m")
    with pytest.raises(Refused, match="the engine gave no answer") as caught:
        message(asked, {}, "m", 1)
    assert (caught.value.status, caught.value.kind) == (500, "api_error")
