"""What a bar series must be before anything trusts it; a wrong row is refused by its number.

Rows are numbered from 1 among the data rows of a file (a header is not counted).
Nothing here repairs: the one change that is offered, rounding to the tick grid, is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from dream.bars.clocks import DAY_MIN, FIRST_YEAR, LAST_YEAR, iso, trading_clock, year_start_ns
from dream.errors import BarsInvalid
from dream.types import F8, I4, I8, MINUTE_NS, Instrument

if TYPE_CHECKING:
    from collections.abc import Mapping

PRICES: Final = ("open", "high", "low", "close")
GRID_TOLERANCE: Final = 1e-6
"""How far from a whole number of ticks a price may lie, in ticks: far above float noise."""
MAX_TICKS: Final = 2**31 - 1
STEPS_OF_ANOTHER_LENGTH: Final = 12
"""This many equal steps in a row, other than the bar length, are bars of another length: quiet
minutes without a bar are common in M1 files, but not in so regular a pattern."""
DAYS_OF_ANOTHER_LENGTH: Final = 3
"""So are this many equal steps of a day or more (daily bars at the head of an hourly file)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user says about a file.

    Attributes:
        instrument: what the prices are of.
        clock: source clock of stamps without a zone; None where every stamp must carry its own.
        rounding: whether prices off the tick grid are rounded to it, and counted.
        spread_unit: unit of the spread column: `price` (quote currency) or `ticks`.
    """

    instrument: Instrument = field(default_factory=Instrument)
    clock: str | None = None
    rounding: bool = False
    spread_unit: Literal["price", "ticks"] = "price"


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """Rows as a file gives them; nothing is believed yet.

    Attributes:
        path: the file, for messages. first_row: number of the first of these rows.
        t_open_ns: (n,) int64, open time UTC.
        px: (n, 4) float64, open, high, low, close in quote currency.
        spread: (n,) float64, in the unit that the file uses. volume: (n,) float64.
    """

    path: str
    first_row: int
    t_open_ns: I8
    px: F8
    spread: F8
    volume: F8


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows in ticks. px: (n, 4) int32. spread: (n,) int32. rounded: rows that rounding changed."""

    path: str
    first_row: int
    t_open_ns: I8
    px: I4
    spread: I4
    volume: F8
    rounded: int = 0


def refuse(path: str, row: int, found: str, expected: str) -> NoReturn:
    """Raise BarsInvalid for one data row, numbered from 1."""
    raise BarsInvalid(f"{path}, row {row}: {found}; {expected}")


