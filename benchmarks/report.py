"""`python -m benchmarks.report`: every figure of one machine in one table. Takes some minutes.

Ratios are medians of rounds that ran side by side in this process; other figures are medians of
several rounds. Every result that is timed is checked. On a machine that does other work trust the
ratios only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import breakout_run, question, recalling, rule_run, whole
from benchmarks.timing import machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.timing import Row

ROUNDS = {50_802: 15, 1_000_000: 5}

SECTIONS: dict[str, Callable[[], list[Row]]] = {
    **{
        f"Rule run, three strategies, {n:,} bars not seen before": (
            lambda n=n, rounds=rounds: rule_run.rows(n, rounds)
        )
        for n, rounds in ROUNDS.items()
    },
    **{
        f"Rule run, reference breakout, {n:,} bars not seen before": (
            lambda n=n, rounds=rounds: breakout_run.rows(n, rounds)
        )
        for n, rounds in ROUNDS.items()
    },
    f"One question, {question.EPISODES:,} episodes remembered, nothing synced": question.rows,
    "Recall": recalling.rows,
    "Whole runs and commands": whole.rows,
}


def line(row: Row) -> str:
    """One row of the table."""
    times = "" if row.ratio is None else f"{row.ratio:.2f} x"
    asked = "" if not row.most else f"asked {row.most}: {'yes' if row.met else 'NO'}"
    return f"  {row.what:<52}{row.value:>10}{times:>10}   {asked}".rstrip()


def main() -> None:
    """Print the table, section by section."""
    print(machine())
    for title, rows in SECTIONS.items():
        print(f"\n{title}", flush=True)
        for row in rows():
            print(line(row), flush=True)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
