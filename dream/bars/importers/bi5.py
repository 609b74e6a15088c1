"""Dukascopy candles (.bi5): LZMA around 24-byte big-endian records; the day is in the path only."""

from __future__ import annotations

import calendar
import lzma
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import SECOND_NS
from dream.bars.importers.records import chunk, refuse_hints, told_divisor
from dream.bars.importers.sheet import Layout, Opened
from dream.errors import BarsInvalid
from dream.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import PurePath

    from dream.bars.importers.sheet import Chunk, Hints

RECORD: Final = np.dtype(
    [("seconds", ">u4"), ("open", ">u4"), ("close", ">u4"), ("low", ">u4"), ("high", ">u4"),
     ("volume", ">f4")]
)  # fmt: skip
TICK_BYTES: Final = 20
MOST_PACKED_BYTES: Final = 16 << 20
MOST_BYTES: Final = 16 << 20
"""Unpacked: a year of one-minute candles has 12.6 MB, and there is no longer file."""
MOST_DICTIONARY_BYTES: Final = 64 << 20
UNIT_SECONDS: Final = {"sec": 1, "min": 60, "hour": 3600, "day": 86_400}
DAY_SECONDS: Final = 86_400
THOUSANDS: Final = re.compile(r"XAU|XAG|XPT|XPD|JPY")
_SIDE_AND_UNIT: Final = (
    r"(?P<side>bid|ask)_(?:candles_)?(?P<unit>sec|min|hour|day)_(?P<count>[1-9]\d?)(\.\w+)*$"
)
_PLACES: Final = tuple(
    re.compile(pattern + _SIDE_AND_UNIT, re.IGNORECASE | re.ASCII)
    for pattern in (
        # Folders as Dukascopy has them; the same joined into one name.
        r"/(?P<symbol>[a-z][a-z0-9.-]{2,19})/(?P<year>\d{4})(/(?P<month>\d\d)(/(?P<day>\d\d))?)?/",
        (
            r"[/_-](?P<symbol>[a-z]{3,12})[_-](?P<year>\d{4})"
            r"([_-](?P<month>\d\d)([_-](?P<day>\d\d))?)?[_-]"
        ),
    )
)
_LIKE: Final = (
    "expected its place as Dukascopy writes it, such as XAUUSD/2019/01/04/BID_candles_min_1.bi5"
    " with months counted from 00; put it into such folders"
)


