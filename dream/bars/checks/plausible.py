"""Whether bars can be what they say they are: prices of their year, movement of a market.

Nothing here decides, and nothing here proves: a careful forgery passes. The limits were set on 28
real files of all lengths, and on longer bars made from five years of one of them; what these reach
stands beside each limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import DAY_MIN, year_start_ns
from dream.bars.clock.holidays import holidays
from dream.bars.clock.sessions import closed_times, trading_minutes, weekend
from dream.bars.reading import SYMBOL_CHARS
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    import numpy.typing as npt

    from dream.bars.importers.sheet import Layout
    from dream.types import F8, I4, I8, Instrument

    B1 = npt.NDArray[np.bool_]

FIRST_TABLE_YEAR: Final = 1975
# Lows and highs of each year in USD per ounce from 1975 on, to the precision of a chart.
GOLD: Final[tuple[tuple[float, float], ...]] = (
    (128, 186), (103, 140), (129, 168), (160, 243), (216, 524),
    (474, 850), (391, 600), (296, 489), (374, 511), (303, 407),
    (284, 341), (326, 442), (390, 502), (389, 485), (355, 418),
    (345, 424), (343, 404), (329, 360), (325, 407), (369, 398),
    (371, 397), (366, 417), (282, 367), (271, 315), (251, 339),
    (262, 317), (254, 294), (277, 350), (319, 418), (371, 456),
    (410, 538), (515, 731), (602, 846), (681, 1034), (800, 1227),
    (1044, 1432), (1307, 1921), (1526, 1797), (1180, 1697), (1130, 1393),
    (1046, 1308), (1061, 1376), (1145, 1358), (1159, 1367), (1265, 1558),
    (1450, 2076), (1676, 1960), (1614, 2071), (1804, 2146), (1984, 2790),
    (2610, 4550), (3940, 5600),
)  # fmt: skip
SILVER: Final[tuple[tuple[float, float], ...]] = (
    (3.9, 5.3), (3.8, 5.1), (4.3, 5.0), (4.8, 6.3), (5.9, 34),
    (10.2, 50), (7.9, 16.5), (4.9, 11.4), (8.3, 14.9), (6.2, 10.1),
    (5.4, 6.9), (4.8, 6.3), (5.3, 11), (6.0, 8.0), (5.0, 6.2),
    (3.9, 5.4), (3.5, 4.6), (3.6, 4.4), (3.5, 5.5), (4.6, 5.8),
    (4.3, 6.2), (4.7, 5.9), (4.1, 6.4), (4.6, 7.9), (4.8, 5.9),
    (4.5, 5.6), (4.0, 4.9), (4.2, 5.2), (4.3, 6.0), (5.4, 8.5),
    (6.3, 9.3), (8.7, 15.2), (11, 16.3), (8.4, 21.4), (10.3, 19.5),
    (14.6, 31), (26, 49.8), (26, 37.5), (18.2, 32.5), (14.1, 22.2),
    (13.6, 18.5), (13.7, 21.2), (15.1, 18.7), (13.9, 17.8), (14.2, 19.7),
    (11.6, 29.9), (21.4, 30.1), (17.5, 27), (19.9, 26.2), (21.9, 34.9),
    (28.2, 84), (60, 122),
)  # fmt: skip
TABLES: Final = {"gold": GOLD, "silver": SILVER}
BELOW, ABOVE = 0.8, 1.25
"""How far beyond a year's low and high a price may lie, as feeds and contracts differ."""
BEFORE_TABLE, AFTER_TABLE = (0.1, 1.5), (0.5, 2.0)
"""How far beyond the first and the last year's in the years before and after the table."""
MOST_TIMES: Final = (0.001, 0.01, 0.1, 10.0, 100.0, 1000.0)
FITS: Final = 0.9
"""Share of the prices that name another metal or unit."""
SAMPLE: Final = 10_000
_NAMES: Final = {
    "gold": re.compile(r"XAU_?/?USD|^GOLD(USD|SPOT|MICRO|MINI|M)?([.#_-]|$)|^GC(=F|1!|$)"),
    "silver": re.compile(r"XAG_?/?USD|^SILVER(USD|SPOT|MICRO|MINI|M)?([.#_-]|$)|^SI(=F|1!|$)"),
}

