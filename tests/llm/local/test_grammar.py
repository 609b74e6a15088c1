"""What a model is held to: every text that a grammar allows is an answer, and none is too long."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm.local.grammar import Unsupported, grammar_of
from dream.llm.parse import parse_answer, tight_schema

NAMES = ("VolBreakout", "my.module:function", 'quoted "name" \\ \u00e4')
MAX_CHARS = 255
_TERM = re.compile(r'"((?:[^"\\]|\\.)*)"|(\[(?:[^\]\\]|\\.)*\])|(\{\d+,\d+\}|[()|?])|\s+')


def as_regex(grammar: str) -> str:
    """The one rule of a grammar as a regular expression of Python; ends where it is not one."""
    rule, out, at = grammar.removeprefix("root ::= "), [], 0
    while at < len(rule):
        term = _TERM.match(rule, at)
        assert term, rule[at : at + 20]
        literal, chars, other = term.groups()
        if literal is not None:
            text = re.sub(r"\\(.)", r"\1", literal)
            out.append(f"(?:{re.escape(text)})")
        else:
            out.append(chars or ("(?:" if other == "(" else other) or "")
        at = term.end()
    return "".join(out)


def answer_regex(*, allow_sell: bool) -> str:
    return as_regex(grammar_of(tight_schema(NAMES, allow_sell=allow_sell), MAX_CHARS))


BOTH, LONG_ONLY = answer_regex(allow_sell=True), answer_regex(allow_sell=False)


@given(st.from_regex(BOTH, fullmatch=True))
def test_every_text_that_the_grammar_allows_is_an_answer(text: str) -> None:
    decision = parse_answer(text)
    assert len(text) <= MAX_CHARS
    assert text.isascii()
    assert (decision.action in ("BUY", "SELL")) is (decision.strategy is not None)
    assert decision.strategy in (None, *NAMES)


def an_answer(**over: object) -> str:
    answer = {
        "reasoning": "up", "action": "BUY", "strategy": "VolBreakout", "confidence": 0.55,
        "stop": 2611.25, "target": None,
    }  # fmt: skip
    return json.dumps(answer | over, separators=(",", ":"))


HOLD = {"strategy": None, "stop": None, "target": None, "action": "HOLD"}


@pytest.mark.parametrize(
    ("over", "allowed"),
    [
        ({}, True),
        (HOLD, True),
        (HOLD | {"action": "CLOSE"}, True),
        ({"action": "SELL", "strategy": "my.module:function"}, True),
        ({"strategy": None}, False),
        ({"strategy": "Another"}, False),
        ({"action": "HOLD"}, False),
        ({"confidence": 1.05}, False),
        ({"confidence": 85}, False),
        ({"stop": 1e30}, False),
        ({"reasoning": ""}, False),
        ({"reasoning": "x" * 81}, False),
        ({"extra": 1}, False),
    ],
)
def test_which_answers_are_allowed(over: dict[str, object], allowed: bool) -> None:
    assert bool(re.fullmatch(BOTH, an_answer(**over))) is allowed


def test_no_short_position_where_none_is_allowed() -> None:
    assert re.fullmatch(LONG_ONLY, an_answer())
    assert not re.fullmatch(LONG_ONLY, an_answer(action="SELL"))


TEXT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(("max_chars", "text"), [(9, 1), (20, 12), (88, 80), (9_999, 80)])
def test_a_text_gets_what_the_rest_leaves(max_chars: int, text: int) -> None:
    """`{"a":""}` is 8 characters."""
    regex = as_regex(grammar_of(TEXT, max_chars))
    assert re.fullmatch(regex, json.dumps({"a": "x" * text}, separators=(",", ":")))
    assert not re.fullmatch(regex, json.dumps({"a": "x" * (text + 1)}, separators=(",", ":")))


def test_too_few_characters_for_any_answer() -> None:
    with pytest.raises(Unsupported, match="8 is too few for an answer, which takes 9"):
        grammar_of(TEXT, 8)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": "a*"},
        {"type": "string", "maxLength": 0},
        {"type": ["string", "null"]},
        {"$ref": "#/x"},
        {"enum": []},
        {"anyOf": 3},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
        TEXT | {"required": []},
        TEXT | {"additionalProperties": True},
        "text",
        None,
    ],
)
def test_what_cannot_be_held_is_refused_not_ignored(schema: object) -> None:
    with pytest.raises(Unsupported):
        grammar_of(schema, 1_000)  # pyright: ignore[reportArgumentType]


def test_a_schema_without_end_is_refused() -> None:
    deep: dict[str, object] = {"type": "null"}
    for _ in range(50):
        deep = {"anyOf": [deep]}
    with pytest.raises(Unsupported, match="nested deeper"):
        grammar_of(deep, 1_000)
