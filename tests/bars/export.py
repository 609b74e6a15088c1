"""Writes a series as the programs of this world write theirs, on any clock."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dream.bars import series
from dream.bars.clock import zones
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dream.types import Bars

SECOND_NS = 10**9
DAY_NS = 1440 * MINUTE_NS


def split(bars: Bars, parts: int) -> Bars:
    """Shorter bars that make up the given ones: each walks inside its range to its close."""
    n, rng = len(bars), np.random.default_rng(int(bars.px[0, 0]))
    low, high = bars.px[:, 2:3], bars.px[:, 1:2]
    close = rng.integers(low, high + 1, (n, parts), np.int32)
    close[:, -1] = bars.px[:, 3]
    begin = np.concatenate([bars.px[:, :1], close[:, :-1]], axis=1)
    top, bottom = np.maximum(begin, close), np.minimum(begin, close)
    row, at = np.arange(n), rng.integers(0, parts, (2, n))
    top[row, at[0]], bottom[row, at[1]] = high[:, 0], low[:, 0]
    volume = np.repeat(bars.volume[:, None] // parts, parts, axis=1)
    volume[:, 0] += bars.volume % parts
    bar_ns = bars.bar_ns // parts
    opens = (bars.t_close_ns - bars.bar_ns)[:, None] + np.arange(parts) * bar_ns
    px = np.stack([begin, top, bottom, close], axis=2).reshape(-1, 4)
    spread = np.repeat(bars.spread, parts)
    return series(bars.instrument, bar_ns, opens.ravel(), px, spread, volume.ravel())


class Row(NamedTuple):
    """A bar as text. at: its open on the clock of the export, which is so far ahead of UTC."""

    at: datetime
    ahead_min: int
    t_ns: int
    o: str
    h: str
    l: str
    c: str
    volume: int
    spread: int


def opens_ns(bars: Bars, clock: str) -> Any:
    """(n,) int64, what the clock shows at the opens, nanoseconds since 1970."""
    return zones.to_wall(bars.t_close_ns - bars.bar_ns, zones.parse_clock(clock))


def rows(bars: Bars, clock: str) -> list[Row]:
    wall = opens_ns(bars, clock)
    ahead = (wall - (bars.t_close_ns - bars.bar_ns)) // MINUTE_NS
    at = wall.view("M8[ns]").astype("M8[s]").tolist()
    px = [[f"{x // 100}.{x % 100:02d}" for x in four] for four in bars.px.tolist()]
    volume, spread = bars.volume.astype(np.int64).tolist(), bars.spread.tolist()
    columns = (at, ahead.tolist(), wall.tolist(), px, volume, spread)
    return [Row(t, a, ns, *four, v, s) for t, a, ns, four, v, s in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of export.

    Attributes:
        format: what a report calls it. write: the bytes of bars on a clock.
        clock: `given` where the reader must be told, `told` where stamps are instants, `dates`.
        has: v where volume is written, s where the spread is.
    """

    format: str
    write: Callable[[Bars, str], bytes]
    clock: Literal["given", "told", "dates"] = "given"
    has: str = "v"

    def expected(self, bars: Bars) -> Bars:
        """What an import can give back: bars without what the export does not hold."""
        nothing = bars.spread * 0
        spread = bars.spread if "s" in self.has else nothing
        volume = bars.volume if "v" in self.has else nothing.astype(np.float64)
        opens = bars.t_close_ns - bars.bar_ns
        return series(bars.instrument, bars.bar_ns, opens, bars.px, spread, volume)


def text(
    line: Callable[[Row], str], header: str = "", *, end: str = "\n", newest_first: bool = False
) -> Callable[[Bars, str], bytes]:
    """A writer of lines."""

    def write(bars: Bars, clock: str) -> bytes:
        lines = [line(row) for row in rows(bars, clock)]
        lines = lines[::-1] if newest_first else lines
        return "".join(f"{one}{end}" for one in ([header] if header else []) + lines).encode()

    return write


def instants(write: Callable[[Bars, str], bytes]) -> Callable[[Bars, str], bytes]:
    """The same on UTC, whatever the clock."""
    return lambda bars, _: write(bars, "utc")


def offset(minutes: int, colon: str = ":") -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}{colon}{rest:02d}"


def noisy(price: str) -> str:
    """The price as a program writes it that has multiplied floats."""
    return repr(int(price.replace(".", "")) * 0.01)


def comma(price: str) -> str:
    return price.replace(".", ",")


def thousands(price: str) -> str:
    """A price such as "1,737.81" in quotes."""
    return f'"{float(price):,.2f}"'


def buddhist(row: Row) -> str:
    return f"{row.at.year + 543}{row.at:%m%d},{row.at:%I:%M:%S %p}"


def fields(row: Row, mark: str = ",") -> str:
    return mark.join((row.o, row.h, row.l, row.c))


