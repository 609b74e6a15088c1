"""Every fault that an export can have: found with its count and its line, and done with as told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars import store
from dream.bars.checks.faults import KINDS, Policy
from dream.bars.ingest import ingest, read
from dream.bars.reading import Reading
from dream.errors import BarsInvalid, SpecInvalid
from tests.bars import faulty
from tests.bars.faulty import CASES, Case, Rows
from tests.bars.files import names

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import Bars

EVERY = [(case, action) for case in CASES for action in KINDS[case.kind].actions]


def test_every_fault_is_here() -> None:
    assert [case.kind for case in CASES] == list(KINDS)


def reference(case: Case, folder: Path) -> Bars | None:
    if case.other_seed is None:
        return None
    rows = faulty.base(case.first, case.other_seed)
    return store.read(faulty.write(folder / "other.csv", rows, None))


def is_made_of(bars: Bars, rows: Rows) -> None:
    made = np.array([row[:5] for row in rows], np.int64)
    assert np.array_equal(bars.t_close_ns - bars.bar_ns, made[:, 0])
    assert np.array_equal(bars.px, made[:, 1:])
    assert bars.volume.tolist() == [row[5] for row in rows]
    assert bars.spread.tolist() == [row[6] for row in rows]


@pytest.mark.parametrize(
    ("case", "action"), EVERY, ids=[f"{case.kind}={action}" for case, action in EVERY]
)
def test_a_fault_is_found_and_done_with(tmp_path: Path, case: Case, action: str) -> None:
    known = reference(case, tmp_path)
    good = faulty.base(case.first)
    wrong = case.change(good)
    source, out = faulty.write(tmp_path / "bars.csv", wrong, case.zone), tmp_path / "out.parquet"
    reading = Reading(policy=Policy(case.others | {case.kind: action}), **case.reading)
    report, _ = read(source, reading, known)
    (found,) = (fault for fault in report.found if fault.kind == case.kind)
    assert (found.count, found.action) == (case.count, action)
    assert bool(found.places) == bool(case.place)
    assert not case.place or found.places[0].startswith(case.place)
    assert report.rows_read == len(wrong)
    before = names(tmp_path)
    if action == "refuse":
        assert [fault.kind for fault in report.refused] == [case.kind]
        with pytest.raises(BarsInvalid) as caught:
            ingest(source, out, reading, reference=known)
        said = str(caught.value)
        assert KINDS[case.kind].what in said
        choice = "|".join(a for a in KINDS[case.kind].actions if a != "refuse")
        assert f"--on {case.kind}={choice}" in said
        assert case.kind != "clock" or "--clock utc, --on clock=keep" in said
        assert not found.places or found.places[0][:120] in said
        assert names(tmp_path) == before
        return
    assert report.refused == ()
    ingest(source, out, reading, reference=known)
    kept = (lambda _: wrong) if action == "keep" else (lambda rows: rows)
    expected = case.left.get(action, kept)(good)
    is_made_of(store.read(out), expected)
    assert report.rows_kept == len(expected)
    lost = len(wrong) - len(expected)
    assert report.dropped.get(case.kind, 0) == lost
    assert report.rounded == (1 if action == "round" else 0)


def test_good_rows_have_no_fault(tmp_path: Path) -> None:
    for first in ("2024-01-01", "2024-03-03", "2024-10-27"):
        source = faulty.write(tmp_path / "bars.csv", faulty.base(first), None)
        report, bars = read(source, Reading(), store.read(source))
        assert report.found == ()
        is_made_of(bars, faulty.base(first))


def test_newest_first_is_turned_round_and_told(tmp_path: Path) -> None:
    good = faulty.base("2024-01-01")
    report, bars = read(faulty.write(tmp_path / "bars.csv", good[::-1], None), Reading())
    assert report.found == ()
    assert report.notes == ("the newest row came first; the order was turned round",)
    is_made_of(bars, good)


def test_many_places_are_counted_and_few_are_kept(tmp_path: Path) -> None:
    rows = faulty.base("2024-01-01")
    for k in range(100, 700):
        rows = faulty.put(k, 3, 0)(rows)
    source = faulty.write(tmp_path / "bars.csv", rows, None)
    report, _ = read(source, Reading())
    (found,) = report.refused
    assert (found.count, len(found.places)) == (600, 20)
    assert found.places[-1] == "line 121: low 0 is not positive"
    with pytest.raises(
        BarsInvalid, match=r"600 x a price .*; dream bars check names all"
    ) as caught:
        ingest(source, tmp_path / "out.parquet", Reading())
    assert len(str(caught.value)) < 500


def test_a_message_stays_short_however_much_is_wrong(tmp_path: Path) -> None:
    rows = faulty.base("2024-01-01")
    between = f"{rows[80][2] / 100:.2f}4"
    rows[50] = [*rows[50], "y" * 5_000]
    for k, column, value in (
        (30, 0, "z" * 5_000), (60, 3, 0), (70, 2, 150_000), (80, 2, between), (90, 5, -1.0),
        (100, 0, rows[101][0]),
    ):  # fmt: skip
        rows = faulty.put(k, column, value)(rows)
    source = faulty.write(tmp_path / "bars.csv", rows, None)
    report, _ = read(source, Reading())
    kinds = ("unreadable", "columns", "price", "impossible", "off_tick", "amount", "conflict")
    assert tuple(fault.kind for fault in report.refused) == kinds
    with pytest.raises(BarsInvalid, match=r"and \d more\. Nothing was written") as caught:
        ingest(source, tmp_path / "out.parquet", Reading())
    with pytest.raises(BarsInvalid, match=r"and \d more; mend the file") as again:
        store.read(source)
    for said in (str(caught.value), str(again.value)):
        assert "\n" not in said
        assert len(said) < 600 + len(str(source))


@pytest.mark.parametrize("moves", [False, True])
def test_an_export_of_weekends_alone_leaves_nothing(tmp_path: Path, moves: bool) -> None:
    rows = faulty.base("2024-01-01")[:3]
    bar = [faulty.bar(f"2024-01-06 {h:02d}:00", 5.0 * moves, moves=moves)(rows) for h in range(24)]
    source = faulty.write(tmp_path / "bars.csv", bar, None)
    with pytest.raises(
        BarsInvalid, match=r"no row is left; 24 x .*; mend the file, export it again"
    ):
        read(source, Reading(policy=Policy({"weekend": "drop"})))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"holes": "keep"}, "--on holes: no such fault; there are: unreadable, columns"),
        ({"hole": "drop"}, "--on hole=drop: expected keep or refuse"),
        ({"conflict": "keep"}, "expected refuse or first or last"),
    ],
)
def test_what_cannot_be_done_is_refused(chosen: dict[str, str], said: str) -> None:
    with pytest.raises(SpecInvalid, match=said):
        Policy(chosen)
