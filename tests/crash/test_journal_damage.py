"""A journal that was cut, flipped or edited: never a wrong record, never a silent loss."""

from __future__ import annotations

import hashlib
import json
import zlib

import pytest

from dream.errors import JournalCorrupt
from dream.runs.journal import Journal, read_records
from dream.runs.records import ReplyRecord
from tests.runs.journal_samples import (
    ORDER,
    QUICK,
    REFUSED,
    closing,
    decision,
    opened,
    put,
    reply,
    small_run,
    write_run,
)

SHORT = [opened(), reply(0), decision(0), ORDER, REFUSED]


def starts_of(raw):
    """Offset of every line, and of the end."""
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def test_cut_at_every_byte_the_whole_lines_remain_and_the_run_goes_on(tmp_path):
    lines = [opened(), reply(0), ORDER]
    raw = write_run(tmp_path / "whole", lines, closed=False, meta={"at": "noon"})
    starts = starts_of(raw)
    for cut in range(len(raw) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(raw[:cut])
        whole = sum(start <= cut for start in starts[1:])
        torn = raw[starts[whole] : cut]
        assert list(read_records(folder)) == lines[:whole]
        with Journal.open(folder, disk=QUICK) as journal:
            assert journal.torn_bytes == len(torn)
            assert journal.opened == (lines[0] if whole else None)
            assert (folder / "journal.jsonl").read_bytes() == raw[: starts[whole]]
            put(journal, lines, {"at": "noon"})
        assert (folder / "journal.jsonl").read_bytes() == raw
        aside = folder / "journal.torn"
        assert (aside.read_bytes() if aside.exists() else b"") == torn


def test_torn_tails_are_kept_one_after_the_other(tmp_path):
    raw = write_run(tmp_path, SHORT, closed=False)
    for tail in (b"first", b'{"second":1}\n', b"\n"):
        (tmp_path / "journal.jsonl").write_bytes(raw + tail)
        with Journal.open(tmp_path) as journal:
            assert journal.torn_bytes == len(tail)
    assert (tmp_path / "journal.torn").read_bytes() == b'first{"second":1}\n\n'
    assert (tmp_path / "journal.jsonl").read_bytes() == raw


def test_every_flipped_bit_is_found(tmp_path):
    lines = [opened(), decision(0), ORDER]
    raw = write_run(tmp_path, lines, closed=False)
    starts = starts_of(raw)
    newline_before_last = starts[-2] - 1
    found = {"torn": 0, "corrupt": 0}
    with (tmp_path / "journal.jsonl").open("r+b", buffering=0) as file:
        for at in range(len(raw)):
            for bit in range(8):
                file.seek(at)
                file.write(bytes([raw[at] ^ (1 << bit)]))
                try:
                    records = list(read_records(tmp_path))
                except JournalCorrupt as error:
                    assert at < starts[-2], "only a line that is not the last is corrupt"
                    number = sum(start <= at for start in starts)
                    assert f": line {number} at byte {starts[number - 1]}: " in str(error)  # noqa: PT017 - thousands of times
                    found["corrupt"] += 1
                else:
                    # Where a newline was hit, two lines have become one bad last line.
                    assert at >= newline_before_last
                    assert records == lines[: 1 if at == newline_before_last else 2]
                    found["torn"] += 1
            file.seek(at)
            file.write(raw[at : at + 1])
    assert found == {
        "corrupt": 8 * newline_before_last,
        "torn": 8 * (len(raw) - newline_before_last),
    }


@pytest.mark.parametrize("look", [Journal.open, Journal.read, lambda f: list(read_records(f))])
def test_a_bad_line_with_others_after_it_is_corrupt_and_stays_as_it_is(tmp_path, look):
    raw = write_run(tmp_path, SHORT)
    start = starts_of(raw)[2]
    bad = raw[: start + 5] + b"?" + raw[start + 6 :]
    (tmp_path / "journal.jsonl").write_bytes(bad)
    with pytest.raises(JournalCorrupt, match=rf"journal\.jsonl: line 3 at byte {start}: damaged"):
        look(tmp_path)
    assert (tmp_path / "journal.jsonl").read_bytes() == bad
    assert not (tmp_path / "journal.torn").exists()


def with_right_crc(line):
    """An edited line as a careful editor leaves it: its crc fits again."""
    head = line[: line.rindex(b',"crc":"')]
    return head + b',"crc":"%08x"}\n' % zlib.crc32(head)


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("look", [Journal.open, Journal.read, lambda f: list(read_records(f))])
def test_an_edited_line_with_a_right_crc_is_found_by_the_chain(tmp_path, number, look):
    lines = write_run(tmp_path, SHORT, closed=False).splitlines(keepends=True)
    old = lines[number - 1]
    edited = old.replace(b'"v":1,', b'"v":1, ')
    assert edited != old
    lines[number - 1] = with_right_crc(edited)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines))
    at = sum(map(len, lines[: number - 1]))
    with pytest.raises(JournalCorrupt, match=f"line {number} at byte {at}: edited"):
        look(tmp_path)


def test_an_edit_with_its_own_chain_is_found_at_the_next_line(tmp_path):
    lines = write_run(tmp_path, SHORT, closed=False).splitlines(keepends=True)
    before = json.loads(lines[1])["chain"]
    data = json.loads(lines[2])
    data["action"] = "BUY"
    del data["crc"], data["chain"]
    body = json.dumps(data, separators=(",", ":")).encode()
    chain = hashlib.blake2b(before.encode() + body, digest_size=16).hexdigest()
    lines[2] = with_right_crc(body[:-1] + f',"chain":"{chain}","crc":"00000000"}}\n'.encode())
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(JournalCorrupt, match=r"line 4 at byte .*: edited"):
        Journal.read(tmp_path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        lambda lines: [*lines[:3], lines[2], *lines[3:]],
        lambda lines: lines[1:],
    ],
    ids=["a line taken out", "two lines swapped", "a line twice", "the first line taken out"],
)
def test_whole_lines_in_another_order_are_found_by_the_chain(tmp_path, edit):
    lines = write_run(tmp_path, SHORT, closed=False).splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(edit(lines)))
    with pytest.raises(JournalCorrupt, match="edited"):
        Journal.read(tmp_path)


def test_lines_after_the_closed_line_are_corrupt(tmp_path):
    write_run(tmp_path, SHORT, closed=False)
    with Journal.open(tmp_path) as journal:
        put(journal, SHORT)
        journal.emit(closing(journal, decisions=1))
        journal.is_closed = False
        journal.emit(REFUSED)
    for look in (Journal.open, Journal.read):
        with pytest.raises(
            JournalCorrupt, match=r"line 7 at byte .*: a line after the closed line"
        ):
            look(tmp_path)


def test_a_torn_closed_line_is_written_again(tmp_path):
    raw = write_run(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(raw[:-1])
    with Journal.open(tmp_path) as journal:
        assert not journal.is_closed
    assert write_run(tmp_path) == raw


def test_a_lost_paid_reply_is_asked_for_again(tmp_path):
    raw = write_run(tmp_path, small_run()[:5], closed=False)
    (tmp_path / "journal.jsonl").write_bytes(raw[:-20])
    with Journal.open(tmp_path) as journal:
        put(journal, small_run()[:4])
        missing = small_run()[4]
        assert isinstance(missing, ReplyRecord)
        asked = (missing.seq, missing.purpose, missing.turn, missing.request)
        assert journal.recorded_reply(*asked) is None
