"""A sound journal is described, one that contradicts itself is refused with the place."""

from __future__ import annotations

import pytest

from dream.errors import InputError, JournalCorrupt, SchemaUnknown
from dream.runs.journal import Journal
from dream.runs.lines import encode, seal, with_crc
from dream.runs.verify import verify
from tests.runs.journal_samples import (
    ORDER,
    REFUSED,
    TRADE,
    closing,
    decision,
    opened,
    put,
    reply,
    small_run,
    write_run,
)


def change(record, **values):
    return record.model_copy(update=values)


def test_a_sound_journal_is_described(tmp_path):
    write_run(tmp_path)
    found = verify(tmp_path)
    assert found.lines == 12
    assert found.by_kind == {
        "opened": 1,
        "reply": 4,
        "decision": 3,
        "order": 2,
        "trade": 1,
        "closed": 1,
    }
    assert (found.torn_bytes, found.closed, found.pnl) == (0, True, -26.5)
    with Journal.read(tmp_path) as journal:
        put(journal, small_run())
        assert found.digest == journal.digest


def test_an_unfinished_run_with_a_torn_tail_is_sound(tmp_path):
    raw = write_run(tmp_path, small_run()[:5], closed=False)
    (tmp_path / "journal.jsonl").write_bytes(raw + b"torn")
    found = verify(tmp_path)
    assert (found.lines, found.torn_bytes, found.closed) == (5, 4, False)
    assert (tmp_path / "journal.jsonl").read_bytes() == raw + b"torn"


def test_a_run_without_questions_is_sound(tmp_path):
    with Journal.open(tmp_path) as journal:
        put(journal, [opened(), change(ORDER, seq=-1), change(TRADE, seq=-1)])
        journal.emit(closing(journal, decisions=0, ended="end_of_data"))
    assert verify(tmp_path).pnl == -26.5


def test_money_is_compared_to_the_cent_not_to_the_bit(tmp_path):
    trades = [change(TRADE, pnl=0.1), change(TRADE, pnl=0.2)]
    with Journal.open(tmp_path) as journal:
        put(journal, [opened(terms={"equity": 10_000}), decision(0), *trades])
        journal.emit(closing(journal, decisions=1, final_equity=10_000.3))
    assert verify(tmp_path).pnl == 0.1 + 0.2 != 0.3


WRONG = {
    "a question is missing": (
        [opened(), decision(0), decision(2)],
        "line 3",
        "decision line: expected question 1, found 2",
    ),
    "a question comes twice": (
        [opened(), decision(0), decision(0)],
        "line 3",
        "expected question 1, found 0",
    ),
    "a reply without its decision": (
        [opened(), reply(0), reply(1)],
        "line 3",
        "(0, 1, 'repair'), found (1, 0, 'decision')",
    ),
    "a reply to an answered question": (
        [opened(), reply(0), decision(0), reply(0)],
        "line 4",
        "(1, 0, 'decision'), found (0, 0, 'decision')",
    ),
    "a repair of nothing": ([opened(), reply(0, turn=1)], "line 2", "found (0, 1, 'repair')"),
    "an order before its question": (
        [opened(), ORDER],
        "line 2",
        "order line: expected a question before it, at most -1, found 0",
    ),
    "a trade before its question": (
        [opened(), decision(0), change(TRADE, seq=1)],
        "line 3",
        "at most 0, found 1",
    ),
    "equity that no trade explains": (
        [opened(), decision(0), TRADE, decision(1)],
        "line 4",
        "expected equity 9973.5 (start and the trades' sum), found 10000.0",
    ),
    "a cent too much": (
        [opened(), decision(0, equity=10_000.01)],
        "line 2",
        "expected equity 10000.0",
    ),
    "no starting money": (
        [opened(terms={})],
        "line 1",
        "expected the starting money in spec.terms.equity, found None",
    ),
    "a record of another shape": (
        [opened(), change(decision(0), equity="much")],
        "line 2",
        "DecisionRecord, field equity",
    ),
    "no opened line": ([decision(0)], "line 1", "expected one opened line, the first"),
    "two opened lines": ([opened(), opened()], "line 2", "expected one opened line, the first"),
}


@pytest.mark.parametrize(("records", "line", "says"), WRONG.values(), ids=WRONG)
def test_a_contradiction_is_named(tmp_path, records, line, says):
    write_run(tmp_path, records, closed=False)
    with pytest.raises(JournalCorrupt) as caught:
        verify(tmp_path)
    assert f"journal.jsonl: {line} at byte " in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"decisions": 2}, "expected decisions 3, found 2"),
        ({"counts": {"opened": 1}}, "expected counts {'opened': 1, 'reply': 4"),
        ({"digest": "0" * 32}, "expected digest "),
        ({"final_equity": 9_973.49}, "expected equity 9973.5"),
    ],
)
def test_the_closed_line_must_agree_with_the_others(tmp_path, changed, says):
    with Journal.open(tmp_path) as journal:
        put(journal, small_run())
        journal.emit(closing(journal, **changed))
    with pytest.raises(JournalCorrupt) as caught:
        verify(tmp_path)
    assert "line 12 at byte " in str(caught.value)
    assert f"closed line: {says}" in str(caught.value)


def test_a_run_does_not_close_on_an_unanswered_question(tmp_path):
    with Journal.open(tmp_path) as journal:
        put(journal, [*small_run(), reply(3)])
        journal.emit(closing(journal))
    with pytest.raises(JournalCorrupt, match="expected a decision after the reply to question 3"):
        verify(tmp_path)


def test_nothing_follows_the_closed_line(tmp_path):
    with Journal.open(tmp_path) as journal:
        put(journal, small_run())
        journal.emit(closing(journal))
        journal.is_closed = False
        journal.emit(REFUSED)
    with pytest.raises(JournalCorrupt, match=r"line 13 at byte .*nothing after the closed line"):
        verify(tmp_path)


def test_meta_that_is_not_json_is_found_though_the_chain_leaves_it_out(tmp_path):
    line, _ = seal(encode(opened()), {"a": 1}, "0" * 32)
    head = line[: line.rindex(b',"crc"')].replace(b'"meta":{"a":1}', b'"meta":{"a":NaN}')
    (tmp_path / "journal.jsonl").write_bytes(with_crc(head))
    with pytest.raises(JournalCorrupt, match="line 1 at byte 0: not JSON"):
        verify(tmp_path)
    with pytest.raises(JournalCorrupt, match="line 1 at byte 0: not JSON"):
        Journal.read(tmp_path)


def test_a_journal_of_a_newer_version_says_so(tmp_path):
    line, _ = seal(encode(opened()).replace(b'"v":1', b'"v":2'), None, "0" * 32)
    (tmp_path / "journal.jsonl").write_bytes(line)
    for look in (verify, Journal.open, Journal.read):
        with pytest.raises(SchemaUnknown, match=r"line 1 at byte 0: written with version 2"):
            look(tmp_path)


def test_no_journal_is_the_users_mistake(tmp_path):
    with pytest.raises(InputError, match=r"journal\.jsonl: cannot be read"):
        verify(tmp_path)