def stamps(values: I8, unit_ns: int, path: str, first_row: int) -> I8:
    """(n,) stamps in units since 1970 as nanoseconds; one outside 1900 to 2199 is refused."""
    low, high = (year_start_ns(year) // unit_ns for year in (FIRST_YEAR, LAST_YEAR + 1))
    row = _first((values < low) | (values >= high))
    if row is not None:
        found = f"the stamp lies outside {FIRST_YEAR} to {LAST_YEAR}"
        refuse(path, first_row + row, found, "correct its year or its unit")
    return values * unit_ns


def _refuse(rows: Raw | Rows, row: int, found: str, expected: str) -> NoReturn:
    when = iso(int(rows.t_open_ns[row]))
    raise BarsInvalid(f"{rows.path}, row {rows.first_row + row} ({when}): {found}; {expected}")


def _first(bad: npt.NDArray[np.bool_]) -> int | None:
    return int(bad.argmax()) if bad.any() else None


def in_ticks(raw: Raw, reading: Reading) -> Rows:
    """The rows in whole ticks: floor(price / tick + 0.5).

    Raises:
        BarsInvalid: a value that is missing, infinite, negative or
            too large, or (unless rounding was asked for) off the tick grid.
    """
    tick = reading.instrument.tick
    spread_unit = tick if reading.spread_unit == "price" else 1.0
    columns = [(PRICES[k], raw.px[:, k], tick) for k in range(4)]
    columns.append(("spread", raw.spread, spread_unit))
    changed = np.zeros(len(raw.t_open_ns), np.bool_)
    ticks = np.empty((len(raw.t_open_ns), 5), np.int32)
    for k, (name, column, unit) in enumerate(columns):
        _check_amount(raw, name, column, unit)
        scaled = column / unit
        whole = np.floor(scaled + 0.5)
        off = np.abs(scaled - whole) > GRID_TOLERANCE
        row = _first(off)
        if row is not None and not reading.rounding:
            _refuse(
                raw,
                row,
                f"{name} {column[row]} is off the tick grid of {unit:g}",
                "import the file with --round to round every price (they are counted),"
                " or give the right --tick",
            )
        changed |= off
        ticks[:, k] = whole
    _check_amount(raw, "volume", raw.volume, 0.0)
    return Rows(
        raw.path,
        raw.first_row,
        raw.t_open_ns,
        np.ascontiguousarray(ticks[:, :4]),
        ticks[:, 4].copy(),
        raw.volume,
        int(changed.sum()),
    )


def _check_amount(raw: Raw, name: str, column: F8, unit: float) -> None:
    """A column of numbers, neither missing nor negative; with a unit, within int32 ticks."""
    row = _first(~np.isfinite(column))
    if row is not None:
        expected = "expected a number" if name in PRICES else "expected a number, 0 where unknown"
        _refuse(raw, row, f"{name} is missing, NaN or infinite", expected)
    row = _first(column < 0)
    if row is not None:
        _refuse(raw, row, f"{name} {column[row]} is negative", "mend or leave out the row")
    row = _first(column > MAX_TICKS * unit) if unit else None
    if row is not None:
        limit = f"{MAX_TICKS} ticks of {unit:g}"
        _refuse(raw, row, f"{name} {column[row]} is beyond {limit}", "give the right --tick")


def check_rows(rows: Rows, after_ns: int | None = None) -> None:
    """Prices that can be, in an order that can be.

    Args:
        rows: a stretch of the file.
        after_ns: open time of the row before them, None at the head of the file.

    Raises:
        BarsInvalid: a price below one tick, a high or low that the bar contradicts, a negative
            spread or volume, a stamp twice or out of order.
    """
    row = _first((rows.px <= 0).any(axis=1))
    if row is not None:
        k = int((rows.px[row] <= 0).argmax())
        _refuse(
            rows,
            row,
            f"{PRICES[k]} of {rows.px[row, k]} ticks is not positive",
            "expected at least one tick; mend or leave out the row",
        )
    o, h, l, c = rows.px.T
    for name, bad, side in (
        ("high", h < np.maximum(o, c), "below"),
        ("low", l > np.minimum(o, c), "above"),
    ):
        row = _first(bad)
        if row is not None:
            shown = ", ".join(f"{p} {x}" for p, x in zip(PRICES, rows.px[row], strict=True))
            _refuse(
                rows,
                row,
                f"{name} is {side} the open or the close (in ticks: {shown})",
                "expected low <= open, close <= high; mend or leave out the row",
            )
    row = _first((rows.spread < 0) | ~(rows.volume >= 0) | np.isinf(rows.volume))
    if row is not None:
        found = f"spread {rows.spread[row]} ticks, volume {rows.volume[row]}"
        _refuse(rows, row, found, "expected numbers that are not negative")
    _check_order(rows, after_ns)


def _check_order(rows: Rows, after_ns: int | None) -> None:
    t = rows.t_open_ns
    before = np.concatenate(([t[0] - 1 if after_ns is None else after_ns], t[:-1]))
    row = _first(t <= before)
    if row is None:
        return
    if t[row] == before[row]:
        _refuse(rows, row, "the stamp is the same as in the row before", "leave out one of them")
    _refuse(
        rows,
        row,
        f"the stamp is earlier than {iso(int(before[row]))} in the row before",
        "sort the file by time, oldest first",
    )


def steps(t_open_ns: I8) -> dict[int, int]:
    """How often each distance between neighbouring stamps occurs, in nanoseconds."""
    distances, counts = np.unique(np.diff(t_open_ns), return_counts=True)
    return dict(zip(distances.tolist(), counts.tolist(), strict=True))


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
    if bar_ns % MINUTE_NS or bar_ns > DAY_MIN * MINUTE_NS or DAY_MIN * MINUTE_NS % bar_ns:
        raise BarsInvalid(
            f"{path}: the most common distance between rows is {bar_ns / MINUTE_NS:g} minutes;"
            " expected bars of one minute to one day that divide a day"
        )
    return bar_ns


def check_grid(rows: Rows, bar_ns: int) -> None:
    """Every stamp is a multiple of the bar length, by UTC or else by the trading clock.

    Raises:
        BarsInvalid: a stamp lies between the multiples.
    """
    phase = rows.t_open_ns % bar_ns
    if phase.any():
        minute, _ = trading_clock(rows.t_open_ns, 0)
        since_day_start_ns = minute.astype(np.int64) * MINUTE_NS + rows.t_open_ns % MINUTE_NS
        phase = min(phase, since_day_start_ns % bar_ns, key=np.count_nonzero)
    row = _first(phase != 0)
    if row is not None:
        _refuse(
            rows,
            row,
            f"the stamp is off the grid of {bar_ns // MINUTE_NS}-minute bars",
            "expected open times that are multiples of the bar length; mend or leave out the row",
        )


def check_one_length(rows: Rows, bar_ns: int) -> None:
    """No run of longer bars among the others, where the bar length was found by counting.

    Raises:
        BarsInvalid: so many equal steps in a row are bars of another length, not missing bars.
    """
    step = np.diff(rows.t_open_ns)
    for length, shortest in ((STEPS_OF_ANOTHER_LENGTH, 0), (DAYS_OF_ANOTHER_LENGTH, DAY_MIN)):
        row = _first_run(step, length, bar_ns, shortest * MINUTE_NS)
        if row is not None:
            _refuse(
                rows,
                row,
                f"bars of {step[row] // MINUTE_NS} minutes begin"
                f" among bars of {bar_ns // MINUTE_NS} minutes",
                "expected one bar length in a file; split it",
            )


def _first_run(step: I8, length: int, bar_ns: int, shortest_ns: int) -> int | None:
    """Where the first `length` equal steps in a row begin that are not the bar length."""
    if len(step) < length:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(step, length)
    foreign = (step[: len(windows)] != bar_ns) & (step[: len(windows)] >= shortest_ns)
    candidates = np.flatnonzero(foreign)
    equal = (windows[candidates] == windows[candidates, :1]).all(axis=1)
    return int(candidates[equal.argmax()]) if equal.any() else None
