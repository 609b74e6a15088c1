"""Lines: the bytes of a record, the way back, and what makes a line whole."""

from __future__ import annotations

import hashlib
import json
import math
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import JournalCorrupt, SchemaUnknown
from dream.runs.lines import (
    LINE_MAX,
    LineReader,
    chained,
    encode,
    load,
    parse,
    seal,
    with_crc,
    without_crc,
)
from tests.runs.journal_samples import (
    ITEM,
    ORDER,
    POSITION,
    TRADE,
    decision,
    opened,
    reply,
)
from tests.runs.journal_texts import any_float, any_json, any_text

records = st.one_of(
    st.builds(
        lambda text, x, live: decision(4, reasoning=text, strategy=text, equity=x, live=live),
        any_text(),
        any_float(),
        st.lists(any_text(), max_size=3),
    ),
    st.builds(
        lambda name, parts: decision(
            5, recalled=(ITEM.__class__(id=name, score=1.0, mark="", parts=parts),)
        ),
        any_text(),
        st.dictionaries(any_text() | st.just("meta"), any_float(), max_size=3),
    ),
    st.builds(lambda text: reply(1, raw=text), any_text()),
    st.builds(lambda text: opened(note=text, more=[text, {"meta": text}]), any_text()),
)
metas = st.none() | st.dictionaries(any_text() | st.just("meta"), any_json(), max_size=3)


def slow_chain(line: bytes, before: str) -> str:
    """The chain as the page on the journal states it, with nothing but the standard library."""
    data = json.loads(line)
    for name in ("meta", "chain", "crc"):
        data.pop(name, None)
    body = json.dumps(data, separators=(",", ":")).encode("ascii")
    return hashlib.blake2b(before.encode() + body, digest_size=16).hexdigest()


