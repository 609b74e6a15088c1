"""Bars that are missing while gold trades, apart from the times when nobody expects one.

The session is as the data tell: on each weekday it runs from the minute at which most days begin to
the minute at which most days end. US holidays may end early, begin late or have no bar at all; what
else lies inside a session and has no bar is a hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import DAY_MIN, iso
from dream.bars.clock.holidays import holidays
from dream.bars.clock.sessions import (
    EARLIEST_END_MIN,
    LATEST_START_MIN,
    OPENS_MIN,
    WEEKDAYS,
    stretches,
    trading_minutes,
    weekday,
)
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    import numpy.typing as npt

    from dream.types import I4, I8

    B1 = npt.NDArray[np.bool_]

QUIET_BAR_MIN: Final = 5
"""Bars of up to this length are not written by most feeds for minutes without a tick."""
QUIET_MIN: Final = 30
"""Among such bars only what is missing for so long is a hole; the rest is counted apart."""
FEW_DAYS: Final = 3
"""Fewer days than these of one weekday tell no habit; then all days are asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Holes:
    """What is missing in a series; `len` is the number of holes.

    Attributes:
        from_ns, to_ns: (k,) int64, close of the bar before each hole and open of the bar after it.
        bars: (k,) int64, bars missing in each, those of closed times not counted.
        quiet, quiet_bars: gaps too short for a hole in a file of bars of at most five minutes, and
            the bars missing in them.
        days: trading days with a bar. full_days: those without a hole that begin and end as their
            weekday does. half_days: those without a hole that end early on a US holiday.
        closed_days: weekdays that are US holidays without a bar.
        opens_min, closes_min: (5,) int64, minutes of the trading day (0 is 17:00 New York) between
            which bars are expected, Monday to Friday.
    """

    from_ns: I8
    to_ns: I8
    bars: I8
    quiet: int
    quiet_bars: int
    days: int
    full_days: int
    half_days: int
    closed_days: int
    opens_min: I8
    closes_min: I8

    def __len__(self) -> int:
        return len(self.bars)

    def places(self, most: int) -> tuple[str, ...]:
        """The first holes in words."""
        return tuple(
            f"{iso(int(self.from_ns[k]))} to {iso(int(self.to_ns[k]))}:"
            f" {self.bars[k]} bar{'s' * int(self.bars[k] != 1)}"
            for k in range(min(most, len(self)))
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """The m trading days with bars: numbers, open of the first bar, close of the last, minutes."""

    day: I8
    begin: I8
    end: I8


@dataclass(frozen=True, slots=True, eq=False)
class _Calendar:
    """All trading days from the first to the last: between which minutes bars are expected.

    Attributes:
        first: number of the first day. opens, closes: (d,) int64, equal where none are expected.
        gone: (d,) int64, minutes of open time before each day. holiday: (d,) bool.
    """

    first: int
    opens: I8
    closes: I8
    gone: I8
    holiday: B1

    def before(self, wall: I4) -> I8:
        """(n,) minutes of open time before (n,) minutes of the trading clock since 1970."""
        day = np.minimum(wall // DAY_MIN - self.first, len(self.gone) - 1)
        inside = wall - (day + self.first) * DAY_MIN - self.opens[day]
        return self.gone[day] + np.clip(inside, 0, (self.closes - self.opens)[day])


def holes(t_open_ns: I8, bar_ns: int) -> Holes:
    """Find what is missing.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC without duplicates, at least one.
        bar_ns: length of a bar, at most a day.
    """
    bar_min = bar_ns // MINUTE_NS
    wall = trading_minutes(t_open_ns)
    if bar_min >= DAY_MIN:
        wall -= wall % DAY_MIN  # a date, whatever the hour of its stamp
    seen = _seen(wall, bar_min)
    opens, closes = _habits(seen, bar_min)
    calendar = _calendar(seen, opens, closes)
    at = _where_longer(wall, bar_min)
    a, b = wall[at] + np.int32(bar_min), wall[at + 1]
    missing = (calendar.before(b) - calendar.before(a)) // bar_min
    is_hole = missing > (QUIET_MIN // bar_min - 1 if bar_min <= QUIET_BAR_MIN else 0)
    quiet = missing[~is_hole & (missing > 0)]
    at, a, b, missing = at[is_hole], a[is_hole], b[is_hole], missing[is_hole]

    row = seen.day - calendar.first
    whole = ~np.isin(seen.day, _holed(calendar, a, b))
    expected = calendar.closes[row] > calendar.opens[row]
    usual = weekday(seen.day) % len(closes)
    early = np.minimum(seen.end, DAY_MIN) < closes[usual]
    half = early & (seen.end >= EARLIEST_END_MIN) & calendar.holiday[row]
    late = seen.begin > opens[usual]
    return Holes(
        from_ns=t_open_ns[at] + bar_ns,
        to_ns=t_open_ns[at + 1],
        bars=missing,
        quiet=len(quiet),
        quiet_bars=int(quiet.sum()),
        days=len(row),
        full_days=int((whole & expected & ~early & ~late).sum()),
        half_days=int((whole & expected & half).sum()),
        closed_days=int(calendar.holiday.sum() - calendar.holiday[row].sum()),
        opens_min=opens,
        closes_min=closes,
    )


def _where_longer(wall: I4, bar_min: int) -> I8:
    """Rows after which more time passes than a bar's."""
    return np.concatenate(
        [np.flatnonzero(np.diff(wall[s.start : s.stop + 1]) > bar_min) + s.start
         for s in stretches(len(wall))]
    )  # fmt: skip


def _seen(wall: I4, bar_min: int) -> _Seen:
    starts = [np.zeros(1, np.int64)]
    for s in stretches(len(wall)):
        day = wall[s.start : s.stop + 1] // DAY_MIN
        starts.append(np.flatnonzero(day[1:] != day[:-1]) + s.start + 1)
    first = np.concatenate(starts)
    begin = wall[first].astype(np.int64)
    day = begin // DAY_MIN
    end = wall[np.append(first[1:], len(wall)) - 1] + np.int64(bar_min)
    return _Seen(day, begin - day * DAY_MIN, end - day * DAY_MIN)


def _habits(seen: _Seen, bar_min: int) -> tuple[I8, I8]:
    """(5,) minutes at which most days begin and end, those of gold where no habit is to be seen."""
    if bar_min >= DAY_MIN:
        return np.zeros(WEEKDAYS, np.int64), np.full(WEEKDAYS, DAY_MIN, np.int64)
    kind = weekday(seen.day)
    begin = np.maximum(seen.begin, OPENS_MIN)
    end = np.minimum(seen.end, DAY_MIN)

    def habit(minutes: I8, otherwise: int) -> I8:
        general = _most(minutes[kind < WEEKDAYS], otherwise)
        return np.array([_most(minutes[kind == k], general) for k in range(WEEKDAYS)], np.int64)

    return habit(begin, OPENS_MIN), habit(end, DAY_MIN)


def _most(minutes: I8, otherwise: int) -> int:
    """The minute of more than half of the days."""
    if len(minutes) < FEW_DAYS:
        return otherwise
    values, counts = np.unique(minutes, return_counts=True)
    k = int(counts.argmax())
    return int(values[k]) if 2 * counts[k] > len(minutes) else otherwise


def _calendar(seen: _Seen, opens: I8, closes: I8) -> _Calendar:
    first, last = int(seen.day[0]), int(seen.day[-1])
    day = np.arange(first, last + 1)
    kind = weekday(day)
    working = kind < WEEKDAYS
    opens, closes = opens[kind % WEEKDAYS], closes[kind % WEEKDAYS]
    has_bars = np.zeros(len(day), np.bool_)
    has_bars[seen.day - first] = True
    begin, end = opens.copy(), closes.copy()
    begin[seen.day - first], end[seen.day - first] = seen.begin, seen.end

    closed, short = (np.isin(day, days) & working for days in holidays(first, last))
    ends_early = short & has_bars & (end >= EARLIEST_END_MIN)
    closes = np.where(ends_early, np.minimum(closes, np.maximum(end, opens)), closes)
    after = np.append(False, (closed | short)[:-1])
    begins_late = (short | after) & has_bars & (begin <= LATEST_START_MIN)
    opens = np.where(begins_late, np.minimum(np.maximum(opens, begin), closes), opens)
    none = ~working | closed | (short & ~has_bars)
    closes = np.where(none, opens, closes)
    length = closes - opens
    return _Calendar(first, opens, closes, np.cumsum(length) - length, closed | short)


def _holed(calendar: _Calendar, a: I4, b: I4) -> I8:
    """Numbers of the days that lose bars to holes from the minutes `a` to the minutes `b`."""
    head, tail = a // DAY_MIN, b // DAY_MIN
    loses_end = calendar.before(np.minimum(b, (head + 1) * DAY_MIN)) > calendar.before(a)
    loses_start = calendar.before(b) > calendar.before(np.maximum(a, tail * DAY_MIN))
    return np.concatenate((head[loses_end], tail[loses_start])).astype(np.int64)