WINDOW, WINDOW_DAYS, FEWEST = 500, 2, 200
"""Rows in a window, days at least in one of short bars, and rows in the smallest that is judged."""
MOST_WINDOWS: Final = 200
LEAST_MEMORY: Final = 0.15
LEAST_MEMORY_LONG: Final = 0.05
LONG_MIN: Final = 240
"""Correlation of a bar's log range with the one before: 0.28 at least in 900 real windows of bars
of up to two hours, 0.12 of four hours, 0.02 of days; in random walks 0, give or take 0.05."""
LEAST_TAIL: Final = 4.0
"""99 % quantile of |close - open| by its median: 4.4 at least; 3.8 of a normal distribution."""
LEAST_PROFILE: Final = 1.8
"""Median range in the widest hour of the day by that in the narrowest: 1.9 at least."""
PROFILE_HOURS, PROFILE_BARS = 20, 6
COARSEST_BODY: Final = 3
"""Ticks of a median body under which rounding makes tails thin."""
SIGNS: Final = 2
"""Signs that a window must bear: of 3,000 real ones of 200 to 500 rows 25 bear one, none two."""
WEEKEND_WIDTH: Final = 0.5
"""Median range at weekends by that of other bars: 0.03 of a vendor's, 0.95 of made-up ones."""
WEEKEND_BARS: Final = 20
LEAST_SHARE: Final = 0.05

HEAD_ROWS: Final = 200
HEAD_HOLE_NS: Final = 7 * DAY_MIN * MINUTE_NS
HEAD_SIGNS: Final = 2
AFTER_HEAD: Final = 1000


@dataclass(frozen=True, slots=True)
class Level:
    """How prices lie to what the instrument cost at the time.

    Attributes:
        metal: whose table was used, "" where the symbol is neither gold nor silver in USD: then
            nothing was looked at.
        outside: rows with a price beyond the year's band. share: of all rows.
        first: index of the first of them, None without one.
        looks_like: said of most of the rows in words, such as "silver"; "" where nothing fits.
    """

    metal: str
    outside: int
    share: float
    first: int | None
    looks_like: str


@dataclass(frozen=True, slots=True)
class Invented:
    """Signs of made-up bars in windows of 500 rows or two days, 200 at most and evenly spread.

    Attributes:
        windows: how many were judged, 0 for a file of fewer than 200 bars that move.
        made_up: how many bear two signs or more. first: index of the first such window's first row.
        signs: what these windows show, in words with the figure of a typical one.
        weekend_bars: how many bars open at the weekend. weekend_width: their median range by that
            of the other bars, 0 where there are too few.
        is_invented: whether so many windows are made up that no accident explains it.
    """

    windows: int
    made_up: int
    first: int | None
    signs: tuple[str, ...]
    weekend_bars: int
    weekend_width: float
    is_invented: bool


@dataclass(frozen=True, slots=True)
class Head:
    """Made-up rows before a hole. rows: how many, 0 for none. signs: in words."""

    rows: int
    signs: tuple[str, ...] = ()


def metal(symbol: str) -> str:
    """`gold`, `silver` or "" for the name of an instrument; both in USD."""
    name = symbol.strip().upper()
    return next((kind for kind, names in _NAMES.items() if names.search(name)), "")


def other_symbol(layout: Layout, instrument: Instrument) -> str:
    """How to read a file that says it is of another instrument, "" where it does not."""
    symbol, point = (layout.symbol or "")[:SYMBOL_CHARS], layout.point
    if not symbol or metal(symbol) == metal(instrument.symbol) != "" or symbol == instrument.symbol:
        return ""
    tick = f" --tick {point:.8f}".rstrip("0") if point else ""
    return f"the file is of {symbol}: give --symbol {symbol}{tick}"


def band(kind: str, year: int) -> tuple[float, float]:
    """The lowest and the highest believable price of a metal in a year, in USD per ounce."""
    table = TABLES[kind]
    k = year - FIRST_TABLE_YEAR
    low, high = table[min(max(k, 0), len(table) - 1)]
    below, above = BEFORE_TABLE if k < 0 else AFTER_TABLE if k >= len(table) else (BELOW, ABOVE)
    return low * below, high * above


