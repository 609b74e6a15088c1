"""dream: an event-driven backtester for LLM trading agents that cannot see the future."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dream.errors import DreamError
    from dream.memory.balance import ensure_negative_balance
    from dream.runs.api import Options, Replayed, Run, replay, run
    from dream.runs.spec import RunSpec, make_spec
    from dream.types import (
        MISSING,
        Account,
        Bars,
        BoardRow,
        Costs,
        Decider,
        Decision,
        Episode,
        EpisodeTable,
        Features,
        Fill,
        Indicators,
        Instrument,
        Position,
        Recalled,
        RecallFn,
        RecallQuery,
        Setups,
        Shown,
        Snapshot,
        Strategy,
        Terms,
        Trade,
    )

__all__ = [
    "MISSING",
    "Account",
    "Bars",
    "BoardRow",
    "Costs",
    "Decider",
    "Decision",
    "DreamError",
    "Episode",
    "EpisodeTable",
    "Features",
    "Fill",
    "Indicators",
    "Instrument",
    "Options",
    "Position",
    "RecallFn",
    "RecallQuery",
    "Recalled",
    "Replayed",
    "Run",
    "RunSpec",
    "Setups",
    "Shown",
    "Snapshot",
    "Strategy",
    "Terms",
    "Trade",
    "ensure_negative_balance",
    "make_spec",
    "replay",
    "run",
]

_HOMES = {
    "DreamError": "dream.errors",
    "Options": "dream.runs.api",
    "Replayed": "dream.runs.api",
    "Run": "dream.runs.api",
    "RunSpec": "dream.runs.spec",
    "ensure_negative_balance": "dream.memory.balance",
    "make_spec": "dream.runs.spec",
    "replay": "dream.runs.api",
    "run": "dream.runs.api",
}
"""Where a public name lives, if not in dream.types."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import dream` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module 'dream' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the point of this function

    return getattr(import_module(_HOMES.get(name, "dream.types")), name)


def __dir__() -> list[str]:
    """The public names too, which are not there before they are used."""
    return sorted({*globals(), *__all__})
