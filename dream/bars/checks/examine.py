"""Checks the gathered rows of an export: clock, order, grid, sessions, and whether it is gold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.checks import closed_hour, quality
from dream.bars.checks.report import Clocks, listed
from dream.bars.clock import zones
from dream.bars.clock.clocks import DAY_MIN, iso
from dream.bars.clock.sessions import trading_minutes
from dream.errors import BarsInvalid, SpecInvalid
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from pathlib import Path

    from dream.bars.checks.faults import Tally
    from dream.bars.checks.holes import Holes
    from dream.bars.gather import Columns, Mask
    from dream.bars.importers.sheet import Layout
    from dream.bars.reading import Reading
    from dream.types import I8

DAY_NS: Final = DAY_MIN * MINUTE_NS
DATES: Final = "ny+7"
"""The clock of dates alone: they are trading days, which begin at 17:00 New York."""
NEWEST_FIRST: Final = 0.9
"""Share of steps back in time from which a file is taken to be in the order of newest first."""


@dataclass(slots=True, eq=False)
class Examination:
    """One export on its way through the checks.

    Attributes:
        columns: the rows that are left. bar_ns: length of a bar, once it is known.
        clocks: what is known of the clock. gaps: holes, None where the clock is wrong.
        notes: what else is worth knowing.
    """

    path: Path
    layout: Layout
    reading: Reading
    tally: Tally
    columns: Columns
    bar_ns: int = 0
    clocks: Clocks = field(default_factory=lambda: Clocks(""))
    gaps: Holes | None = None
    notes: list[str] = field(default_factory=list[str])
    newest_first: bool = False

    def take_out(
        self, kind: str, wrong: Mask, said: str = "", note: str = "", *, wall: bool = False
    ) -> None:
        """Counts wrong rows and, unless such are kept, leaves them out.

        Args:
            kind: of the fault.
            wrong: (n,) mask of the rows.
            said: what is said of a row behind its line and time.
            note: said once of all of them.
            wall: whether stamps are still those of the source's clock.
        """
        if not wrong.any():
            return
        columns, rows = self.columns, np.flatnonzero(wrong)
        stamps = (iso(int(columns.t_ns[r])).removesuffix("Z" if wall else "") for r in rows)
        places = (
            f"{self.layout.row} {columns.line[r]} ({stamp}){said}"
            for r, stamp in zip(rows, stamps, strict=True)
        )
        self.tally.add(kind, len(rows), places, note)
        if self.tally.policy.of(kind) != "keep":
            self.columns.leave_out(wrong)


def order(at: Examination) -> None:
    """Makes the stamps UTC, oldest first, each once, on the grid of one bar length.

    Raises:
        BarsInvalid: the clock must be given, or no bar length can be told.
        SpecInvalid: the clock given cannot be that of the file.
    """
    _to_utc(at)
    _sort(at)
    _once(at)
    at.bar_ns = _bar_ns(at, at.columns.t_ns)
    minutes = at.bar_ns // MINUTE_NS
    other = quality.other_length(at.columns.t_ns, at.bar_ns)
    lengths = ", ".join(f"{ns // MINUTE_NS}" for ns in other.lengths_ns)
    at.take_out("other_length", other.mask, f": bars of {lengths} among those of {minutes} minutes")
    _whole_days(at)
    said = f": off the grid of {minutes}-minute bars"
    wall_ns = zones.to_wall(at.columns.t_ns, zones.parse_clock(at.clocks.declared))
    at.take_out("off_grid", quality.off_grid(at.columns.t_ns, at.bar_ns, wall_ns), said)
    refuse_empty(at)


def _whole_days(at: Examination) -> None:
    """Puts daily bars where their trading day begins, unless all begin at midnight UTC.

    The midnight of a server is an hour beside it for some weeks a year, or always; the date is that
    of the middle of the bar.
    """
    t_ns = at.columns.t_ns
    if at.bar_ns != DAY_NS or not (t_ns % DAY_NS).any():
        return
    date = trading_minutes(t_ns + DAY_NS // 2).astype(np.int64) // DAY_MIN
    begin = zones.to_utc(date * DAY_NS, zones.parse_clock(DATES)).t_ns
    if (begin != t_ns).any():
        at.columns.t_ns = begin
        at.notes.append("daily bars were put where their trading day begins, 17:00 New York")


def refuse_empty(at: Examination) -> None:
    """Refuse an export of which nothing is left.

    Raises:
        BarsInvalid: saying what became of the rows.
    """
    if len(at.columns):
        return
    stated = ""
    if at.layout.bar_ns and at.tally.count("other_length"):
        minutes = at.layout.bar_ns // MINUTE_NS
        stated = f"; the file states bars of {minutes} minutes: mend what it states"
    raise BarsInvalid(
        f"{at.path} ({at.layout.format}): no row is left; {listed(at.tally.found())}{stated}; mend "
        f"the file, export it again, or choose with --on what is done"
    )


def _to_utc(at: Examination) -> None:
    kind, given = at.layout.clock, at.reading.clock
    if given is None and kind == "wall":
        utc = zones.parse_clock("utc")
        fits = closed_hour.propose(at.columns.t_ns, _bar_ns(at, np.sort(at.columns.t_ns)), utc).fits
        hint = f"; these fit: {', '.join(fits[:4])}" if fits else ""
        raise BarsInvalid(
            f"{at.path} ({at.layout.format}): its times carry no zone; say whose they are with "
            f"--clock{hint}"
        )
    if kind == "per-row" and given not in {None, "utc", "per-row"}:
        raise SpecInvalid(
            f"--clock {given}: every row of {at.path} carries its own offset, which was applied; "
            f"leave --clock out"
        )
    clock = zones.parse_clock(given or (DATES if kind == "date" else "utc"))
    at.clocks = Clocks("per-row" if kind == "per-row" else clock.text)
    if kind == "date" and given is None:
        at.notes.append("dates were taken as trading days, which begin at 17:00 New York")
    if kind == "utc" and clock.text != "utc":
        at.notes.append(f"the file says that its times are UTC; they were read as {clock.text}")
    found = zones.to_utc(at.columns.t_ns, clock)
    t_ns, wrong = found.t_ns, found.missing | found.doubled
    if wrong.any():
        said = f" by {clock.text}"
        at.take_out("no_such_time", found.missing, said, wall=True)
        at.take_out("twice_time", found.doubled[~found.missing], said, wall=True)
        t_ns = t_ns[~wrong]
    at.columns.t_ns = t_ns


def _bar_ns(at: Examination, t_ns: I8) -> int:
    """Length of a bar: what the file states, else what its stamps say."""
    stated = at.layout.bar_ns
    if stated is not None and not DAY_NS % stated and not stated % MINUTE_NS:
        return stated
    found = quality.bar_length(t_ns)
    if found is not None:
        return found
    steps, counts = np.unique(np.diff(t_ns), return_counts=True)
    most = (
        f", most of them {steps[counts.argmax()] / MINUTE_NS:g} minutes apart" if len(steps) else ""
    )
    rows = "1 row does" if len(t_ns) == 1 else f"{len(t_ns):,} rows{most}, do"
    raise BarsInvalid(
        f"{at.path} ({at.layout.format}): {rows} not tell the length of a bar; expected rows that "
        f"lie one minute to one day apart, a whole number of times in a day; export it again"
    )


def _sort(at: Examination) -> None:
    step = np.diff(at.columns.t_ns)
    back = step < 0
    if back.any() and np.count_nonzero(back) > NEWEST_FIRST * np.count_nonzero(step):
        at.columns.take(slice(None, None, -1))
        at.newest_first = True
        at.notes.append("the newest row came first; the order was turned round")
        back = np.diff(at.columns.t_ns) < 0
    if back.any():
        columns, rows = at.columns, np.flatnonzero(back) + 1
        places = (
            f"{at.layout.row} {columns.line[r]} ({iso(int(columns.t_ns[r]))}) after "
            f"{iso(int(columns.t_ns[r - 1]))}"
            for r in rows
        )
        at.tally.add("unsorted", len(rows), places)
        columns.take(np.argsort(columns.t_ns, kind="stable"))


def _once(at: Examination) -> None:
    """Every stamp once; of several rows with other values the first or the last stays."""
    same = np.diff(at.columns.t_ns) == 0
    if not same.any():
        return
    columns, later = at.columns, np.flatnonzero(same) + 1
    equal = (
        (columns.px[later] == columns.px[later - 1]).all(axis=1)
        & (columns.spread[later] == columns.spread[later - 1])
        & (columns.volume[later] == columns.volume[later - 1])
    )
    twice = np.zeros(len(columns), np.bool_)
    twice[later[equal]] = True
    at.take_out("duplicate", twice)
    same = np.diff(at.columns.t_ns) == 0
    if not same.any():
        return
    says_last = at.tally.policy.of("conflict") == "last"
    last = says_last != at.newest_first  # the first of the file is the last of a turned one
    out = np.append(same, False) if last else np.append(False, same)
    at.take_out(
        "conflict", out, f": not as the {'last' if says_last else 'first'} row of that time"
    )