def named(mark: str, price: Callable[[str], str] = str) -> Callable[[Bars, str], bytes]:
    """Plain text with a header, any separator and a spread in the currency."""

    def line(row: Row) -> str:
        px = (price(x) for x in (row.o, row.h, row.l, row.c))
        spread = price(f"{row.spread // 100}.{row.spread % 100:02d}")
        return mark.join((f"{row.at:%Y-%m-%d %H:%M:%S}", *px, str(row.volume), spread))

    return text(line, mark.join(("time", "open", "high", "low", "close", "volume", "spread")))


def history(version: int) -> Callable[[Bars, str], bytes]:
    """A MetaTrader 4 history."""
    head = struct.Struct("<i64s12s4i13i")
    fields = {
        400: [("t", "<i4"), ("o", "<f8"), ("l", "<f8"), ("h", "<f8"), ("c", "<f8"), ("v", "<f8")],
        401: [("t", "<i8"), ("o", "<f8"), ("h", "<f8"), ("l", "<f8"), ("c", "<f8"), ("v", "<i8"),
              ("s", "<i4"), ("r", "<i8")],
    }[version]  # fmt: skip

    def write(bars: Bars, clock: str) -> bytes:
        made = np.zeros(len(bars), fields)
        made["t"] = opens_ns(bars, clock) // SECOND_NS
        for k, name in enumerate("ohlc"):
            made[name] = bars.px[:, k] / 100
        made["v"] = bars.volume
        if version == 401:
            made["s"] = bars.spread
        said = (version, b"(C)opyright 2003, MetaQuotes Software Corp.", b"XAUUSD")
        return head.pack(*said, bars.bar_ns // MINUTE_NS, 2, *(0,) * 15) + made.tobytes()

    return write


def candles(bars: Bars) -> bytes:
    """Dukascopy's candles of bars that lie in one day of UTC, which their path must tell."""
    kind = [(name, ">u4") for name in ("t", "o", "c", "l", "h")] + [("v", ">f4")]
    made = np.zeros(len(bars), kind)
    made["t"] = (bars.t_close_ns - bars.bar_ns) % DAY_NS // SECOND_NS
    for k, name in enumerate("ohlc"):
        made[name] = bars.px[:, k] * 10
    made["v"] = bars.volume
    return lzma.compress(made.tobytes(), lzma.FORMAT_ALONE)


def parquet(
    stamp: Callable[[Any], Any], prices: Callable[[Any], Any] = lambda px: px / 100
) -> Callable[[Bars, str], bytes]:
    """Parquet with stamps made of (n,) int64 nanoseconds on the clock."""

    def write(bars: Bars, clock: str) -> bytes:
        columns = {"time": stamp(opens_ns(bars, clock))}
        for k, name in enumerate(("open", "high", "low", "close")):
            columns[name] = prices(bars.px[:, k])
        table = pa.table({**columns, "volume": bars.volume, "spread": bars.spread / 100})
        out = io.BytesIO()
        pq.write_table(table, out)
        return out.getvalue()

    return write


def zoned(wall_ns: Any) -> Any:
    return pa.array(wall_ns // 1000).cast(pa.timestamp("us", "UTC"))


MT5_HEADER = "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>"
MT5_DAYS = MT5_HEADER.replace("<TIME>\t", "")
PYTHON_HEADER = "time,open,high,low,close,tick_volume,spread,real_volume"
LOWER = "timestamp,open,high,low,close,volume"
UPPER = "Open,High,Low,Close,Volume"
TV = "time,open,high,low,close,Volume"
MT5, MT5_PYTHON, PLAIN = "MetaTrader 5 export", "MetaTrader 5 Python", "plain text"

FORMS = {
    "mt5": Form(MT5, text(
        lambda r: f"{r.at:%Y.%m.%d\t%H:%M:%S}\t{fields(r, chr(9))}\t{r.volume}\t0\t{r.spread}",
        MT5_HEADER, end="\r\n"), has="vs"),
    "mt5-python-epoch": Form(MT5_PYTHON, text(
        lambda r: f"{r.t_ns // SECOND_NS},{fields(r)},{r.volume},{r.spread},0", PYTHON_HEADER,
    ), has="vs"),
    "mt5-python-text": Form(MT5_PYTHON, text(
        lambda r: f"{r.at:%Y-%m-%d %H:%M:%S},{fields(r)},{r.volume},{r.spread},0", PYTHON_HEADER,
    ), has="vs"),
    "mt4": Form("MetaTrader 4 history", text(
        lambda r: f"{r.at:%Y.%m.%d,%H:%M},{fields(r)},{r.volume}", end="\r\n")),
    "mt4-script": Form("MetaTrader script without header", text(
        lambda r: f"{r.at:%Y.%m.%d %H:%M};{fields(r, ';')}", end="\r\n"), has=""),
    "histdata": Form("HistData ASCII", text(
        lambda r: f"{r.at:%Y%m%d %H%M%S};{fields(r, ';')};{r.volume}", end="\r\n")),
    "dukascopy-gmt": Form("Dukascopy website, GMT", instants(text(
        lambda r: f"{r.at:%d.%m.%Y %H:%M:%S}.000,{fields(r)},{r.volume}", f"Gmt time,{UPPER}",
    )), "told"),
    "dukascopy-local": Form("Dukascopy website, local time", text(
        lambda r: f"{r.at:%d.%m.%Y %H:%M:%S}.000 GMT{offset(r.ahead_min, '')},{fields(r)},"
                  f"{r.volume}",
        f"Local time,{UPPER}", end="\r\n"), "told"),
    "dukascopy-node": Form("dukascopy-node", instants(text(
        lambda r: f"{r.t_ns // 10**6},{fields(r)},{r.volume}", LOWER)), "told"),
    "tradingview-unix": Form("TradingView export", instants(text(
        lambda r: ",".join((f"{r.t_ns // SECOND_NS}", *map(noisy, (r.o, r.h, r.l, r.c)),
                            f"{r.volume},NaN")),
        f"{TV},EMA")), "told"),
    "tradingview-iso": Form("TradingView export", text(
        lambda r: f"{r.at:%Y-%m-%dT%H:%M:%S}{offset(r.ahead_min)},{fields(r)},{r.volume}", TV,
    ), "told"),
    "iso-z": Form(PLAIN, instants(text(
        lambda r: f"{r.at:%Y-%m-%dT%H:%M:%SZ},{fields(r)},{r.volume}", LOWER)), "told"),
    "comma": Form(PLAIN, named(","), has="vs"),
    "semicolon": Form(PLAIN, named(";"), has="vs"),
    "tab": Form(PLAIN, named("\t"), has="vs"),
    "bar": Form(PLAIN, named("|"), has="vs"),
    "decimal-comma": Form(PLAIN, named(";", comma), has="vs"),
    "headerless": Form(PLAIN, text(lambda r: f"{r.at:%Y%m%d,%H%M%S},{fields(r)},{r.volume}")),
    "buddhist-am-pm": Form(PLAIN, text(
        lambda r: f"{buddhist(r)},{fields(r)},{r.volume}", f"Date,Timestamp,{UPPER}")),
    "hst-400": Form("MetaTrader 4 history, version 400", history(400)),
    "hst-401": Form("MetaTrader 4 history, version 401", history(401), has="vs"),
    "parquet-wall": Form("Parquet", parquet(lambda t: t.view("M8[ns]")), has="vs"),
    "parquet-utc": Form("Parquet", instants(parquet(zoned)), "told", has="vs"),
    "parquet-epoch-ms": Form("Parquet", instants(parquet(lambda t: t // 10**6)), "told", has="vs"),
    "parquet-text": Form("Parquet", parquet(
        lambda t: [str(x)[:19].replace("T", " ") for x in t.view("M8[ns]")]), has="vs"),
    "parquet-cents": Form("Parquet", parquet(
        lambda t: t.view("M8[ns]"), lambda px: px), has="vs"),
}  # fmt: skip
"""Exports of bars of any length."""

DAILY = {
    "yahoo": Form("Yahoo Finance, three header lines", text(
        lambda r: f"{r.at:%Y-%m-%d},{r.c},{r.h},{r.l},{r.o},{r.volume}",
        "Price,Close,High,Low,Open,Volume\nTicker,GC=F,GC=F,GC=F,GC=F,GC=F\nDate,,,,,",
    ), "dates"),
    "yahoo-old": Form("Yahoo Finance", text(
        lambda r: f"{r.at:%Y-%m-%d},{fields(r)},{r.c},{r.volume}",
        "Date,Open,High,Low,Close,Adj Close,Volume"), "dates"),
    "investing": Form("Investing.com", text(
        lambda r: f"{r.at:%m/%d/%Y},{thousands(r.c)},{thousands(r.o)},{thousands(r.h)},"
                  f"{thousands(r.l)},,-0.12%",
        "\ufeffDate,Price,Open,High,Low,Vol.,Change %", end="\r\n", newest_first=True,
    ), "dates", has=""),
    "mt5-days": Form(MT5, text(
        lambda r: f"{r.at:%Y.%m.%d}\t{fields(r, chr(9))}\t{r.volume}\t0\t{r.spread}",
        MT5_DAYS, end="\r\n"), "dates", has="vs"),
}  # fmt: skip
"""Exports of daily bars that have dates alone, which are those of trading days."""
DATES_CLOCK = "ny+7"


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("XAUUSD.csv", data)
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {"as-is": bytes, "zip": zipped, "gz": gzip.compress}
WRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "utf-8": bytes,
    "mark": lambda data: b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    "utf-16": lambda data: data.decode("utf-8-sig").encode("utf-16"),
    "utf-16-be": lambda data: data.decode("utf-8-sig").encode("utf-16-be"),
    "crlf": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "no-last-newline": lambda data: data.rstrip(b"\r\n"),
}
"""Other dresses of a text."""