def level(t_open_ns: I8, px: I4, tick: float, symbol: str) -> Level:
    """Rows whose prices are not those of the instrument at the time.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        px: (n, 4) int32 ticks.
        tick: price step in USD.
        symbol: name of the instrument.
    """
    kind = metal(symbol)
    if not kind or not len(px):
        return Level(kind, 0, 0.0, None, "")
    outside, first = 0, None
    for rows, year in _years(t_open_ns):
        low, high = (price / tick for price in band(kind, year))
        bad = (px[rows, 2] < low) | (px[rows, 1] > high)
        count = int(bad.sum())
        if count and first is None:
            first = rows.start + int(bad.argmax())
        outside += count
    share = outside / len(px)
    return Level(
        kind, outside, share, first, _guess(t_open_ns, px, tick, kind) if share > 0.5 else ""
    )


def _years(t: I8) -> list[tuple[slice, int]]:
    """Rows of each year that has any, and the year."""
    first, last = (1970 + int(x) // (365 * DAY_MIN * MINUTE_NS) for x in (t[0], t[-1]))
    years = range(first - 1, last + 2)
    starts = np.searchsorted(t, [year_start_ns(year) for year in years]).tolist()
    return [
        (slice(a, b), year)
        for a, b, year in zip(starts, [*starts[1:], len(t)], years, strict=True)
        if a < b
    ]


def _guess(t_open_ns: I8, px: I4, tick: float, kind: str) -> str:
    every = len(px) // SAMPLE + 1
    t, close = t_open_ns[::every], px[::every, 3] * tick

    def fits(other: str, times: float) -> bool:
        inside = 0
        for rows, year in _years(t):
            low, high = band(other, year)
            inside += int(((close[rows] >= low * times) & (close[rows] <= high * times)).sum())
        return inside >= FITS * len(close)

    other = next(name for name in TABLES if name != kind)
    if fits(other, 1.0):
        return other
    times = next((times for times in MOST_TIMES if fits(kind, times)), None)
    return "" if times is None else f"{kind} with all prices times {times:g}"


def invented(t_open_ns: I8, px: I4, bar_ns: int) -> Invented:
    """Signs that bars were made up: no memory in ranges, thin tails, no time of day, no weekend.

    Bars without movement say nothing and are passed over.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        px: (n, 4) int32 ticks, fine enough: one tick for the whole range of a bar says nothing.
        bar_ns: length of a bar.
    """
    at_weekend = weekend(t_open_ns, bar_ns)
    weekend_bars = int(at_weekend.sum())
    width = _weekend_width(px, at_weekend) if weekend_bars >= WEEKEND_BARS else 0.0
    window = max(WINDOW, WINDOW_DAYS * DAY_MIN * MINUTE_NS // bar_ns)
    starts = np.arange(0, max(len(px) - FEWEST + 1, 0), window)
    if len(starts) > MOST_WINDOWS:
        starts = starts[np.linspace(0, len(starts) - 1, MOST_WINDOWS).astype(np.int64)]
    judged = [
        (first, figures)
        for first in starts.tolist()
        if (figures := _figures(t_open_ns[first : first + window], px[first : first + window]))
        is not None
    ]
    if not judged:
        return Invented(0, 0, None, (), weekend_bars, width, is_invented=False)
    memory = LEAST_MEMORY if bar_ns < LONG_MIN * MINUTE_NS else LEAST_MEMORY_LONG
    limits = np.array([memory, LEAST_TAIL, LEAST_PROFILE])
    figures = np.array([figures for _, figures in judged])
    below = figures < limits  # NaN is not
    made_up = below.sum(axis=1) + (width > WEEKEND_WIDTH) >= SIGNS
    count = int(made_up.sum())
    at = np.flatnonzero(made_up)
    return Invented(
        len(judged),
        count,
        judged[int(at[0])][0] if count else None,
        _words(figures[at], below[at], limits, width) if count else (),
        weekend_bars,
        width,
        is_invented=count > LEAST_SHARE * len(judged),
    )


def _weekend_width(px: I4, at_weekend: B1) -> float:
    every = len(px) // (20 * SAMPLE) + 1
    ranges, closed = px[::every, 1] - px[::every, 2], at_weekend[::every]
    if not closed.any() or closed.all():
        return 0.0
    return float(np.median(ranges[closed]) / max(np.median(ranges[~closed]), 1))


def _figures(t: I8, px: I4) -> tuple[float, float, float] | None:
    """Memory, tail and profile of one window; NaN where one of them says nothing."""
    ranges = px[:, 1] - px[:, 2]
    moving = ranges > 0
    ranges = ranges[moving]
    if len(ranges) < FEWEST:
        return None
    logs = np.log(ranges)
    logs -= logs.mean()
    variance = float(logs @ logs)
    memory = float(logs[1:] @ logs[:-1]) / variance if variance > 0 else 0.0
    body = np.abs(px[moving, 3] - px[moving, 0])
    usual = float(np.median(body))
    tail = float(np.quantile(body, 0.99)) / usual if usual >= COARSEST_BODY else np.nan
    medians = _by_hour(trading_minutes(t[moving]) % DAY_MIN // 60, ranges)
    if len(medians) < PROFILE_HOURS:
        return memory, tail, np.nan
    return memory, tail, float(medians.max() / medians.min())


def _by_hour(hour: I4, ranges: I4) -> F8:
    """Medians of (n,) positive ranges by hour, of the hours with enough bars."""
    counts = np.bincount(hour, minlength=24)
    end = np.cumsum(counts)[counts >= PROFILE_BARS]
    first = end - counts[counts >= PROFILE_BARS]
    # One sort of numbers that begin with the hour is many times faster than 24 medians.
    ordered = np.sort(hour.astype(np.int64) << 32 | ranges) & 0x7FFFFFFF
    return (ordered[(first + end - 1) // 2] + ordered[(first + end) // 2]) / 2


def _words(figures: F8, below: B1, limits: F8, width: float) -> tuple[str, ...]:
    said = (
        "the range of a bar says nothing of the next: correlation",
        "large bars are missing: the 99 % body by the median is",
        "no hour is livelier than another: the widest by the narrowest is",
    )
    words = [
        f"{what} {np.median(figures[below[:, k], k]):.2f}, a market has more than {limits[k]:g}"
        for k, what in enumerate(said)
        if below[:, k].mean() >= 0.5
    ]
    if width > WEEKEND_WIDTH:
        words.append(f"bars at weekends are {width:.2f} times as wide as others")
    return tuple(words)


def invented_head(t_open_ns: I8, px: I4, bar_ns: int) -> Head:
    """A few made-up rows before the first long hole of a file.

    Two signs are needed: prices on a coarser grid than those after the hole, every open at the
    close before it where that is not so after the hole, bars at times when gold is closed.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        px: (n, 4) int32 ticks.
        bar_ns: length of a bar.

    Returns:
        Its `rows` is the index of the first row that can be believed.
    """
    step = np.diff(t_open_ns[: HEAD_ROWS + 1])
    long = step >= HEAD_HOLE_NS
    if not long.any():
        return Head(0)
    rows = int(long.argmax()) + 1
    head, after = px[:rows], px[rows : rows + AFTER_HEAD]
    if len(after) < rows:
        return Head(0)
    signs: list[str] = []
    if (head % 10 == 0).all() and (after % 10 == 0).all(axis=1).mean() < 0.5:
        signs.append("all prices are multiples of 10 ticks, those after the hole are not")
    if rows > 2 and _open_at_close(head) == 1 and _open_at_close(after) < 0.8:
        signs.append("every bar opens at the close before it, those after the hole do not")
    t = t_open_ns[:rows]
    day = trading_minutes(t) // DAY_MIN
    free, _ = holidays(int(day[0]), int(day[-1]))
    closed = np.logical_or(*closed_times(t, bar_ns)) | np.isin(day, free)
    if closed.any():
        signs.append(f"{int(closed.sum())} of {rows} bars lie in times without trading")
    return Head(rows, tuple(signs)) if len(signs) >= HEAD_SIGNS else Head(0)


def _open_at_close(px: I4) -> float:
    return float((px[1:, 0] == px[:-1, 3]).mean())
