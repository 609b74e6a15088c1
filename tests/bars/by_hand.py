"""The real samples as compact columns, read by hand: each with the clock that was measured."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from tests.conftest import REAL_BARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.types import F8, I4, I8

SAMPLES = REAL_BARS.parent / "samples"
MINUTE_NS = 60 * 10**9
HOUR_NS = 60 * MINUTE_NS
OHLC = ("open", "high", "low", "close")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Sorted rows in UTC. t: (n,) int64. px: (n, 4) int32 ticks. spread: (n,) int32."""

    t: I8
    px: I4
    volume: F8
    spread: I4
    bar_ns: int
    tick: float
    has_volume: bool = True
    has_spread: bool = False


def zone(name: str, ahead_h: int = 0) -> Callable[[pl.Expr], pl.Expr]:
    """From wall clock times to UTC, for a clock so far ahead of a zone's."""

    def convert(wall: pl.Expr) -> pl.Expr:
        local = wall.dt.offset_by(f"{-ahead_h}h").dt.replace_time_zone(
            name, ambiguous="earliest", non_existent="null"
        )
        return local.dt.convert_time_zone("UTC").dt.replace_time_zone(None)

    return convert


UTC = zone("UTC")
EET = zone("Europe/Athens")
NY7 = zone("America/New_York", 7)
LONDON = zone("Europe/London")


def _columns(frame: pl.DataFrame, bar_min: int, tick: float = 0.01) -> Columns:
    """From `t` (Datetime, UTC), four prices and perhaps volume and spread."""
    frame = frame.sort("t")
    n = len(frame)
    px = frame.select(OHLC).to_numpy()
    zeros = np.zeros(n)
    spread = frame["spread"].to_numpy() if "spread" in frame.columns else zeros
    return Columns(
        frame["t"].dt.epoch("ns").to_numpy(),
        np.floor(px / tick + 0.5).astype(np.int32),
        frame["volume"].to_numpy().astype(float) if "volume" in frame.columns else zeros,
        spread.astype(np.int32),
        bar_min * MINUTE_NS,
        tick,
        has_volume="volume" in frame.columns,
        has_spread="spread" in frame.columns,
    )


def _csv(name: str, names: str | None = None, **options: object) -> pl.DataFrame:
    """The file with columns named by `names`; an underscore leaves a column out."""
    frame = pl.read_csv(SAMPLES / name, **options)
    if names is None:
        return frame
    roles = names.split()
    kept = [k for k, role in enumerate(roles) if role != "_"]
    return frame.select(pl.col(frame.columns[k]).alias(roles[k]) for k in kept)


def _text(frame: pl.DataFrame, form: str, clock: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    return frame.with_columns(t=clock(pl.col("t").str.to_datetime(form, time_unit="ns")))


def _joined(frame: pl.DataFrame, between: str = " ") -> pl.DataFrame:
    return frame.with_columns(t=pl.concat_str(pl.col("d"), pl.col("h"), separator=between))


FULL = "t open high low close volume"
MT5 = "t open high low close volume spread _"
BARE: dict[str, object] = {"has_header": False}
TEXT: dict[str, object] = {"infer_schema_length": 0}


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(c).cast(float) for c in frame.columns if c not in "tdh")


def _mt5_export(name: str) -> pl.DataFrame:
    frame = _csv(name, "d h open high low close volume _ spread", separator="\t")
    return _text(_joined(frame), "%Y.%m.%d %H:%M:%S", EET)


def _dukascopy(name: str) -> pl.DataFrame:
    frame = _csv(name, FULL)
    offset = pl.col("t").str.slice(27, 3).str.strip_chars().cast(int, strict=False).fill_null(0)
    at = pl.col("t").str.slice(0, 23).str.to_datetime("%d.%m.%Y %H:%M:%S%.3f", time_unit="ns")
    return frame.with_columns(t=at - pl.duration(hours=offset))


def _int_cents() -> pl.DataFrame:
    frame = pl.read_parquet(SAMPLES / "m15_int_cents_label_utc.parquet")
    cents = [c for c in frame.columns if frame[c].dtype.is_integer() and c != "volume"]
    assert len(cents) == 4
    return frame.select(
        *((pl.col(c) / 100).alias(role) for c, role in zip(cents, OHLC, strict=True)),
        "volume",
        t=NY7(pl.col("time").dt.replace_time_zone(None).dt.cast_time_unit("ns")),
    )