def read_back(tmp_path, lines):
    path = tmp_path / "lines"
    path.write_bytes(b"".join(lines))
    with path.open("rb") as file:
        return list(chained(LineReader(file, path)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


@given(st.lists(st.tuples(records, metas), max_size=3))
def test_the_body_cut_out_of_a_line_is_the_record_written_again(folder, pairs):
    lines, before = [], "0" * 32
    for record, meta in pairs:
        line, chain = seal(encode(record), meta, before)
        assert chain == slow_chain(line, before)
        lines.append(line)
        before = chain
    found = read_back(folder, lines)
    assert [sealed.body for sealed in found] == [encode(record) for record, _ in pairs]
    assert [parse(sealed.body, "here") for sealed in found] == [record for record, _ in pairs]
    metas_found = [json.loads(sealed.whole).get("meta") for sealed in found]
    assert metas_found == [json.loads(json.dumps(meta)) for _, meta in pairs]


@given(records)
def test_a_line_is_one_line_of_ascii(record):
    line, _ = seal(encode(record), None, "0" * 32)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.decode("ascii").splitlines(keepends=True) == [line.decode("ascii")]


def test_a_line_is_as_the_page_shows_it():
    line, chain = seal(encode(ORDER), {"at": "x"}, "0" * 32)
    body = (
        '{"v":1,"kind":"order","seq":0,"action":"BUY","strategy":"VolBreakout","bar":101,'
        '"time":"2024-01-02T10:00:00Z","reason":null,"price":2050.3,"lots":0.05,"stop":2045.0,'
        '"target":2061.0,"needs_equity":null'
    )
    linked = hashlib.blake2b(b"0" * 32 + body.encode() + b"}", digest_size=16).hexdigest()
    head = f'{body},"meta":{{"at":"x"}},"chain":"{linked}"'
    assert chain == linked
    assert line.decode() == f'{head},"crc":"{zlib.crc32(head.encode()):08x}"}}\n'


@given(any_float())
def test_a_number_is_written_in_its_shortest_form(x):
    written = json.loads(encode(decision(0, equity=x)), parse_float=str, parse_int=str)["equity"]
    assert float(written) == x
    assert math.copysign(1, float(written)) == math.copysign(1, x)
    assert written == repr(x)


def test_lone_surrogates_and_line_breaks_are_escaped_not_lost():
    body = encode(decision(0, reasoning="\ud83d\u2028\n\x00"))
    assert rb'"reasoning":"\ud83d\u2028\n\u0000"' in body
    assert parse(body, "here").reasoning == "\ud83d\u2028\n\x00"


def test_two_surrogates_of_one_character_are_that_character_before_and_after_the_disk():
    record = decision(0, reasoning="a\ud83d" + "\ude00b\ude00")
    assert record.reasoning == "a\U0001f600b\ude00"
    assert parse(encode(record), "here") == record


def test_a_free_decision_at_memory_none_is_short():
    line, _ = seal(
        encode(
            decision(
                117_999,
                time="2024-01-02T10:00:00Z",
                bar=118_999,
                confidence=0.7312345678901234,
                equity=1 / 3,
            )
        ),
        None,
        "0" * 32,
    )
    assert len(line) < 400
    held, _ = seal(encode(decision(9, position=POSITION, strategy="VolBreakout")), None, "0" * 32)
    assert len(held) < 500


@pytest.mark.parametrize("meta", [{"a": math.nan}, {"a": [math.inf]}])
def test_meta_is_strict_json_too(meta):
    with pytest.raises(ValueError, match="JSON"):
        seal(encode(TRADE), meta, "0" * 32)


def test_meta_of_another_type_is_our_mistake():
    with pytest.raises(TypeError, match="not JSON"):
        seal(encode(TRADE), {"a": object()}, "0" * 32)


@given(st.binary(max_size=60))
def test_no_bytes_but_whole_lines_pass(noise):
    head = without_crc(noise)
    assert head is None or with_crc(head) == noise


@given(st.binary(max_size=60))
def test_any_bytes_survive_the_crc(head):
    assert without_crc(with_crc(head)) == head


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"v":NaN}', "not JSON"),
        (b'{"v":1,"kind":"order","x":-Infinity}', "not JSON"),
        ('{"v":1,"kind":"ö"}'.encode(), "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b"[1]", "expected a JSON object"),
        (b"null", "expected a JSON object"),
        (b"{}", "schema version"),
        (b'{"v":"1","kind":"order"}', "schema version"),
        (b'{"v":1.0,"kind":"order"}', "schema version"),
        (b'{"v":true,"kind":"order"}', "schema version"),
        (b'{"v":0,"kind":"order"}', "schema version"),
        (b'{"v":1}', "expected a kind"),
        (b'{"v":1,"kind":"oder"}', "expected a kind"),
        (b'{"v":1,"kind":["order"]}', "expected a kind"),
        (b'{"v":1,"kind":"order"}', "OrderRecord, field seq"),
        (encode(ORDER).replace(b"2050.3", b"1e999"), "OrderRecord, field price"),
        (encode(ORDER).replace(b'"bar":101', b'"bar":"101"'), "OrderRecord, field bar"),
        (encode(ORDER)[:-1] + b',"more":1}', "OrderRecord, field more"),
    ],
)
def test_a_line_of_another_shape_is_named_with_its_place(body, says):
    with pytest.raises(JournalCorrupt) as caught:
        parse(body, "file: line 3 at byte 99")
    assert str(caught.value).startswith("file: line 3 at byte 99: ")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_newer_schema_is_named():
    with pytest.raises(SchemaUnknown, match=r"^here: written with version 2 .* up to version 1"):
        load(encode(ORDER).replace(b'"v":1', b'"v":2'), "here")


def test_a_line_without_end_is_read_in_bounds(tmp_path):
    path = tmp_path / "lines"
    with path.open("wb") as file:
        file.write(b"x" * (LINE_MAX + 1))
    with path.open("rb") as file, pytest.raises(JournalCorrupt, match="line 1 at byte 0"):
        list(LineReader(file, path))


def test_a_reader_stops_where_the_file_ended_when_it_began(tmp_path):
    path = tmp_path / "lines"
    first, chain = seal(encode(ORDER), None, "0" * 32)
    second, _ = seal(encode(TRADE), None, chain)
    path.write_bytes(first + second[:50])
    with path.open("rb") as file:
        reader = LineReader(file, path)
        with path.open("ab") as writer:
            writer.write(second[50:])
        assert len(list(reader)) == 1
        assert (reader.end, reader.torn_bytes) == (len(first), 50)
