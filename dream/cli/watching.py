"""What a user sees of a run while it goes on, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dream.cli.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dream.runs.budget import Budget
    from dream.runs.drive import Tally, Watch
    from dream.types import Snapshot


@contextmanager
def watching(decisions: int, budget: Budget | None, *, show: bool) -> Generator[Watch]:
    """Progress on a terminal, and Ctrl-C: the first ends after the decision in flight."""
    from dream.runs.drive import Watch

    asked_to_stop = False

    def interrupt(_signal: int, _frame: Any) -> None:
        nonlocal asked_to_stop
        if asked_to_stop:
            raise KeyboardInterrupt
        asked_to_stop = True
        with suppress(OSError):  # unbuffered: the signal may have come inside a write to stderr
            os.write(2, b"\nfinishing the decision in flight; Ctrl-C again to drop it\n")

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        with _progress(decisions, budget, show and _on_terminal()) as tell:
            yield Watch(tell, lambda: asked_to_stop, lambda: datetime.now(UTC).isoformat())
    finally:
        signal.signal(signal.SIGINT, previous)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()  # pyright: ignore[reportUnnecessaryComparison]


@contextmanager
def _progress(
    decisions: int, budget: Budget | None, show: bool
) -> Generator[Callable[[Tally, Snapshot], None]]:
    if not show:
        yield lambda _tally, _ask: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=decisions)
        due = 0.0

        def tell(tally: Tally, ask: Snapshot) -> None:
            nonlocal due
            now = time.monotonic()
            if now < due:
                return
            due = now + 0.1
            errors = tally.decisions - tally.statuses["ok"]
            spent = _spent(tally, budget)
            text = f"{many(len(tally.trades), 'trade')}, equity {ask.account.equity:,.2f}{spent}"
            bar.update(
                task,
                completed=tally.decisions,
                description=text + (f", {many(errors, 'error')}" if errors else ""),
            )

        yield tell


def _spent(tally: Tally, budget: Budget | None) -> str:
    if budget is not None:
        return f", {budget.total_usd:.2f} of {budget.limit_usd:g} USD"
    return "" if not tally.replies or tally.cost_usd is None else f", {tally.cost_usd:.2f} USD"
