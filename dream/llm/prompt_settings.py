"""What the prompts of a run say besides the market; every template is given it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dream.llm.parse import answer_schema, tight_schema
from dream.types import Instrument, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

Context: TypeAlias = Literal["window", "day"]


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The same for every question of a run.

    Attributes:
        strategies: board name to a description of its rules, in board order.
        terms: the terms of trade. instrument: what is traded.
        version: of the template. context: which bars are shown: the last 20, or every bar of the
            trading day so far and the 20 before it.
    """

    strategies: Mapping[str, str]
    terms: Terms = field(default_factory=Terms)
    instrument: Instrument = field(default_factory=Instrument)
    version: str = "v1"
    context: Context = "window"

    def schema(self, *, tight: bool = False) -> dict[str, Any]:
        """JSON schema of the answer; a tight one as in `catalog.Entry`."""
        schema_of = tight_schema if tight else answer_schema
        return schema_of(tuple(self.strategies), allow_sell=not self.terms.buy_only)

    @property
    def decimals(self) -> int:
        """Decimals of a price."""
        return len(f"{self.instrument.tick:.9f}".rstrip("0").partition(".")[2])

    def on_grid(self, price: float) -> float:
        """A price, spread or slippage as the engine counts it, in whole ticks."""
        return self.instrument.to_price(self.instrument.to_ticks(price))
