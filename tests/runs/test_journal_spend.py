"""Money spent: every attempt counts, at its cost or at its ceiling."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dream.errors import JournalCorrupt, JournalUnwritable
from dream.runs.lines import with_crc
from dream.runs.spending import Spend, spent_usd
from tests.runs.journal_samples import QUICK, Failing


def begin(folder, *attempts):
    spend = Spend.open(folder, disk=QUICK)
    for attempt in attempts:
        spend.before(*attempt, 1.0)
    return spend


def test_an_attempt_counts_at_its_ceiling_until_its_cost_is_known(tmp_path):
    spend = begin(tmp_path)
    assert spend.total() == 0.0
    spend.before(0, 0, 0, 0.5)
    assert spend.total() == 0.5
    spend.after(0, 0, 0, 0.125)
    assert spend.total() == 0.125
    spend.before(0, 0, 1, 0.5)
    spend.before(0, 1, 0, 0.25)
    assert spend.total() == 0.875
    spend.after(0, 0, 1, 0.0)
    spend.after(0, 1, 0, 2.0)
    assert spend.total() == 2.125
    spend.close()
    assert spent_usd(tmp_path) == 2.125


def test_a_cost_that_is_not_known_counts_at_the_ceiling(tmp_path):
    spend = begin(tmp_path, (0, 0, 0))
    spend.after(0, 0, 0, None)
    assert spend.total() == 1.0
    spend.before(1, 0, 0, 0.5)
    assert spend.total() == 1.5
    spend.close()


def test_an_attempt_lost_in_a_crash_counts_beside_the_one_that_repeats_it(tmp_path):
    begin(tmp_path, (3, 0, 0)).close()
    spend = begin(tmp_path, (3, 0, 0))
    assert spend.total() == 2.0
    spend.after(3, 0, 0, 0.25)
    assert spend.total() == 1.25
    spend.close()
    assert spent_usd(tmp_path) == 1.25


def test_the_lines_are_json_with_a_checksum(tmp_path):
    spend = begin(tmp_path, (1, 0, 2))
    spend.after(1, 0, 2, 0.125)
    spend.close()
    first, second = (tmp_path / "spend.jsonl").read_bytes().splitlines(keepends=True)
    assert first == with_crc(b'{"seq":1,"turn":0,"attempt":2,"ceiling_usd":1.0')
    assert second == with_crc(b'{"seq":1,"turn":0,"attempt":2,"cost_usd":0.125')
    assert list(json.loads(second)) == ["seq", "turn", "attempt", "cost_usd", "crc"]


def test_a_line_is_on_the_disk_before_the_call_is_made(tmp_path):
    spend = Spend.open(tmp_path)
    spend.before(0, 0, 0, 0.5)
    assert spent_usd(tmp_path) == 0.5
    spend.after(0, 0, 0, 0.25)
    assert spent_usd(tmp_path) == 0.25
    spend.close()


def test_a_run_without_paid_calls_has_spent_nothing(tmp_path):
    assert spent_usd(tmp_path) == 0.0
    assert list(tmp_path.iterdir()) == []


def test_cut_at_every_byte_the_attempts_count_at_least_what_they_cost(tmp_path):
    spend = begin(tmp_path, (0, 0, 0))
    spend.after(0, 0, 0, 0.25)
    spend.before(1, 0, 0, 1.0)
    spend.close()
    raw = (tmp_path / "spend.jsonl").read_bytes()
    ends = [0, *itertools.accumulate(map(len, raw.splitlines(keepends=True)))]
    totals = [0.0, 1.0, 0.25, 1.25]
    for cut in range(len(raw) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "spend.jsonl").write_bytes(raw[:cut])
        whole = sum(end <= cut for end in ends) - 1
        assert spent_usd(folder) == totals[whole]
        spend = Spend.open(folder, disk=QUICK)
        assert spend.total() == totals[whole]
        spend.before(9, 0, 0, 8.0)
        spend.close()
        assert spent_usd(folder) == totals[whole] + 8.0
        torn = folder / "spend.torn"
        assert (torn.read_bytes() if torn.exists() else b"") == raw[ends[whole] : cut]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"seq":1,"turn":0,"attempt":2,"cost_usd":0.5', "never began"),
        (b'{"seq":0,"turn":0,"attempt":0,"cost_usd":-0.5', "cost_usd"),
        (b'{"seq":0,"turn":0,"attempt":0,"ceiling_usd":"1"', "ceiling_usd"),
        (b'{"seq":0,"turn":0,"attempt":0', "cost_usd"),
        (b"[1", "not JSON"),
    ],
)
def test_a_whole_line_that_makes_no_sense_is_corrupt(tmp_path, line, says):
    begin(tmp_path, (0, 0, 0)).close()
    first = (tmp_path / "spend.jsonl").read_bytes()
    (tmp_path / "spend.jsonl").write_bytes(first + with_crc(line))
    for look in (spent_usd, Spend.open):
        with pytest.raises(JournalCorrupt, match=f"line 2 at byte {len(first)}: .*{says}"):
            look(tmp_path)


def test_a_damaged_line_with_others_after_it_is_corrupt(tmp_path):
    begin(tmp_path, (0, 0, 0), (1, 0, 0)).close()
    raw = (tmp_path / "spend.jsonl").read_bytes()
    (tmp_path / "spend.jsonl").write_bytes(raw.replace(b'"seq":0', b'"seq":2'))
    with pytest.raises(JournalCorrupt, match="line 1 at byte 0: damaged"):
        Spend.open(tmp_path)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_a_ceiling_is_a_finite_number_of_dollars(tmp_path, bad):
    spend = begin(tmp_path)
    with pytest.raises(ValidationError):
        spend.before(0, 0, 0, bad)
    spend.close()
    assert (tmp_path / "spend.jsonl").read_bytes() == b""


@pytest.mark.parametrize("name", ["write", "sync"])
def test_an_attempt_that_could_not_be_written_down_is_not_counted_and_not_made(tmp_path, name):
    for n in itertools.count(1):
        folder = tmp_path / str(n)
        folder.mkdir()
        failing = Failing(name, n)
        said = 0.0
        try:
            spend = Spend.open(folder, disk=failing.disk)
            spend.before(0, 0, 0, 1.0)
            said = 1.0
            spend.after(0, 0, 0, 0.25)
            said = 0.25
            spend.close()
        except JournalUnwritable:
            assert spent_usd(folder) == said
        if not failing.failed:
            break
    assert n > 2


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 1), st.integers(0, 1), st.floats(0, 10), st.booleans()
        ),
        max_size=12,
    )
)
def test_the_total_is_that_of_a_slow_ledger(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("spend")
    spend = Spend.open(folder, disk=QUICK)
    ledger = []
    for seq, turn, attempt, usd, ends in steps:
        waiting = [row for row in ledger if row[:3] == [seq, turn, attempt] and row[4]]
        if ends and waiting:
            waiting[-1][3:] = [usd, False]
            spend.after(seq, turn, attempt, usd)
        else:
            ledger.append([seq, turn, attempt, usd, True])
            spend.before(seq, turn, attempt, usd)
            for row in waiting:
                row[4] = False
    spend.close()
    assert spend.total() == pytest.approx(sum(row[3] for row in ledger))
    assert spent_usd(folder) == spend.total()
