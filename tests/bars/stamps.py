"""Stamps to test clocks with: generated ones, and the sample files read by hand.

Nothing here uses the package's clocks or importers.
The samples are not shipped; `SAMPLES` says how each is laid out, in the order of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import F8, I8


@dataclass(frozen=True, slots=True)
class Sample:
    """How a file is read.

    Attributes:
        bar_min: length of a bar. form: of its stamps, or the nanoseconds of a unit of its numbers.
        close: column of the close, counted from 0; open, high and low stand before it.
        head: lines before the data. stamp: columns of the stamp. volume: column, -1 without.
        offset: how a row says its minutes ahead of UTC, if it does.
    """

    bar_min: int
    form: str | int
    close: int = 4
    head: int = 1
    stamp: tuple[int, ...] = (0,)
    volume: int = -1
    separator: str = ","
    offset: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """Rows of a sample without flat bars of no volume: wall (n,), close (n,)."""

    wall_ns: I8
    close: F8
    bar_ns: int
    flat: int


NEW_YORK = ZoneInfo("America/New_York")
DASHES, DOTS, DAY_FIRST = "%Y-%m-%d %H:%M:%S", "%Y.%m.%d %H:%M:%S", "%d.%m.%Y %H:%M:%S"
EXPORT = {"close": 5, "stamp": (0, 1), "separator": "\t"}
SAMPLES = {
    "dukascopy_m15_plus0000.csv": Sample(15, DASHES),
    "dukascopy_node_h1_epoch_ms_holes.csv": Sample(60, 10**6),
    "vendor_m15_iso_z_comment_line.csv": Sample(15, "%Y-%m-%dT%H:%M:%S", head=2),
    "mt5_export_m15_tab.csv": Sample(15, DOTS, **EXPORT),
    "mt5_export_m5_tab_2025q1.csv": Sample(5, DOTS, **EXPORT),
    "mt5_export_h1_tab.csv": Sample(60, DOTS, **EXPORT),
    "mt4_history_m15_holes.csv": Sample(15, "%Y.%m.%d %H:%M", 5, 0, (0, 1)),
    "mt4_script_m5_semicolon_no_volume.csv": Sample(5, "%Y.%m.%d %H:%M", head=0, separator=";"),
    "dukascopy_local_time_h1_flat_fill.csv": Sample(60, DAY_FIRST, volume=5, offset="GMT"),
    "dukascopy_gmt_time_h1.csv": Sample(60, DAY_FIRST, volume=5),
    "histdata_derived_m15_2024.csv": Sample(15, DASHES),
    "histdata_ascii_m5_reserialised_2024-03.csv": Sample(5, "%Y%m%d %H%M%S", head=0, separator=";"),
    "tradingview_m5_iso_plus0530.csv": Sample(5, "%Y-%m-%dT%H:%M:%S", offset="+05:30"),
    "tradingview_m5_unix_indicators.csv": Sample(5, 10**9),
    "mt5_python_m15_unix_server_time.csv": Sample(15, 10**9),
    "mt5_python_m15_3_digits.csv": Sample(15, DASHES),
    "mt5_python_m15_gold_spread.csv": Sample(15, DASHES),
    "mt5_m5_symbol_column.csv": Sample(5, DASHES, 5, stamp=(1,)),
    "m15_buddhist_year_ampm.csv": Sample(15, "%Y%m%d %I:%M:%S %p", 5, stamp=(0, 1)),
    "m15_headerless_yyyymmdd_hhmmss.csv": Sample(15, "%Y%m%d %H%M%S", 5, 0, (0, 1)),
    "mt5_h1_server_rule_change.csv": Sample(60, DOTS),
    "m15_off_grid_stamps.csv": Sample(15, DASHES),
    "vendor_m15_weekend_bars.csv": Sample(15, DASHES),
    "m15_invented_head_then_hole.csv": Sample(15, "%Y-%m-%d %H:%M", 5, stamp=(0, 1)),
    "invented_h1.csv": Sample(60, "%Y-%m-%dT%H:%M:%S"),
}
LENGTHS = {"%Y.%m.%d %H:%M": 16, "%Y-%m-%d %H:%M": 16, "%Y%m%d %H%M%S": 15}
LABELLED = "m15_int_cents_label_utc.parquet"


def read(folder: Path, name: str) -> Stamps:
    """The rows of a sample, its stamps as they lie in the file or, with an offset, in UTC."""
    if name == LABELLED:
        frame = pl.read_parquet(folder / name)
        wall = frame["time"].dt.replace_time_zone(None)
        close = frame["c_int"].cast(pl.Float64).to_numpy()
        return Stamps(_ns(wall), close, 15 * MINUTE_NS, 0)
    sample = SAMPLES[name]
    frame = pl.read_csv(
        folder / name,
        has_header=False,
        skip_rows=sample.head,
        separator=sample.separator,
        infer_schema=False,
        truncate_ragged_lines=True,
    )
    columns = frame.get_columns()
    wall = _stamps(sample, [columns[k] for k in sample.stamp])
    px = [columns[sample.close - k].cast(pl.Float64).to_numpy() for k in range(4)]
    flat = (px[1] == px[2]) & (px[0] == px[3]) & (px[0] == px[1])
    if sample.volume >= 0:
        flat &= columns[sample.volume].cast(pl.Float64).to_numpy() == 0
    keep = ~flat
    return Stamps(wall[keep], px[0][keep], sample.bar_min * MINUTE_NS, int(flat.sum()))


def gold(first: str, weeks: int, bar_min: int) -> I8:
    """Open times of gold in UTC: from a Sunday on, five days a week, 23 hours a day."""
    found: list[int] = []
    sunday = datetime.fromisoformat(first)
    assert sunday.isoweekday() == 7
    for day in range(7 * weeks):
        if day % 7 > 4:
            continue
        evening = sunday + timedelta(days=day, hours=18)
        start = evening.replace(tzinfo=NEW_YORK).timestamp()
        found.extend(int(start) + 60 * k for k in range(0, 23 * 60, bar_min))
    return np.array(found) * 10**9


def _stamps(sample: Sample, columns: list[pl.Series]) -> I8:
    if isinstance(sample.form, int):
        return columns[0].cast(pl.Int64).to_numpy() * sample.form
    text = columns[0]
    if sample.form.startswith("%Y%m%d %I"):
        text = (text.cast(pl.Int64) - 543 * 10_000).cast(pl.String)
    for column in columns[1:]:
        text = text + " " + column
    length = None if "%p" in sample.form else LENGTHS.get(sample.form, 19)
    wall = _ns(text.str.slice(0, length).str.to_datetime(sample.form, time_unit="ns"))
    if sample.offset == "GMT":
        wall = wall - text.str.slice(-5, 3).cast(pl.Int64).to_numpy() * 60 * MINUTE_NS
    elif sample.offset:
        hours, minutes = map(int, sample.offset[1:].split(":"))
        wall = wall - (hours * 60 + minutes) * MINUTE_NS
    return wall


def _ns(stamps: pl.Series) -> I8:
    return stamps.cast(pl.Datetime("ns")).cast(pl.Int64).to_numpy().astype(np.int64)
