"""The money limit: no attempt begins that could take what is spent past it."""

from __future__ import annotations

import math
from threading import Condition
from typing import TYPE_CHECKING

from dream.errors import BudgetSpent, SpecInvalid
from dream.runs.spending import Spend

if TYPE_CHECKING:
    from pathlib import Path


class Budget:
    """A limit on money that runs may share, also between threads.

    What a run had spent before counts too, so the limit holds across resumes. An attempt without
    a known cost stays at the most that it can have cost.

    Args:
        limit_usd: above 0.

    Raises:
        SpecInvalid: it is no such number.
    """

    def __init__(self, limit_usd: float) -> None:
        if not (math.isfinite(limit_usd) and limit_usd > 0):
            raise SpecInvalid(f"--budget takes US dollars above 0, found {limit_usd:g}")
        self.limit_usd = limit_usd
        self._changed = Condition()
        self._spent_usd: dict[str, float] = {}
        self._in_flight: dict[str, float] = {}

    def count(self, run: str, spent_usd: float) -> None:
        """Take what a run has spent so far, in US dollars, in place of what was known of it."""
        with self._changed:
            self._spent_usd[run] = spent_usd
            self._in_flight.pop(run, None)
            self._changed.notify_all()

    def reserve(self, run: str, ceiling_usd: float) -> None:
        """Set aside what one attempt of a run can cost at most, until `count` tells its cost.

        Waits while other runs' attempts in flight, which mostly cost far less than set aside, are
        all that stands in the way.

        Raises:
            BudgetSpent: there is no room for it.
        """
        with self._changed:
            while self.total_usd + ceiling_usd > self.limit_usd:
                if not self._in_flight:
                    raise BudgetSpent(self._told(ceiling_usd))
                self._changed.wait()
            self._in_flight[run] = ceiling_usd

    @property
    def total_usd(self) -> float:
        """Spent so far, with attempts in flight at their most."""
        return math.fsum((*self._spent_usd.values(), *self._in_flight.values()))

    def _told(self, ceiling_usd: float) -> str:
        return (
            f"budget: {math.fsum(self._spent_usd.values()):.4f} of {self.limit_usd:g} USD are "
            f"spent and the next call could cost up to {ceiling_usd:.4f}, so it was not made. "
            f"Nothing is lost: the same command with a larger --budget goes on"
        )


class Attempts:
    """Writes the attempts at paid calls of a run down, and asks the budget before each.

    Args:
        folder: of the run; its spend.jsonl is made with the first attempt.
        budget: None for no limit.
    """

    def __init__(self, folder: Path, budget: Budget | None = None) -> None:
        self._folder = folder
        self._budget = budget
        self._spend: Spend | None = None

    def begin(self, seq: int, turn: int, attempt: int, ceiling_usd: float | None, /) -> None:
        """Before a call; one without a known price counts nothing, and the summary says so.

        Raises:
            BudgetSpent: it could pass the budget.
        """
        if self._spend is None:
            self._spend = Spend.open(self._folder)
            self._count()
        if self._budget is not None:
            assert ceiling_usd is not None, "a model without a price has no budget"
            self._budget.reserve(str(self._folder), ceiling_usd)
        try:
            self._spend.before(seq, turn, attempt, ceiling_usd or 0.0)
        except BaseException:
            self._count()
            raise

    def end(self, seq: int, turn: int, attempt: int, cost_usd: float | None, /) -> None:
        """After it."""
        assert self._spend is not None, "an attempt ends after it began"
        self._spend.after(seq, turn, attempt, cost_usd)
        self._count()

    def _count(self) -> None:
        if self._budget is not None and self._spend is not None:
            self._budget.count(str(self._folder), self._spend.total())

    def close(self) -> None:
        """Close the file, if there is one; what is in flight stays at its most."""
        if self._spend is not None:
            self._spend.close()
            self._count()
