"""What a bar series must be before anything trusts it; a wrong row is refused by its number.

Rows are numbered from 1 among the data rows of a file (a header is not counted).
Nothing here repairs: the one change that is offered, rounding to the tick grid, is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from dream.bars.clock import zones
from dream.bars.clock.clocks import (
    DAY_MIN,
    FIRST_YEAR,
    LAST_YEAR,
    iso,
    trading_clock,
    year_start_ns,
)
from dream.errors import BarsInvalid
from dream.types import F8, I4, I8, MINUTE_NS

if TYPE_CHECKING:
    from collections.abc import Mapping

PRICES: Final = ("open", "high", "low", "close")
GRID_TOLERANCE: Final = 1e-6
"""How far from a whole number of ticks a price may lie, in ticks: far above float noise."""
MAX_TICKS: Final = 2**29
"""Highest price and widest spread: the sum of two and a slippage still fits into int32."""
STEPS_OF_ANOTHER_LENGTH: Final = 12
"""This many equal steps in a row, other than the bar length, are bars of another length: quiet
minutes without a bar are common in M1 files, but not in so regular a pattern."""
DAYS_OF_ANOTHER_LENGTH: Final = 3
"""So are this many equal steps of a day or more (daily bars at the head of an hourly file)."""
MEND: Final = "mend or leave out the row"
Fault: TypeAlias = tuple[int, str, str]
"""Index of a wrong row, what was found, what was expected."""


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """Where rows are: the file, the number of the first of them, (n,) int64 open times UTC."""

    path: str
    first_row: int
    t_open_ns: I8

    def refuse(self, row: int, found: str, expected: str) -> NoReturn:
        """Raise BarsInvalid for the row at this index."""
        place = f"{self.first_row + row} ({iso(int(self.t_open_ns[row]))})"
        refuse(self.path, place, found, expected)

    def refuse_first(self, faults: list[Fault]) -> None:
        """Raise BarsInvalid for the earliest of the faults, if there is one."""
        if faults:
            self.refuse(*min(faults, key=itemgetter(0)))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows in ticks. px: (n, 4) int32. spread: (n,) int32. rounded: rows that rounding changed."""

    at: Stamps
    px: I4
    spread: I4
    volume: F8
    rounded: int = 0


def refuse(path: str, row: int | str, found: str, expected: str) -> NoReturn:
    """Raise BarsInvalid for one data row, numbered from 1."""
    raise BarsInvalid(f"{path}, row {row}: {found}; {expected}")


def _first(bad: npt.NDArray[np.bool_]) -> int | None:
    return int(bad.argmax()) if bad.any() else None


