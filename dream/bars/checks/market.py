"""Holds the bars of an export against the market: its hours, its prices, a reference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.checks import closed_hour, examine, plausible, quality, reference
from dream.bars.checks.holes import holes
from dream.bars.clock import sessions, zones
from dream.bars.clock.clocks import DAY_MIN, iso, year_start_ns
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.bars.checks.examine import Examination
    from dream.bars.gather import Mask
    from dream.types import F8, Bars

MOST_HOLES: Final = 20
"""Holes that a report names."""
FUTURES_UNTIL_1715: Final = 2016
"""Before this year gold's day ended at 17:15 New York on some feeds."""


def look(at: Examination, known: Bars | None = None) -> None:
    """Looks the rows over, which are in order by now.

    Args:
        at: the examination; faults are counted there.
        known: bars of the same market to hold them against.

    Raises:
        BarsInvalid: no row is left.
    """
    columns, bar_ns = at.columns, at.bar_ns
    filler = quality.filler(
        columns.t_ns, columns.px, columns.volume, bar_ns, has_volume=at.layout.has_volume
    )
    at.take_out("filler", filler)
    examine.refuse_empty(at)
    _head(at)
    if _clock(at):
        at.take_out("weekend", sessions.weekend(columns.t_ns, bar_ns))
        examine.refuse_empty(at)
        _holes(at)
    _made_up(at)
    _habits(at)
    if known is not None:
        _against(at, known)


def _clock(at: Examination) -> bool:
    """Whether the hours of the market can be read off the bars by the clock that was given."""
    columns = at.columns
    if not plausible.metal(at.reading.instrument.symbol):
        at.notes.append("the closed hour is that of metals: the clock was not judged by it")
        return True
    clock = zones.parse_clock("utc" if at.clocks.declared == "per-row" else at.clocks.declared)
    seen = closed_hour.look(columns.t_ns, at.bar_ns)
    fits = closed_hour.propose(zones.to_wall(columns.t_ns, clock), at.bar_ns, clock)
    at.clocks = replace(
        at.clocks, judged=seen.weeks_judged, standing=seen.standing, fitting=fits.fits,
        change=fits.change, why=fits.why,
    )  # fmt: skip
    inside = sessions.closed_hour(columns.t_ns, at.bar_ns)
    if seen.standing:
        weeks = (f"week of {monday}" for monday in seen.standing)
        at.tally.add("clock", len(seen.standing), weeks, fits.why)
    elif late := _are_closing_times(at, inside, seen.weeks_judged):
        at.tally.add("clock", seen.weeks_judged, (), late)
    if not seen.standing or not fits.fits or at.tally.policy.of("clock") == "keep":
        at.take_out("closed_hour", inside)
        return True
    at.notes.append("weekends and holes were not looked at, since the clock is wrong")
    return False


def _are_closing_times(at: Examination, inside: Mask, weeks: int) -> str:
    """Says so where nearly every day has just the first bar of the closed hour."""
    t_ns, bar_min = at.columns.t_ns[inside], at.bar_ns // MINUTE_NS
    minute = sessions.trading_minutes(t_ns) % DAY_MIN
    first = int(np.count_nonzero(minute < bar_min))
    since = year_start_ns(FUTURES_UNTIL_1715)
    if not weeks or bar_min > 30 or first < 3 * weeks or first < len(t_ns) or t_ns[0] < since:
        return ""
    return (
        f"{first:,} days have one bar in the closed hour, at its begin: the stamps may be times of "
        f"closing; stamps in UTC are put right by --clock fixed:+00:{bar_min:02d}"
    )


def _holes(at: Examination) -> None:
    gaps = holes(at.columns.t_ns, at.bar_ns)
    at.gaps = gaps
    missing = f"missing bars in all: {int(gaps.bars.sum()):,}" if len(gaps) else ""
    at.tally.add("hole", len(gaps), gaps.places(MOST_HOLES), missing)
    if gaps.quiet:
        at.notes.append(
            f"{gaps.quiet:,} short gaps, {gaps.quiet_bars:,} bars in all, are taken for quiet "
            f"times without a tick"
        )


def _head(at: Examination) -> None:
    """Made-up rows before a hole: with them gone, there is no hole."""
    columns = at.columns
    head = plausible.invented_head(columns.t_ns, columns.px, at.bar_ns)
    if head.rows:
        first = np.zeros(len(columns), np.bool_)
        first[: head.rows] = True
        at.take_out("invented_head", first, note="; ".join(head.signs))


