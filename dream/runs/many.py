"""Many runs in one process: beside each other, under one budget, stopped and resumed as a whole.

A run waits for its model most of the time, so each has a thread of its own and they share what must
be shared: the slots of a model, the budget, the wish to stop. What makes them run is a seam: an
`Executor` for several machines takes the same jobs.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from dream.errors import DreamError, InputError
from dream.runs import api
from dream.runs.drive import Stopped
from dream.runs.folders import numbered
from dream.runs.handed import named
from dream.runs.spending import spent_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dream.runs.api import Options, Run
    from dream.runs.spec import RunSpec


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be made.

    Attributes:
        name: as progress and tables call it. spec, options: as `api.run` takes them.
    """

    name: str
    spec: RunSpec
    options: Options


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: a run, or the error that ended it; neither where it was stopped."""

    job: Job
    run: Run | None = None
    error: DreamError | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop and can be gone on with."""
        return self.run is None and self.error is None


class Executor(Protocol):
    """What makes jobs run; outcomes come in the order in which they end."""

    def __call__(self, jobs: Sequence[Job], work: Callable[[Job], Outcome], /) -> Iterator[Outcome]:
        """Every job's outcome, once."""
        ...


def carry_out(job: Job) -> Outcome:
    """Make one run, unless all are to stop; nothing that is wrong with it reaches the others."""
    if job.options.watch.stop():
        return Outcome(job)
    try:
        return Outcome(job, run=api.run(job.spec, options=job.options))
    except Stopped:
        return Outcome(job)
    except DreamError as error:
        return Outcome(job, error=error)
    except BaseException as error:  # noqa: BLE001 - no signal reaches a thread: it is of the run
        found = InputError(f"ended by {type(error).__name__}: {error}")
        found.__cause__ = error
        return Outcome(job, error=found)


def threads(most: int) -> Executor:
    """An executor of this process, with at most so many jobs at the same time.

    Its threads do not outlive the process: a journal is whole at every moment.
    """

    def execute(jobs: Sequence[Job], work: Callable[[Job], Outcome], /) -> Iterator[Outcome]:
        waiting: SimpleQueue[Job | None] = SimpleQueue()
        ended: SimpleQueue[Outcome | BaseException] = SimpleQueue()

        def labour() -> None:
            while (job := waiting.get()) is not None:
                try:
                    ended.put(work(job))
                except BaseException as error:  # noqa: BLE001 - raised again by who waits
                    ended.put(error)

        count = min(most, len(jobs))
        for job in (*jobs, *[None] * count):
            waiting.put(job)
        for number in range(count):
            Thread(target=labour, name=f"dream-run-{number}", daemon=True).start()
        for _ in jobs:
            outcome = ended.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome

    return execute


def run_all(jobs: Sequence[Job], executor: Executor) -> Iterator[Outcome]:
    """Every job's outcome as it ends.

    Args:
        jobs: their budget and their limiters, if any, are the same objects.
        executor: runs them.
    """
    for job in jobs:
        _count_spent(job)
    yield from executor(jobs, carry_out)


def _count_spent(job: Job) -> None:
    """Let the shared budget know what a run has spent before, ahead of all that go on."""
    budget = job.options.access.budget
    if budget is None or job.options.fresh:
        return
    spec = named(job.spec, None, None, job.options.access.own)
    for folder in numbered(job.options.folder / spec.run_id())[-1:]:
        with suppress(DreamError):  # what is damaged ends its own run, not the others
            budget.count(str(folder), spent_usd(folder))
