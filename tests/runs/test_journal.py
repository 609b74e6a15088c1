"""The journal: recorded lines are compared, replies handed out, new lines appended."""

from __future__ import annotations

import hashlib
import json
import math

import pytest

from dream.errors import Diverged, InputError, JournalCorrupt, JournalError
from dream.runs.journal import EndOfRecord, Journal, read_records
from dream.runs.records import ReplyRecord
from tests.runs.journal_samples import (
    DIGEST_KINDS,
    ITEM,
    ORDER,
    QUICK,
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

META = {"answered": "2026-01-01T00:00:00Z"}


def lines_of(raw):
    return [json.loads(line) for line in raw.splitlines()]


def test_a_new_journal_is_written_line_by_line(tmp_path):
    raw = write_run(tmp_path / "a" / "run", meta=META)
    lines = lines_of(raw)
    assert [line["kind"] for line in lines] == [
        "opened",
        *["reply", "decision", "order"],
        *["reply", "reply", "decision", "trade"],
        *["reply", "decision", "order", "closed"],
    ]
    assert all(list(line)[-2:] == ["chain", "crc"] for line in lines)
    assert [line.get("meta") for line in lines] == [META] * 11 + [None]


def test_what_was_written_is_read(tmp_path):
    write_run(tmp_path, closed=False)
    assert list(read_records(tmp_path)) == small_run()


def test_the_same_run_again_changes_nothing_and_comes_out_live_at_the_end(tmp_path):
    raw = write_run(tmp_path, closed=False, meta=META)
    with Journal.open(tmp_path) as journal:
        assert not journal.live
        assert journal.opened == opened()
        assert journal.torn_bytes == 0
        put(journal, small_run(), {"answered": "later"})
        assert journal.live
        assert not journal.is_closed
    assert (tmp_path / "journal.jsonl").read_bytes() == raw


@pytest.mark.parametrize("first", range(12))
def test_a_run_in_two_parts_has_the_bytes_of_a_whole_one(tmp_path, first):
    whole = write_run(tmp_path / "whole")
    write_run(tmp_path / "parts", small_run()[:first], closed=False)
    assert write_run(tmp_path / "parts") == whole


def test_digest_counts_and_chain_are_those_of_the_lines_so_far(tmp_path):
    raw = write_run(tmp_path)
    slow, counts, seen = hashlib.blake2b(digest_size=16), {}, []
    for line in lines_of(raw):
        chain = line.pop("chain")
        del line["crc"]
        counts[line["kind"]] = counts.get(line["kind"], 0) + 1
        if line["kind"] in DIGEST_KINDS:
            slow.update(json.dumps(line, separators=(",", ":")).encode())
        seen.append((chain, dict(counts), slow.hexdigest()))
    for read_only in (True, False):
        with Journal.read(tmp_path) if read_only else Journal.open(tmp_path) as journal:
            assert (journal.chain, journal.counts) == ("0" * 32, {})
            for record, facts in zip(small_run(), seen, strict=False):
                put(journal, [record])
                assert (journal.chain, journal.counts, journal.digest) == facts
    order = ["opened", "reply", "decision", "order", "trade"]
    assert list(journal.counts) == [kind for kind in order if kind in journal.counts]


@pytest.mark.parametrize(
    ("index", "changed", "field", "recorded", "now"),
    [
        (2, {"equity": 9999.5}, "equity", "10000.0", "9999.5"),
        (2, {"equity": -0.0}, "equity", "10000.0", "-0.0"),
        (2, {"reasoning": "other"}, "reasoning", "''", "'other'"),
        (2, {"live": ()}, "live[0]", "'VolBreakout'", "nothing"),
        (2, {"live": ("VolBreakout", "x")}, "live[1]", "nothing", "'x'"),
        (2, {"seq": 7}, "seq", "0", "7"),
        (6, {"position": None}, "position", "{'strategy'", "None"),
        (6, {"pool": 2}, "pool", "1", "2"),
        (
            6,
            {"recalled": (ITEM.model_copy(update={"score": 0.5}),)},
            "recalled[0].score",
            "0.75",
            "0.5",
        ),
        (
            6,
            {"recalled": (ITEM.model_copy(update={"parts": {"atr": 0.5, "x": 1.0}}),)},
            "recalled[0].parts.x",
            "nothing",
            "1.0",
        ),
    ],
)
def test_the_first_difference_is_named(tmp_path, index, changed, field, recorded, now):
    write_run(tmp_path)
    run = small_run()
    other = run[index].model_copy(update=changed)
    with Journal.open(tmp_path) as journal:
        put(journal, run[:index])
        with pytest.raises(Diverged) as caught:
            journal.emit(other)
    assert (caught.value.seq, caught.value.field) == (other.seq, field)
    message = str(caught.value)
    assert f"line {index + 1} at byte" in message
    assert f"field {field}: recorded {recorded}" in message
    assert f", now {now}" in message
    assert "--fresh" in message


def test_only_the_sign_of_zero_is_a_difference(tmp_path):
    write_run(tmp_path, [opened(), decision(0, equity=0.0)], closed=False)
    with Journal.read(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(Diverged, match=r"recorded 0\.0, now -0\.0"):
            journal.emit(decision(0, equity=-0.0))


def test_another_kind_is_a_difference(tmp_path):
    write_run(tmp_path, [opened(), decision(0), ORDER], closed=False)
    with Journal.open(tmp_path) as journal:
        put(journal, [opened(), decision(0)])
        with pytest.raises(Diverged, match="recorded 'order', now 'trade'") as caught:
            journal.emit(TRADE)
    assert (caught.value.seq, caught.value.field) == (0, "kind")


def test_another_order_of_fields_is_a_difference(tmp_path):
    write_run(tmp_path, [opened(a=1, b=2)], closed=False)
    with Journal.read(tmp_path) as journal, pytest.raises(Diverged) as caught:
        journal.emit(opened(b=2, a=1))
    assert caught.value.field == "order of the fields"


def test_a_long_text_is_shown_where_it_differs(tmp_path):
    write_run(tmp_path, [opened(), decision(0, reasoning="x" * 90_000 + "old")], closed=False)
    with Journal.read(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(Diverged) as caught:
            journal.emit(decision(0, reasoning="x" * 90_000 + "new" + "y" * 90_000))
    assert "xold'" in str(caught.value)
    assert "xnewyy" in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ((9, "decision", 0, f"{0:064x}"), "seq"),
        ((0, "repair", 0, f"{0:064x}"), "purpose"),
        ((0, "decision", 1, f"{0:064x}"), "turn"),
        ((0, "decision", 0, f"{1:064x}"), "request"),
    ],
)
def test_a_reply_to_another_question_is_not_handed_out(tmp_path, asked, field):
    write_run(tmp_path)
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(Diverged) as caught:
            journal.recorded_reply(*asked)
    assert (caught.value.seq, caught.value.field) == (asked[0], field)


def test_a_question_where_none_was_asked_is_a_difference(tmp_path):
    write_run(tmp_path, [opened(), decision(0)], closed=False)
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(Diverged) as caught:
            journal.recorded_reply(0, "decision", 0, f"{0:064x}")
    assert caught.value.field == "kind"


def test_a_decision_where_a_question_was_asked_is_a_difference(tmp_path):
    write_run(tmp_path)
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(Diverged, match="recorded 'reply', now 'decision'"):
            journal.emit(decision(0))


def test_a_damaged_reply_is_corrupt_even_with_the_right_chain(tmp_path):
    bad = ReplyRecord.model_construct(**{**vars(reply(0)), "cost_usd": "free"})
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        journal.add_reply(bad, paid=False)
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(JournalCorrupt, match=r"line 2 at byte .* field cost_usd"):
            journal.recorded_reply(0, "decision", 0, bad.request)


def test_nothing_follows_the_closed_line(tmp_path):
    write_run(tmp_path)
    with Journal.open(tmp_path) as journal:
        assert journal.is_closed
        put(journal, small_run())
        journal.emit(closing(journal))
        assert journal.live
        for write in (
            lambda: journal.emit(REFUSED),
            lambda: journal.recorded_reply(3, "decision", 0, f"{3:064x}"),
            lambda: journal.add_reply(reply(3), paid=True),
        ):
            with pytest.raises(JournalError, match="closed"):
                write()


def test_nothing_follows_a_closed_line_that_was_just_written(tmp_path):
    with Journal.open(tmp_path) as journal:
        put(journal, small_run())
        journal.emit(closing(journal))
        assert journal.is_closed
        with pytest.raises(JournalError, match="closed"):
            journal.emit(REFUSED)


def test_a_run_that_goes_on_where_the_record_closed_has_diverged(tmp_path):
    write_run(tmp_path)
    with Journal.open(tmp_path) as journal:
        put(journal, small_run())
        with pytest.raises(Diverged, match="recorded 'closed', now 'decision'") as caught:
            journal.emit(decision(3))
    assert caught.value.seq == 3


def test_reading_ends_where_the_record_ends(tmp_path):
    raw = write_run(tmp_path, closed=False)
    with Journal.read(tmp_path) as journal:
        put(journal, small_run())
        assert journal.live
        for step in (
            lambda: journal.emit(closing(journal)),
            lambda: journal.recorded_reply(3, "decision", 0, f"{3:064x}"),
            lambda: journal.add_reply(reply(3), paid=True),
        ):
            with pytest.raises(EndOfRecord):
                step()
    assert (tmp_path / "journal.jsonl").read_bytes() == raw


def test_reading_leaves_nothing_in_the_folder_and_a_torn_tail_where_it_is(tmp_path):
    raw = write_run(tmp_path) + b'{"v":1,"kind"'
    (tmp_path / "journal.jsonl").write_bytes(raw)
    (tmp_path / "journal.lock").unlink()
    (tmp_path / "journal.jsonl").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with Journal.read(tmp_path) as journal:
            assert journal.torn_bytes == 13
            put(journal, small_run())
            journal.emit(closing(journal))
        assert len(list(read_records(tmp_path))) == 12
    finally:
        tmp_path.chmod(0o755)
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]
    assert (tmp_path / "journal.jsonl").read_bytes() == raw


