"""Where a series has bars and where it lacks them, as a few lines of text."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.overview import CLOSED_MIN
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from dream.types import I8, Bars

HOLE_MIN: Final = 15
"""Minutes without a bar inside a day that are a hole. Shorter ones have no mark: a quiet minute has
no bar in most feeds."""
SHORT_DAYS: Final = 366
"""A series of so many days has a mark for each day, a longer one for each week."""
WHOLE, BUT_A_DAY, HOLED, NOTHING, OUTSIDE = "█▓▒· "
WEEKS_SAID: Final = (
    f"A mark is a week: {WHOLE} whole, {BUT_A_DAY} whole but for one weekday (a holiday or a hole),"
    f"\n{HOLED} bars missing for {HOLE_MIN} minutes or more, {NOTHING} no bars."
)
DAYS_SAID: Final = (
    f"A mark is a trading day: {WHOLE} whole, {HOLED} bars missing for {HOLE_MIN} minutes or more,"
    f"\n{NOTHING} no bars (a holiday or a hole)."
)


def chart(bars: Bars) -> str:
    """A line for each month with a mark for each day, or for each year with one for each week.

    A series of more than a year has a mark for each week. A half day is whole: where bars go on
    only the day after, the day has ended early. Weeks begin on Monday and belong to the year of
    their Thursday. Behind a line stands how many bars it has.

    Args:
        bars: at least one.

    Returns:
        Lines of at most 80 columns, the last one without a line break.
    """
    day, count, holed = _days(bars)
    first, last = int(day[0]), int(day[-1])
    state = np.full(last - first + 1, NOTHING)
    state[(np.arange(first, last + 1) + 3) % 7 >= 5] = OUTSIDE
    state[day - first] = np.where(holed, HOLED, WHOLE)
    bars_of = np.zeros(len(state), np.int64)
    bars_of[day - first] = count
    if len(state) <= SHORT_DAYS:
        return "\n".join((*_months(first, state, bars_of), "", DAYS_SAID))
    return "\n".join((*_years(first, state, bars_of), "", WEEKS_SAID))


def _days(bars: Bars) -> tuple[I8, I8, npt.NDArray[np.bool_]]:
    """Of each trading day with bars: its number, how many bars it has, whether there is a hole."""
    bar_min = bars.bar_ns // MINUTE_NS
    same_day = bars.day[1:] == bars.day[:-1]
    first = np.concatenate(([0], np.flatnonzero(~same_day) + 1))
    pause = np.diff(bars.minute) - bar_min >= HOLE_MIN
    holes = np.flatnonzero(pause & same_day)
    opens = bars.minute[first] - bar_min
    holed = (opens >= bar_min) & (opens - CLOSED_MIN >= HOLE_MIN)
    holed[0] = False  # the series may begin where it likes
    holed[np.searchsorted(first, holes, side="right") - 1] = True
    return bars.day[first].astype(np.int64), np.diff(first, append=len(bars)), holed


def _months(first: int, state: npt.NDArray[np.str_], bars_of: I8) -> Iterator[str]:
    """A line for each month, its days in their columns."""
    yield "         1   5    10   15   20   25   30"
    begin = date(1970, 1, 1) + timedelta(days=first)
    months: dict[str, tuple[list[str], int]] = {}
    for mark, count, k in zip(state.tolist(), bars_of.tolist(), range(len(state)), strict=True):
        on = begin + timedelta(days=k)
        marks, bars = months.get(f"{on:%Y-%m}", ([OUTSIDE] * 31, 0))
        marks[on.day - 1] = mark
        months[f"{on:%Y-%m}"] = (marks, bars + count)
    for month, (marks, bars) in months.items():
        yield f"{month}  {''.join(marks)}  {bars:>10,}"


def _years(first: int, state: npt.NDArray[np.str_], bars_of: I8) -> Iterator[str]:
    """A line for each year, its weeks in their columns."""
    ahead = (first + 3) % 7
    behind = -(ahead + len(state)) % 7
    table = np.pad(state, (ahead, behind), constant_values=OUTSIDE).reshape(-1, 7)
    counts = np.pad(bars_of, (ahead, behind)).reshape(-1, 7).sum(axis=1)
    thursday = (first - ahead + 3 + 7 * np.arange(len(table))).astype("datetime64[D]")
    year = thursday.astype("datetime64[Y]")
    column = (thursday - year.astype("datetime64[D]")).astype(np.int64) // 7
    yield "      J   F   M    A   M    J   J   A    S   O    N   D"
    for one in np.unique(year):
        marks = [OUTSIDE] * 53
        for row in np.flatnonzero(year == one):
            marks[column[row]] = _week(table[row].tolist())
        yield f"{one}  {''.join(marks)}  {int(counts[year == one].sum()):>10,}"


def _week(days: list[str]) -> str:
    """One mark for Monday to Sunday."""
    if WHOLE not in days and HOLED not in days:
        return NOTHING if NOTHING in days else OUTSIDE
    missing = days.count(NOTHING)
    if HOLED in days or missing > 1:
        return HOLED
    return BUT_A_DAY if missing else WHOLE
