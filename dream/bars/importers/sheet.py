"""Rows as a file gives them: what every importer hands over, before anything is believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.types import F8, I8

ROLES: Final = ("timestamp", "open", "high", "low", "close", "volume", "spread")
"""What a column can be."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read.

    Attributes:
        line: its line number. kind: `unreadable` or `columns`, as in `faults.KINDS`.
        found: what is wrong with it, with the value, such as "high is '12,,5'"; at most 120
            characters.
    """

    line: int
    kind: Literal["unreadable", "columns"]
    found: str


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A stretch of rows in the order of the file.

    Attributes:
        line: (n,) int64, line of each row in the unpacked text, counted from 1 with the headers;
            in a binary file or in Parquet the number of the record, counted from 1.
        stamp_ns: (n,) int64, nanoseconds since 1970 of the opening as the stamp reads: UTC where
            the layout's clock says so, else the source's wall clock.
        px: (n, 4) float64, open, high, low, close in quote currency; NaN where a field is empty.
        volume: (n,) float64, 0 without a column, NaN where a field is empty.
        spread: (n,) float64 in the layout's unit, 0 without a column, NaN where a field is empty.
        bad: rows of this stretch that could not be read; they are not in the columns.
    """

    line: I8
    stamp_ns: I8
    px: F8
    volume: F8
    spread: F8
    bad: tuple[BadRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file says of itself.

    Attributes:
        format: its name for people, such as "MetaTrader 5 export".
        clock: `utc` where stamps are instants (epoch numbers, Z, +00:00), `per-row` where each
            carries an offset that was applied, `wall` where the clock must be given, `date` where
            there are dates alone.
        has_volume, has_spread: whether there is such a column.
        spread_unit: `points` as MetaTrader counts, or `price`.
        bar_ns: length of a bar where the file states it, None where it does not.
        symbol: where the file states it. point: price step that the file states.
        unused: names of the other columns.
        notes: what a reader of the report should know, such as "1 comment line skipped".
        row: what messages call a row: of a binary file its number is that of a record.
    """

    format: str
    clock: Literal["utc", "per-row", "wall", "date"]
    has_volume: bool = True
    has_spread: bool = False
    spread_unit: Literal["points", "price"] = "price"
    bar_ns: int | None = None
    symbol: str | None = None
    point: float | None = None
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    row: Literal["line", "record"] = "line"


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose layout is known; its rows are read as `chunks` is walked, once."""

    layout: Layout
    chunks: Iterator[Chunk]


@dataclass(frozen=True, slots=True)
class Hints:
    """What the user says of a file that formats cannot know.

    Attributes:
        day_first: for dates such as 01/02/2024, None to find out from the file.
        price_divisor: stored integers per unit of quote currency, None to find out.
        columns: role (timestamp, open, high, low, close, volume, spread) to the name or the number
            (from 1) of its column, where the names in the file do not say so.
    """

    day_first: bool | None = None
    price_divisor: int | None = None
    columns: dict[str, str] = field(default_factory=dict[str, str])