def test_a_journal_that_is_being_written_can_be_read(tmp_path):
    with Journal.open(tmp_path, sync="each", disk=QUICK) as journal:
        put(journal, small_run()[:3])
        assert list(read_records(tmp_path)) == small_run()[:3]
        with Journal.read(tmp_path) as reader:
            put(journal, small_run()[3:4])
            put(reader, small_run()[:3])
            assert reader.live


def test_no_journal_is_the_users_mistake(tmp_path):
    for read in (Journal.read, lambda folder: list(read_records(folder))):
        with pytest.raises(InputError, match=r"journal\.jsonl: cannot be read: No such file"):
            read(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_journal(tmp_path):
    (tmp_path / "journal.jsonl").touch()
    with Journal.open(tmp_path) as journal:
        assert journal.live
        assert journal.opened is None
        put(journal, small_run())
    assert list(read_records(tmp_path)) == small_run()


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([decision(0)], "expected one opened line, the first, found decision"),
        ([opened(), opened()], "expected one opened line, the first, found opened"),
    ],
)
def test_the_opened_line_is_the_first_and_the_only_one(tmp_path, records, says):
    write_run(tmp_path, records, closed=False)
    for look in (Journal.open, Journal.read):
        with pytest.raises(JournalCorrupt, match=says):
            look(tmp_path)


def test_a_number_that_is_not_finite_never_reaches_the_disk(tmp_path):
    with Journal.open(tmp_path) as journal:
        journal.emit(opened())
        with pytest.raises(ValueError, match="JSON"):
            journal.emit(decision(0).model_copy(update={"equity": math.nan}))
        with pytest.raises(ValueError, match="JSON"):
            journal.emit(decision(0), meta={"seconds": math.inf})
        journal.emit(decision(0))
    assert list(read_records(tmp_path)) == [opened(), decision(0)]
