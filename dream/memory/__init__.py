"""What the agent remembers: closed trades, known strictly before now, and how they are recalled.

`ensure_negative_balance` is pure Python and cheap to import; the rest loads numpy on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dream.memory.balance import Balance, ensure_negative_balance

if TYPE_CHECKING:
    from dream.memory.check import checked
    from dream.memory.episodes import Memory
    from dream.memory.features import features_of
    from dream.memory.recall import RECALL, Weights, hybrid, none, similarity

__all__ = [
    "RECALL",
    "Balance",
    "Memory",
    "Weights",
    "checked",
    "ensure_negative_balance",
    "features_of",
    "hybrid",
    "none",
    "similarity",
]

_HOME = {
    "Memory": "episodes",
    "RECALL": "recall",
    "Weights": "recall",
    "checked": "check",
    "features_of": "features",
    "hybrid": "recall",
    "none": "recall",
    "similarity": "recall",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
