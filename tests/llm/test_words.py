"""Answers that no server forced: any wrapping of the kinds allowed, no crash, no blow-up."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dream.llm.parse import MAX_TEXT, Unreadable, parse_answer
from dream.llm.words import TAGS, last_object

prose = st.text(st.characters(exclude_characters='{}<"', exclude_categories=["Cs"]), max_size=40)
answers = st.fixed_dictionaries(
    {
        "reasoning": st.text(max_size=60),
        "action": st.sampled_from(["BUY", "SELL", "HOLD", "CLOSE"]),
        "strategy": st.sampled_from(["VolBreakout", "PullbackEntry"]),
        "confidence": st.floats(0, 1),
        "stop": st.none() | st.floats(-1e6, 1e6),
        "target": st.none() | st.integers(-(10**6), 10**6),
    }
)


PIECES = [*'{}[]":,$% \n\\19eE.', "<think>", "</think>", '"action"', '"HOLD"', '"stop"']


@st.composite
def reasoning(draw):
    """A stretch between tags, with anything in it but its own end; an answer, too."""
    tag = draw(st.sampled_from(TAGS))
    inside = draw(st.sampled_from(['{"action":"BUY","strategy":"X"}', "{", '"', ""]) | prose)
    return f"<{tag}>{inside}</{tag.upper()}>"


@st.composite
def wrapped(draw):
    """An answer, and a text that says it in one of the ways that are tolerated."""
    answer = draw(answers)
    text = json.dumps(answer, indent=draw(st.sampled_from([None, 2])), ensure_ascii=draw(booleans))
    if draw(booleans):
        text = text.rstrip("}").rstrip() + draw(st.sampled_from([",}", " ,\n}"]))
    if draw(booleans):
        text = f"```json\n{text}\n```"
    before = draw(st.lists(prose | reasoning() | st.just('{"action":"HOLD"}'), max_size=3))
    after = draw(prose | st.just('\nOr {"action":"CLO'))
    return answer, "".join((*before, text, after))


booleans = st.booleans()


@given(wrapped())
def test_an_answer_survives_its_wrapping(made):
    answer, text = made
    assert parse_answer(text, tolerant=True) == parse_answer(json.dumps(answer))


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("\ud800")
@example('{"action":"HOLD","stop":"٣"}')
@example('{"action":"\\u017fell"}')
def test_no_text_makes_it_crash(text):
    said = outcome(text)
    assert 0 < len(said) < 600
    assert "\n" not in said


def outcome(text):
    """The action read, or why there is none; any other exception fails the test."""
    try:
        return parse_answer(text, tolerant=True).action
    except Unreadable as problem:
        return str(problem)


@given(st.text('{}"\\<>/think ab', max_size=80))
def test_what_is_found_is_a_whole_object_of_the_text(text):
    found = last_object(text)
    if found is not None:
        assert found in text
        assert (found[0], found[-1]) == ("{", "}")


BLOWN_UP = {
    "opening braces": "{" * MAX_TEXT,
    "closing braces": "}" * MAX_TEXT,
    "objects in objects": '{"a":' * 13_000,
    "braces in quotes": '{"' * 32_000,
    "escapes": '{"\\' * 21_000,
    "commas and blanks": "{" + ",  " * 21_000,
    "blanks": "{" + " " * 65_000,
    "blanks before the end": '{"action":"HOLD",' + " " * 65_000 + "}",
    "thousands without an end": '{"stop":' + "1,234" * 13_000,
    "thousands in quotes": '{"stop":"' + "1,234" * 13_000 + '"}',
    "digits": '{"confidence":"' + "1" * 65_000 + '%"}',
    "dollars and blanks": '{"stop":"$' + " " * 65_000 + 'x"}',
    "opened reasoning": "<think>" * 9_000,
    "closed reasoning": "</think>" * 8_000,
    "many reasonings": "<think></think>{" * 4_000,
}


@pytest.mark.parametrize("text", BLOWN_UP.values(), ids=BLOWN_UP)
def test_the_time_to_read_is_bounded(text):
    """Each takes some milliseconds; a square of the length would take minutes."""
    started = time.process_time()
    assert len(outcome(text)) < 600
    assert time.process_time() - started < 1.0


def test_a_text_is_measured_before_it_is_read():
    with pytest.raises(Unreadable, match="50000000 characters, at most 65536 are read"):
        parse_answer(" " * 50_000_000, tolerant=True)


def test_a_strict_answer_takes_none_of_it():
    for text in (
        '{"action":"hold"}',
        '{"action":"HOLD",}',
        'Well: {"action":"HOLD"}',
        '{"action":"HOLD","confidence":85}',
        '{"action":"HOLD","confidence":"85%"}',
        '{"action":"HOLD","stop":"3,312.50"}',
        '{"action":"HOLD","stop":3,312.50}',
        '<think></think>{"action":"HOLD"}',
    ):
        with pytest.raises(Unreadable):
            parse_answer(text)
        parse_answer(text, tolerant=True)
