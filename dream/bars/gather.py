"""Gathers the chunks of an export into compact columns, in ticks, with every wrong row counted."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dream.bars import opening
from dream.bars.check import GRID_TOLERANCE, MAX_TICKS, PRICES
from dream.bars.checks import plausible, quality
from dream.bars.checks.faults import MOST_PLACES, Tally
from dream.bars.clock.sessions import stretches
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt

    from dream.bars.importers.sheet import Chunk, Layout, Opened
    from dream.bars.reading import Reading
    from dream.types import F8, I4, I8

    Mask = npt.NDArray[np.bool_]

DECIMALS_ROWS: Final = 4096
"""Rows of a chunk that are asked for their decimals."""
NEARLY_ALL: Final = 0.95
HOPELESS: Final = 1_000
"""After so many rows that cannot be read and no other, a file is not what it was taken for."""


@dataclass(slots=True, eq=False)
class Columns:
    """Rows in compact columns; what is dropped is dropped from all of them.

    Attributes:
        line: (n,) int32, where each row stands in the source.
        t_ns: (n,) int64, stamps as they read, later open times UTC.
        px: (n, 4) int32 ticks. spread: (n,) int32 ticks. volume: (n,) float64.
    """

    line: I4
    t_ns: I8
    px: I4
    spread: I4
    volume: F8

    def __len__(self) -> int:
        return len(self.t_ns)

    def leave_out(self, wrong: Mask) -> None:
        """Leaves rows out; for a run of them at an end nothing is copied."""
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return
        first, last = int(rows[0]), int(rows[-1])
        is_one_run = last - first + 1 == len(rows)
        if is_one_run and last + 1 == len(self):
            self.take(slice(0, first))
        elif is_one_run and first == 0:
            self.take(slice(last + 1, None))
        else:
            self.take(~wrong)

    def take(self, rows: Any) -> None:
        """Keeps these rows, a mask, a slice or indices; one column at a time to save memory."""
        self.line = self.line[rows]
        self.t_ns = self.t_ns[rows]
        self.px = self.px[rows]
        self.spread = self.spread[rows]
        self.volume = self.volume[rows]


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """All rows of an export that could be read.

    Attributes:
        columns: the rows. rows: how many there were, the unreadable ones too.
        decimals: of the prices. point: price of one point of the spread column, if it has points.
        rounded: rows in which a price or a spread was moved to the tick grid.
        notes: what was decided on the way.
    """

    columns: Columns
    rows: int
    decimals: int
    point: float | None
    rounded: int
    notes: tuple[str, ...] = ()


def gather(opened: Opened, reading: Reading, tally: Tally, path: Path) -> Gathered:
    """Read all rows.

    Args:
        opened: the file.
        reading: instrument, units and what is done about faults.
        tally: counts the rows that are left out.
        path: name of the file, for messages.

    Raises:
        BarsInvalid: there is no row that can be read, or there are too many rows.
    """
    parts: list[Columns] = []
    shelf = _Shelf(opened.layout, reading, tally)
    for chunk in opened.chunks:
        part = shelf.put(chunk)
        opening.check_rows(shelf.rows, path)
        if len(part):
            parts.append(part)
        elif not parts and tally.count("unreadable") + tally.count("columns") > HOPELESS:
            break
    if not parts:
        first = next(iter(tally.found()), None)
        said = f"; {first.places[0]}" if first and first.places else ""
        raise BarsInvalid(
            f"{path} ({opened.layout.format}) has no row that can be read{said}; export it again"
        )
    columns = _joined(parts)
    if shelf.are_points(columns.spread):
        columns.spread = np.rint(columns.spread * reading.instrument.tick).astype(np.int32)
        shelf.take_for_points()
    point = shelf.point()
    if point is not None:
        _points_to_ticks(columns, point, shelf)
    shelf.tell_off_tick()
    return Gathered(columns, shelf.rows, shelf.decimals, point, shelf.rounded, tuple(shelf.notes))


def _joined(parts: list[Columns]) -> Columns:
    """One set of columns; the parts are emptied on the way, so that memory never holds two."""

    def joined(name: str) -> Any:
        whole = np.concatenate([getattr(part, name) for part in parts])
        for part in parts:
            setattr(part, name, None)
        return whole

    names = ("px", "t_ns", "volume", "spread", "line")
    with ThreadPoolExecutor(2) as pool:  # new memory is slow to come by
        return Columns(**dict(zip(names, pool.map(joined, names), strict=True)))


def _points_to_ticks(columns: Columns, point: float, shelf: _Shelf) -> None:
    """Spreads in ticks; where no price was off the tick grid, the rows are counted that are now."""
    row, tick = shelf.layout.row, shelf.reading.instrument.tick
    wide, off = (np.zeros(len(columns), np.bool_) for _ in range(2))
    ticks = np.empty(len(columns), np.int32)
    for rows in stretches(len(columns)):
        scaled = columns.spread[rows] * (point / tick)
        whole = np.floor(scaled + 0.5)
        wide[rows] = whole > MAX_TICKS
        off[rows] = np.abs(scaled - whole) > GRID_TOLERANCE
        ticks[rows] = np.minimum(whole, MAX_TICKS)
    if off.any() and not shelf.rounded:
        said = (
            f"{row} {columns.line[r]}: spread of {columns.spread[r]} points of {point:g}"
            for r in np.flatnonzero(off)
        )
        shelf.count_off_tick(int(off.sum()), said, point)
    if wide.any():
        said = (
            f"{row} {columns.line[r]}: spread of {columns.spread[r]} points of {point:g} is beyond "
            f"{MAX_TICKS:,} ticks of {tick:g}"
            for r in np.flatnonzero(wide)
        )
        shelf.tally.add("amount", int(wide.sum()), said)
    columns.spread = ticks
    columns.leave_out(wide)


class _Shelf:
    """Turns chunks into columns of ticks."""

    def __init__(self, layout: Layout, reading: Reading, tally: Tally) -> None:
        self.layout = layout
        self.reading = reading
        self.tally = tally
        self.rows = self.rounded = self._counted = 0
        self._fits = np.zeros(quality.MOST_DECIMALS + 1, np.int64)
        self._whole_spreads = True
        self.notes: list[str] = []
        self._unit = reading.spread_unit or layout.spread_unit
        self._off: list[str] = []
        self._digits: int | None = 0
        """Decimals of all that lies off the tick grid, None where no tick can be told."""
        self._parts = False
        """Whether spreads have parts of points or ticks."""

    def are_points(self, spread: I4) -> bool:
        """Whether spreads that nobody gave a unit are points: whole numbers, not all 0 or 1.

        The head of a file does not always tell: old history begins with zeros.
        """
        told = self.reading.spread_unit is not None or self._unit != "price"
        if told or not self.layout.has_spread or not self._whole_spreads:
            return False
        return int(spread.max(initial=0)) * self.reading.instrument.tick >= 2

    def point(self) -> float | None:
        """Price of one point, None where the spread is not in points."""
        if not self.layout.has_spread or self._unit != "points":
            return None
        return self.reading.point or self.layout.point or 10.0**-self.decimals

    def take_for_points(self) -> None:
        """From here on the spreads are in points."""
        self._unit = "points"
        self.notes.append("the spread column has whole numbers: taken for points")

    def put(self, chunk: Chunk) -> Columns:
        """The rows of a chunk that can be used."""
        for bad in chunk.bad:
            self.tally.add(bad.kind, 1, (f"{self.layout.row} {bad.line}: {bad.found}",))
        self.rows += len(chunk.line) + len(chunk.bad)
        keep = np.ones(len(chunk.line), np.bool_)
        with np.errstate(invalid="ignore", over="ignore"):
            px, off = self._prices(chunk, keep)
            spread = self._spread(chunk, keep, off)
            volume = chunk.volume
            if not (volume.min(initial=0) >= 0 and volume.max(initial=0) < np.inf):
                wrong = ~(volume >= 0) | np.isinf(volume)
                self._wrong("amount", chunk, keep, wrong, "volume")
        off &= keep
        if off.any():
            self._off_tick(chunk, off)
        columns = Columns(chunk.line.astype(np.int32), chunk.stamp_ns, px, spread, chunk.volume)
        columns.leave_out(~keep)
        return columns

    def count_off_tick(self, rows: int, places: Iterable[str], step: float | None) -> None:
        """Counts rows that are rounded; `step` is the price step that they need, if it is known."""
        self.rounded += rows
        self._off += islice(places, MOST_PLACES - len(self._off))
        digits = None if step is None else quality.decimals(np.array([step]))
        known = self._digits is not None and digits is not None
        self._digits = max(self._digits or 0, digits or 0) if known else None

    def tell_off_tick(self) -> None:
        """Counts the rounded rows as a fault, with the tick that would fit."""
        if not self.rounded:
            return
        digits, rounds = self._digits, f"--round rounds to {self.reading.instrument.tick:.10g}"
        if self._parts:
            note = f"spreads are no whole {self._unit}: say --spread-unit price; {rounds}"
        elif digits is None:
            note = f"no tick fits all prices and spreads; {rounds}"
        else:
            digits = max(digits, self.decimals)
            note = f"--tick {10.0**-digits:.{digits}f} fits all prices and spreads; {rounds}"
        if other := plausible.other_symbol(self.layout, self.reading.instrument):
            note = f"{other}; {note}"
        refused = self.tally.policy.of("off_tick") == "refuse"
        self.tally.add("off_tick", self.rounded, self._off, note if refused else "")

    def _prices(self, chunk: Chunk, keep: Mask) -> tuple[I4, Mask]:
        """Prices in ticks and which rows lie off the grid; takes those that cannot be out of keep.

        A wrong row gets prices of one tick, which nobody reads.
        """
        px, tick = chunk.px, self.reading.instrument.tick
        scaled = px / tick
        whole = np.floor(scaled + 0.5)
        if not (whole.min(initial=1) >= 1 and whole.max(initial=1) <= MAX_TICKS):
            wrong = ~((px > 0) & (whole >= 1) & (whole <= MAX_TICKS))
            for k, name in enumerate(PRICES):
                self._wrong("price", chunk, keep, wrong[:, k], name)
            whole[~keep] = scaled[~keep] = 1.0
        scaled -= whole
        np.abs(scaled, out=scaled)
        off = np.zeros(len(px), np.bool_)
        if scaled.max(initial=0) > GRID_TOLERANCE:
            off |= (scaled > GRID_TOLERANCE).any(axis=1)
        ticks = whole.astype(np.int32)
        o, h, l, c = ticks.T
        impossible = ((np.maximum(o, c) > h) | (np.minimum(o, c) < l)) & keep
        if impossible.any():
            places = (
                f"{self.layout.row} {chunk.line[r]}: {_shown(px[r])}"
                for r in np.flatnonzero(impossible)
            )
            self.tally.add("impossible", int(impossible.sum()), places)
            keep &= ~impossible
        self._count_decimals(px, keep)
        return ticks, off

    def _count_decimals(self, px: F8, keep: Mask) -> None:
        """Counts by decimals the rows that can be written with so many; of many rows some."""
        every = len(px) // DECIMALS_ROWS + 1
        some = px[::every][keep[::every]]
        self._counted += len(some)
        for digits in range(quality.MOST_DECIMALS):
            scaled = some * 10.0**digits
            fits = (np.abs(scaled - np.rint(scaled)) <= GRID_TOLERANCE).all(axis=1)
            self._fits[digits] += int(fits.sum())
            if fits.all():
                self._fits[digits + 1 :] += len(some)
                return

    @property
    def decimals(self) -> int:
        """Decimals of nearly all prices: a stray one must not set the point of the spreads."""
        enough = np.flatnonzero(self._fits >= NEARLY_ALL * self._counted)
        return int(enough[0]) if len(enough) else quality.MOST_DECIMALS

    def _spread(self, chunk: Chunk, keep: Mask, off: Mask) -> I4:
        """Spreads in ticks or points; rows between two of them are added to `off`."""
        tick = self.reading.instrument.tick
        scaled = chunk.spread / tick if self._unit == "price" else chunk.spread
        whole = np.floor(scaled + 0.5)
        if not (chunk.spread.min(initial=0) >= 0 and whole.max(initial=0) <= MAX_TICKS):
            wrong = ~((chunk.spread >= 0) & (whole <= MAX_TICKS))
            self._wrong("amount", chunk, keep, wrong, "spread")
        between = np.abs(scaled - whole) > GRID_TOLERANCE
        if self._whole_spreads and self._unit == "price":
            self._whole_spreads = bool((chunk.spread[keep] % 1 == 0).all())
        self._parts |= self._unit != "price" and bool((between & keep).any())
        off |= between
        return np.where(keep, whole, 0.0).astype(np.int32)

    def _off_tick(self, chunk: Chunk, off: Mask) -> None:
        """Counts the rows off the grid, each with those of its values that are."""
        tick = self.reading.instrument.tick
        units = (*(tick,) * 4, tick if self._unit == "price" else 1.0)
        rows = np.flatnonzero(off)

        def told(row: int) -> str:
            values = (*chunk.px[row].tolist(), float(chunk.spread[row]))
            named = zip((*PRICES, "spread"), values, units, strict=True)
            said = [f"{n} {v:.10g}" for n, v, unit in named if _is_off(v / unit)]
            return f"{self.layout.row} {chunk.line[row]}: {', '.join(said)}"

        prices = [chunk.px[rows].ravel()]
        prices += [chunk.spread[rows]] if self._unit == "price" else []
        self.count_off_tick(len(rows), map(told, rows.tolist()), _step(np.concatenate(prices)))

    def _wrong(self, kind: str, chunk: Chunk, keep: Mask, wrong: Mask, name: str) -> None:
        """Counts rows that are wrong and were not before, and takes them out of `keep`."""
        wrong = wrong & keep
        if not wrong.any():
            return
        column = {"volume": chunk.volume, "spread": chunk.spread}.get(name)
        values = chunk.px[:, PRICES.index(name)] if column is None else column
        tick = self.reading.instrument.tick
        places = (
            f"{self.layout.row} {chunk.line[r]}: {name} {_fault(float(values[r]), tick)}"
            for r in np.flatnonzero(wrong)
        )
        self.tally.add(kind, int(wrong.sum()), places)
        keep &= ~wrong


def _step(prices: F8) -> float | None:
    """The largest power of ten whose grid all prices lie on; None of 32-bit floats, on no grid."""
    digits = quality.decimals(prices)
    if digits is None:
        return None
    scaled = prices * 10.0**digits
    fits = bool((np.abs(scaled - np.rint(scaled)) <= GRID_TOLERANCE).all())
    return 10.0**-digits if fits else None


def _is_off(ticks: float) -> bool:
    return abs(ticks - math.floor(ticks + 0.5)) > GRID_TOLERANCE


def _fault(value: float, tick: float) -> str:
    """What is wrong with a price, a volume or a spread."""
    if math.isnan(value):
        return "is missing"
    if math.isinf(value):
        return f"is {value}"
    if value <= 0:
        return f"{value:.10g} is {'negative' if value else 'not positive'}"
    if value < tick:
        return f"{value:.10g} is less than half a tick of {tick:.10g}"
    return f"{value:.10g} is beyond {MAX_TICKS:,} ticks of {tick:.10g}; give the right --tick"


def _shown(px: F8) -> str:
    return ", ".join(f"{name} {value:.10g}" for name, value in zip(PRICES, px, strict=True))
