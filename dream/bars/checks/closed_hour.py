"""Gold's one empty hour, 17:00 to 18:00 New York: whether a clock leaves it empty, and which does.

Stamps are counted by half hours. A day of the week, Monday to Thursday, speaks for a clock where
that hour is empty between two hours with bars, and against it where bars fill the hour; a week goes
with the majority of its days. An hour is filled by more than a third of the bars of the fuller hour
next to it: a few late ticks do not fill it, nor do the bars until 17:15 from the years before 2015
when the futures closed then.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from dream.bars.clock import zones
from dream.bars.clock.clocks import NEW_YORK, day_text
from dream.bars.clock.zones import Clock, Rule
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import I8

HALF_MIN: Final = 30
HALF_NS: Final = HALF_MIN * MINUTE_NS
LONGEST_NS: Final = 60 * MINUTE_NS
"""Longer bars cover the closed hour together with others: nothing can be seen in them."""
DAY, WEEK = 48, 7 * 48
"""Half hours."""
FIRST_MONDAY: Final = 4
"""1970-01-05, in days since 1970."""
CLOSED: Final = 34
"""17:00, in half hours of a day."""
OPENING: Final = 12
"""How far before Monday a week begins, on Sunday at 18:00."""
BLOCK: Final = 1 << 18
_NEW_YORK: Final = Clock((Rule(NEW_YORK, NEW_YORK, 0),))
ENOUGH_WEEKS: Final = 3
"""A change of rule is proposed where at least so many weeks speak for either rule."""
COMMON: Final = (
    "utc",
    "eet-eu",
    "ny+7",
    "fixed:+02:00",
    "fixed:+03:00",
    "Europe/London",
    "Europe/Berlin",
    "london-5",
    NEW_YORK,
    "America/Chicago",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Asia/Tehran",
    "America/Los_Angeles",
)
"""Clocks that exports were met with or are likely to be on, the commonest first."""

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ClosedHour:
    """A series against the closed hour, by weeks from Sunday 18:00 New York.

    Attributes:
        monday: (w,) int64, the weeks that have bars, each by its Monday as days since 1970.
        bars: (w,) int64, bars of each week.
        closed: (w,) int64, those of them that open in the closed hour, Monday to Friday. (Saturday
            and Sunday are a matter of the weekend.)
        judged: (w,) bool, whether the week shows anything. stands: (w,) bool, whether it stands in
            the closed hour.
        strays: (s,) int64, indices of the bars in the closed hour of the other weeks, ascending.
    """

    monday: I8
    bars: I8
    closed: I8
    judged: Bits
    stands: Bits
    strays: I8

    @property
    def weeks_judged(self) -> int:
        """Weeks that show anything: 0 with bars of more than an hour."""
        return int(self.judged.sum())

    @property
    def standing(self) -> tuple[str, ...]:
        """The weeks that stand in the closed hour, by the dates of their Mondays."""
        return tuple(day_text(int(day)) for day in self.monday[self.stands])

    @property
    def verdict(self) -> Literal["empty", "filled", "unjudged"]:
        """`filled` where a week stands in the closed hour."""
        if not self.judged.any():
            return "unjudged"
        return "filled" if self.stands.any() else "empty"


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Bars by half hours: first, number of a half hour since 1970; (n,) int64 counts from it on."""

    first: int
    counts: I8


@dataclass(frozen=True, slots=True)
class Proposal:
    """Clocks that fit the stamps of a file.

    Attributes:
        fits: their texts, the declared one first if it fits, then the common ones; more than one
            where they cannot be told apart on this range; none where no rule fits.
        weeks: weeks that could be judged.
        change: where the rule changes inside the file, the first and the last Sunday, as dates, on
            which the change can have been: in the weeks between both rules fit. Else None.
        why: all this in words.
    """

    fits: tuple[str, ...]
    weeks: int
    change: tuple[str, str] | None
    why: str


def look(t_open_ns: I8, bar_ns: int) -> ClosedHour:
    """Whether bars stand in the closed hour.

    Args:
        t_open_ns: (n,) int64, open times UTC, in any order, without flat filler bars.
        bar_ns: length of a bar.
    """
    new_york = zones.to_wall(t_open_ns, _NEW_YORK)
    halves = count(new_york)
    mondays, bars = weeks_of(halves)
    closed_halves = _closed(halves)
    closed = _by_week(halves, mondays, np.where(closed_halves, halves.counts, 0))
    said = _judge(*(day[:, :, 0] for day in days(halves, mondays, np.zeros(1, np.int64))))
    judges = bar_ns <= LONGEST_NS
    stands = said.stands & judges
    suspect = closed_halves & (halves.counts > 0)
    suspect &= ~np.isin(_monday(halves), mondays[stands])
    return ClosedHour(
        mondays,
        bars,
        closed,
        (said.clear | said.stands) & judges,
        stands,
        _where(new_york, halves, suspect) if judges else np.empty(0, np.int64),
    )


