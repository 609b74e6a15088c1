"""dream grid: every combination of settings as a run."""

from __future__ import annotations

from inspect import signature
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dream.cli import options, settings
from dream.cli.many import carry_out
from dream.cli.run import run
from dream.cli.specs import import_from_here, spec_of
from dream.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dream.runs.spec import RunSpec

MOST: Final = 10_000
"""Runs of one grid."""
_WHOLE: Final = ("runs", "as_json", "quiet", "budget", "at_once", "sync", "reuse_answers", "fresh",
                 "repeats")  # fmt: skip
"""Options that are of the grid as a whole, not of one run."""


def grid(
    file: Annotated[Path, typer.Argument(help="TOML file with the tables [run] and [grid].")],
    *,
    budget: options.Money = None,
    at_once: options.AtOnce = 8,
    reuse_answers: options.Reuse = False,
    runs: options.Runs = Path("runs"),
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make every combination of the lists in [grid] a run, beside each other; resumed as a whole.

    Example: dream grid compare.toml --budget 20
    """
    import_from_here()
    whole: dict[str, Any] = {
        "budget": budget, "at_once": at_once, "reuse_answers": reuse_answers, "runs": runs,
        "as_json": as_json, "quiet": quiet,
    }  # fmt: skip
    tables = settings.tables(file)
    for name, table in tables.items():
        if name not in ("run", "grid") or not isinstance(table, dict):
            raise InputError(f"{file}: {name!r} is no table of it; there are: [run], [grid]")
    shared = settings.options_in(tables.get("run", {}), run, f"{file}: [run]")
    _refuse_whole(shared, f"{file}: [run]")
    given = _defaults() | shared | whole
    own = settings.own_models(Path())
    specs: dict[str, RunSpec] = {}
    seen: dict[str, str] = {}
    for name, chosen in _combinations(tables.get("grid", {}), f"{file}: [grid]"):
        spec = spec_of({**given, **chosen}, own)
        spec = spec.model_copy(update={"repeat": chosen["repeat"]})
        if (twin := seen.get(spec.run_id())) is not None:
            raise InputError(f"{file}: {twin!r} and {name!r} are the same run; leave one out")
        seen[spec.run_id()] = name
        specs[name] = spec
    carry_out(specs, given, own)


def _defaults() -> dict[str, Any]:
    """The options of `dream run` as they are where nothing is said."""
    return {p.name: p.default for p in signature(run).parameters.values()}


def _combinations(table: Mapping[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of the lists with a name, in the order of the file; repeats last."""
    lists = dict(table)
    repeats = lists.pop("repeats", 1)
    if type(repeats) is not int or not 1 <= repeats <= MOST:
        raise InputError(f"{where} repeats: expected a whole number from 1 to {MOST:,}")
    windows = _windows(lists.pop("windows", [{}]), f"{where} windows")
    axes = settings.options_in(lists, run, where, listed=True)
    _refuse_whole(axes, where)
    sizes = [len(values) for values in (windows, *axes.values())]
    count = repeats
    for size in sizes:
        count *= size
    if count > MOST:
        raise InputError(f"{where}: {count:,} combinations, at most {MOST:,} are made")
    for values in product(*axes.values()):
        for window in windows:
            for repeat in range(repeats):
                chosen = dict(zip(axes, values, strict=True)) | window
                named = [
                    f"{k.strip('_')}={v}" for k, v in chosen.items() if _varies(k, axes, windows)
                ]
                if repeats > 1:
                    named.append(f"repeat={repeat}")
                yield " ".join(named) or "the only run", chosen | {"repeat": repeat}


def _refuse_whole(options: Mapping[str, Any], where: str) -> None:
    for option in options:
        if option in _WHOLE:
            raise InputError(
                f"{where} {option}: it is one for the whole grid, not for one run; type it"
            )


def _varies(option: str, axes: Mapping[str, Any], windows: list[dict[str, Any]]) -> bool:
    return len(axes[option]) > 1 if option in axes else len(windows) > 1


def _windows(given: Any, where: str) -> list[dict[str, Any]]:
    """Stretches of the bars: tables with from, to or both."""
    if type(given) is not list or not given:
        raise InputError(f'{where}: expected a list such as [{{ from = "2024-01-01" }}]')
    out: list[dict[str, Any]] = []
    for window in given:
        if not isinstance(window, dict) or not set(window) <= {"from", "to"}:
            raise InputError(f"{where}: expected tables with from and to, found {window!r}"[:200])
        out.append(settings.options_in(window, run, where))
    return out
