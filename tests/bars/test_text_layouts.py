"""Text files as people write them: stamps, numbers, separators and headers of many kinds."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.importers import stamps
from dream.bars.importers.sheet import Chunk, Hints, Layout
from dream.bars.importers.text import open_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2024, 1, 8, 21, 30, tzinfo=UTC)
AT = [START + timedelta(minutes=37 * k) for k in range(40)]
PX = [(2000.5 + k, 2003.25 + k, 1998.75 + k, 2001.1 + k) for k in range(40)]


def ns(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def read(path: Path, hints: Hints | None = None) -> tuple[Layout, Chunk]:
    opened = open_text(path, hints or Hints())
    chunks = list(opened.chunks)
    assert [bad for chunk in chunks for bad in chunk.bad] == []
    columns = ("line", "stamp_ns", "px", "volume", "spread")
    return opened.layout, Chunk(*(np.concatenate([getattr(c, n) for c in chunks]) for n in columns))


def write(
    path: Path,
    stamp: Callable[[datetime], str],
    header: str | None = "time,open,high,low,close",
    mark: str = ",",
    **kind: Any,
) -> Path:
    """AT and PX with a stamp in one field or more, separated by a bar."""
    text = io.StringIO()
    out = csv.writer(text, delimiter=mark, lineterminator="\r\n", **kind)
    if header is not None:
        out.writerow(header.split(","))
    for at, px in zip(AT, PX, strict=True):
        out.writerow([*stamp(at).split("|"), *px])
    path.write_bytes(text.getvalue().encode())
    return path


def unpadded(at: datetime, form: str) -> str:
    """`1/8/2024 9:05`: what spreadsheets make of times."""
    places = {"d": at.day, "m": at.month, "y": at.year, "h": at.hour, "n": f"{at.minute:02d}"}
    return "".join(str(places.get(c, c)) for c in form)


EAST = timezone(timedelta(hours=5, minutes=30))
WRITTEN: dict[str, tuple[Callable[[datetime], str], str]] = {
    "iso": (lambda t: f"{t:%Y-%m-%dT%H:%M:%S}", "wall"),
    "iso z": (lambda t: f"{t:%Y-%m-%dT%H:%M:%SZ}", "utc"),
    "pandas utc": (lambda t: f"{t:%Y-%m-%d %H:%M:%S+00:00}", "utc"),
    "postgres": (lambda t: f"{t:%Y-%m-%d %H:%M:%S+00}", "utc"),
    "offset": (lambda t: f"{t.astimezone(EAST):%Y-%m-%dT%H:%M:%S%z}", "per-row"),
    "offset of two kinds": (
        lambda t: (t if t < AT[20] else t.astimezone(EAST)).isoformat(), "per-row"),
    "milliseconds": (lambda t: f"{t:%Y-%m-%d %H:%M:%S}.000", "wall"),
    "tenths": (lambda t: f"{t:%Y-%m-%d %H:%M:%S}.0", "wall"),
    "javascript": (lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.000Z", "utc"),
    "named": (lambda t: f"{t:%Y-%m-%d %H:%M:%S} UTC", "utc"),
    "minutes": (lambda t: f"{t:%Y-%m-%d %H:%M}", "wall"),
    "slashes": (lambda t: f"{t:%Y/%m/%d %H:%M:%S}", "wall"),
    "dots": (lambda t: f"{t:%Y.%m.%d %H:%M}", "wall"),
    "German": (lambda t: f"{t:%d.%m.%Y %H:%M}", "wall"),
    "British": (lambda t: f"{t + timedelta(days=9):%d/%m/%Y %H:%M}", "wall"),
    "American": (lambda t: f"{t + timedelta(days=9):%m/%d/%Y %H:%M}", "wall"),
    "American, dashes": (lambda t: f"{t + timedelta(days=9):%m-%d-%Y %H:%M}", "wall"),
    "two-digit year": (lambda t: f"{t + timedelta(days=9):%m/%d/%y %H:%M}", "wall"),
    "spreadsheet": (lambda t: unpadded(t + timedelta(days=9), "m/d/y h:n"), "wall"),
    "unpadded": (lambda t: unpadded(t, "y-m-d h:n"), "wall"),
    "month by name": (lambda t: f"{t:%d-%b-%Y %H:%M}", "wall"),
    "month in full": (lambda t: f"{t:%B} {t.day}, {t:%Y %H:%M}", "wall"),
    "afternoon": (lambda t: f"{t:%Y-%m-%d %I:%M:%S %p}", "wall"),
    "afternoon, small": (lambda t: f"{t:%Y-%m-%d %I:%M}{t:%p}".lower(), "wall"),
    "compact": (lambda t: f"{t:%Y%m%d%H%M%S}", "wall"),
    "compact to minutes": (lambda t: f"{t:%Y%m%d%H%M}", "wall"),
    "compact with a blank": (lambda t: f"{t:%Y%m%d %H%M}", "wall"),
    "Buddhist": (lambda t: f"{t.year + 543}{t:-%m-%d %H:%M}", "wall"),
    "seconds": (lambda t: str(ns(t) // 10**9), "utc"),
    "seconds as floats": (lambda t: f"{ns(t) // 10**9}.0", "utc"),
    "milliseconds since 1970": (lambda t: str(ns(t) // 10**6), "utc"),
    "microseconds since 1970": (lambda t: str(ns(t) // 10**3), "utc"),
    "nanoseconds since 1970": (lambda t: str(ns(t)), "utc"),
}  # fmt: skip
LATER = {"British", "American", "American, dashes", "two-digit year", "spreadsheet"}
TWO_COLUMNS = {
    "halves": lambda t: f"{t:%Y.%m.%d|%H:%M}",
    "compact halves": lambda t: f"{t:%Y%m%d|%H%M%S}",
    "slashed halves": lambda t: f"{t + timedelta(days=9):%d/%m/%Y|%H:%M:%S}",
    "afternoon halves": lambda t: f"{t:%Y-%m-%d|%I:%M:%S %p}",
}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", WRITTEN)
def test_stamps(tmp_path: Path, name: str, mark: str) -> None:
    stamp, clock = WRITTEN[name]
    quoting = csv.QUOTE_ALL if mark == "," else csv.QUOTE_MINIMAL
    layout, rows = read(write(tmp_path / "b.csv", stamp, mark=mark, quoting=quoting))
    later = timedelta(days=9 if name in LATER else 0)
    assert rows.stamp_ns.tolist() == [ns(at + later) for at in AT]
    assert layout.clock == clock
    assert rows.px.tolist() == [list(px) for px in PX]
    assert layout.has_volume is layout.has_spread is False
    assert any("Buddhist" in note for note in layout.notes) is (name == "Buddhist")


@pytest.mark.parametrize("header", [None, "Date,Time,Open,High,Low,Close", "day,hour,o,h,l,c"])
@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_date_and_time_in_two_columns(tmp_path: Path, name: str, header: str | None) -> None:
    path = write(tmp_path / "b.csv", TWO_COLUMNS[name], header)
    layout, rows = read(path)
    later = timedelta(days=9 if name == "slashed halves" else 0)
    assert rows.stamp_ns.tolist() == [ns(at + later) for at in AT]
    assert layout.clock == "wall"
    assert rows.line[0] == (1 if header is None else 2)


@pytest.mark.parametrize(
    ("form", "hint"),
    [("%d/%m/%Y %H:%M", True), ("%m/%d/%Y %H:%M", False), ("%m.%d.%Y %H:%M", False)],
)
def test_days_and_months_as_told(tmp_path: Path, form: str, hint: bool) -> None:
    path = write(tmp_path / "b.csv", lambda t: f"{t:{form}}")
    _, rows = read(path, Hints(day_first=hint))
    assert rows.stamp_ns.tolist() == [ns(at) for at in AT]


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y"])
def test_a_day_above_12_far_down_the_file_tells(tmp_path: Path, form: str) -> None:
    days = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=k) for k in range(12 * 24)]
    days += [datetime(2020, 1, 31, tzinfo=UTC)]
    lines = ["time,open,high,low,close", *(f"{t:{form} %H:%M},1,2,1,2" for t in days)]
    path = tmp_path / "b.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read(path)[1].stamp_ns.tolist() == [ns(t) for t in days]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_byte_order_mark(tmp_path: Path, ends: str, bom: bytes, last: bool) -> None:
    lines = ["time,open,high,low,close", "2024-01-08 21:30,1,4,0.5,2", "2024-01-08 21:31,2,5,1,3"]
    path = tmp_path / "b.csv"
    path.write_bytes(bom + (ends.join(lines) + (ends if last else "")).encode())
    _, rows = read(path)
    assert rows.px.tolist() == [[1, 4, 0.5, 2], [2, 5, 1, 3]]
    assert rows.line.tolist() == [2, 3]


@dataclass(frozen=True)
class Named:
    """A header, a row under it, and what they mean."""

    header: str
    row: str
    px: tuple[float, ...] = (2.0, 4.0, 1.0, 3.0)
    volume: float = 0.0
    spread: float = 0.0
    says: dict[str, Any] = field(default_factory=dict)


MINUTE = 60 * 10**9
HEADERS = [
    Named("Timestamp,OPEN, High ,low,Close", "2024-01-08 21:30,2,4,1,3"),
    Named(",Open,High,Low,Close,Volume", "2024-01-08 21:30,2,4,1,3,7", volume=7),
    Named(",time,open,high,low,close", "0,2024-01-08 21:30,2,4,1,3", says={"unused": ("",)}),
    Named("Open time,O,H,L,C,V,Close time", "1704749400000,2,4,1,3,7,1704749459999", volume=7,
          says={"unused": ("Close time",), "clock": "utc"}),
    Named("symbol,date,close,low,high,open", "XAUUSD,2024-01-08 21:30,3,1,4,2",
          says={"symbol": "XAUUSD"}),
    Named("<TICKER>;<PER>;<DATE>;<TIME>;<OPEN>;<HIGH>;<LOW>;<CLOSE>;<VOL>",
          "GOLD;15;20240108;213000;2;4;1;3;7", volume=7,
          says={"symbol": "GOLD", "bar_ns": 15 * MINUTE, "clock": "wall"}),
    Named("tf,time,open,high,low,close", "H4,2024-01-08 21:30,2,4,1,3",
          says={"bar_ns": 240 * MINUTE}),
    Named("interval,time,open,high,low,close", "1d,2024-01-08 21:30,2,4,1,3",
          says={"bar_ns": 1440 * MINUTE}),
    Named("time,open,high,low,close,spread", "2024-01-08 21:30,2,4,1,3,0.3", spread=0.3,
          says={"spread_unit": "price"}),
    Named("time,open,high,low,close,spread", "2024-01-08 21:30,2,4,1,3,30", spread=30,
          says={"spread_unit": "points",
                "notes": ("the spread column has whole numbers: taken for points",)}),
    Named("time,o_int,h_int,l_int,c_int", "2024-01-08 21:30,206450,206700,206300,206500",
          px=(2064.5, 2067.0, 2063.0, 2065.0)),
    Named("time,open_cents,high_cents,low_cents,close_cents", "2024-01-08 21:30,200,400,100,300"),
    Named("time;open;high;low;close;volume", "08.01.2024 21:30;2,0;4,00;1;3;7,5", volume=7.5,
          says={"notes": ("numbers have a decimal comma",)}),
    Named("time;open;high;low;close", "08.01.2024 21:30;2.000,5;2.004,0;1.001;2.003,25",
          px=(2000.5, 2004, 1001, 2003.25)),
    Named("time,open,high,low,close", '2024-01-08 21:30,"1,002.5","1,004","1,001.","1,003"',
          px=(1002.5, 1004, 1001, 1003)),
    Named("time,open,high,low,close,vol.", "2024-01-08 21:30,2,4,1,3,1.5K", volume=1500),
    Named("time,open,high,low,close,vol.", '2024-01-08 21:30,2,4,1,3,"1,200.5M"', volume=1200.5e6),
    Named("time_utc,open,high,low,close", "2024-01-08 21:30,2,4,1,3", says={"clock": "utc"}),
    Named("time,tick_volume,volume,open,high,low,close", "2024-01-08 21:30,7,9,2,4,1,3", volume=7,
          says={"unused": ("volume",), "format": "MetaTrader script"}),
    Named("time,open,high,low,close", "2024-01-08 21:30,2.0e0,+4,.1e1,3.", says={"notes": ()}),
    Named("open,high,low,close", "2024-01-08 21:30,2,4,1,3"),
    Named("time,open,high,low,close", "2024-01-08 21:30,2,4,1,3,", says={"unused": ("",)}),
    Named("# time,open,high,low,close", "2024-01-08 21:30,2,4,1,3"),
    Named("sep=;\ntime;open;high;low;close", "2024-01-08 21:30;2;4;1;3"),
]  # fmt: skip


@pytest.mark.parametrize("named", HEADERS, ids=lambda n: n.header)
def test_headers(tmp_path: Path, named: Named) -> None:
    path = tmp_path / "b.csv"
    path.write_text(f"{named.header}\n{named.row}\n{named.row}\n", encoding="utf-8")
    layout, rows = read(path)
    assert rows.stamp_ns.tolist() == [ns(START)] * 2
    assert rows.px.tolist() == [list(named.px)] * 2
    assert rows.volume.tolist() == [named.volume] * 2
    assert rows.spread.tolist() == [named.spread] * 2
    assert layout.has_volume is (named.volume != 0)
    assert layout.has_spread is (named.spread != 0)
    assert {name: getattr(layout, name) for name in named.says} == named.says


def test_columns_and_divisor_as_told(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("when,a,b,c,d,e\n2024-01-08 21:30,3000,1000,4000,2000,9\n", encoding="utf-8")
    columns = {"timestamp": "When", "open": "d", "high": "4", "low": "b", "close": "a"}
    layout, rows = read(path, Hints(columns=columns, price_divisor=1000))
    assert rows.px.tolist() == [[2, 4, 1, 3]]
    assert layout.unused == ("e",)
    path.write_text("2024-01-08 21:30,3,1,4,2,9\n", encoding="utf-8")
    columns = {"timestamp": "1", "open": "5", "high": "4", "low": "3", "close": "2"}
    _, rows = read(path, Hints(columns=columns))
    assert rows.px.tolist() == [[2, 4, 1, 3]]


def test_server_time_is_not_utc_whatever_it_says(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    header = "time,open,high,low,close,tick_volume,spread,real_volume"
    path.write_text(f"{header}\n2024-01-08 21:30:00+00:00,2,4,1,3,7,30,0\n", encoding="utf-8")
    layout, rows = read(path)
    assert (layout.format, layout.clock, layout.spread_unit) == (
        "MetaTrader 5 Python", "wall", "points")  # fmt: skip
    assert rows.stamp_ns.tolist() == [ns(START)]
    assert "server time" in layout.notes[0]


def test_daily_files_have_dates_alone(tmp_path: Path) -> None:
    days = [f"{START + timedelta(days=k):%Y.%m.%d}" for k in range(3)]
    lines = ["<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>"]
    lines += [f"{day}\t2\t4\t1\t3\t7\t0\t30" for day in days]
    path = tmp_path / "b.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    layout, rows = read(path)
    assert (layout.format, layout.clock) == ("MetaTrader 5 export", "date")
    assert (np.diff(rows.stamp_ns) == 86_400 * 10**9).all()


@given(
    st.datetimes(datetime.fromisoformat("1901-01-01"), datetime.fromisoformat("2199-12-30")),
    st.integers(-14 * 60, 14 * 60),
)
def test_every_moment_is_read_as_datetime_reads_it(moment: datetime, ahead_min: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=ahead_min)))
    texts = {
        zoned.isoformat(timespec="microseconds"): ns(zoned.astimezone(UTC)),
        f"{zoned:%d.%m.%Y %H:%M:%S}.{moment.microsecond // 1000:03d} GMT{zoned:%z}": ns(
            zoned.replace(microsecond=moment.microsecond // 1000 * 1000).astimezone(UTC)
        ),
        f"{moment:%Y%m%d %H%M%S}": ns(moment.replace(microsecond=0, tzinfo=UTC)),
        f"{moment:%d-%b-%Y %I:%M %p}": ns(moment.replace(second=0, microsecond=0, tzinfo=UTC)),
    }
    for text, expected in texts.items():
        stamp = stamps.find([text])
        assert stamp is not None
        t_ns, ok = stamp.read(stamps.characters([text], stamp))
        assert (t_ns.tolist(), ok.tolist()) == ([expected], [True])
