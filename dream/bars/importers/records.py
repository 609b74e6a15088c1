"""What binary formats share: records become a chunk, stamps of no possible time become bad rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from dream.bars.clock.clocks import FIRST_YEAR, LAST_YEAR, year_start_ns
from dream.bars.importers.sheet import BadRow, Chunk
from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from dream.bars.importers.sheet import Hints
    from dream.types import F8, I8

RECORDS_AT_ONCE: Final = 1 << 18


def chunk(
    line: I8,
    stamps: I8,
    unit_ns: int,
    px: F8,
    amounts: tuple[F8, F8],
    bad: tuple[BadRow, ...] = (),
) -> Chunk:
    """Records as a chunk, without those whose stamp lies outside 1900 to 2199.

    Args:
        line: (n,) int64, number of each record from 1.
        stamps: (n,) int64, openings in units since 1970.
        unit_ns: length of a unit in nanoseconds.
        px: (n, 4) float64, open, high, low, close in quote currency.
        amounts: (n,) float64 volume and (n,) float64 spread.
        bad: records that were left out before.
    """
    low, high = (year_start_ns(year) // unit_ns for year in (FIRST_YEAR, LAST_YEAR + 1))
    fine = (stamps >= low) & (stamps < high)
    volume, spread = amounts
    if not fine.all():
        found = tuple(
            BadRow(
                int(line[k]),
                "unreadable",
                f"the stamp is {stamps[k]}, which is outside {FIRST_YEAR} to {LAST_YEAR}",
            )
            for k in np.flatnonzero(~fine)
        )
        bad = tuple(sorted((*bad, *found), key=lambda row: row.line))
        line, stamps, px = line[fine], stamps[fine], px[fine]
        volume, spread = volume[fine], spread[fine]
    return Chunk(line, stamps * unit_ns, px, volume, spread, bad)


def refuse_hints(hints: Hints, what: str, *, divisor: bool = False) -> None:
    """Refuse what a user said that a format has no use for.

    Args:
        hints: what the user said.
        what: the format, as messages call it.
        divisor: whether its prices are integers that can be divided.

    Raises:
        SpecInvalid: columns, or a divisor, where there are none.
    """
    if hints.columns:
        raise SpecInvalid(f"columns cannot be named: {what} has a fixed layout; leave them out")
    if hints.price_divisor is not None and not divisor:
        raise SpecInvalid(f"a price divisor is given, but {what} holds prices; leave it out")


def told_divisor(hints: Hints) -> int | None:
    """Stored integers per unit of quote currency as the user said, None where nothing was said.

    Raises:
        SpecInvalid: it is not positive.
    """
    if hints.price_divisor is not None and hints.price_divisor < 1:
        raise SpecInvalid(f"the price divisor is {hints.price_divisor}; expected 1 or more")
    return hints.price_divisor