def _hst() -> pl.DataFrame:
    record = np.dtype(
        [("t", "<i4"), ("o", "<f8"), ("l", "<f8"), ("h", "<f8"), ("c", "<f8"), ("v", "<f8")]
    )
    rows = np.frombuffer((SAMPLES / "mt4_v400_d1.hst").read_bytes(), record, offset=148)
    made = {role: rows[k] for role, k in zip((*OHLC, "volume"), "ohlcv", strict=True)}
    return pl.DataFrame(made).with_columns(
        t=pl.from_epoch(pl.Series(rows["t"].astype(int)), "s").dt.cast_time_unit("ns")
    )


def _bi5() -> pl.DataFrame:
    raw = lzma.decompress((SAMPLES / "dukascopy_eurusd_2019-01-04_bid_min_1.bi5").read_bytes())
    record = np.dtype(
        [("s", ">i4"), ("o", ">i4"), ("c", ">i4"), ("l", ">i4"), ("h", ">i4"), ("v", ">f4")]
    )
    rows = np.frombuffer(raw, record)
    made = {role: rows[k].astype(float) / 1e5 for role, k in zip(OHLC, "ohlc", strict=True)}
    # The month of its path counts from 00.
    t = np.datetime64("2019-02-04", "ns") + rows["s"].astype("timedelta64[s]")
    return pl.DataFrame({"t": t, **made, "volume": rows["v"].astype(float)})


def _yahoo() -> pl.DataFrame:
    frame = _csv("yahoo_gcf_d1_three_row_header.csv", "t close high low open volume", skip_rows=2)
    return _text(frame, "%Y-%m-%d", UTC)


def _investing() -> pl.DataFrame:
    frame = _csv("investing_com_d1.csv", "t close open high low _ _", **TEXT)
    plain = frame.with_columns(pl.col(OHLC).str.replace_all(",", "").cast(float))
    return _text(plain, "%m/%d/%Y", UTC)


def _buddhist() -> pl.DataFrame:
    frame = _csv("m15_buddhist_year_ampm.csv", "d h open high low close volume")
    gregorian = frame.with_columns(d=(pl.col("d") - 5430000).cast(str))
    return _text(_joined(gregorian), "%Y%m%d %I:%M:%S %p", UTC)


def _headerless() -> pl.DataFrame:
    frame = _csv(
        "m15_headerless_yyyymmdd_hhmmss.csv", "d h open high low close volume", **BARE, **TEXT
    )
    return _text(_joined(_numbers(frame)), "%Y%m%d %H%M%S", UTC)


def _epoch(
    frame: pl.DataFrame, unit: str, clock: Callable[[pl.Expr], pl.Expr] = UTC
) -> pl.DataFrame:
    return frame.with_columns(t=clock(pl.from_epoch("t", unit).dt.cast_time_unit("ns")))


def _plain(
    name: str,
    form: str,
    clock: Callable[[pl.Expr], pl.Expr] = UTC,
    names: str = FULL,
    **options: object,
) -> pl.DataFrame:
    return _text(_csv(name, names, **options), form, clock)


