"""What the rows of a series say of the one who wrote them: filler, stitching, lengths, ticks.

Nothing here decides: masks and figures go to who applies the policy of `faults.KINDS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import DAY_MIN, SECOND_NS
from dream.bars.clock.holidays import holidays
from dream.bars.clock.sessions import (
    EARLIEST_END_MIN,
    STRETCH,
    closed_times,
    holiday_hours,
    stretches,
    trading_minutes,
)
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    import numpy.typing as npt

    from dream.types import F8, I4, I8

    B1 = npt.NDArray[np.bool_]

DAY_S: Final = DAY_MIN * 60
NEARLY_ALL_FLAT: Final = 0.5
"""Of real files less than 5 % of the bars are flat (daily futures); of one-minute bars of a quiet
market perhaps a quarter."""
STITCHED_GAPS: Final = 0.5
"""Of real files 3.6 % of the gaps at most open at the close before them, of a stitched one 99 %."""
FEWEST_GAPS: Final = 5
GAP_MIN: Final = 60
"""Gold is closed for an hour a day: what is missing for so long is a gap to open after."""
STEPS_OF_ANOTHER_LENGTH: Final = 12
"""So many equal steps in a row that are not the bar length are bars of another length."""
DAYS_OF_ANOTHER_LENGTH: Final = 3
"""So are this many equal steps of a day or more."""
MOST_LENGTHS: Final = 8
"""Lengths that are followed through a file; a file with more of them is none of bars."""
BEFORE_LAST: Final = 8
"""Bars to whose median the volume of the last one is compared."""
FEWEST_DAYS, MOST_DAYS = 5, 20
"""Earlier days on which the same time of day is looked at."""
ENDS_MIN: Final = DAY_MIN - 15
"""Some feeds end their day a quarter of an hour early."""
MOST_DECIMALS: Final = 5
SAMPLE: Final = 200_000
"""So many rows, evenly spread, tell the decimals and the usual spreads of a file."""
QUANTILES: Final = (0.05, 0.5, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class Flat:
    """Bars without movement. count: how many. share: of all. nearly_all: whether most are so."""

    count: int
    share: float
    nearly_all: bool


@dataclass(frozen=True, slots=True)
class Stitched:
    """How opens lie to the closes before them.

    Attributes:
        share: of all opens, those that equal the close before.
        gap_share: the same of opens after an hour or more without bars.
        gaps: how many such opens there are; few prove nothing.
        is_stitched: whether a vendor has set opens to closes.
    """

    share: float
    gap_share: float
    gaps: int
    is_stitched: bool


@dataclass(frozen=True, slots=True, eq=False)
class OtherLength:
    """Bars of another length than the rest. mask: (n,) bool. lengths_ns: the lengths, ascending."""

    mask: B1
    lengths_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forming:
    """Whether the last bar may have been written before its close.

    Attributes:
        is_forming: volume says so. is_known: whether volume can say anything.
        volume: of the last bar. usual: what half of is the least that is expected of it.
    """

    is_forming: bool
    is_known: bool
    volume: float
    usual: float


@dataclass(frozen=True, slots=True)
class Spreads:
    """Spreads in ticks. zeros: share of zeros. quantiles: 5, 50, 95 and 100 % of the others."""

    zeros: float
    quantiles: tuple[float, ...]


def filler(t_open_ns: I8, px: I4, volume: F8, bar_ns: int, *, has_volume: bool) -> B1:
    """Which bars were written by a vendor for closed times: no movement, no volume.

    Where volumes are known a bar on a US holiday counts too; where they are not, only one in the
    closed hour or at the weekend does.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        px: (n, 4) int32 ticks.
        volume: (n,) float64.
        bar_ns: length of a bar.
        has_volume: whether the file has a column of volumes; one of zeros counts as none.

    Returns:
        (n,) bool.
    """
    at = np.flatnonzero(_flat(px))
    known = has_volume and bool(volume.any())
    if known:
        at = at[volume[at] == 0]
    t = t_open_ns[at]
    closed = np.logical_or(*closed_times(t, bar_ns))
    if known:
        closed |= holiday_hours(t, bar_ns)
    made = np.zeros(len(t_open_ns), np.bool_)
    made[at[closed]] = True
    return made


def _flat(px: I4) -> B1:
    made = np.empty(len(px), np.bool_)
    for rows in stretches(len(px)):
        o, h, l, c = px[rows].T
        made[rows] = (h == l) & (o == c) & (o == h)
    return made


def flat(px: I4) -> Flat:
    """Bars in which open, high, low and close are one price; filler is to be left out before.

    Args:
        px: (n, 4) int32 ticks.
    """
    count = int(_flat(px).sum())
    share = count / max(len(px), 1)
    return Flat(count, share, share > NEARLY_ALL_FLAT)


def stitched(t_open_ns: I8, px: I4, bar_ns: int) -> Stitched:
    """How often a bar opens at the close before it, after gaps and in all.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC; filler is to be left out before.
        px: (n, 4) int32 ticks.
        bar_ns: length of a bar.
    """
    equal = gaps = equal_gaps = 0
    for rows in stretches(len(px) - 1):
        same = px[rows.start + 1 : rows.stop + 1, 0] == px[rows, 3]
        gap = np.diff(t_open_ns[rows.start : rows.stop + 1]) >= bar_ns + GAP_MIN * MINUTE_NS
        equal += int(same.sum())
        gaps += int(gap.sum())
        equal_gaps += int((same & gap).sum())
    gap_share = equal_gaps / max(gaps, 1)
    is_stitched = gaps >= FEWEST_GAPS and gap_share > STITCHED_GAPS
    return Stitched(equal / max(len(px) - 1, 1), gap_share, gaps, is_stitched)


def _steps_s(t_open_ns: I8) -> I4:
    """(n - 1,) whole seconds from each stamp to the next, at most 68 years."""
    made = np.empty(max(len(t_open_ns) - 1, 0), np.int32)
    for rows in stretches(len(made)):
        step = np.diff(t_open_ns[rows.start : rows.stop + 1]) // SECOND_NS
        made[rows] = np.minimum(step, np.iinfo(np.int32).max)
    return made


def bar_length(t_open_ns: I8) -> int | None:
    """The most common step that can be a bar's, the shorter of two equally common ones.

    Args:
        t_open_ns: (n,) int64, sorted stamps; some may be off the grid.

    Returns:
        Nanoseconds: whole minutes, a whole number of times in a day. None where no step is so.
    """
    step = _steps_s(t_open_ns)
    lengths = np.array([60 * m for m in range(1, DAY_MIN + 1) if DAY_MIN % m == 0])
    counts = np.zeros(DAY_S + 2, np.int64)
    for first in range(0, len(step), 16 * STRETCH):
        some = np.clip(step[first : first + 16 * STRETCH], 0, DAY_S + 1)
        counts += np.bincount(some, minlength=DAY_S + 2)
    k = int(counts[lengths].argmax())
    return int(lengths[k]) * SECOND_NS if counts[lengths[k]] else None


def other_length(t_open_ns: I8, bar_ns: int) -> OtherLength:
    """Bars of another length: daily ones at the head of an hourly file, M15 ones among M5.

    A dozen equal steps in a row, or three of a day or more, begin such a stretch; it goes on in
    both directions while no step is shorter (or, for shorter bars, as long as a bar).

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        bar_ns: length of a bar.
    """
    step, bar_s = _steps_s(t_open_ns), bar_ns // SECOND_NS
    mask = np.zeros(len(t_open_ns), np.bool_)
    if not len(step):
        return OtherLength(mask, ())
    run = np.append(0, np.flatnonzero(step[1:] != step[:-1]) + 1)
    length, value = np.diff(np.append(run, len(step))), step[run]
    days = (value >= DAY_S) & (length >= DAYS_OF_ANOTHER_LENGTH)
    seed = (value != bar_s) & ((length >= STEPS_OF_ANOTHER_LENGTH) | days)
    lengths = np.unique(value[seed]).tolist()
    for other_s in lengths[:MOST_LENGTHS]:
        inside = (step >= other_s) if other_s > bar_s else (step < bar_s)
        part = np.cumsum(~inside, dtype=np.int32)
        has_seed = np.zeros(int(part[-1]) + 1, np.bool_)
        has_seed[part[run[seed & (value == other_s)]]] = True
        inside &= has_seed[part]
        mask[-1] |= inside[-1]
        # A gap after a bar of the usual length leads to the first of the others.
        first = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
        inside[first[step[first] != other_s]] = False
        mask[:-1] |= inside
    return OtherLength(mask, tuple(s * SECOND_NS for s in lengths))


def off_grid(t_open_ns: I8, bar_ns: int, wall_ns: I8 | None = None) -> B1:
    """Which stamps are no multiples of the bar length, by UTC, the trading clock or the source's.

    The clock with the fewest such stamps is taken. Daily bars have a date, whatever the hour of
    their stamps: among them a second bar of a date is off the grid.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        bar_ns: length of a bar.
        wall_ns: (n,) int64, the same on the source's clock: four-hour bars of a server on European
            dates are between those of the trading clock while America is on summer time alone.

    Returns:
        (n,) bool.
    """
    if bar_ns >= DAY_MIN * MINUTE_NS:
        date = trading_minutes(t_open_ns) // DAY_MIN
        return np.append(False, date[1:] == date[:-1])[: len(date)]
    by_utc, by_day = (np.empty(len(t_open_ns), np.bool_) for _ in range(2))
    for rows in stretches(len(by_utc)):
        by_utc[rows] = t_open_ns[rows] % bar_ns != 0
    if not by_utc.any():
        return by_utc
    for rows in stretches(len(by_utc)):
        minute = trading_minutes(t_open_ns[rows])
        by_day[rows] = (minute % (bar_ns // MINUTE_NS) != 0) | (t_open_ns[rows] % MINUTE_NS != 0)
    found = [by_utc, by_day]
    if wall_ns is not None and by_day.any():
        found.append(wall_ns % bar_ns != 0)
    return min(found, key=np.count_nonzero)


def forming(t_open_ns: I8, volume: F8, bar_ns: int, *, has_volume: bool) -> Forming:
    """Whether the last bar has too little volume to be complete.

    It has if that is less than half of the median of the eight bars before it, and less than half
    of what it is at this time of day where earlier days tell (volume falls at some times by
    itself). The last bar of a session never counts, whose volume is small.

    Args:
        t_open_ns: (n,) int64, sorted open times UTC.
        volume: (n,) float64.
        bar_ns: length of a bar.
        has_volume: whether the file has a column of volumes; one of zeros counts as none.
    """
    if not has_volume or len(volume) <= BEFORE_LAST:
        return Forming(is_forming=False, is_known=False, volume=0.0, usual=0.0)
    bar_min = bar_ns // MINUTE_NS
    since = max(len(volume) - (MOST_DAYS + 8) * max(DAY_MIN // bar_min, 1), 0)
    wall, recent = trading_minutes(t_open_ns[since:]), volume[since:]
    same = np.flatnonzero(wall % DAY_MIN == wall[-1] % DAY_MIN)
    same = same[same >= BEFORE_LAST][-MOST_DAYS - 1 :]
    before = np.median(recent[same[:, None] - np.arange(1, BEFORE_LAST + 1)], axis=1)
    if not before[-1] > 0:
        return Forming(is_forming=False, is_known=False, volume=float(volume[-1]), usual=0.0)
    earlier = (recent[same] / np.maximum(before, 1e-9))[:-1]
    ratio = min(1.0, float(np.median(earlier))) if len(earlier) >= FEWEST_DAYS else 1.0
    usual = ratio * float(before[-1])
    is_short = bool(volume[-1] < usual / 2) and not _ends_session(int(wall[-1]), bar_min)
    return Forming(is_short, is_known=True, volume=float(volume[-1]), usual=usual)


def _ends_session(wall: int, bar_min: int) -> bool:
    day, minute = divmod(wall, DAY_MIN)
    if bar_min >= DAY_MIN:
        return False
    is_holiday = any(day in days for days in holidays(day, day))
    return minute + bar_min >= (EARLIEST_END_MIN if is_holiday else ENDS_MIN)


def spreads(spread: I4) -> Spreads:
    """What a spread column holds.

    Args:
        spread: (n,) int32 ticks.
    """
    known = spread[spread > 0]
    zeros = 1 - len(known) / max(len(spread), 1)
    if not len(known):
        return Spreads(zeros, ())
    some = np.quantile(known[:: len(known) // SAMPLE + 1], QUANTILES[:-1]).tolist()
    return Spreads(zeros, (*some, float(known.max())))


def decimals(px: F8) -> int | None:
    """The fewest decimals with which all prices can be written.

    Prices that went through 32-bit floats, as those of Yahoo, are compared with that precision.

    Args:
        px: (n, 4) float64, prices as the file has them; of many rows a sample is taken.

    Returns:
        0 to 5, None where five are too few. A MetaTrader point is a price step of as many.
    """
    some = px[:: len(px) // SAMPLE + 1]
    some = np.abs(some[np.isfinite(some)])
    if not len(some):
        return None
    found = _decimals(some, 2.0**-50)
    if found is None and (some.astype(np.float32) == some).all():
        return _decimals(some, 2.0**-23)
    return found


def _decimals(prices: F8, precision: float) -> int | None:
    for digits in range(MOST_DECIMALS + 1):
        scaled = prices * 10.0**digits
        allowed = scaled * precision + 1e-6
        if allowed.max() > 0.1:
            return None
        if (np.abs(scaled - np.rint(scaled)) <= allowed).all():
            return digits
    return None