def nanoseconds(values: I8, unit_ns: int, path: str, first_row: int) -> Stamps:
    """(n,) stamps in units since 1970 as nanoseconds.

    Raises:
        BarsInvalid: a stamp is outside 1900 to 2199, where sums of nanoseconds could overflow.
    """
    low, high = (year_start_ns(year) // unit_ns for year in (FIRST_YEAR, LAST_YEAR + 1))
    row = _first((values < low) | (values >= high))
    if row is not None:
        found = f"the stamp lies outside {FIRST_YEAR} to {LAST_YEAR}"
        refuse(path, first_row + row, found, "correct its year or its unit")
    return Stamps(path, first_row, values * unit_ns)


def check_rows(rows: Rows, after_ns: int | None = None) -> None:
    """Prices that can be, in an order that can be.

    Args:
        rows: a stretch of the file.
        after_ns: open time of the row before them, None at the head of the file.

    Raises:
        BarsInvalid: a price below one tick, a high or low that the bar contradicts, a negative
            spread or volume, a stamp twice or out of order; the first such row is named.
    """
    faults = _out_of_order(rows.at, after_ns)
    # Asked of all at once first: a minimum of each row takes ten times as long.
    if rows.px.min(initial=1) <= 0:
        row, k = np.argwhere(rows.px <= 0)[0]
        found = f"{PRICES[k]} of {rows.px[row, k]} ticks is not positive"
        faults.append((int(row), found, f"expected at least one tick; {MEND}"))
    o, h, l, c = rows.px.T
    for name, side, bad in (
        ("high", "below", h < np.maximum(o, c)),
        ("low", "above", l > np.minimum(o, c)),
    ):
        row = _first(bad)
        if row is not None:
            shown = ", ".join(f"{p} {x}" for p, x in zip(PRICES, rows.px[row], strict=True))
            found = f"{name} is {side} the open or the close (in ticks: {shown})"
            faults.append((row, found, f"expected low <= open, close <= high; {MEND}"))
    for name, ticks in (("price", rows.px), ("spread", rows.spread[:, None])):
        if ticks.max(initial=0) > MAX_TICKS:
            row = int((ticks > MAX_TICKS).any(axis=1).argmax())
            found = f"{name} of {ticks[row].max()} ticks is beyond {MAX_TICKS}"
            faults.append((row, found, f"expected less; {MEND}"))
    spread, volume = rows.spread, rows.volume
    if not (spread.min(initial=0) >= 0 <= volume.min(initial=0) and volume.max(initial=0) < np.inf):
        row = int(((spread < 0) | ~(volume >= 0) | np.isinf(volume)).argmax())
        found = f"spread is {spread[row]} ticks and volume {volume[row]}"
        faults.append((row, found, "expected numbers that are not negative"))
    rows.at.refuse_first(faults)


def _out_of_order(at: Stamps, after_ns: int | None) -> list[Fault]:
    t = at.t_open_ns
    before = np.concatenate(([t[0] - 1 if after_ns is None else after_ns], t[:-1]))
    row = _first(t <= before)
    if row is None:
        return []
    if t[row] == before[row]:
        return [(row, "the stamp is the same as in the row before", "leave out one of them")]
    found = f"the stamp is earlier than {iso(int(before[row]))} in the row before"
    return [(row, found, "sort the file by time, oldest first")]


def bar_length(counted: Mapping[int, int], path: str) -> int:
    """The most common distance between neighbouring stamps, the shorter of two equally common ones.

    Raises:
        BarsInvalid: there are fewer than two rows, or the distance is not a whole number of
            minutes that divides a day.
    """
    if not counted:
        raise BarsInvalid(
            f"{path}: one row says nothing about the length of a bar; expected at least two rows"
        )
    bar_ns = min(counted, key=lambda step: (-counted[step], step))
    day_ns = DAY_MIN * MINUTE_NS
    if bar_ns <= 0 or bar_ns % MINUTE_NS or day_ns % bar_ns:
        raise BarsInvalid(
            f"{path}: the bars are {bar_ns / MINUTE_NS:g} minutes long (the most common distance"
            " between rows); expected one minute to one day, a whole number of times in a day"
        )
    return bar_ns


def check_grid(at: Stamps, bar_ns: int, source_clock: str = "utc") -> None:
    """Every stamp is a multiple of the bar length, by UTC, the trading clock or the source's.

    Raises:
        BarsInvalid: a stamp lies between the multiples.
    """
    phase = at.t_open_ns % bar_ns
    if phase.any():
        minute, _ = trading_clock(at.t_open_ns, 0)
        since_day_start_ns = minute.astype(np.int64) * MINUTE_NS + at.t_open_ns % MINUTE_NS
        phase = min(phase, since_day_start_ns % bar_ns, key=np.count_nonzero)
    if phase.any() and source_clock != "utc":
        wall_ns = zones.to_wall(at.t_open_ns, zones.parse_clock(source_clock))
        phase = min(phase, wall_ns % bar_ns, key=np.count_nonzero)
    row = _first(phase != 0)
    if row is not None:
        found = f"the stamp is off the grid of {bar_ns // MINUTE_NS}-minute bars"
        at.refuse(row, found, f"expected open times that are multiples of the bar length; {MEND}")
