"""What is special about a text format: data for the one engine in `text`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dream.bars.importers.text_head import Head


@dataclass(frozen=True, slots=True)
class Form:
    """A text format.

    Attributes:
        name: for people. recognise: whether a file is of this format, by its head.
        names: of the columns of files without a header.
        header_lines: lines of the header where there is one.
        renamed: keys of columns (see `text_head.key`) to keys of what they are here.
        clock: what the stamps are whatever they look like; None where they tell.
        spread_unit: None where the values tell.
        first_counts: whether of columns with one name the first is meant.
        symbol_line: line of the header whose second field is the symbol, counted from 0.
        notes: said of every file of this format.
    """

    name: str
    recognise: Callable[[Head], bool]
    names: tuple[str, ...] = ()
    header_lines: int = 1
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    clock: Literal["utc", "wall"] | None = None
    spread_unit: Literal["points", "price"] | None = None
    first_counts: bool = False
    symbol_line: int | None = None
    notes: tuple[str, ...] = ()