def propose(wall_ns: I8, bar_ns: int, declared: Clock) -> Proposal:
    """Which clocks leave the closed hour empty.

    Args:
        wall_ns: (n,) int64, stamps as they lie in the file, in any order, without flat filler bars.
        bar_ns: length of a bar.
        declared: the clock that the user named; it is tried before the others.
    """
    if bar_ns > LONGEST_NS:
        return Proposal((), 0, None, "bars of more than an hour say nothing of the clock")
    halves = count(wall_ns)
    mondays, _ = weeks_of(halves)
    others = (c for c in _candidates(halves, bar_ns) if c.moves != declared.moves)
    tried = [declared, *others]
    weeks = _try(halves, mondays, tried)
    if not weeks.clear.any():
        return Proposal((), 0, None, _nothing(halves, mondays))
    fits = np.flatnonzero(~weeks.stands.any(axis=0) & weeks.clear.any(axis=0))
    if len(fits):
        judged = int((weeks.clear | weeks.stands)[:, fits[0]].sum())
        texts = tuple(tried[k].text for k in fits)
        return Proposal(texts, judged, None, _fitting(texts, judged))
    return _changing(tried, mondays, weeks)


def count(wall_ns: I8) -> Halves:
    """(n,) int64 stamps in any order as counts of half hours."""
    if not len(wall_ns):
        return Halves(0, np.zeros(0, np.int64))
    first, last = int(wall_ns.min()) // HALF_NS, int(wall_ns.max()) // HALF_NS
    counts = np.zeros(last - first + 1, np.int64)
    for k in range(0, len(wall_ns), BLOCK):
        half = wall_ns[k : k + BLOCK] // HALF_NS - first
        low = int(half.min())
        found = np.bincount(half - low)
        counts[low : low + len(found)] += found
    return Halves(first, counts)


def _number(halves: Halves) -> I8:
    return halves.first + np.arange(len(halves.counts))


def _monday(halves: Halves) -> I8:
    """(n,) the week of each half hour, by its Monday in days since 1970."""
    week = (_number(halves) - FIRST_MONDAY * DAY + OPENING) // WEEK
    return week * 7 + FIRST_MONDAY


