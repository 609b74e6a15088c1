"""The trading clock, the clocks that an import understands, and instants as text.

The trading clock is New York + 7 h: a trading day runs from 17:00 to 17:00 New York, its bars from
18:00 (minute 60) to 17:00 (minute 1440), in winter and in summer.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock import offsets
from dream.errors import SpecInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import I2, I4, I8

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Instants outside these years are refused: every int64 sum of nanoseconds stays in range."""

SECOND_NS: Final = offsets.SECOND_NS
NEW_YORK: Final = "America/New_York"
DAY_MIN: Final = 1440
NEW_YORK_TO_TRADING_MIN: Final = 7 * 60
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BARE_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def year_start_ns(year: int) -> int:
    """The first instant of a year, UTC."""
    return (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) * SECOND_NS


def _new_york(t_ns: I8) -> offsets.Offsets:
    return offsets.of_zone(NEW_YORK, int(t_ns.min()), int(t_ns.max()))


def trading_clock(t_open_ns: I8, bar_ns: int) -> tuple[I2, I4]:
    """Trading-clock minute at which each bar closes, and the number of its trading day.

    Args:
        t_open_ns: (n,) int64, open times UTC.
        bar_ns: length of a bar, a whole number of minutes, at most a day.

    Returns:
        (n,) int16 minutes, counted in the day in which the bar opened: 15 ... 1440 for M15.
        (n,) int32 days since 1970-01-01 of the trading-clock date in which the bar opened.
    """
    minute, day = np.empty(len(t_open_ns), np.int16), np.empty(len(t_open_ns), np.int32)
    if not len(t_open_ns):
        return minute, day
    table = _new_york(t_open_ns)
    for part in offsets.blocks(t_open_ns):
        wall = offsets.to_wall(t_open_ns[part], table) // MINUTE_NS + NEW_YORK_TO_TRADING_MIN
        days = wall // DAY_MIN
        day[part], minute[part] = days, wall - days * DAY_MIN + bar_ns // MINUTE_NS
    return minute, day


def instants(day: I4 | I8, minute: int) -> I8:
    """The UTC instants of one trading-clock minute of many trading days: the inverse of the clock.

    Args:
        day: (n,) trading-day numbers.
        minute: minute of the trading day; not inside the hour in which New York changes its clock
            (Sunday 02:00, when the market is closed).

    Returns:
        (n,) int64 nanoseconds.
    """
    if not len(day):
        return np.empty(0, np.int64)
    wall = day.astype(np.int64) * DAY_MIN + minute - NEW_YORK_TO_TRADING_MIN
    near_ns = (wall + 5 * 60) * MINUTE_NS
    ahead_ns = offsets.to_wall(near_ns, _new_york(near_ns)) - near_ns
    return wall * MINUTE_NS - ahead_ns


def iso(t_ns: int) -> str:
    """An instant as ISO 8601 in UTC, such as 2024-01-01T23:00:00Z."""
    seconds, rest = divmod(int(t_ns), SECOND_NS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}{fraction}Z"


def day_text(day: int) -> str:
    """The trading-clock date of a trading-day number, such as 2024-01-02."""
    return (date(1970, 1, 1) + timedelta(days=int(day))).isoformat()


def parse_instant(text: str) -> int:
    """Nanoseconds of an ISO 8601 instant, for options such as --from and --to.

    A bare date is the **start** of that UTC day, in --from and in --to alike, so that
    `--from 2024-01-01 --to 2025-01-01` is the year 2024. A time needs its zone (Z or an offset).

    Raises:
        SpecInvalid: not a date, no zone, or outside 1900 to 2199.
    """
    expected = "expected a date such as 2024-01-02 or an instant such as 2024-01-02T23:00:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as e:
        raise SpecInvalid(f"{text!r} is not a date: {expected}") from e
    if _BARE_DATE.fullmatch(text):
        moment = moment.replace(tzinfo=UTC)
    if moment.tzinfo is None:
        raise SpecInvalid(f"{text!r} has no time zone: {expected}")
    if not FIRST_YEAR < moment.year < LAST_YEAR:
        raise SpecInvalid(f"{text!r} is outside {FIRST_YEAR} to {LAST_YEAR}: {expected}")
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
