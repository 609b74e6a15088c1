"""What hostile servers, files and texts were found to do, each kind once."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from dream.llm.catalog import Prices, ceiling, price, resolve
from dream.llm.fake import FakeServer, Plan
from dream.llm.message import read_message
from dream.llm.parse import Unreadable, parse_answer
from dream.llm.redact import MARK, redactor
from dream.llm.words import last_object
from dream.types import Usage

KEY = "sk-test-0123456789abcdefXYZ"
NOW_NS = 1_795_867_200_000_000_000


@pytest.mark.parametrize("dear", ["input", "cache_read", "cache_write"])
def test_the_ceiling_counts_every_byte_at_the_dearest_rate(dear):
    prices = Prices(**{"input": 1.0, "output": 1.0, dear: 1_000.0})
    entry = replace(resolve("sonnet"), prices=prices)
    most = ceiling(entry, 900, NOW_NS)
    for usage in (Usage(900, 0, 0, 2_048), Usage(0, 900, 0, 2_048), Usage(0, 0, 900, 2_048)):
        assert price(entry, usage, NOW_NS) <= most


@pytest.mark.parametrize("count", [10**10, 10**30, int("1" + "0" * 400)])
def test_a_count_of_tokens_that_no_call_has_is_not_known(count):
    body = {
        "type": "message", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "x"}],
        "usage": {
            "input_tokens": count, "output_tokens": 7,
            "output_tokens_details": {"thinking_tokens": count},
        },
    }  # fmt: skip
    usage = read_message(json.dumps(body).encode(), "schema").usage
    assert (usage.input_tokens, usage.output_tokens, usage.thinking_tokens) == (None, 7, None)


FORMS = {
    "escaped": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "in part": KEY[:5] + "".join(f"\\u{ord(c):04X}" for c in KEY[5:]),
    "percent": "".join(f"%{ord(c):02x}" for c in KEY),
    "upper hex": KEY.encode().hex().upper(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_key_is_struck_out_however_it_is_escaped(form):
    cleaned = redactor(KEY)(f'{{"action":"HOLD","reasoning":"it is {form}!"}}')
    assert MARK in cleaned
    read = json.loads(cleaned)["reasoning"]
    assert KEY not in read
    assert not any(KEY[i : i + 12] in read for i in range(len(KEY) - 11))


def test_escapes_without_a_key_stay_as_they_came():
    text = '{"reasoning":"\\u0041 and 100%25"}'
    assert redactor(KEY)(text) == text


def test_a_key_that_stands_twice_is_found_in_linear_time():
    text = "{" + ",".join(f'"{n}":1' for n in range(7_000)) + ',"6999":2}'
    began = time.process_time()
    with pytest.raises(Unreadable, match="'6999' is there twice"):
        parse_answer(text)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("tag", ["<think >", '<think mode="x">', "<THINK\n>"])
def test_reasoning_in_a_tag_with_blanks_is_reasoning(tag):
    text = f'{tag}{{"action":"BUY","strategy":"A"}}</think > {{"action":"HOLD"}}'
    assert last_object(text) == '{"action":"HOLD"}'
    assert last_object(f'{tag}{{"action":"BUY","strategy":"A"}}</think >') is None


def test_a_name_that_is_no_text_is_answered():
    import urllib.request  # noqa: PLC0415 - a client that sends what the SDK would not

    with FakeServer(Plan(), now_ns=time.time_ns) as server:
        data = b'{"model":"\\ud800","max_tokens":5,"messages":[{"role":"user","content":"a"}]}'
        request = urllib.request.Request(f"{server.url}/v1/messages", data=data)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            assert answer.status == 200
        assert server.ledger.totals()["in_flight"] == 0
