"""How the benchmarks take time: side by side in one process, and which machine it was."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Case:
    """Something to be timed.

    Attributes:
        run: what is timed, given what `fresh` made.
        fresh: makes the input of a round, from its number; not timed.
        check: asserts that a result is right, given the input and the result; not timed.
    """

    run: Callable[[Any], Any]
    fresh: Callable[[int], Any]
    check: Callable[[Any, Any], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report.

    Attributes:
        what: was measured. value: the median, in words, with its unit.
        ratio: to what it is compared with, None where it stands alone.
        most: the ratio or value that is asked for, in words. met: whether it is kept; None where
            nothing is asked.
    """

    what: str
    value: str
    ratio: float | None = None
    most: str = ""
    met: bool | None = None


def side_by_side(cases: Mapping[str, Case], rounds: int) -> dict[str, list[float]]:
    """Seconds of every round by case.

    A round runs every case once, in turn, so that a disturbance of the machine meets all of them;
    every second round runs them backwards. The first round is not counted: it compiles.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        order = list(cases) if number % 2 else list(reversed(cases))
        for name in order:
            case = cases[name]
            given = case.fresh(number)
            started = perf_counter()
            result = case.run(given)
            seconds = perf_counter() - started
            case.check(given, result)
            if number:
                taken[name].append(seconds)
    return taken


def ratio(taken: Mapping[str, list[float]], of: str, to: str) -> float:
    """Median of the ratios of the rounds."""
    pairs = zip(taken[of], taken[to], strict=True)
    return statistics.median(a / b for a, b in pairs)


def each(run: Callable[[], Any], calls: int, rounds: int = 5) -> float:
    """Seconds of one call: the median of `rounds` rounds of `calls` calls."""
    run()
    taken: list[float] = []
    for _ in range(rounds):
        started = perf_counter()
        for _ in range(calls):
            run()
        taken.append((perf_counter() - started) / calls)
    return statistics.median(taken)


def in_words(seconds: float) -> str:
    """Three digits and the unit that suits."""
    factor, unit = next(
        ((f, u) for f, u in ((1.0, "s"), (1e3, "ms")) if seconds * f >= 1.0), (1e6, "µs")
    )
    return f"{seconds * factor:.3g} {unit}"


def machine() -> str:
    """Processor, cores, load and versions, in one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [
            x.partition(":")[2].strip()
            for x in cpuinfo.read_text().splitlines()
            if "model name" in x
        ]
        model = names[0] if names else model
    load = f"load {os.getloadavg()[0]:.2f}, " if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return (
        f"{model}, {os.cpu_count()} cores, {load}{platform.system()}, "
        f"Python {platform.python_version()}, {versions}"
    )
