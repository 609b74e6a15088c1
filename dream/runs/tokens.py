"""What was counted of the tokens of a run's replies, and how long the cache gave nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from dream.llm.caching import LIFE_S
from dream.types import Usage

if TYPE_CHECKING:
    from dream.types import Question


@dataclass(slots=True)
class Tokens:
    """Counts of the replies so far.

    Attributes:
        prefix_bytes: of the shortest beginning, system prompt included, that a question was
            expected to share with the next one; None before the first.
        silent: most replies in a row, each asked for within the life of a cache entry after the
            one before, for which the server read nothing from its cache.
    """

    prefix_bytes: int | None = None
    silent: int = 0
    _counts: Counter[str] = field(default_factory=Counter[str])
    _said: set[str] = field(default_factory=set[str])
    _row: int = 0
    _asked: str | None = None

    def add(self, system: str, question: Question, usage: Usage, asked: str | None) -> None:
        """Count one reply; asked is the ISO instant at which it was asked for, where known."""
        counts = {name: n for name, n in asdict(usage).items() if n is not None}
        self._counts.update(counts)
        self._said |= counts.keys()
        shared = (question.user or "")[: question.cuts[-1]] if question.cuts else ""
        size = len(system.encode()) + len(shared.encode())
        self.prefix_bytes = min(self.prefix_bytes or size, size)
        if usage.input_tokens is not None:
            alive = self._asked is None or _seconds(self._asked, asked) <= LIFE_S
            self._row = 0 if usage.cache_read_tokens else self._row + 1 if alive else 1
            self.silent = max(self.silent, self._row)
        self._asked = asked

    @property
    def sums(self) -> Usage:
        """Tokens of all replies; None for a class that no server counted."""
        return Usage(**{name: self._counts[name] for name in self._said})


def _seconds(earlier: str, later: str | None) -> float:
    """From one instant to the other, 0 where they are not told."""
    try:
        return (
            datetime.fromisoformat(later or earlier) - datetime.fromisoformat(earlier)
        ).total_seconds()
    except (TypeError, ValueError):  # written by a clock of the user's
        return 0.0
