"""Gathers the chunks of an export into compact columns, in ticks, with every wrong row counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dream.bars import opening, quality
from dream.bars.check import GRID_TOLERANCE, MAX_TICKS, PRICES
from dream.bars.faults import Policy, Tally
from dream.bars.sheet import Hints
from dream.errors import BarsInvalid
from dream.types import Instrument

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from dream.bars.sheet import Chunk, Layout, Opened
    from dream.types import F8, I4, I8

    Mask = npt.NDArray[np.bool_]

DECIMALS_EVERY: Final = 8
"""Of prices on the tick grid only some rows are asked for their decimals, of others all."""
HOPELESS: Final = 1_000
"""After so many rows that cannot be read and no other, a file is not what it was taken for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user says of an export.

    Attributes:
        instrument: what the prices are of; prices become whole ticks of it.
        clock: source clock as `zones.parse_clock` reads it, None where the stamps must carry it.
        policy: what is done about each fault.
        hints: for formats that cannot know.
        spread_unit: of the spread column, None for what the format says.
        point: price of one point of a spread in points, None for the last decimal of the prices.
    """

    instrument: Instrument = field(default_factory=Instrument)
    clock: str | None = None
    policy: Policy = field(default_factory=Policy)
    hints: Hints = field(default_factory=Hints)
    spread_unit: Literal["price", "ticks", "points"] | None = None
    point: float | None = None


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
        """Leaves rows out; one column at a time to save memory, and none is copied for an end."""
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
        """Keeps these rows, a mask, a slice or indices."""
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
        rounded: rows in which a price was moved to the tick grid.
    """

    columns: Columns
    rows: int
    decimals: int
    point: float | None
    rounded: int


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
    point = shelf.point()
    if point is not None:
        _points_to_ticks(columns, point, reading.instrument, tally)
    return Gathered(columns, shelf.rows, shelf.decimals, point, shelf.rounded)


def _joined(parts: list[Columns]) -> Columns:
    """One set of columns; the parts are emptied on the way, so that memory never holds two."""
    names = ("line", "t_ns", "px", "spread", "volume")
    whole: dict[str, Any] = {}
    for name in names:
        whole[name] = np.concatenate([getattr(part, name) for part in parts])
        for part in parts:
            setattr(part, name, None)
    return Columns(**whole)


def _points_to_ticks(columns: Columns, point: float, instrument: Instrument, tally: Tally) -> None:
    ticks = np.floor(columns.spread * (point / instrument.tick) + 0.5)
    wrong = ticks > MAX_TICKS
    if wrong.any():
        rows = np.flatnonzero(wrong)
        tally.add("amount", len(rows), (f"line {columns.line[r]}: spread" for r in rows))
    columns.spread = np.minimum(ticks, MAX_TICKS).astype(np.int32)
    if wrong.any():
        columns.leave_out(wrong)


