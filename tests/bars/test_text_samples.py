"""Every real text export: what it says of itself, and each value against a reading by csv."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars.clock.clocks import iso
from dream.bars.importers.sheet import Chunk, Hints, Layout
from dream.bars.importers.text import open_text
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVERY = 37
"""Stamps are read one by one here, so only some of them."""


@dataclass(frozen=True)
class Sample:
    """What is known of a file by other means.

    Attributes:
        stamp: for strptime, `s` or `ms`. px, volume, spread: columns from 0.
    """

    format: str
    clock: str
    rows: int
    first: str
    last: str
    stamp: str
    px: tuple[int, ...] = (1, 2, 3, 4)
    volume: int | None = 5
    spread: int | None = None
    at: tuple[int, ...] = (0,)
    skip: int = 1
    mark: str = ","


MT5 = {"px": (2, 3, 4, 5), "volume": 6, "spread": 8, "at": (0, 1), "mark": "\t"}
PYTHON = {"volume": 5, "spread": 6}
NO_VOLUME = {"volume": None}
TWO = {"px": (2, 3, 4, 5), "volume": 6, "at": (0, 1)}
DASHES = "%Y-%m-%d %H:%M:%S"
SAMPLES = {
    "dukascopy_gmt_time_h1": Sample(
        "Dukascopy website, GMT", "utc", 238, "2024-10-01T00:00", "2024-10-14T23:00",
        "%d.%m.%Y %H:%M:%S.%f"),
    "dukascopy_local_time_h1_flat_fill": Sample(
        "Dukascopy website, local time", "per-row", 6_260, "2023-12-31T23:00",
        "2025-01-01T22:00", "%d.%m.%Y %H:%M:%S.%f GMT%z"),
    "dukascopy_m15_plus0000": Sample(
        "plain text", "utc", 47_191, "2024-04-25T18:30", "2026-04-24T20:45", f"{DASHES}%z"),
    "dukascopy_node_h1_epoch_ms_holes": Sample(
        "dukascopy-node", "utc", 14_101, "2021-03-01T00:00", "2026-03-09T23:00", "ms"),
    "histdata_ascii_m5_reserialised_2024-03": Sample(
        "HistData ASCII", "wall", 8_196, "2024-03-01T00:00", "2024-04-12T16:55",
        "%Y%m%d %H%M%S", skip=0, mark=";"),
    "histdata_derived_m15_2024": Sample(
        "plain text", "wall", 23_713, "2024-01-01T18:00", "2024-12-31T16:45", DASHES),
    "invented_h1": Sample(
        "plain text", "wall", 500, "2026-01-01T00:00", "2026-01-21T19:00", "%Y-%m-%dT%H:%M:%S"),
    "investing_com_d1": Sample(
        "Investing.com", "date", 600, "2022-11-21T00:00", "2020-08-04T00:00", "%m/%d/%Y",
        px=(2, 3, 4, 1), **NO_VOLUME),
    "m15_buddhist_year_ampm": Sample(
        "plain text", "wall", 1_840, "2020-10-18T22:00", "2020-11-13T21:45",
        "2563%m%d %I:%M:%S %p", **TWO),
    "m15_headerless_yyyymmdd_hhmmss": Sample(
        "plain text", "wall", 2_668, "2020-03-01T23:00", "2020-04-09T20:45", "%Y%m%d %H%M%S",
        skip=0, **TWO),
    "m15_invented_head_then_hole": Sample(
        "plain text", "wall", 6_110, "2024-01-01T00:00", "2025-06-03T14:30", "%Y-%m-%d %H:%M",
        **TWO),
    "m15_off_grid_stamps": Sample(
        "plain text", "wall", 291, "2026-02-17T03:54:36", "2026-02-20T07:00", DASHES),
    "mt4_history_m15_holes": Sample(
        "MetaTrader 4 history", "wall", 3_380, "2020-02-17T01:00", "2020-04-17T23:45",
        "%Y.%m.%d %H:%M", skip=0, **TWO),
    "mt4_script_m5_semicolon_no_volume": Sample(
        "MetaTrader script without header", "wall", 2_050, "2020-05-26T09:30",
        "2020-06-04T19:15", "%Y.%m.%d %H:%M", skip=0, mark=";", **NO_VOLUME),
    "mt5_export_h1_tab": Sample(
        "MetaTrader 5 export", "wall", 4_858, "2025-01-02T01:00", "2025-10-27T22:00",
        "%Y.%m.%d %H:%M:%S", **MT5),
    "mt5_export_m15_tab": Sample(
        "MetaTrader 5 export", "wall", 19_418, "2025-01-02T01:00", "2025-10-27T22:45",
        "%Y.%m.%d %H:%M:%S", **MT5),
    "mt5_export_m5_tab_2025q1": Sample(
        "MetaTrader 5 export", "wall", 17_289, "2025-01-02T01:00", "2025-03-31T23:55",
        "%Y.%m.%d %H:%M:%S", **MT5),
    "mt5_h1_server_rule_change": Sample(
        "MetaTrader script", "wall", 14_974, "2019-10-01T01:00", "2022-04-14T23:00",
        "%Y.%m.%d %H:%M:%S", **PYTHON),
    "mt5_m5_symbol_column": Sample(
        "MetaTrader 5 Python", "wall", 4_059, "2024-10-20T23:05", "2024-11-10T23:55", DASHES,
        px=(2, 3, 4, 5), volume=6, spread=7, at=(1,)),
    "mt5_python_m15_3_digits": Sample(
        "MetaTrader 5 Python", "wall", 2_952, "2025-03-02T23:00", "2025-04-15T23:45", DASHES,
        **PYTHON),
    "mt5_python_m15_gold_spread": Sample(
        "MetaTrader 5 Python", "wall", 34_712, "2024-04-10T10:15", "2025-09-26T23:45", DASHES,
        **PYTHON),
    "mt5_python_m15_unix_server_time": Sample(
        "MetaTrader 5 Python", "wall", 5_864, "2024-01-02T01:00", "2024-04-01T23:45", "s",
        **PYTHON),
    "tradingview_m5_iso_plus0530": Sample(
        "TradingView export", "per-row", 6_900, "2025-03-02T23:00", "2025-04-04T20:55",
        "%Y-%m-%dT%H:%M:%S%z", **NO_VOLUME),
    "tradingview_m5_unix_indicators": Sample(
        "TradingView export", "utc", 300, "2024-05-24T10:45", "2024-05-27T12:40", "s",
        **NO_VOLUME),
    "vendor_m15_iso_z_comment_line": Sample(
        "plain text", "utc", 11_820, "2026-01-04T23:00", "2026-07-03T17:00",
        "%Y-%m-%dT%H:%M:%SZ", skip=2),
    "vendor_m15_weekend_bars": Sample(
        "plain text", "wall", 500, "2026-06-03T07:45", "2026-06-08T12:30", DASHES),
    "yahoo_gcf_d1_three_row_header": Sample(
        "Yahoo Finance, three header lines", "date", 400, "2024-07-16T00:00",
        "2026-02-13T00:00", "%Y-%m-%d", px=(4, 2, 3, 1), skip=3),
}  # fmt: skip


@pytest.fixture(scope="module")
def samples(real_bars_path: Path) -> Path:
    return real_bars_path.parent / "samples"


def whole(path: Path, hints: Hints | None = None) -> tuple[Layout, Chunk]:
    """All of a file without bad rows."""
    opened = open_text(path, hints or Hints())
    chunks = list(opened.chunks)
    assert [bad for chunk in chunks for bad in chunk.bad] == []
    columns = ("line", "stamp_ns", "px", "volume", "spread")
    return opened.layout, Chunk(*(np.concatenate([getattr(c, n) for c in chunks]) for n in columns))


def in_ns(text: str, stamp: str) -> int:
    if stamp in {"s", "ms"}:
        return int(text) * {"s": 10**9, "ms": 10**6}[stamp]
    if "%z" not in stamp:
        text, stamp = f"{text} +0000", f"{stamp} %z"
    moment = datetime.strptime(text, stamp.replace("2563", "%Y"))  # noqa: DTZ007 - it has %z
    if "2563" in stamp:
        moment = moment.replace(year=moment.year - 543)
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


@pytest.mark.parametrize("name", SAMPLES)
def test_every_value_is_that_of_the_file(samples: Path, name: str) -> None:
    known = SAMPLES[name]
    path = samples / f"{name}.csv"
    with path.open(encoding="utf-8-sig", newline="") as f:
        rows = list(csv.reader(f, delimiter=known.mark))[known.skip :]
    layout, read = whole(path)
    assert len(rows) == len(read.line) == known.rows
    assert (layout.format, layout.clock) == (known.format, known.clock)
    ends = [re.sub(r"(T\d\d:\d\d):00Z|Z", r"\1", iso(int(t))) for t in read.stamp_ns[[0, -1]]]
    assert ends == [known.first, known.last]
    assert read.line.tolist() == list(range(known.skip + 1, known.skip + 1 + known.rows))
    for k, column in enumerate(known.px):
        given = [float(row[column].replace(",", "")) for row in rows]
        assert read.px[:, k].tolist() == given
    for column, found, has in (
        (known.volume, read.volume, layout.has_volume),
        (known.spread, read.spread, layout.has_spread),
    ):
        assert has is (column is not None)
        given = [0.0 if column is None else float(row[column]) for row in rows]
        assert found.tolist() == given
    stamps = [" ".join(row[k] for k in known.at) for row in rows[::EVERY]]
    assert read.stamp_ns[::EVERY].tolist() == [in_ns(text, known.stamp) for text in stamps]


def test_no_sample_is_forgotten(samples: Path) -> None:
    names = {path.stem for path in samples.glob("*.csv")}
    assert names == {*SAMPLES, "yahoo_gcf_header_only"}


def layout(samples: Path, name: str) -> Layout:
    return open_text(samples / f"{name}.csv", Hints()).layout


def test_what_the_layouts_say(samples: Path) -> None:
    spreads = {name for name, known in SAMPLES.items() if known.spread is not None}
    units = {layout(samples, name).spread_unit for name in spreads}
    assert units == {"points"}
    assert layout(samples, "mt5_export_m15_tab").unused == ("<VOL>",)
    assert layout(samples, "mt5_m5_symbol_column").symbol == "XAUUSD"
    assert layout(samples, "mt5_m5_symbol_column").unused == ("real_volume",)
    indicators = layout(samples, "tradingview_m5_unix_indicators").unused
    assert (len(indicators), indicators.count("EMA")) == (12, 3)
    assert layout(samples, "vendor_m15_iso_z_comment_line").notes == ("1 comment line skipped",)
    yahoo = layout(samples, "yahoo_gcf_d1_three_row_header")
    assert (yahoo.symbol, yahoo.notes) == ("GC=F", ("GC=F is a future, not spot",))
    assert "2563 is 2020" in layout(samples, "m15_buddhist_year_ampm").notes[0]
    investing = layout(samples, "investing_com_d1")
    assert investing.unused == ("Vol.", "Change %")
    assert investing.notes == ("the column Vol. is empty in all rows: not used",)


def test_an_empty_download_is_called_so(samples: Path) -> None:
    with pytest.raises(BarsInvalid, match="header and no rows: an empty download"):
        open_text(samples / "yahoo_gcf_header_only.csv", Hints())
