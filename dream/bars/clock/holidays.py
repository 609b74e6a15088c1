"""US holidays on which gold does not trade, or for a part of the day."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import Final

_EPOCH: Final = date(1970, 1, 1)
_MONDAY, _THURSDAY, _SATURDAY = 0, 3, 5


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar, by the moon's golden number."""
    golden = year % 19
    century = year // 100
    skipped = century - century // 4 - (8 * century + 13) // 25
    moon = (19 * golden + skipped + 15) % 30
    moon -= moon // 28 * (1 - 29 // (moon + 1) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    march_day = 28 + moon - weekday
    return date(year, 3, 1) + timedelta(days=march_day - 1)


def _observed(day: date) -> date:
    """The weekday on which a holiday is kept: Friday for a Saturday, Monday for a Sunday."""
    return day + timedelta(days={_SATURDAY: -1, _SATURDAY + 1: 1}.get(day.weekday(), 0))


def nth_weekday(year: int, month: int, weekday: int, n: int) -> date:
    """The nth weekday (0 Monday) of a month."""
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (n - 1))


def _year_closed(year: int) -> list[date]:
    new_year = date(year, 1, 1)
    kept = [] if new_year.weekday() == _SATURDAY else [_observed(new_year)]
    return [*kept, easter(year) - timedelta(days=2), _observed(date(year, 12, 25))]


def _year_short(year: int) -> list[date]:
    thanksgiving = nth_weekday(year, 11, _THURSDAY, 4)
    return [
        nth_weekday(year, 1, _MONDAY, 3),  # Martin Luther King
        nth_weekday(year, 2, _MONDAY, 3),  # Washington's birthday
        nth_weekday(year, 6, _MONDAY, 1) - timedelta(days=7),  # Memorial Day, May
        *([_observed(date(year, 6, 19))] if year >= 2021 else []),
        _observed(date(year, 7, 4)),
        nth_weekday(year, 9, _MONDAY, 1),  # Labor Day
        thanksgiving,
        thanksgiving + timedelta(days=1),
        date(year, 12, 24),
        date(year, 12, 26),
        date(year, 12, 31),
        date(year, 1, 2),
    ]


@cache
def _holidays_of(year: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    closed, short = (
        tuple((day - _EPOCH).days for day in days)
        for days in (_year_closed(year), _year_short(year))
    )
    return closed, short


def holidays(first: int, last: int) -> tuple[list[int], list[int]]:
    """US holidays of the years from one trading day to another, as numbers of trading days.

    Returns:
        Days on which gold does not trade at all: New Year, Good Friday, Christmas.
        Days that end early or begin late, or on which some feeds are closed; holidays of the first
        kind may be among them.
    """
    from_year, to_year = ((_EPOCH + timedelta(days=day)).year for day in (first - 1, last))
    found = [_holidays_of(year) for year in range(from_year, to_year + 1)]
    return [d for closed, _ in found for d in closed], [d for _, short in found for d in short]