class _Shelf:
    """Turns chunks into columns of ticks."""

    def __init__(self, layout: Layout, reading: Reading, tally: Tally) -> None:
        self.layout = layout
        self.reading = reading
        self.tally = tally
        self.rows = self.rounded = self.decimals = 0

    def point(self) -> float | None:
        """Price of one point, None where the spread is not in points."""
        unit = self.reading.spread_unit or self.layout.spread_unit
        if not self.layout.has_spread or unit != "points":
            return None
        return self.reading.point or self.layout.point or 10.0**-self.decimals

    def put(self, chunk: Chunk) -> Columns:
        """The rows of a chunk that can be used."""
        for bad in chunk.bad:
            self.tally.add(bad.kind, 1, (f"line {bad.line}: {bad.found}",))
        self.rows += len(chunk.line) + len(chunk.bad)
        with np.errstate(invalid="ignore", over="ignore"):
            px, keep = self._prices(chunk)
            spread = self._spread(chunk, keep)
            volume = chunk.volume
            if not (volume.min(initial=0) >= 0 and volume.max(initial=0) < np.inf):
                wrong = ~(volume >= 0) | np.isinf(volume)
                self._wrong("amount", chunk, keep, wrong, "volume")
        columns = Columns(
            chunk.line.astype(np.int32), chunk.stamp_ns, px, spread, chunk.volume
        )  # fmt: skip
        columns.leave_out(~keep)
        return columns

    def _prices(self, chunk: Chunk) -> tuple[I4, Mask]:
        """Prices in ticks, and the mask of rows whose prices can be."""
        px, tick = chunk.px, self.reading.instrument.tick
        keep = np.ones(len(px), np.bool_)
        scaled = px / tick
        whole = np.floor(scaled + 0.5)
        if not (whole.min(initial=1) >= 1 and whole.max(initial=1) <= MAX_TICKS):
            wrong = ~((px > 0) & (whole >= 1) & (whole <= MAX_TICKS))
            for k, name in enumerate(PRICES):
                self._wrong("price", chunk, keep, wrong[:, k], name)
            whole[~keep] = scaled[~keep] = 1.0
        scaled -= whole
        np.abs(scaled, out=scaled)
        digits = quality.decimals(px[keep][::DECIMALS_EVERY])
        if scaled.max(initial=0) > GRID_TOLERANCE:
            rows = np.flatnonzero((scaled > GRID_TOLERANCE).any(axis=1))
            self.rounded += len(rows)
            places = (f"line {chunk.line[r]}: {_shown(px[r])}" for r in rows)
            self.tally.add("off_tick", len(rows), places)
            finer = quality.decimals(px[rows])
            digits = None if digits is None or finer is None else max(digits, finer)
        self.decimals = max(self.decimals, quality.MOST_DECIMALS if digits is None else digits)
        ticks = whole.astype(np.int32)
        o, h, l, c = ticks.T
        wrong_row = ((np.maximum(o, c) > h) | (np.minimum(o, c) < l)) & keep
        if wrong_row.any():
            places = (f"line {chunk.line[r]}: {_shown(px[r])}" for r in np.flatnonzero(wrong_row))
            self.tally.add("impossible", int(wrong_row.sum()), places)
            keep &= ~wrong_row
        return ticks, keep

    def _spread(self, chunk: Chunk, keep: Mask) -> I4:
        unit = self.reading.spread_unit or self.layout.spread_unit
        scaled = chunk.spread / self.reading.instrument.tick if unit == "price" else chunk.spread
        whole = np.floor(scaled + 0.5)
        if not (whole.min(initial=0) >= 0 and whole.max(initial=0) <= MAX_TICKS):
            self._wrong("amount", chunk, keep, ~((whole >= 0) & (whole <= MAX_TICKS)), "spread")
        off = (np.abs(scaled - whole) > GRID_TOLERANCE) & keep
        if off.any():
            places = (
                f"line {chunk.line[r]}: spread {chunk.spread[r]:.10g}" for r in np.flatnonzero(off)
            )
            self.tally.add("off_tick", int(off.sum()), places)
        return np.where(keep, whole, 0.0).astype(np.int32)

    def _wrong(self, kind: str, chunk: Chunk, keep: Mask, wrong: Mask, name: str) -> None:
        """Counts rows that are wrong and were not before, and takes them out of `keep`."""
        wrong = wrong & keep
        if not wrong.any():
            return
        column = {"volume": chunk.volume, "spread": chunk.spread}.get(name)
        values = chunk.px[:, PRICES.index(name)] if column is None else column
        places = (
            f"line {chunk.line[r]}: {name} is {'missing' if np.isnan(values[r]) else values[r]}"
            for r in np.flatnonzero(wrong)
        )
        self.tally.add(kind, int(wrong.sum()), places)
        keep &= ~wrong


def _shown(px: F8) -> str:
    return ", ".join(f"{name} {value:.10g}" for name, value in zip(PRICES, px, strict=True))
