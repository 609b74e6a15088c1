"""`python -m benchmarks.report`: every figure of one machine in one table. Takes some minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import breakout_run, question, rule_run, whole
from benchmarks.timing import Row, machine

if TYPE_CHECKING:
    from collections.abc import Iterable

ROUNDS = {50_802: 15, 1_000_000: 5}


def line(row: Row) -> str:
    """One row of the table."""
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} x"
    asked = "" if not row.most else f"asked {row.most}: {'yes' if row.met else 'NO'}"
    return f"{row.what:<52}{row.value:>10}{ratio:>10}   {asked}".rstrip()


def show(title: str, rows: Iterable[Row]) -> None:
    """A part of the table, printed as soon as it is known."""
    print(f"\n{title}")
    for row in rows:
        print(line(row), flush=True)


def main() -> None:
    """Print the table."""
    print(machine())
    for n, rounds in ROUNDS.items():
        show(f"Rule run, {n:,} bars not seen before", rule_run.rows(n, rounds))
    for n, rounds in ROUNDS.items():
        show(f"Reference breakout, {n:,} bars", breakout_run.rows(n, rounds))
    show("One question", question.rows())
    show("Whole runs and commands", whole.rows())


if __name__ == "__main__":
    main()