ISO = "%Y-%m-%d %H:%M:%S"
READ: dict[str, tuple[Callable[[], pl.DataFrame], int, float]] = {
    "xauusd_m15_real.parquet": (
        lambda: pl.read_parquet(REAL_BARS).with_columns(
            t=pl.col("timestamp").dt.replace_time_zone(None).dt.cast_time_unit("ns")
        ),
        15,
        0.01,
    ),
    "m15_int_cents_label_utc.parquet": (_int_cents, 15, 0.01),
    "dukascopy_m15_plus0000.csv": (
        lambda: _plain("dukascopy_m15_plus0000.csv", "%Y-%m-%d %H:%M:%S+00:00"),
        15,
        0.001,
    ),
    "dukascopy_node_h1_epoch_ms_holes.csv": (
        lambda: _epoch(_csv("dukascopy_node_h1_epoch_ms_holes.csv", FULL), "ms"),
        60,
        0.001,
    ),
    "vendor_m15_iso_z_comment_line.csv": (
        lambda: _plain(
            "vendor_m15_iso_z_comment_line.csv", "%Y-%m-%dT%H:%M:%SZ", comment_prefix="#"
        ),
        15,
        0.01,
    ),
    "mt5_export_m15_tab.csv": (lambda: _mt5_export("mt5_export_m15_tab.csv"), 15, 0.01),
    "mt5_export_m5_tab_2025q1.csv": (lambda: _mt5_export("mt5_export_m5_tab_2025q1.csv"), 5, 0.01),
    "mt5_export_h1_tab.csv": (lambda: _mt5_export("mt5_export_h1_tab.csv"), 60, 0.01),
    "mt4_history_m15_holes.csv": (
        lambda: _text(
            _joined(_csv("mt4_history_m15_holes.csv", "d h open high low close volume", **BARE)),
            "%Y.%m.%d %H:%M",
            EET,
        ),
        15,
        0.01,
    ),
    "mt4_script_m5_semicolon_no_volume.csv": (
        lambda: _plain(
            "mt4_script_m5_semicolon_no_volume.csv",
            "%Y.%m.%d %H:%M",
            zone("UTC", 3),
            "t open high low close",
            separator=";",
            **BARE,
        ),
        5,
        0.001,
    ),
    "dukascopy_local_time_h1_flat_fill.csv": (
        lambda: _dukascopy("dukascopy_local_time_h1_flat_fill.csv"),
        60,
        0.001,
    ),
    "dukascopy_gmt_time_h1.csv": (lambda: _dukascopy("dukascopy_gmt_time_h1.csv"), 60, 0.001),
    "histdata_derived_m15_2024.csv": (
        lambda: _plain("histdata_derived_m15_2024.csv", ISO, zone("Europe/London", -5)),
        15,
        0.001,
    ),
    "histdata_ascii_m5_reserialised_2024-03.csv": (
        lambda: _plain(
            "histdata_ascii_m5_reserialised_2024-03.csv",
            "%Y%m%d %H%M%S",
            zone("Europe/London", -5),
            separator=";",
            **BARE,
        ),
        5,
        0.001,
    ),
    "tradingview_m5_iso_plus0530.csv": (
        lambda: _plain(
            "tradingview_m5_iso_plus0530.csv",
            "%Y-%m-%dT%H:%M:%S+05:30",
            zone("Asia/Kolkata"),
            "t open high low close",
        ),
        5,
        0.001,
    ),
    "tradingview_m5_unix_indicators.csv": (
        lambda: _epoch(
            _csv(
                "tradingview_m5_unix_indicators.csv",
                "t open high low close" + 11 * " _",
                **BARE,
                skip_rows=1,
            ),
            "s",
        ),
        5,
        0.001,
    ),
    "mt5_python_m15_unix_server_time.csv": (
        lambda: _epoch(_csv("mt5_python_m15_unix_server_time.csv", MT5), "s", EET),
        15,
        0.01,
    ),
    "mt5_python_m15_3_digits.csv": (
        lambda: _plain("mt5_python_m15_3_digits.csv", ISO, UTC, MT5),
        15,
        0.001,
    ),
    "mt5_python_m15_gold_spread.csv": (
        lambda: _plain("mt5_python_m15_gold_spread.csv", ISO, EET, MT5),
        15,
        0.01,
    ),
    "mt5_m5_symbol_column.csv": (
        lambda: _plain("mt5_m5_symbol_column.csv", ISO, LONDON, "_ " + MT5),
        5,
        0.01,
    ),
    "m15_buddhist_year_ampm.csv": (_buddhist, 15, 0.001),
    "m15_headerless_yyyymmdd_hhmmss.csv": (_headerless, 15, 0.001),
    "mt5_h1_server_rule_change.csv": (
        lambda: _plain(
            "mt5_h1_server_rule_change.csv",
            "%Y.%m.%d %H:%M:%S",
            EET,
            "t open high low close volume spread",
        ),
        60,
        0.01,
    ),
    "yahoo_gcf_d1_three_row_header.csv": (_yahoo, 1440, 0.1),
    "investing_com_d1.csv": (_investing, 1440, 0.01),
    "m15_off_grid_stamps.csv": (lambda: _plain("m15_off_grid_stamps.csv", ISO), 15, 0.01),
    "vendor_m15_weekend_bars.csv": (
        lambda: _plain("vendor_m15_weekend_bars.csv", ISO),
        15,
        0.00001,
    ),
    "m15_invented_head_then_hole.csv": (
        lambda: _text(
            _joined(_csv("m15_invented_head_then_hole.csv", "d h open high low close volume")),
            "%Y-%m-%d %H:%M",
            UTC,
        ),
        15,
        0.01,
    ),
    "invented_h1.csv": (lambda: _plain("invented_h1.csv", "%Y-%m-%dT%H:%M:%S"), 60, 0.01),
    "mt4_v400_d1.hst": (_hst, 1440, 0.0001),
    "dukascopy_eurusd_2019-01-04_bid_min_1.bi5": (_bi5, 1, 0.00001),
}


@cache
def read(name: str) -> Columns:
    """One sample, or the clean series; the test is skipped where they are not to be had."""
    if not SAMPLES.is_dir():
        pytest.skip(f"no real data at {SAMPLES}")
    frame, bar_min, tick = READ[name]
    return _columns(frame(), bar_min, tick)
