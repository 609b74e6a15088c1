"""dream: an event-driven backtester for LLM trading agents that cannot see the future."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dream.memory.balance import ensure_negative_balance
    from dream.runs.api import Run, replay, run
    from dream.runs.spec import RunSpec
    from dream.types import (
        Bars,
        Decision,
        Episode,
        EpisodeTable,
        Features,
        Instrument,
        Recalled,
        RecallFn,
        RecallQuery,
        Setups,
        Snapshot,
        Terms,
        Trade,
    )

__all__ = [
    "Bars",
    "Decision",
    "Episode",
    "EpisodeTable",
    "Features",
    "Instrument",
    "RecallFn",
    "RecallQuery",
    "Recalled",
    "Run",
    "RunSpec",
    "Setups",
    "Snapshot",
    "Terms",
    "Trade",
    "ensure_negative_balance",
    "replay",
    "run",
]

_HOMES = {
    "Run": "dream.runs.api",
    "RunSpec": "dream.runs.spec",
    "ensure_negative_balance": "dream.memory.balance",
    "replay": "dream.runs.api",
    "run": "dream.runs.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import dream` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module 'dream' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the point of this function

    return getattr(import_module(_HOMES.get(name, "dream.types")), name)