def _made_up(at: Examination) -> None:
    """Prices that the instrument never had, and bars that no market makes."""
    columns, instrument = at.columns, at.reading.instrument
    level = plausible.level(columns.t_ns, columns.px, instrument.tick, instrument.symbol)
    if level.first is not None:
        row = columns.px[level.first] * instrument.tick
        when = iso(int(columns.t_ns[level.first]))
        place = (
            f"{at.layout.row} {columns.line[level.first]} ({when}): {row[2]:.10g} to {row[1]:.10g}"
        )
        like = f"they look like {level.looks_like}" if level.looks_like else ""
        other = plausible.other_symbol(at.layout, instrument)
        at.tally.add("level", level.outside, (place,), other or like)
    made = plausible.invented(columns.t_ns, columns.px, at.bar_ns)
    if made.is_invented:
        at.tally.add("invented", len(columns), (), "; ".join(made.signs))


def _habits(at: Examination) -> None:
    """What vendors do to bars, and whether the last bar was complete."""
    columns, layout = at.columns, at.layout
    stitched = quality.stitched(columns.t_ns, columns.px, at.bar_ns)
    if stitched.is_stitched:
        share = f"{stitched.share:.0%} of the opens, {stitched.gap_share:.0%} behind gaps"
        at.tally.add("stitched", round(stitched.share * (len(columns) - 1)), (), share)
    flat = quality.flat(columns.px)
    at.tally.add("flat", flat.count, (), f"{flat.share:.1%} of the bars")
    if flat.nearly_all:
        at.tally.add("invented", flat.count, (), "most of the bars have no movement at all")
    spreads = quality.spreads(columns.spread)
    if layout.has_spread and spreads.zeros:
        zeros = round(spreads.zeros * len(columns))
        at.tally.add("no_spread", zeros, (), f"{spreads.zeros:.1%} of the bars")
    last = quality.forming(columns.t_ns, columns.volume, at.bar_ns, has_volume=layout.has_volume)
    if last.is_forming:
        mask = np.zeros(len(columns), np.bool_)
        mask[-1] = True
        said = f": volume {last.volume:,.6g}, usual {last.usual:,.6g}"
        at.take_out("forming", mask, said)


def _against(at: Examination, known: Bars) -> None:
    columns, tick = at.columns, at.reading.instrument.tick
    close = np.asarray(columns.px[:, 3] * tick, np.float64)
    found = reference.shift(columns.t_ns, close, at.bar_ns, known)
    fits = _agreeing(at, close, known) if any(part.shift_min for part in found.stretches) else ""
    said = tuple(
        f"{part.first} to {part.last}: {part.shift_min / 60:+g} h, correlation "
        f"{part.correlation:.3f}"
        for part in found.stretches
    )
    at.clocks = replace(at.clocks, shifts=said)
    if not len(found.monday):
        at.notes.append("no week could be compared with the reference")
        return
    if found.median < reference.AGREES:
        at.tally.add("reference", len(found.monday), said, f"median correlation {found.median:.2f}")
    elif wrong := [
        text for text, part in zip(said, found.stretches, strict=True) if part.shift_min
    ]:
        tried = f"{fits} agrees in all weeks" if fits else "no usual clock agrees in all weeks"
        note = f"the bars are shifted against the reference; {tried}"
        at.tally.add("reference", len(wrong), wrong, note)


def _agreeing(at: Examination, close: F8, known: Bars) -> str:
    """The option for the first clock that agrees with a reference in all weeks, "" without one."""
    if at.clocks.declared == "per-row":
        return ""
    clock = zones.parse_clock(at.clocks.declared)
    wall_ns = zones.to_wall(at.columns.t_ns, clock)
    for text in dict.fromkeys((*at.clocks.fitting, *closed_hour.COMMON)):
        other = zones.parse_clock(text)
        if other.moves == clock.moves:
            continue
        t_ns = zones.to_utc(wall_ns, other).t_ns
        found = reference.shift(t_ns, close, at.bar_ns, known)
        if found.median >= reference.AGREES and not any(p.shift_min for p in found.stretches):
            return f"--clock {text}"
    return ""