def open_bi5(path: Path, hints: Hints, named: PurePath | None = None) -> Opened:
    """The candles of one Dukascopy file, with the flat ones that fill minutes without a trade.

    Args:
        path: the file.
        hints: price_divisor, where the symbol's is another than 1,000 (metals, yen) or 100,000.
        named: the path that tells the symbol and the day, where it was unpacked from elsewhere.

    Raises:
        BarsInvalid: the path does not tell the day, or the file is damaged or holds no candles.
        SpecInvalid: a hint that makes no sense here.
    """
    refuse_hints(hints, "a Dukascopy file", divisor=True)
    place = _place(path if named is None else Path(named))
    records = _records(path, place)
    divisor, from_where = told_divisor(hints), "as told"
    if divisor is None:
        divisor = 1_000 if THOUSANDS.search(place.symbol) else 100_000
        from_where = f"as usual for {place.symbol}"
    layout = Layout(
        "Dukascopy candles",
        "utc",
        bar_ns=place.bar_seconds * SECOND_NS,
        symbol=place.symbol,
        point=1 / divisor,
        notes=(
            place.note,
            f"prices are integers, divided by {divisor:,} {from_where}",
            f"prices are {place.side} prices",
        ),
        row="record",
    )
    return Opened(layout, _chunks(records, place, divisor))


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path tells.

    Attributes:
        shown: the path, for messages. symbol, side: such as XAUUSD and bid.
        start_s: from where seconds count, since 1970. length_s: of the day, month or year.
        bar_seconds: length of a candle. note: how the path was understood.
    """

    shown: str
    symbol: str
    side: str
    start_s: int
    length_s: int
    bar_seconds: int
    note: str


def _place(path: Path) -> _Place:
    """Where a file stands.

    Raises:
        BarsInvalid: the path does not tell, or tells of ticks or a day that does not exist.
    """
    if "tick" in path.name.lower():
        raise BarsInvalid(
            f"{path} holds ticks by its name; expected candles; download BID_candles_min_1.bi5"
        )
    matches = (pattern.search(path.absolute().as_posix()) for pattern in _PLACES)
    match = next((m for m in matches if m is not None), None)
    if match is None:
        raise BarsInvalid(
            f"{path}: Dukascopy's files do not say which day they are of, their path does; {_LIKE}"
        )
    year, month, day = int(match["year"]), match["month"], match["day"]
    # Their months count from 00, days from 01.
    try:
        start = datetime(year, 1 + int(month or 0), int(day or 1), tzinfo=UTC)
    except ValueError as e:
        raise BarsInvalid(
            f"{path}: there is no day {day or '01'} in month {1 + int(month or 0)} of {year}, and"
            f" the month in the path counts from 00; {_LIKE}"
        ) from e
    if month is None:
        days, said = 365 + calendar.isleap(year), f"{start:%Y}"
    elif day is None:
        days, said = calendar.monthrange(year, start.month)[1], f"{start:%Y-%m}"
    else:
        days, said = 1, f"{start:%Y-%m-%d}"
    if month is not None:
        said += f" (the month {month} in the path counts from 00, as Dukascopy writes it)"
    return _Place(
        str(path),
        match["symbol"].upper(),
        match["side"].lower(),
        int(start.timestamp()),
        days * DAY_SECONDS,
        UNIT_SECONDS[match["unit"].lower()] * int(match["count"]),
        f"the candles are of {said}",
    )


def _records(path: Path, place: _Place) -> np.ndarray:
    """(n,) RECORD, unpacked and inside the day, month or year.

    Raises:
        BarsInvalid: damaged, or not such records.
    """
    try:
        with open_regular(path, "bars", error=BarsInvalid) as f:
            packed = f.read(MOST_PACKED_BYTES + 1)
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; copy it again") from e
    again = "download it again"
    if not packed:
        raise BarsInvalid(
            f"{path} is empty, as Dukascopy serves a day without trading; leave it out"
        )
    unpack = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MOST_DICTIONARY_BYTES)
    try:
        data = unpack.decompress(packed, MOST_BYTES + 1)
    except lzma.LZMAError as e:
        raise BarsInvalid(f"{path} is no LZMA or is damaged: {e}; {again}") from e
    if len(data) > MOST_BYTES or len(packed) > MOST_PACKED_BYTES:
        raise BarsInvalid(
            f"{path} has more than {MOST_BYTES >> 20} MiB, a year of one-minute candles has 13;"
            " it is no such file"
        )
    if not unpack.eof:
        raise BarsInvalid(f"{path} is cut off at byte {len(packed)}; {again}")
    if unpack.unused_data:
        raise BarsInvalid(
            f"{path}: {len(unpack.unused_data)} bytes follow the candles; expected none; {again}"
        )
    if not data or len(data) % RECORD.itemsize:
        ticks = " (20 would be ticks)" if len(data) % TICK_BYTES == 0 else ""
        raise BarsInvalid(
            f"{path} unpacks to {len(data):,} bytes; expected records of {RECORD.itemsize}{ticks};"
            " download BID_candles_min_1.bi5"
        )
    records = np.frombuffer(data, RECORD)
    late = records["seconds"] >= place.length_s
    if late.any():
        k = int(late.argmax())
        raise BarsInvalid(
            f"{place.shown}, record {k + 1}: it opens {records['seconds'][k]:,} seconds after the"
            f" start of a span of {place.length_s:,}; {place.note}; expected candles inside it:"
            " they are of another day, month or year, or no candles"
        )
    return records


def _chunks(records: np.ndarray, place: _Place, divisor: int) -> Iterator[Chunk]:
    n = len(records)
    with np.errstate(invalid="ignore"):  # a damaged volume may be a NaN that signals
        volume = records["volume"].astype(np.float64)
    px = np.stack([records[name] for name in ("open", "high", "low", "close")], axis=1)
    yield chunk(
        np.arange(1, n + 1),
        place.start_s + records["seconds"].astype(np.int64),
        SECOND_NS,
        px.astype(np.float64) / divisor,
        (volume, np.zeros(n)),
    )
