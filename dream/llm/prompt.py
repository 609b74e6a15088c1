"""What a model is shown: versioned templates, rendered from a snapshot and what was recalled.

Stable first, volatile last: the system prompt is the same for a whole run, and in the user prompt
the clock comes at the end. Versions are only ever added, so that old journals replay.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dream.errors import SpecInvalid
from dream.llm import prompt_v1
from dream.llm.parse import answer_schema
from dream.types import Instrument, Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dream.types import Shown, Snapshot

System: TypeAlias = "Callable[[PromptSettings], str]"
User: TypeAlias = "Callable[[Snapshot, Sequence[Shown], PromptSettings], str]"


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """What the prompts of a run say besides the market.

    Attributes:
        strategies: board name to a description of its rules, in board order.
        terms: the terms of trade. instrument: what is traded.
        version: of the template.

    Raises:
        SpecInvalid: there is no such version.
    """

    strategies: Mapping[str, str]
    terms: Terms = field(default_factory=Terms)
    instrument: Instrument = field(default_factory=Instrument)
    version: str = "v1"

    def __post_init__(self) -> None:
        if self.version not in TEMPLATES:
            known = ", ".join(TEMPLATES)
            raise SpecInvalid(f"unknown prompt version {self.version!r}; known: {known}")

    def schema(self) -> dict[str, Any]:
        """JSON schema of the answer."""
        return answer_schema(tuple(self.strategies), allow_sell=not self.terms.buy_only)

    @property
    def decimals(self) -> int:
        """Decimals of a price."""
        return len(f"{self.instrument.tick:.9f}".rstrip("0").partition(".")[2])


def system_prompt(settings: PromptSettings) -> str:
    """The part that is the same for every question of a run."""
    return TEMPLATES[settings.version][0](settings)


def user_prompt(ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings) -> str:
    """One question: everything known at the close of the newest bar, and nothing later.

    Args:
        ask: the snapshot, prices in quote currency.
        shown: the recalled episodes; the memory block is left out when there are none.
        settings: of the run.
    """
    return TEMPLATES[settings.version][1](ask, shown, settings)


@cache
def prompt_hash(version: str) -> str:
    """sha256 of what is asked with a template in two specimens, the answer's schema included.

    It stays the same as long as the same is asked, however the code is written.

    Raises:
        SpecInvalid: there is no such version.
    """
    from dream.llm.specimen import specimens  # noqa: PLC0415 - it imports this file

    h = hashlib.sha256(version.encode())
    for settings, ask, shown in specimens(version):
        schema = json.dumps(settings.schema())
        for text in (system_prompt(settings), user_prompt(ask, shown, settings), schema):
            h.update(len(text).to_bytes(8, "big") + text.encode())
    return h.hexdigest()


TEMPLATES: Final[dict[str, tuple[System, User]]] = {"v1": (prompt_v1.system, prompt_v1.user)}
"""Version to the functions that make its system and its user prompt."""
