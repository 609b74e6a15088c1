"""What the user says of an export."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from dream.bars.checks.faults import Policy
from dream.bars.clock import zones
from dream.bars.importers.sheet import Hints
from dream.errors import SpecInvalid
from dream.types import Instrument

SYMBOL_CHARS: Final = 32


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

    def __post_init__(self) -> None:
        """Refuses what makes no sense of any file.

        Raises:
            SpecInvalid: the symbol is no name, the tick or the point no price step, or the clock
                is not known.
        """
        symbol = self.instrument.symbol
        if not (symbol.isprintable() and 0 < len(symbol) <= SYMBOL_CHARS):
            raise SpecInvalid(f"the symbol {symbol[:40]!r} is no name; expected one such as XAUUSD")
        for name, step in (("tick", self.instrument.tick), ("point", self.point)):
            if step is not None and not 0 < step < math.inf:
                raise SpecInvalid(f"the {name} is {step:g}; expected a price step such as 0.01")
        if self.clock is not None:
            zones.parse_clock(self.clock)
