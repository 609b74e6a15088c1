"""Records: strict fields, and no loss on the way from and to the values of `dream.types`."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dream.runs.records import (
    KINDS,
    DecisionRecord,
    OpenedRecord,
    decision_record,
    iso_utc,
    ns_utc,
    order_of,
    order_record,
    reply_of,
    reply_record,
    trade_of,
    trade_record,
)
from dream.types import (
    Account,
    BoardRow,
    Costs,
    Decision,
    Fill,
    Indicators,
    Order,
    Position,
    Question,
    Recalled,
    Reply,
    Snapshot,
    Trade,
    Usage,
)
from tests.runs.journal_samples import ORDER, decision, opened, reply
from tests.runs.journal_texts import any_float, any_text

SECOND = 1_000_000_000
NS_MIN, NS_MAX = -(2**63) + 1, 2**63 - 1

instants = st.integers(NS_MIN, NS_MAX) | st.integers(-(10**9), 10**10).map(
    lambda s: s * SECOND // 2
)
fills = st.builds(
    Fill,
    st.integers(0, 10**9),
    instants,
    any_float(),
    any_float(),
    st.sampled_from(["open", "stop"]),
)
maybe_float = st.none() | any_float()
maybe_text = st.none() | any_text()
maybe_count = st.none() | st.integers(0, 10**12)


def as_json_reads(text):
    """A text after its way through JSON: only two surrogates of one character change, into it."""
    return json.loads(json.dumps(text))


def test_the_epoch_and_its_neighbours_are_written_as_by_hand():
    assert iso_utc(0) == "1970-01-01T00:00:00Z"
    assert iso_utc(-1) == "1969-12-31T23:59:59.999999999Z"
    assert iso_utc(2**63 - 1) == "2262-04-11T23:47:16.854775807Z"
    assert iso_utc(-(2**63) + 1) == "1677-09-21T00:12:43.145224193Z"
    assert iso_utc(1_704_190_500 * SECOND) == "2024-01-02T10:15:00Z"
    assert iso_utc(951_782_400 * SECOND + 5_000_000) == "2000-02-29T00:00:00.005000000Z"


@given(instants)
def test_an_instant_survives(t_ns):
    assert ns_utc(iso_utc(t_ns)) == t_ns


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-02T10:15:00",
        "2024-01-02 10:15:00Z",
        "2024-01-02T10:15:00+00:00",
        "2024-01-02T10:15:00.5Z",
        "2024-01-02T10:15:00.000000000Z",
        "2024-02-30T10:15:00Z",
        "2024-01-02T24:00:00Z",
        "2024-01-02T10:60:00Z",
        "2024-01-02T10:15:60Z",
        "2023-02-29T10:15:00Z",
        "2262-04-11T23:47:16.854775808Z",
        "9999-01-02T10:15:00Z",
        "٢٠٢٤-01-02T10:15:00Z",
        "now",
        "",
    ],
)
def test_no_other_form_of_an_instant_is_read(text):
    with pytest.raises(ValueError, match=r"instant|date|time|hour|day"):
        ns_utc(text)


@given(
    st.builds(
        Order,
        seq=st.integers(-1, 10**9),
        action=st.sampled_from(["BUY", "SELL", "CLOSE"]),
        strategy=maybe_text,
        bar=st.integers(0, 10**9),
        t_ns=instants,
        reason=maybe_text,
        price=maybe_float,
        lots=maybe_float,
        stop=maybe_float,
        target=maybe_float,
        needs_equity=maybe_float,
    )
)
def test_an_order_survives(order):
    expected = dataclasses.replace(
        order, strategy=as_json_reads(order.strategy), reason=as_json_reads(order.reason)
    )
    assert order_of(order_record(order)) == expected


@given(
    st.builds(
        Trade,
        seq=st.integers(-1, 10**9),
        strategy=any_text(),
        side=st.sampled_from([1, -1]),
        entry=fills,
        exit=fills,
        stop=any_float(),
        target=any_float(),
        pnl=any_float(),
        r=any_float(),
        mae=any_float(),
        mfe=any_float(),
        ambiguous=st.booleans(),
        costs=st.builds(Costs, any_float(), any_float(), any_float(), any_float()),
        pnl_stop_first=any_float(),
        pnl_target_first=any_float(),
        known_ns=instants,
    )
)
def test_a_trade_survives(trade):
    expected = dataclasses.replace(trade, strategy=as_json_reads(trade.strategy))
    record = trade_record(trade, "00112233aabbccdd")
    assert record.id == "00112233aabbccdd"
    assert trade_of(record) == expected


usages = st.builds(Usage, maybe_count, maybe_count, maybe_count, maybe_count, maybe_count)


maybe_cost = st.none() | st.floats(0, allow_infinity=False)


@given(st.builds(Reply, maybe_text, maybe_text, maybe_text, usages, maybe_cost, maybe_text))
def test_a_reply_survives(answer):
    question = Question(7, "repair", "what now?", "ab" * 32, None)  # type: ignore[arg-type]
    record = reply_record(question, answer, 1)
    assert reply_of(record) == dataclasses.replace(
        answer,
        text=as_json_reads(answer.text),
        stop_reason=as_json_reads(answer.stop_reason),
        model=as_json_reads(answer.model),
        error=as_json_reads(answer.error),
    )
    assert (record.seq, record.purpose, record.turn) == (7, "repair", 1)
    assert (record.request, record.user) == ("ab" * 32, "what now?")


def test_usage_that_says_nothing_is_null():
    question = Question(0, "decision", None, "ab" * 32, None)  # type: ignore[arg-type]
    assert reply_record(question, Reply("HOLD"), 0).usage is None
    assert reply_record(question, Reply("HOLD", usage=Usage(output_tokens=0)), 0).usage is not None


def _row(name, live):
    return BoardRow(name, live, None, None, None, None, {}, 0, 0, 0)


def _snapshot(position):
    indicators = Indicators(*[1.0] * 12, "up", "low", 1)
    window = np.ones((2, 6))
    return Snapshot(
        seq=3,
        now_ns=1_704_190_500 * SECOND,
        minute=1035,
        day=19724,
        window=window,
        window_close_ns=np.zeros(2, np.int64),
        closed_at_minute=np.zeros(2, np.int16),
        indicators=indicators,
        board=(_row("A", 0), _row("B", 1), _row("C", -1)),
        position=position,
        account=Account(10_000.0, 9_990.0, 9_991.25, 1, ()),
    )


def test_a_decision_line_says_what_was_asked_and_answered():
    held = Position(2, "B", 1, 5, 2050.3, 0.05, 2045.0, 2061.0, -1.5, -0.1, 3)
    recalled = [Recalled(4, "e4", 0.75, {"atr": 0.5, "session": 1.0}, "injected")]
    answer = Decision("CLOSE", "B", 0.6, 2046.0, None, "enough", "ok")
    line = decision_record(
        _snapshot(held), answer, bar=9, obs="00ff00ff00ff00ff", pool=5, recalled=recalled
    )
    assert line.model_dump() == {
        "v": 1,
        "kind": "decision",
        "seq": 3,
        "bar": 9,
        "time": "2024-01-02T10:15:00Z",
        "obs": "00ff00ff00ff00ff",
        "live": ("B", "C"),
        "pool": 5,
        "recalled": (
            {"id": "e4", "score": 0.75, "mark": "injected", "parts": {"atr": 0.5, "session": 1.0}},
        ),
        "action": "CLOSE",
        "strategy": "B",
        "confidence": 0.6,
        "stop": 2046.0,
        "target": None,
        "reasoning": "enough",
        "status": "ok",
        "error": None,
        "equity": 9_991.25,
        "position": {
            "strategy": "B",
            "side": 1,
            "entry": 2050.3,
            "lots": 0.05,
            "stop": 2045.0,
            "target": 2061.0,
            "unrealised": -1.5,
        },
    }
    flat = decision_record(
        _snapshot(None), Decision(), bar=9, obs="00ff00ff00ff00ff", pool=None, recalled=()
    )
    assert (flat.position, flat.pool, flat.recalled) == (None, None, ())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["equity", "confidence", "stop", "target"])
def test_a_number_that_json_does_not_know_raises(name, bad):
    with pytest.raises(ValidationError, match="finite"):
        decision(0, **{name: bad})


@pytest.mark.parametrize(
    "changed",
    [
        {"seq": "3"},
        {"seq": 3.0},
        {"seq": True},
        {"seq": -1},
        {"equity": "1"},
        {"equity": True},
        {"obs": "xyz"},
        {"obs": "00FF00FF00FF00FF"},
        {"live": "AB"},
        {"live": (1,)},
        {"reasoning": b"x"},
        {"action": "buy"},
        {"status": "fine"},
        {"time": "2024-02-30T10:15:00Z"},
        {"unheard": 1},
        {"v": 2},
        {"kind": "order"},
    ],
)
def test_nothing_is_coerced_and_nothing_is_extra(changed):
    with pytest.raises(ValidationError):
        decision(0, **changed)


def test_a_record_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        decision(0).seq = 1


@pytest.mark.parametrize(
    "spec",
    [
        {"a": {"b": 1, "meta": {"c": 1}}},
        {"a": [{"meta": {}}]},
        {"a": math.nan},
        {"a": [math.inf]},
        {"a": {1, 2}},
        {"a": b"x"},
        {"a": object()},
    ],
)
def test_a_spec_is_strict_json_without_an_object_called_meta(spec):
    with pytest.raises(ValidationError):
        opened(**spec)


def test_a_spec_may_use_the_word_meta_for_anything_else():
    spec = opened(meta=1, note='"meta":{', more={"meta": [1]}).spec
    assert (spec["meta"], spec["note"], spec["more"]) == (1, '"meta":{', {"meta": [1]})


def test_a_reply_has_at_most_one_repair():
    with pytest.raises(ValidationError):
        reply(0).__class__(**{**vars(reply(0)), "turn": 2})


def test_every_kind_begins_with_its_version_and_kind():
    for kind, model in KINDS.items():
        assert list(model.model_fields)[:2] == ["v", "kind"]
        assert model.model_fields["kind"].default == kind
        assert model.model_fields["v"].default == 1


def test_numpy_floats_and_whole_numbers_are_written_as_floats():
    record = ORDER.__class__(**{**vars(ORDER), "price": np.float64(2050.5), "lots": 1})
    assert record.price == 2050.5
    assert type(record.lots) is float


def test_order_of_keyword_arguments_does_not_matter():
    values = vars(decision(0))
    backwards = DecisionRecord(**dict(reversed(values.items())))
    assert list(vars(backwards)) == list(values)


def test_a_spec_keeps_the_order_it_was_given():
    assert list(OpenedRecord(**vars(opened(z=1, a=2))).spec) == ["bars", "terms", "z", "a"]


def test_a_spec_is_a_copy():
    inner = {"equity": 1.0}
    record = opened(terms=inner, pair=(1, 2))
    inner["equity"] = 2.0
    assert record.spec["terms"] == {"equity": 1.0}
    assert record.spec["pair"] == [1, 2]
