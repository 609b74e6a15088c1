"""Every real sample through the whole import, held against a reading of it by hand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pytest

from dream.bars import content_hash, ingest, store
from dream.bars.checks.faults import Policy
from dream.bars.reading import Reading
from dream.bars.resample import resample
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars import by_hand

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from dream.bars.checks.report import Report

DAY_NS = 1440 * MINUTE_NS
MT5, MT5_PYTHON = "MetaTrader 5 export", "MetaTrader 5 Python"
HST = "MetaTrader 4 history, version 400"
SITE = "Dukascopy website, "
NO_HEADER = "MetaTrader script without header"
THREE_LINES = "Yahoo Finance, three header lines"
CLEAR, LONG = "m15_int_cents_label_utc.parquet", "mt5_h1_server_rule_change.csv"
LONDON = "mt5_m5_symbol_column.csv"
EMPTY = "yahoo_gcf_header_only.csv"


class Sample(NamedTuple):
    """What an import finds.

    clock: the rule given, None where stamps say what they are. fits: the rules that fit; none of
    daily bars, of two days, of another instrument and of bars in all hours. found: fault to count.
    """

    format: str
    clock: str | None
    fits: tuple[str, ...]
    rows: int
    kept: int
    found: dict[str, int]
    refused: tuple[str, ...] = ()


SUMMER = ("fixed:+03:00", "eet-eu", "ny+7")
TABLE = {
    CLEAR: Sample(
        "Parquet", "ny+7", ("ny+7",), 118_136, 118_135, {"flat": 1, "hole": 2, "forming": 1}
    ),
    "dukascopy_m15_plus0000.csv": Sample(
        "plain text", None, ("utc",), 47_191, 47_191, {"hole": 2}
    ),
    # 14 holes of one to six months, and two of a day.
    "dukascopy_node_h1_epoch_ms_holes.csv": Sample(
        "dukascopy-node", None, ("utc",), 14_101, 14_101, {"hole": 16}
    ),
    "vendor_m15_iso_z_comment_line.csv": Sample(
        "plain text", None, ("utc",), 11_820, 11_793,
        {"impossible": 27, "stitched": 11_746, "hole": 30}, ("impossible",),
    ),
    "mt5_export_m15_tab.csv": Sample(
        MT5, "eet-eu", ("eet-eu",), 19_418, 19_418, {"flat": 1, "hole": 4}
    ),
    "mt5_export_m5_tab_2025q1.csv": Sample(
        MT5, "eet-eu", ("eet-eu",), 17_289, 17_289, {"hole": 2}
    ),
    "mt5_export_h1_tab.csv": Sample(MT5, "eet-eu", ("eet-eu",), 4_858, 4_858, {"hole": 2}),
    # Both long holes; two hours, nine bars after a lone one and a night; one single bar.
    "mt4_history_m15_holes.csv": Sample(
        "MetaTrader 4 history", "eet-eu", ("eet-eu",), 3_380, 3_380, {"flat": 1, "hole": 6}
    ),
    "mt4_script_m5_semicolon_no_volume.csv": Sample(
        NO_HEADER, "fixed:+03:00", SUMMER, 2_050, 2_050, {}
    ),
    "dukascopy_local_time_h1_flat_fill.csv": Sample(
        SITE + "local time", None, ("utc",), 6_260, 5_938, {"filler": 322}
    ),
    "dukascopy_gmt_time_h1.csv": Sample(SITE + "GMT", None, ("utc",), 238, 230, {"filler": 8}),
    "histdata_derived_m15_2024.csv": Sample(
        "plain text", "london-5", ("london-5",), 23_713, 23_713, {"hole": 3}
    ),
    "histdata_ascii_m5_reserialised_2024-03.csv": Sample(
        "HistData ASCII", "london-5", ("london-5",), 8_196, 8_196, {"hole": 1}
    ),
    "tradingview_m5_iso_plus0530.csv": Sample(
        "TradingView export", None, ("utc",), 6_900, 6_900, {"flat": 4}
    ),
    "tradingview_m5_unix_indicators.csv": Sample("TradingView export", None, (), 300, 300, {}),
    "mt5_python_m15_unix_server_time.csv": Sample(
        MT5_PYTHON, "eet-eu", ("eet-eu",), 5_864, 5_864, {"hole": 4}
    ),
    "mt5_python_m15_3_digits.csv": Sample(MT5_PYTHON, "utc", ("utc",), 2_952, 2_952, {}),
    "mt5_python_m15_gold_spread.csv": Sample(
        MT5_PYTHON, "eet-eu", ("eet-eu",), 34_712, 34_712, {}
    ),
    LONDON: Sample(
        MT5_PYTHON, "Europe/London", ("Europe/London", "utc"), 4_059, 4_059,
        {"hole": 5, "no_spread": 65},
    ),
    "m15_buddhist_year_ampm.csv": Sample("plain text", "utc", ("utc",), 1_840, 1_840, {}),
    "m15_headerless_yyyymmdd_hhmmss.csv": Sample("plain text", "utc", ("utc",), 2_668, 2_668, {}),
    LONG: Sample(
        "MetaTrader script", "eet-eu", ("eet-eu",), 14_974, 14_974,
        {"hole": 23, "no_spread": 1_100},
    ),
    "yahoo_gcf_d1_three_row_header.csv": Sample(
        THREE_LINES, None, (), 400, 400, {"off_tick": 384, "flat": 17}, ("off_tick",)
    ),
    "investing_com_d1.csv": Sample(
        "Investing.com", None, (), 600, 597, {"impossible": 3, "hole": 2}, ("impossible",)
    ),
    "m15_off_grid_stamps.csv": Sample(
        "plain text", "utc", ("utc", "Europe/London"), 291, 289, {"off_grid": 2}, ("off_grid",)
    ),
    # From Friday 22:00 to Sunday 21:00 UTC; the closed hours of both days are told by the clock.
    "vendor_m15_weekend_bars.csv": Sample(
        "plain text", "utc", (), 500, 312, {"weekend": 188, "clock": 1, "closed_hour": 16},
        ("weekend", "clock"),
    ),
    "m15_invented_head_then_hole.csv": Sample(
        "plain text", "utc", ("utc",), 6_110, 6_100,
        {"invented_head": 10}, ("invented_head",),
    ),
    "invented_h1.csv": Sample(
        "plain text", "utc", (), 500, 359,
        {"weekend": 141, "clock": 4, "closed_hour": 17, "level": 359, "invented": 359},
        ("weekend", "clock", "level", "invented"),
    ),
    "mt4_v400_d1.hst": Sample(
        HST, "utc", (), 677, 675,
        {"weekend": 1, "invented": 676, "flat": 676, "hole": 4, "forming": 1},
        ("weekend", "invented"),
    ),
    "dukascopy_eurusd_2019-01-04_bid_min_1.bi5": Sample(
        "Dukascopy candles", None, (), 1_440, 1_440, {"flat": 2}
    ),
}  # fmt: skip


@cache
def imported(name: str) -> tuple[Report, Bars]:
    """A sample with the tick of its own decimals; the test is skipped where it is not there."""
    tick = by_hand.read(name).tick
    instrument = Instrument("EURUSD" if "eurusd" in name else "XAUUSD", tick)
    return ingest.read(by_hand.SAMPLES / name, Reading(instrument, TABLE[name].clock))


def test_no_sample_is_forgotten(real_bars_path: Path) -> None:
    there = {path.name for path in (real_bars_path.parent / "samples").iterdir()}
    assert there == {*TABLE, EMPTY}
    assert len(there) == 31


@pytest.mark.parametrize("name", TABLE)
def test_what_is_found(name: str) -> None:
    report, _ = imported(name)
    expected = TABLE[name]
    assert report.format == expected.format
    assert report.clock.fitting == expected.fits
    assert (report.rows_read, report.rows_kept) == (expected.rows, expected.kept)
    assert {fault.kind: fault.count for fault in report.found} == expected.found
    assert tuple(fault.kind for fault in report.refused) == expected.refused
    assert report.bar_ns == by_hand.read(name).bar_ns
    assert expected.rows == len(by_hand.read(name).t)


@pytest.mark.parametrize("name", TABLE)
def test_every_value_that_is_left(name: str) -> None:
    """Each bar is a row of the file as it was read by hand, and no bar is there twice."""
    _, bars = imported(name)
    hand = by_hand.read(name)
    if hand.bar_ns == DAY_NS:  # dates are those of trading days
        row = np.searchsorted(hand.t // DAY_NS, bars.day)
        assert np.array_equal(hand.t[row] // DAY_NS, bars.day)
        assert (bars.minute == 1440).all()
    else:
        row = np.searchsorted(hand.t, bars.t_close_ns - bars.bar_ns)
        assert np.array_equal(hand.t[row], bars.t_close_ns - bars.bar_ns)
    assert (np.diff(row) > 0).all()
    assert np.array_equal(hand.px[row], bars.px)
    assert np.array_equal(hand.volume[row], bars.volume)
    assert np.array_equal(hand.spread[row], bars.spread)


def weekend(t_ns: npt.NDArray[np.int64], bar_ns: int) -> npt.NDArray[np.bool_]:
    """Bars between Friday 18:00 and Sunday 17:00 in New York, of days those of their date.

    The hours before and after are closed hours, which are counted with those of other days.
    """
    t = pl.Series(t_ns).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")
    if bar_ns == DAY_NS:
        return (t.dt.weekday() > 5).to_numpy()
    wall = t.dt.convert_time_zone("America/New_York")
    minute = (wall.dt.weekday().cast(int) - 1) * 1440 + wall.dt.hour().cast(int) * 60
    minute += wall.dt.minute().cast(int)
    return ((minute >= 4 * 1440 + 18 * 60) & (minute < 6 * 1440 + 17 * 60)).to_numpy()


@pytest.mark.parametrize("name", TABLE)
def test_the_counts_are_those_of_a_count_by_hand(name: str) -> None:
    hand, found = by_hand.read(name), TABLE[name].found
    o, h, l, c = hand.px.T
    still = (h == l) & (o == c) & (o == h)
    wrong = (h < np.maximum(o, c)) | (l > np.minimum(o, c))
    gold = TABLE[name].format != "Dukascopy candles"
    # All of these vendors' bars without volume lie in closed times.
    filler = still & (hand.volume == 0) & gold & bool(hand.volume.any()) & ("hst" not in name)
    assert found.get("impossible", 0) == wrong.sum()
    assert found.get("filler", 0) == filler.sum()
    closed = weekend(hand.t, hand.bar_ns) & gold & ~filler
    assert found.get("weekend", 0) == closed.sum()
    assert found.get("flat", 0) == (still & ~filler & ~closed & ~wrong).sum()
    assert found.get("no_spread", 0) == (hand.spread == 0).sum() * hand.has_spread
    off = (hand.t % hand.bar_ns != 0) & (hand.bar_ns < DAY_NS)
    assert found.get("off_grid", 0) == off.sum()


def test_holes_of_months() -> None:
    hand = by_hand.read("dukascopy_node_h1_epoch_ms_holes.csv")
    gap = np.diff(hand.t)
    assert (gap > 27 * DAY_NS).sum() == 14
    report, _ = imported("dukascopy_node_h1_epoch_ms_holes.csv")
    (hole,) = report.found
    assert hole.places[0] == "2021-07-30T21:00:00Z to 2021-09-01T00:00:00Z: 508 bars"
    days = [place for place in hole.places if place.endswith((" 24 bars", " 23 bars"))]
    assert (len(hole.places), len(days)) == (16, 2)


def test_an_empty_download(real_bars_path: Path) -> None:
    path = real_bars_path.parent / "samples" / EMPTY
    with pytest.raises(BarsInvalid, match="a header and no rows: an empty download"):
        ingest.read(path, Reading())


@pytest.mark.parametrize("name", [name for name, sample in TABLE.items() if sample.refused])
def test_what_is_refused_is_not_written(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    reading = Reading(Instrument(tick=by_hand.read(name).tick), TABLE[name].clock)
    with pytest.raises(BarsInvalid) as caught:
        ingest.ingest(by_hand.SAMPLES / name, out, reading)
    for kind in TABLE[name].refused:
        assert f"--on {kind}=" in str(caught.value)
    assert not out.exists()


@pytest.mark.parametrize("name", ["dukascopy_gmt_time_h1.csv", "tradingview_m5_iso_plus0530.csv"])
def test_what_is_not_refused_is_written(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    reading = Reading(Instrument(tick=by_hand.read(name).tick), TABLE[name].clock)
    ingest.ingest(by_hand.SAMPLES / name, out, reading)
    assert content_hash(store.read(out)) == content_hash(imported(name)[1])


def test_a_third_decimal_is_rounded_only_when_asked() -> None:
    name = "m15_buddhist_year_ampm.csv"
    between = int((by_hand.read(name).px % 10 != 0).any(axis=1).sum())
    for policy in (Policy(), Policy({"off_tick": "round"})):
        report, bars = ingest.read(by_hand.SAMPLES / name, Reading(clock="utc", policy=policy))
        (fault,) = report.found
        assert (fault.kind, fault.count, report.rounded) == ("off_tick", between, between)
        assert bool(report.refused) == (fault.action == "refuse")
        assert np.abs(bars.px * 10 - by_hand.read(name).px).max() == 5


def test_float_noise_of_yahoo_by_polars() -> None:
    name = "yahoo_gcf_d1_three_row_header.csv"
    by_hand.read(name)  # skips where there are no samples
    frame = pl.read_csv(
        by_hand.SAMPLES / name, skip_rows=3, has_header=False, infer_schema_length=0
    )
    texts = frame.select(pl.nth(1, 2, 3, 4)).to_numpy()
    long = np.array(
        [[len(text.partition(".")[2].rstrip("0")) > 1 for text in row] for row in texts]
    )
    assert TABLE[name].found["off_tick"] == long.any(axis=1).sum()


@pytest.mark.parametrize(("minutes", "name"), [(15, "m15"), (60, "h1")])
def test_m5_bars_make_the_brokers_own(minutes: int, name: str) -> None:
    _, finer = imported("mt5_export_m5_tab_2025q1.csv")
    _, theirs = imported(f"mt5_export_{name}_tab.csv")
    made = resample(finer, minutes).bars
    same = theirs.t_close_ns <= made.t_close_ns[-1]
    assert np.array_equal(theirs.t_close_ns[same], made.t_close_ns)
    for field in ("px", "volume", "spread", "minute", "day"):
        assert np.array_equal(getattr(theirs, field)[same], getattr(made, field)), field
    assert (made.spread > 0).all()


def test_a_false_zone_is_refused_and_the_true_clock_gives_the_clean_series(
    real_bars_path: Path, tmp_path: Path
) -> None:
    source, out = real_bars_path.parent / "samples" / CLEAR, tmp_path / "out.parquet"
    report, _ = ingest.read(source, Reading(clock="utc"))
    (clock,) = report.refused
    assert (clock.kind, clock.count) == ("clock", 261)
    assert (clock.places[0], clock.places[-1]) == ("week of 2021-06-14", "week of 2021-10-25")
    assert report.clock.fitting == ("ny+7",)
    assert (report.clock.standing[0], report.clock.standing[-1]) == ("2021-06-14", "2026-06-08")
    with pytest.raises(BarsInvalid, match=r"week of 2021-06-14; ny\+7 alone fits.*--on clock=keep"):
        ingest.ingest(source, out, Reading())
    assert not out.exists()
    assert content_hash(imported(CLEAR)[1]) == content_hash(store.read(real_bars_path))


def test_the_server_that_is_said_to_change_its_rule_does_not() -> None:
    """In the weeks in which only the US has switched the hour of 23 is empty, each year.

    Until spring 2020 the hour of 0 is so, too, in these weeks.
    """
    by_hand.read(LONG)  # skips where there are no samples
    frame = pl.read_csv(by_hand.SAMPLES / LONG)
    wall = frame.to_series(0).str.to_datetime("%Y.%m.%d %H:%M:%S")
    for first, last in (
        ("2019-10-28", "2019-11-01"), ("2020-03-09", "2020-03-27"), ("2020-10-26", "2020-10-30"),
        ("2021-03-15", "2021-03-26"), ("2021-11-01", "2021-11-05"), ("2022-03-14", "2022-03-25"),
    ):  # fmt: skip
        date = wall.dt.date().cast(str)
        hours = set(wall.filter((date >= first) & (date <= last)).dt.hour())
        assert hours == set(range(first < "2020-10", 23)), first
    for other, wrong in (
        ("ny+7", {"2020", "2021", "2022"}),
        ("eet-eu,ny+7@2021-01-04", {"2021", "2022"}),
    ):
        report, _ = ingest.read(by_hand.SAMPLES / LONG, Reading(clock=other))
        assert [fault.kind for fault in report.refused] == ["clock"]
        assert report.clock.fitting == ("eet-eu",)
        assert {monday[:4] for monday in report.clock.standing} == wrong


def test_a_reference_shows_the_shift_and_the_week_in_which_it_ends(real_bars_path: Path) -> None:
    known = store.read(real_bars_path)
    source = by_hand.SAMPLES / LONDON
    report, _ = ingest.read(source, Reading(clock="utc"), known)
    (shifted,) = report.refused
    assert (shifted.kind, shifted.count) == ("reference", 1)
    first, second = report.clock.shifts
    assert first.startswith("2024-10-21 to 2024-10-21: +1 h, correlation 0.9")
    assert second.startswith("2024-10-28 to 2024-11-04: +0 h, correlation 0.9")
    report, _ = ingest.read(source, Reading(clock="Europe/London"), known)
    assert not report.refused
    (both,) = report.clock.shifts
    assert both.startswith("2024-10-21 to 2024-11-04: +0 h")
