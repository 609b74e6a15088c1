"""Source clocks: the rule by which the stamps of an export are to be read, and the conversion.

A rule is a wall clock and an offset from it; a clock is one rule, or several with the dates from
which each holds. Its text goes into the metadata of a bar file and means the same on any machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from zoneinfo import available_timezones

import numpy as np

from dream.bars.clock import offsets
from dream.bars.clock.clocks import FIRST_YEAR, LAST_YEAR, NEW_YORK
from dream.bars.clock.offsets import Converted, Offsets
from dream.errors import SpecInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.types import I8

__all__ = ["Clock", "Converted", "Rule", "parse_clock", "to_utc", "to_wall"]

DAY_NS: Final = offsets.DAY_S * offsets.SECOND_NS
PER_ROW: Final = "per-row"
NAMED: Final[dict[str, tuple[str, int]]] = {
    "ny+7": (NEW_YORK, 420),
    "eet-eu": ("Europe/Helsinki", 0),
    "london-5": ("Europe/London", -300),
}
"""Rule to its time zone and the minutes added to that zone's wall clock.

`ny+7` is UTC+2/+3 on American dates, the clock of most brokers' daily bars; `eet-eu` the same on
European dates; `london-5` is met in data that was derived from HistData's.
"""
ALIASES: Final = {"eet-us": "ny+7"}
THERE_IS: Final = (
    "there are: utc, per-row, a fixed offset such as fixed:+03:00, ny+7 (= eet-us), eet-eu,"
    " london-5, and zones such as Europe/London; a change of rule is written"
    " eet-eu,ny+7@2021-01-04"
)
MOST_RULES: Final = 20
MOST_FIXED_MIN: Final = 14 * 60
_FIXED: Final = re.compile(r"fixed:([+-])(\d\d):([0-5]\d)", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NOT_EVERYWHERE: Final = ("localtime", "Factory", "posixrules")


@dataclass(frozen=True, slots=True)
class Rule:
    """A wall clock.

    Attributes:
        text: its name. zone: a time zone, None for UTC. ahead_min: added to that zone's clock.
    """

    text: str
    zone: str | None
    ahead_min: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Rules in order.

    Attributes:
        rules: at least one.
        days: for each rule but the first the date from which it holds, as days since 1970: stamps
            from that midnight on are read by it. Ascending.
    """

    rules: tuple[Rule, ...]
    days: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The clock in words that `parse_clock` reads."""
        later = (
            f",{rule.text}@{date(1970, 1, 1) + timedelta(days=day)}"
            for rule, day in zip(self.rules[1:], self.days, strict=True)
        )
        return self.rules[0].text + "".join(later)

    @property
    def moves(self) -> tuple[object, ...]:
        """Equal for clocks that show the same times under two names, such as utc and per-row."""
        return tuple((rule.zone, rule.ahead_min) for rule in self.rules), self.days


def parse_clock(text: str) -> Clock:
    """A clock from words such as `ny+7` or `eet-eu,ny+7@2021-01-04`.

    Raises:
        SpecInvalid: naming what is wrong and what there is.
    """
    first, *later = text.split(",", MOST_RULES)
    if len(later) >= MOST_RULES:
        raise _refused(text, f"more than {MOST_RULES} rules")
    rules, days = [_rule(first, text)], list[int]()
    for part in later:
        name, at, day = part.partition("@")
        if not at:
            raise _refused(text, f"{part[:40]!r} has no date from which it holds")
        rules.append(_rule(name, text))
        days.append(_day(day, text))
    if any(b <= a for a, b in pairwise(days)):
        raise _refused(text, "its dates are not ascending")
    if later and any(rule.text == PER_ROW for rule in rules):
        raise _refused(text, f"{PER_ROW} cannot change into another rule")
    clock = Clock(tuple(rules), tuple(days))
    if days:
        _table(clock, days[0] * DAY_NS, days[-1] * DAY_NS)  # refuses changes that overlap
    return clock


def to_utc(wall_ns: I8, clock: Clock) -> Converted:
    """Instants of (n,) int64 stamps, nanoseconds since 1970 as the clock shows them.

    Instants ascend with the stamps but where `missing` or `doubled` is set.

    Raises:
        SpecInvalid: the clock's changes overlap within the range, or its zone is not known here.
    """
    return offsets.to_utc(wall_ns, _table(clock, *_ends(wall_ns)))


def to_wall(t_ns: I8, clock: Clock) -> I8:
    """What the clock shows at (n,) int64 instants: the inverse of `to_utc`.

    Raises:
        SpecInvalid: as `to_utc`.
    """
    return offsets.to_wall(t_ns, _table(clock, *_ends(t_ns)))


def _refused(text: str, why: str) -> SpecInvalid:
    return SpecInvalid(f"the clock {text[:60]!r}: {why}; {THERE_IS}")


def _rule(name: str, text: str) -> Rule:
    """The rule of a name; only zones are case-sensitive."""
    small = name.lower()
    small = ALIASES.get(small, small)
    if small in NAMED:
        return Rule(small, *NAMED[small])
    if small in {"utc", PER_ROW}:
        return Rule(small, None, 0)
    if "@" in name:
        raise _refused(text, "the first rule takes no date")
    if fixed := _FIXED.fullmatch(small):
        ahead = int(f"{fixed[1]}1") * (int(fixed[2]) * 60 + int(fixed[3]))
        if abs(ahead) > MOST_FIXED_MIN:
            raise _refused(text, "no clock is more than 14 hours from UTC")
        return Rule(small, None, ahead) if ahead else Rule("utc", None, 0)
    if name in _zones():
        return Rule(name, name, 0)
    near = get_close_matches(name[:40], _zones(), n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    raise _refused(text, f"no rule and no time zone is named {name[:40]!r}{hint}")


@cache
def _zones() -> frozenset[str]:
    """The zones that this machine knows.

    Raises:
        SpecInvalid: it knows none.
    """
    known = frozenset(available_timezones().difference(_NOT_EVERYWHERE))
    if not known:
        raise SpecInvalid(
            "this machine has no time zone database, so that clocks such as Europe/London or ny+7"
            " cannot be converted: pip install tzdata"
        )
    return known


def _day(day: str, text: str) -> int:
    example = f"{day[:40]!r} is not a date such as 2021-01-04"
    if not _DAY.fullmatch(day):
        raise _refused(text, example)
    try:
        moment = date.fromisoformat(day)
    except ValueError as e:
        raise _refused(text, example) from e
    if not FIRST_YEAR < moment.year < LAST_YEAR:
        raise _refused(text, f"{day} is outside {FIRST_YEAR} to {LAST_YEAR}")
    return (moment - date(1970, 1, 1)).days


def _ends(values: I8) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _rule_table(rule: Rule, first_ns: int, last_ns: int) -> Offsets:
    ahead_ns = rule.ahead_min * MINUTE_NS
    if rule.zone is None:
        start = int(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()) * offsets.SECOND_NS
        return Offsets(np.array([start]), np.array([ahead_ns]))
    of_zone = offsets.of_zone(rule.zone, first_ns, last_ns)
    return Offsets(of_zone.from_ns, of_zone.ahead_ns + ahead_ns)


def _table(clock: Clock, first_ns: int, last_ns: int) -> Offsets:
    """All rules of a clock in one table, for instants or wall times of a range.

    Where a rule follows another, the clock is set at the instant at which either shows that
    midnight, the earlier of the two. So a clock that is put forward skips the time before midnight,
    and one that is put back shows the time before midnight twice; stamps from midnight on belong to
    the new rule alone.
    """
    midnights = np.array(clock.days, np.int64) * DAY_NS
    first_ns, last_ns = (
        int(f(np.append(midnights, end))) for f, end in ((np.min, first_ns), (np.max, last_ns))
    )
    tables = [_rule_table(rule, first_ns, last_ns) for rule in clock.rules]
    whole = tables[0]
    for k, table in enumerate(tables[1:]):
        midnight = midnights[k : k + 1]
        at_ns = min(int(offsets.to_utc(midnight, t).t_ns[0]) for t in (tables[k], table))
        old, new = whole.from_ns < at_ns, table.from_ns > at_ns
        ahead_ns = offsets.to_wall(np.array([at_ns]), table) - at_ns
        whole = Offsets(
            np.concatenate([whole.from_ns[old], [at_ns], table.from_ns[new]]),
            np.concatenate([whole.ahead_ns[old], ahead_ns, table.ahead_ns[new]]),
        )
    begin, end = offsets.changes(whole)
    if (np.diff(whole.from_ns) <= 0).any() or (begin[1:] < end[:-1]).any():
        raise _refused(clock.text, "two of its changes lie within hours of each other")
    return whole