def _closed(halves: Halves) -> Bits:
    number = _number(halves)
    weekday = (number // DAY - FIRST_MONDAY) % 7
    return (number % DAY >= CLOSED) & (number % DAY < CLOSED + 2) & (weekday < 5)


def _by_week(halves: Halves, mondays: I8, counts: I8) -> I8:
    week = np.searchsorted(mondays, _monday(halves)[counts > 0])
    return np.bincount(week, counts[counts > 0], len(mondays)).astype(np.int64)


def weeks_of(halves: Halves) -> tuple[I8, I8]:
    """(w,) Mondays of the weeks that have bars, as days since 1970, and (w,) their bars."""
    mondays = np.unique(_monday(halves)[halves.counts > 0])
    return mondays, _by_week(halves, mondays, halves.counts)


def days(halves: Halves, mondays: I8, ahead: I8) -> tuple[Bits, Bits]:
    """What the days say of clocks that are (k,) `ahead` half hours ahead of New York.

    Returns:
        (w, 4, k) bool, whether the closed hour is filled on Monday to Thursday of each week, and
        whether it is empty between two hours with bars. Friday, which has no evening, is not asked.
    """
    pad = 2 * WEEK  # more than a clock can be ahead of another
    hours = np.pad(halves.counts, pad)
    hours = hours[:-1] + hours[1:]
    closed = _evenings(mondays)[:, :, None] + ahead + (pad - halves.first)
    closed = np.clip(closed, 2, len(hours) - 3)
    before, inside, after = hours[closed - 2], hours[closed], hours[closed + 2]
    filled = inside * 3 > np.maximum(before, after)
    return filled, ~filled & (before > 0) & (after > 0)


def _evenings(mondays: I8) -> I8:
    """(w, 4) 17:00 of Monday to Thursday, in half hours since 1970."""
    return (mondays[:, None] + np.arange(4)) * DAY + CLOSED


def _where(wall_ns: I8, halves: Halves, wanted: Bits) -> I8:
    """Indices of the stamps in the wanted half hours."""
    if not wanted.any():
        return np.empty(0, np.int64)
    found = [
        k + np.flatnonzero(wanted[wall_ns[k : k + BLOCK] // HALF_NS - halves.first])
        for k in range(0, len(wall_ns), BLOCK)
    ]
    return np.concatenate(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Weeks:
    """(w, ...) weeks that stand in the closed hour, and weeks that leave it empty."""

    stands: Bits
    clear: Bits


def _candidates(halves: Halves, bar_ns: int) -> list[Clock]:
    """Clocks to try, the common ones first; hourly bars open on whole hours UTC."""
    texts = list[str](COMMON)
    for minutes in range(-12 * 60, 14 * 60 + 1, HALF_MIN):
        hour, minute = divmod(abs(minutes), 60)
        if minutes:
            texts.append(f"fixed:{'-' if minutes < 0 else '+'}{hour:02d}:{minute:02d}")
    clocks = [zones.parse_clock(text) for text in dict.fromkeys(texts)]
    if bar_ns < LONGEST_NS:
        return clocks
    even = halves.first % 2
    on_the_half = int(halves.counts[1 - even :: 2].sum() > halves.counts[even::2].sum())
    middle = np.array([halves.first * HALF_NS])
    return [
        clock
        for clock in clocks
        if int((zones.to_wall(middle, clock) - middle)[0]) // HALF_NS % 2 == on_the_half
    ]


def _try(halves: Halves, mondays: I8, tried: list[Clock]) -> _Weeks:
    evenings = (_evenings(mondays) * HALF_NS).ravel()
    t_ns = zones.to_utc(evenings, _NEW_YORK).t_ns
    ahead = [(zones.to_wall(t_ns, clock) - evenings) // HALF_NS for clock in tried]
    offsets, column = np.unique(np.stack(ahead, axis=1), return_inverse=True)
    column = column.reshape(len(mondays), 4, len(tried))
    week, day = np.arange(len(mondays))[:, None, None], np.arange(4)[:, None]
    return _judge(*(said[week, day, column] for said in days(halves, mondays, offsets)))


def _judge(filled: Bits, empty: Bits) -> _Weeks:
    """Weeks by the majority of their days, from (w, 4, ...) what the days say."""
    against, in_favour = filled.sum(axis=1), empty.sum(axis=1)
    return _Weeks(against > in_favour, (in_favour > 0) & (in_favour >= against))


def _changing(tried: list[Clock], mondays: I8, weeks: _Weeks) -> Proposal:
    """A clock whose rule changes once, where no single rule fits."""
    n = len(mondays)
    wrong = weeks.stands.any(axis=0)
    until = np.where(wrong, weeks.stands.argmax(axis=0), n)
    since = np.where(wrong, n - weeks.stands[::-1].argmax(axis=0), 0)
    shown = np.cumsum(weeks.clear, axis=0, dtype=np.int64)
    shown = np.concatenate([np.zeros((1, len(tried)), np.int64), shown])
    column = np.arange(len(tried))
    before, after = shown[until, column], shown[n] - shown[since, column]
    single = np.array([not clock.days for clock in tried])
    pairs = (since[None, :] <= until[:, None]) & single[None, :] & single[:, None]
    pairs &= (before[:, None] >= ENOUGH_WEEKS) & (after[None, :] >= ENOUGH_WEEKS)
    old, new = np.nonzero(pairs)
    if not len(old):
        return _nearest(tried, weeks)
    best = int(np.argmin(old + new))
    a, b = int(old[best]), int(new[best])
    possible = mondays[since[b] : until[a] + 1] - 1  # some clocks show Sunday when a week begins
    text = f"{tried[a].text},{tried[b].text}@{day_text(_likely(possible))}"
    span = day_text(int(possible[0])), day_text(int(possible[-1]))
    judged = (weeks.clear | weeks.stands)[:, [a, b]].any(axis=1)
    why = (
        f"no single rule fits; {tried[a].text} fits before and {tried[b].text} after a change on a"
        f" weekend from {span[0]} to {span[1]}, between which both fit"
    )
    return Proposal((text,), int(judged.sum()), span, why)


def _likely(sundays: I8) -> int:
    """The Sunday of a year's first Monday, if it is among them, else the earliest."""
    mondays = (date(1970, 1, 1) + timedelta(days=int(day) + 1) for day in sundays)
    new_year = [k for k, day in enumerate(mondays) if day.month == 1 and day.day <= 7]
    return int(sundays[new_year[0] if new_year else 0])


def _nearest(tried: list[Clock], weeks: _Weeks) -> Proposal:
    """What is said where neither a rule nor a change of rule fits all weeks."""
    stands, clear = weeks.stands.sum(axis=0), weeks.clear.sum(axis=0)
    best = int(np.argmax(clear - stands))
    judged = int(clear[best] + stands[best])
    if clear[best] <= stands[best]:
        why = "no rule leaves the closed hour empty in most weeks"
    else:
        why = (
            f"no rule fits; the nearest is {tried[best].text}, with which bars stand in the closed"
            f" hour in {stands[best]} of {judged} weeks"
        )
    return Proposal((), judged, None, why)


def _nothing(halves: Halves, mondays: I8) -> str:
    """What is said where no clock sees an empty hour between two with bars."""
    filled, _ = days(halves, mondays, np.arange(DAY))
    if filled.any(axis=(0, 1)).all():
        return "no hour is empty: the bars fill all 24 hours of the day"
    return "no week shows an empty hour between two hours with bars"


def _fitting(texts: tuple[str, ...], judged: int) -> str:
    many = "the one week" if judged == 1 else f"all {judged} weeks"
    weeks = f"the closed hour is empty in {many} that can be judged"
    if len(texts) == 1:
        return f"{texts[0]} alone fits: {weeks}"
    return f"{', '.join(texts)} fit and cannot be told apart on this range: {weeks}"
