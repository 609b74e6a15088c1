"""What a user sees of a run while it goes on, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from dream.cli.words import many, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dream.runs.budget import Budget
    from dream.runs.drive import Tally, Watch
    from dream.types import Snapshot


@contextmanager
def watching(decisions: int, budget: Budget | None, *, show: bool) -> Generator[Watch]:
    """Progress on a terminal, and Ctrl-C: the first ends after the decision in flight."""
    from dream.runs.drive import Watch

    with (
        interruptible("finishing the decision in flight") as asked,
        _progress(decisions, budget, show and _on_terminal()) as tell,
    ):
        yield Watch(tell, asked, _now_iso)


def _now_iso() -> str:
    return datetime.now(UTC).isoformat()


@contextmanager
def interruptible(what: str) -> Generator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; the second one is raised where it strikes."""
    asked_to_stop = False

    def interrupt(_signal: int, _frame: Any) -> None:
        nonlocal asked_to_stop
        if asked_to_stop:
            raise KeyboardInterrupt
        asked_to_stop = True
        with suppress(OSError):  # unbuffered: the signal may have come inside a write to stderr
            os.write(2, f"\n{what}; Ctrl-C again to drop it\n".encode())

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: asked_to_stop
    finally:
        signal.signal(signal.SIGINT, previous)


class Lines:
    """A line of progress for each of several runs; on no terminal, a line when one ends."""

    def __init__(self, bar: Any, asked_to_stop: Callable[[], bool], *, show: bool) -> None:
        self._bar = bar
        self._asked_to_stop = asked_to_stop
        self._show = show
        self._tasks: dict[str, Any] = {}
        self._due: dict[str, float] = {}

    def watch(self, name: str, decisions: int) -> Watch:
        """What a run of this name is watched by."""
        from dream.runs.drive import Watch

        def tell(tally: Tally, ask: Snapshot) -> None:
            now = time.monotonic()
            if self._bar is None or now < self._due.get(name, 0.0):
                return
            self._due[name] = now + 0.2
            if name not in self._tasks:
                self._tasks[name] = self._bar.add_task(name, total=decisions, text="")
            self._bar.update(
                self._tasks[name], completed=tally.decisions, text=_state(tally, ask, None)
            )

        return Watch(tell, self._asked_to_stop, _now_iso)

    def end(self, name: str, told: str, *, failed: bool) -> None:
        """Said when a run has ended; a failure is told in any case."""
        if self._bar is not None and name in self._tasks:
            self._bar.remove_task(self._tasks.pop(name))
        (self.tell if failed else self.say)(f"{name}: {told}")

    def say(self, line: str) -> None:
        """Print a line above the progress, where there is any."""
        if self._show:
            self.tell(line)

    def tell(self, line: str) -> None:
        """Print a line above the progress."""
        with suppress(OSError):
            if self._bar is None:
                typer.echo(shown(line), err=True)
            else:
                self._bar.console.print(shown(line), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def lines_of_progress(*, show: bool) -> Generator[Lines]:
    """Progress of several runs, and Ctrl-C: the first lets each finish its decision in flight."""
    with interruptible("every run finishes its decision in flight") as asked:
        if not (show and _on_terminal()):
            yield Lines(None, asked, show=show)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False), BarColumn(20), MofNCompleteColumn(),
            TextColumn("{task.fields[text]}", markup=False),
        )  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield Lines(bar, asked, show=show)


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
            bar.update(task, completed=tally.decisions, description=_state(tally, ask, budget))

        yield tell


def _state(tally: Tally, ask: Snapshot, budget: Budget | None) -> str:
    errors = tally.decisions - tally.statuses["ok"]
    spent = _spent(tally, budget)
    text = f"{many(len(tally.trades), 'trade')}, equity {ask.account.equity:,.2f}{spent}"
    return text + (f", {many(errors, 'error')}" if errors else "")


def _spent(tally: Tally, budget: Budget | None) -> str:
    if budget is not None:
        return f", {budget.total_usd:.2f} of {budget.limit_usd:g} USD"
    return "" if not tally.replies or tally.cost_usd is None else f", {tally.cost_usd:.2f} USD"
