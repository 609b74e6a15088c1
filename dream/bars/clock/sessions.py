"""When gold trades: Sunday 18:00 to Friday 17:00 New York but for an hour a day and US holidays.

All masks are of whole bars: a bar counts as closed only if no part of it lies in open time, so that
four-hour bars of a trading clock, which begin in the closed hour, are no fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dream.bars.clock.clocks import DAY_MIN, trading_clock
from dream.bars.clock.holidays import holidays
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from dream.types import I4, I8

    B1 = npt.NDArray[np.bool_]

OPENS_MIN: Final = 60
"""Minute of the trading day at which gold opens, 18:00 New York."""
EARLIEST_END_MIN: Final = 1110
"""A half day ends after this minute (11:30 New York): the earliest that was seen is 12:45."""
LATEST_START_MIN: Final = 720
"""A day after a holiday begins before this minute (05:00 New York): 01:00 was seen."""
DAY_NS: Final = DAY_MIN * MINUTE_NS
STRETCH: Final = 1 << 16
"""Rows that are worked on at a time: their temporaries stay in the processor's cache."""
_SAME_OFFSET_NS: Final = 100 * DAY_NS
"""New York has kept every offset for longer than this, so that two equal ones have none between."""
_THURSDAY, _SATURDAY = 3, 5
WEEKDAYS: Final = 5
"""Monday to Friday."""


def stretches(n: int) -> Iterator[slice]:
    """Slices of at most STRETCH rows that make up n rows."""
    return (slice(first, min(first + STRETCH, n)) for first in range(0, n, STRETCH))


def trading_minutes(t_open_ns: I8) -> I4:
    """(n,) int32 minutes of the trading clock since 1970-01-01 of (n,) sorted instants."""
    made = np.empty(len(t_open_ns), np.int32)
    for rows in stretches(len(t_open_ns)):
        made[rows] = _trading_minutes(t_open_ns[rows])
    return made


def _trading_minutes(t: I8) -> I8:
    ends = t[[0, -1]]
    ahead = _exact(ends) - ends // MINUTE_NS
    if ahead[0] == ahead[1] and 0 <= ends[1] - ends[0] < _SAME_OFFSET_NS:
        return t // MINUTE_NS + ahead[0]
    return _exact(t)


def _exact(t: I8) -> I8:
    minute, day = trading_clock(t, 0)
    return day.astype(np.int64) * DAY_MIN + minute


def closed_hour(t_open_ns: I8, bar_ns: int) -> B1:
    """Which bars lie in the hour in which gold does not trade, 17:00 to 18:00 New York.

    Friday's counts, with which the weekend begins, and Sunday's, with which it ends: these are the
    hours in which a clock that is an hour off puts bars. Saturday's belongs to the weekend. Daily
    bars and others that are longer than the hour never lie in it.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        bar_ns: length of a bar.

    Returns:
        (n,) bool.
    """
    return closed_times(t_open_ns, bar_ns)[0]


def weekend(t_open_ns: I8, bar_ns: int) -> B1:
    """Which bars lie between Friday 17:00 and Sunday 18:00 New York, the closed hours apart.

    A daily bar lies there if its date by the trading clock is a Saturday or a Sunday: bars that are
    stamped with midnight UTC or with that of a broker's server have the same date.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        bar_ns: length of a bar.

    Returns:
        (n,) bool.
    """
    return closed_times(t_open_ns, bar_ns)[1]


def closed_times(t_open_ns: I8, bar_ns: int) -> tuple[B1, B1]:
    """`closed_hour` and `weekend` at once; no bar lies in both."""
    hour, end = np.zeros(len(t_open_ns), np.bool_), np.zeros(len(t_open_ns), np.bool_)
    bar_min = bar_ns // MINUTE_NS
    for rows in stretches(len(hour)):
        wall = _trading_minutes(t_open_ns[rows]).astype(np.int32)
        day = wall // DAY_MIN
        minute = wall - day * DAY_MIN
        since_monday = day + _THURSDAY
        since_monday -= since_monday // 7 * 7
        if bar_min >= DAY_MIN:
            end[rows] = since_monday >= _SATURDAY
            continue
        # By the trading clock Saturday begins with Friday's closed hour.
        hour[rows] = (minute + bar_min <= OPENS_MIN) & (since_monday <= _SATURDAY)
        to_monday = (7 - since_monday) * DAY_MIN - minute
        inside = (since_monday >= _SATURDAY) & (bar_min <= to_monday + OPENS_MIN)
        end[rows] = inside & ~hour[rows]
    return hour, end


def weekday(day: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
    """(n,) weekdays, 0 for Monday, of (n,) numbers of trading days."""
    return (day + _THURSDAY) % 7


def holiday_hours(t_open_ns: I8, bar_ns: int) -> B1:
    """Which bars open when gold is closed, or may be, on a US holiday.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        bar_ns: length of a bar; of daily bars the date decides.

    Returns:
        (n,) bool: the whole of the days without gold, of other holidays the late hours, and of
        these and of the days after holidays the early ones.
    """
    if not len(t_open_ns):
        return np.empty(0, np.bool_)
    wall = trading_minutes(t_open_ns)
    day, minute = wall // DAY_MIN, wall % DAY_MIN
    closed, short = (np.array(d) for d in holidays(int(day[0]), int(day[-1])))
    is_closed, is_short = np.isin(day, closed), np.isin(day, short)
    if bar_ns >= DAY_NS:
        return is_closed | is_short
    late = is_short & (minute >= EARLIEST_END_MIN)
    after = is_short | np.isin(day - 1, closed) | np.isin(day - 1, short)
    return is_closed | late | (after & (minute < LATEST_START_MIN))
