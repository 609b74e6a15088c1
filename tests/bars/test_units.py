"""Units and orders that one odd row must not decide: points, newest first, closing times."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dream.bars import ingest, store, synth
from dream.bars.checks.faults import Policy
from dream.bars.clock import clocks
from dream.bars.reading import Reading
from dream.errors import BarsInvalid, InputError
from tests.bars.files import START, Row, good_rows, write_csv

if TYPE_CHECKING:
    from pathlib import Path

    from dream.bars.checks.faults import Action


def reading(clock: str | None = None, **actions: Action) -> Reading:
    return Reading(clock=clock, policy=Policy(actions))


def python_rows(n: int, spread: int = 25) -> list[Row]:
    """As the MetaTrader 5 Python package gives them: spreads in points."""
    return [
        {
            "time": START + timedelta(minutes=15 * k), "open": 2000.01 + k, "high": 2002.53 + k,
            "low": 1999.27 + k, "close": 2001.14 + k, "tick_volume": 100 + k, "spread": spread,
            "real_volume": 0,
        }
        for k in range(n)
    ]  # fmt: skip


NAIVE = "%Y-%m-%d %H:%M:%S"


@pytest.mark.parametrize("stray", [2150.0812, 2150.08123])
def test_a_stray_price_does_not_set_the_point(tmp_path: Path, stray: float) -> None:
    rows = python_rows(300)
    rows[150]["close"] = stray
    report, bars = ingest.read(
        write_csv(tmp_path / "b.csv", rows, NAIVE), reading("utc", off_tick="round")
    )
    assert (report.point, report.rounded) == (0.01, 1)
    assert set(bars.spread.tolist()) == {25}


def test_a_few_rows_are_all_asked_for_their_decimals(tmp_path: Path) -> None:
    rows = python_rows(8)
    rows[0] |= dict.fromkeys(("open", "high", "low", "close"), 2000.0)
    report, bars = ingest.read(write_csv(tmp_path / "b.csv", rows, NAIVE), reading("utc"))
    assert report.point == 0.01
    assert set(bars.spread.tolist()) == {25}


def test_three_decimals_make_a_smaller_point(tmp_path: Path) -> None:
    rows = python_rows(300, spread=160)
    for k, row in enumerate(rows):
        row["close"] += 0.001 * (k % 9 + 1)
    report, bars = ingest.read(
        write_csv(tmp_path / "b.csv", rows, NAIVE), reading("utc", off_tick="round")
    )
    assert report.point == 0.001
    assert set(bars.spread.tolist()) == {16}


def test_points_behind_a_head_of_zeros(tmp_path: Path) -> None:
    rows = good_rows(400)
    for k, row in enumerate(rows):
        row["spread"] = 0 if k < 300 else 17
    report, bars = ingest.read(write_csv(tmp_path / "b.csv", rows), reading())
    assert "the spread column has whole numbers: taken for points" in report.notes
    assert bars.spread[[0, 299, 300, 399]].tolist() == [0, 0, 17, 17]


def test_spreads_in_prices_stay_prices(tmp_path: Path) -> None:
    rows = good_rows(400)
    for k, row in enumerate(rows):
        row["spread"] = 0 if k < 300 else 0.17
    _, bars = ingest.read(write_csv(tmp_path / "b.csv", rows), reading())
    assert bars.spread[[0, 299, 300, 399]].tolist() == [0, 0, 17, 17]


@pytest.mark.parametrize("action", ["first", "last"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_the_first_of_two_rows_is_the_first_in_the_file(
    tmp_path: Path, action: Any, newest_first: bool
) -> None:
    rows = good_rows(30)
    if newest_first:
        rows.reverse()
    other = rows[10] | {"volume": 9_999.0}
    rows.insert(11, other)
    _, bars = ingest.read(write_csv(tmp_path / "b.csv", rows), reading(conflict=action))
    kept = rows[10 if action == "first" else 11]["volume"]
    at = (rows[10]["timestamp"] - START) // timedelta(minutes=15)
    assert len(bars) == 30
    assert bars.volume[at] == kept


def test_closing_times_are_noticed(tmp_path: Path) -> None:
    made = synth.make(3_000, 4)
    lines = ["timestamp,open,high,low,close"]
    for t, px in zip(made.t_close_ns.tolist(), made.px.tolist(), strict=True):
        lines.append(f"{clocks.iso(t)},{','.join(f'{x / 100:.2f}' for x in px)}")
    path = tmp_path / "b.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    report, _ = ingest.read(path, reading(level="keep"))
    (fault,) = report.refused
    assert fault.kind == "clock"
    assert "the stamps may be times of closing" in fault.note
    mended, bars = ingest.read(path, reading("fixed:+00:15", level="keep"))
    assert not mended.refused
    assert np.array_equal(bars.t_close_ns[:2_900], made.t_close_ns[:2_900])


def test_an_export_on_another_clock_is_not_appended(tmp_path: Path) -> None:
    rows, out = python_rows(60), tmp_path / "o.parquet"
    ingest.ingest(write_csv(tmp_path / "a.csv", rows[:40], NAIVE), out, reading("eet-eu"))
    before = out.read_bytes()
    later = write_csv(tmp_path / "b.csv", rows[30:], NAIVE)
    with pytest.raises(BarsInvalid, match=r"by the clock ny\+7, .* by eet-eu; give --clock eet-eu"):
        ingest.extend(later, out, reading("ny+7"))
    assert out.read_bytes() == before
    _, done = ingest.extend(later, out, reading("eet-eu"))
    assert (done.added, done.overlapped) == (20, 10)


def test_one_append_at_a_time(tmp_path: Path) -> None:
    rows, out = good_rows(60), tmp_path / "o.parquet"
    ingest.ingest(write_csv(tmp_path / "a.csv", rows[:20]), out, reading())
    parts = [write_csv(tmp_path / f"{k}.csv", rows[10 : 30 + 10 * k]) for k in range(3)]
    said: list[str] = []

    def add(part: Path) -> None:
        try:
            ingest.extend(part, out, reading())
        except InputError as problem:
            said.append(str(problem))

    threads = [threading.Thread(target=add, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another import" in text for text in said)
    added = len(store.provenance(out)) - 1
    assert added + len(said) <= 3
    for part in parts:
        ingest.extend(part, out, reading())
    assert len(store.read(out)) == 50


def test_a_file_of_too_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("timestamp,open,high,low,close" + "," * 2_000 + "\n", encoding="utf-8")
    with pytest.raises(BarsInvalid, match="2,005 columns; expected at most 1,000"):
        ingest.read(path, reading())
