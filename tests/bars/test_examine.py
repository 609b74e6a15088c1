"""Clocks, references and other markets on the way from an export to bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dream.bars import store, synth
from dream.bars.checks.faults import Policy
from dream.bars.ingest import extend, ingest, read
from dream.bars.reading import Reading
from dream.errors import BarsInvalid, InputError, SpecInvalid
from dream.types import Instrument
from tests.bars import faulty
from tests.bars.faulty import HOUR_NS, Rows
from tests.bars.files import good_rows, names, write_csv

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "2024-01-01"


@pytest.fixture(scope="module")
def good() -> Rows:
    return faulty.base(FIRST)


def test_the_clocks_that_fit_are_proposed(tmp_path: Path, good: Rows) -> None:
    source = faulty.write(tmp_path / "b.csv", good, "Europe/Athens")
    with pytest.raises(BarsInvalid, match=r"say whose they are with --clock; these fit: eet-eu, "):
        read(source, Reading())
    report, bars = read(source, Reading(clock="eet-eu"))
    assert (report.clock.declared, report.found) == ("eet-eu", ())
    assert (bars.t_close_ns - bars.bar_ns).tolist() == [row[0] for row in good]


def test_a_clock_against_what_the_file_says_is_believed_and_told(
    tmp_path: Path, good: Rows
) -> None:
    source = faulty.write(tmp_path / "b.csv", faulty.later(good, 2 * HOUR_NS), None)
    report, bars = read(source, Reading(clock="eet-eu"))
    assert report.notes == ("the file says that its times are UTC; they were read as eet-eu",)
    assert (bars.t_close_ns - bars.bar_ns).tolist() == [row[0] for row in good]


def test_offsets_of_the_rows_are_applied_and_no_clock_goes_with_them(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows(), "%Y-%m-%dT%H:%M:%S-03:00")
    for clock in (None, "per-row"):
        report, bars = read(source, Reading(clock=clock))
        assert report.clock.declared == "per-row"
        assert int(bars.t_close_ns[0]) - bars.bar_ns == faulty.at("2024-01-08 04:00")
    with pytest.raises(SpecInvalid, match=r"--clock eet-eu: every row .* leave --clock out"):
        read(source, Reading(clock="eet-eu"))


def test_dates_alone_are_trading_days(tmp_path: Path) -> None:
    rows = [
        row | {"timestamp": f"2024-01-{day:02d}"}
        for row, day in zip(good_rows(9), (8, 9, 10, 11, 12, 15, 16, 17, 18), strict=True)
    ]
    report, bars = read(write_csv(tmp_path / "b.csv", rows), Reading())
    assert (report.clock.declared, report.refused) == ("ny+7", ())
    assert "dates were taken as trading days, which begin at 17:00 New York" in report.notes
    assert int(bars.t_close_ns[0]) - bars.bar_ns == faulty.at("2024-01-07 22:00")


def test_another_market_is_not_held_against_the_hours_and_prices_of_gold(
    tmp_path: Path, good: Rows
) -> None:
    source = faulty.write(tmp_path / "b.csv", faulty.later(good, -HOUR_NS), None)
    reading = Reading(Instrument("EURUSD"), policy=Policy({"weekend": "keep"}))
    report, _ = read(source, reading)
    assert {fault.kind for fault in report.found} <= {"weekend", "hole"}
    assert report.clock.judged == 0
    said = "the closed hour is that of metals: the clock was not judged by it"
    assert said in report.notes


def test_a_shift_against_the_reference_is_measured(tmp_path: Path, good: Rows) -> None:
    known = store.read(faulty.write(tmp_path / "known.csv", good, None))
    source = faulty.write(tmp_path / "b.csv", faulty.later(good, HOUR_NS), None)
    report, _ = read(source, Reading(), known)
    assert [fault.kind for fault in report.refused] == ["clock", "reference"]
    (shift,) = report.clock.shifts
    assert ": +1 h, correlation 1.000" in shift
    (found,) = (fault for fault in report.found if fault.kind == "reference")
    assert found.places == (shift,)
    assert found.note == (
        "the bars are shifted against the reference; --clock Europe/Berlin agrees in all weeks"
    )


def test_a_reference_of_another_time_says_so(tmp_path: Path, good: Rows) -> None:
    source = faulty.write(tmp_path / "b.csv", good, None)
    other = synth.make(500, 1, start_ns=faulty.at("2020-01-06"))
    report, _ = read(source, Reading(), other)
    assert report.found == ()
    assert report.notes == ("no week could be compared with the reference",)


def test_a_report_as_json_has_every_figure(tmp_path: Path, good: Rows) -> None:
    rows = faulty.put(faulty.K, 3, 0)(good)
    report, _ = read(faulty.write(tmp_path / "b.csv", rows, None), Reading())
    record = report.as_json()
    assert (record["rows_read"], record["rows_kept"]) == (1_200, 1_199)
    assert (record["refused"], record["rows_dropped"]) == (["price"], {})
    assert (record["bar_minutes"], record["from"]) == (15, "2024-01-01T23:00:00Z")
    assert faulty.at(record["to"].removesuffix("Z")) == good[-1][0] + HOUR_NS // 4
    assert record["found"][0] == {
        "kind": "price", "action": "refuse", "count": 1,
        "places": ("line 402: low 0 is not positive",), "note": "",
    }  # fmt: skip
    assert {"bar_ns", "from_ns", "to_ns"}.isdisjoint(record)


def test_more_of_a_series_is_added_or_nothing(tmp_path: Path, good: Rows) -> None:
    out = tmp_path / "out.parquet"
    ingest(faulty.write(tmp_path / "a.csv", good[:800], None), out, Reading())
    whole = store.read(faulty.write(tmp_path / "all.csv", good, None))
    wrong = faulty.write(tmp_path / "wrong.csv", faulty.put(faulty.K, 3, 0)(good), None)
    before = out.read_bytes()
    with pytest.raises(BarsInvalid, match="line 402: low 0 is not positive"):
        extend(wrong, out, Reading())
    with pytest.raises(InputError, match="is the source itself"):
        ingest(out, out, Reading(), force=True)
    assert out.read_bytes() == before
    report, done = extend(faulty.write(tmp_path / "b.csv", good[700:], None), out, Reading())
    assert (report.rows_kept, done.added, done.overlapped) == (500, 400, 100)
    assert store.read(out).px.tolist() == whole.px.tolist()
    assert [record["source"] for record in store.provenance(out)] == ["a.csv", "b.csv"]
    assert names(tmp_path) == ["a.csv", "all.csv", "b.csv", "out.parquet", "wrong.csv"]
