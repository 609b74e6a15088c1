"""A key reaches no reply and no message, in whatever form a server repeats it back."""

from __future__ import annotations

import base64
import json
import logging
import time
from dataclasses import asdict
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import ModelUnavailable
from dream.llm.client import CallFailed
from dream.llm.redact import PIECE, redactor
from tests.llm.line import KEY, REQUEST, Line
from tests.messages_server import MessagesServer

pytestmark = pytest.mark.usefixtures("straight")

ODD_KEY = 'sk+ant/loop"back\\key=%41!0123456789'

keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=120)
around = st.text(st.characters(max_codepoint=126), max_size=20)


def forms(key: str, before: str, after: str) -> list[str]:
    raw = f"{before}{key}{after}".encode()
    return [
        f"{before}{key}{after}",
        quote(raw, safe=""),
        json.dumps(raw.decode()),
        raw.hex(),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        base64.encodebytes(raw).decode(),
    ]


def pieces(text: str) -> set[str]:
    return {text[i : i + PIECE] for i in range(len(text) - PIECE + 1)}


@given(keys, around, around)
def test_no_stretch_of_the_key_is_left_in_any_form(key: str, before: str, after: str) -> None:
    redact = redactor(key)
    told = [redact(text) for text in forms(key, before, after)]
    plain, percent, escaped, hexed, b64, urlsafe, lines = told
    assert not pieces(plain) & pieces(key)
    assert not pieces(percent) & pieces(quote(key, safe=""))
    assert not pieces(escaped) & pieces(json.dumps(key)[1:-1])
    assert not pieces(hexed) & pieces(key.encode().hex())
    secret = key.encode()
    for text in (b64, urlsafe.translate(str.maketrans("-_", "+/")), *lines.splitlines()):
        for part in text.split("[key]"):
            for shift in range(4):
                bits = part[shift : shift + (len(part) - shift) // 4 * 4].rstrip("=")
                found = base64.b64decode(bits[: len(bits) // 4 * 4])
                assert not any(secret[i : i + PIECE] in found for i in range(len(secret) - 11))


@pytest.mark.parametrize("key", [KEY, ODD_KEY])
def test_the_places_where_it_stood_are_marked_and_the_rest_is_kept(key: str) -> None:
    redact = redactor(key)
    assert redact(f"you sent {key}, and {key}!") == "you sent [key], and [key]!"
    assert redact(f"{key}{key}") == "[key]"
    assert redact(f"{key[:20]} ... {key[20:]}") in ("[key] ... [key]", f"[key] ... {key[20:]}")
    assert redact("a text without it") == "a text without it"
    assert redact("") == ""


def test_a_key_that_was_cut_or_split_is_found_by_its_stretches() -> None:
    redact = redactor(KEY)
    assert redact(f"begins with {KEY[:16]}...") == "begins with [key]..."
    assert redact(f"ends with ...{KEY[-14:]}") == "ends with ...[key]"
    assert redact(f"{KEY[:13]}\n{KEY[13:]}") == "[key]\n[key]"


@pytest.mark.parametrize("key", ["x", "ollama", "HOLD", "1234567"])
def test_a_word_that_serves_as_a_key_is_left_where_it_stands(key: str) -> None:
    """Local servers take any key; striking out every x would make every answer unreadable."""
    answer = '{"action":"HOLD","reasoning":"ollama next, 1234567"}'
    assert redactor(key)(answer) == answer
    with MessagesServer() as server, Line(server.url, key=key) as line:
        assert '"action": "HOLD"' in (line.send().text or "")


def test_a_long_text_is_searched_quickly() -> None:
    redact, text = redactor(KEY * 4), "no key here " * 87_000
    started = time.perf_counter()
    assert redact(text) == text
    assert time.perf_counter() - started < 3.0


@pytest.mark.parametrize("fault", ["echo:401", "echo:400", "echo:529", "headers:401"])
def test_a_server_that_repeats_the_key_does_not_put_it_into_a_message(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with MessagesServer([fault]) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable) as caught:
            line.send()
        with pytest.raises(CallFailed) as bare:
            line.transport.send(REQUEST)
    for error in (caught.value, bare.value):
        assert "bad key Bearer [key]" in str(error) or fault == "headers:401"
        assert KEY not in str(error) + repr(error.__dict__)
    assert KEY not in repr(line.transport) + repr(line.client) + caplog.text


@pytest.mark.parametrize("form", forms(KEY, "Bearer ", ""))
def test_no_field_of_a_reply_holds_it(form: str) -> None:
    message = {
        "type": "message",
        "model": f"claude-sonnet-5-5 {form}",
        "stop_reason": f"end {form}"[:100],
        "content": [
            {"type": "text", "text": f"you sent {form[:15]}"},
            {"type": "text", "text": form[15:]},
        ],
    }
    with MessagesServer([f"body:{json.dumps(message)}"]) as server, Line(server.url) as line:
        reply = line.transport.send(REQUEST)
        with pytest.raises(ModelUnavailable, match=r"but claude-sonnet-5-5 .* answered") as caught:
            line.send()
    assert reply.text == f"you sent {redactor(KEY)(form)}"
    told = json.dumps(asdict(reply)) + str(caught.value)
    for secret in forms(KEY, "", ""):
        assert not pieces(told) & pieces(secret)


@pytest.mark.parametrize("form", forms(KEY, "", ""))
def test_no_error_of_a_body_holds_it(form: str) -> None:
    for body in (form, json.dumps({"type": form}), json.dumps({form: form, "type": "message"})):
        with (
            MessagesServer([f"body:{body}"]) as server,
            Line(server.url) as line,
            pytest.raises(CallFailed) as caught,
        ):
            line.transport.send(REQUEST)
        assert not pieces(str(caught.value)) & pieces(form)
