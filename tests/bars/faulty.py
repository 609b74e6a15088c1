"""Exports with one fault each: what is changed in good rows, what is found, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from dream.bars import synth

if TYPE_CHECKING:
    from pathlib import Path

Rows = list[list[Any]]
"""Open time in nanoseconds, open, high, low, close in ticks, volume, spread; text as it stands."""
Change = Callable[[Rows], Rows]
HOUR_NS, MINUTE_NS = 3600 * 10**9, 60 * 10**9
BASE_ROWS = 1_200
K = 400
"""A row in the middle of a session, in line K + 2 of the file."""


@dataclass(frozen=True, slots=True)
class Case:
    """One fault.

    Attributes:
        kind: of the fault. change: from good rows to those of the file.
        count: how often it is found. place: how the first place begins, "" without places.
        left: action to the rows that are left; dropped, sorted, rounded and first rows are by
            default as before the change, kept ones as behind it.
        first: where the series begins. zone: of the stamps, None for UTC with its name.
        reading: what else is said of the file. others: what is done about other faults.
        other_seed: of the reference, if there is one.
    """

    kind: str
    change: Change
    count: int
    place: str
    left: dict[str, Change] = field(default_factory=dict[str, Change])
    first: str = "2024-01-01"
    zone: str | None = None
    reading: dict[str, Any] = field(default_factory=dict[str, Any])
    others: dict[str, Any] = field(default_factory=dict[str, Any])
    other_seed: int | None = None


def base(first: str, seed: int = 5) -> Rows:
    """Three weeks of good rows."""
    start_ns = at(first)
    bars = synth.make(BASE_ROWS, seed, start_ns=start_ns)
    opens = (bars.t_close_ns - bars.bar_ns).tolist()
    amounts = zip(bars.volume.tolist(), bars.spread.tolist(), strict=True)
    return [
        [t, *px, *more] for t, px, more in zip(opens, bars.px.tolist(), amounts, strict=True)
    ]  # fmt: skip


def at(text: str) -> int:
    """Nanoseconds of a UTC time."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


def write(path: Path, rows: Rows, zone: str | None) -> Path:
    """The rows as text; `zone` as in Case."""

    def stamp(t: object) -> str:
        if not isinstance(t, int):
            return str(t)
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=t // 10**9)
        wall = when.astimezone(ZoneInfo(zone or "UTC"))
        return wall.strftime("%Y-%m-%d %H:%M:%S") + ("" if zone else "Z")

    def price(x: object) -> str:
        return f"{x // 100}.{x % 100:02d}" if isinstance(x, int) else str(x)

    lines = ["timestamp,open,high,low,close,volume,spread"]
    for t, o, h, l, c, volume, spread, *more in rows:
        lines.append(
            ",".join([stamp(t), *map(price, (o, h, l, c)), str(volume), price(spread), *more])
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def put(k: int, column: int, value: Any) -> Change:
    """Another value in one row."""
    return lambda rows: [*rows[:k], _with(rows[k], column, value), *rows[k + 1 :]]


def _with(row: list[Any], column: int, value: Any) -> list[Any]:
    return [*row[:column], value, *row[column + 1 :]]


def without(first: int, count: int = 1) -> Change:
    return lambda rows: rows[:first] + rows[first + count :]


def added(row: Callable[[Rows], list[Any]], place: int = -1) -> Change:
    """One more row, before that place; by its time without a place."""

    def change(rows: Rows) -> Rows:
        new = row(rows)
        k = place if place >= 0 else sum(r[0] < new[0] for r in rows)
        return [*rows[:k], new, *rows[k:]]

    return change


def bar(when: str, volume: float, *, moves: bool) -> Callable[[Rows], list[Any]]:
    """A row at a time, at the price of the row before it."""

    def row(rows: Rows) -> list[Any]:
        t = at(when)
        price = next(r[4] for r in reversed(rows) if r[0] < t)
        return [t, price, price + 50 * moves, price - 60 * moves, price + 10 * moves, volume, 25]

    return row


def later(rows: Rows, ns: int) -> Rows:
    return [[row[0] + ns, *row[1:]] for row in rows]


def close_between_ticks(rows: Rows) -> Rows:
    row = rows[K]
    assert row[4] < row[2]
    return put(K, 4, f"{row[4] / 100:.2f}4")(rows)


def days_before(rows: Rows) -> Rows:
    """Daily bars of a week before the first row."""
    days = range(25, 30)
    price = rows[0][1]
    return [[at(f"2023-12-{d}"), price, price + 900, price - 800, price + 100, 9_000.0, 25]
            for d in days] + rows  # fmt: skip


def invented_head(rows: Rows) -> Rows:
    """Five hours of a Friday evening, stitched and in whole dollars, a month before the rest."""
    first, price = at("2023-12-01 22:00"), 200_000
    head: Rows = []
    for k in range(20):
        o = price + 100 * k
        head.append([first + k * 15 * MINUTE_NS, o, o + 300, o - 200, o + 100, 50.0, 25])
    return head + rows


def random_walk(rows: Rows) -> Rows:
    rng = np.random.default_rng(3)
    made: Rows = []
    price = 200_000
    for row in rows:
        steps = price + np.cumsum(rng.integers(-40, 41, 30))
        made.append(
            [row[0], int(steps[0]), int(steps.max()), int(steps.min()), int(steps[-1]), *row[5:]]
        )
        price = int(steps[-1])
    return made


def stitched(rows: Rows) -> Rows:
    made = [rows[0]]
    for t, _, h, l, c, *more in rows[1:]:
        o = made[-1][4]
        made.append([t, o, max(o, h), min(o, l), c, *more])
    return made


def stay_flat(rows: Rows) -> Rows:
    t, o, *_, volume, spread = rows[K]
    return [*rows[:K], [t, o, o, o, o, volume, spread], *rows[K + 1 :]]


def too_dear(rows: Rows) -> Rows:
    t, *_, volume, spread = rows[K]
    return [*rows[:K], [t, *[900_000] * 4, volume, spread], *rows[K + 1 :]]


LINE = f"line {K + 2}"
SWAPPED = f"line {K + 3}"
GONE: dict[str, Change] = {"drop": without(K)}
CASES = (
    Case("unreadable", put(K, 4, "12,,5".replace(",", ".")), 1, f"{LINE}: close is '12..5'", GONE),
    Case(
        "columns", lambda rows: [*rows[:K], [*rows[K], "7"], *rows[K + 1 :]], 1,
        f"{LINE}: 8 fields, the other rows have 7", GONE,
    ),
    Case(
        "no_such_time", added(lambda rows: ["2024-03-10 02:30:00", *rows[K][1:]], K), 1,
        f"{LINE} (2024-03-10T02:30:00) by America/New_York", first="2024-03-03",
        zone="America/New_York", reading={"clock": "America/New_York"},
    ),
    Case(
        "twice_time", added(lambda rows: ["2024-11-03 01:30:00", *rows[K][1:]], K), 1,
        f"{LINE} (2024-11-03T01:30:00) by America/New_York", first="2024-10-27",
        zone="America/New_York", reading={"clock": "America/New_York"},
    ),
    Case("price", put(K, 3, 0), 1, f"{LINE}: low 0 is not positive", GONE),
    Case("impossible", put(K, 2, 150_000), 1, f"{LINE}: open 2", GONE),
    Case("off_tick", close_between_ticks, 1, f"{LINE}: close 2"),
    Case("amount", put(K, 5, -1.0), 1, f"{LINE}: volume -1 is negative", GONE),
    Case("duplicate", added(lambda rows: rows[K], K), 1, f"{SWAPPED} (2024-01-0"),
    Case(
        "conflict", added(lambda rows: _with(rows[K], 5, 7.0), K + 1), 1, "line 40",
        {"last": put(K, 5, 7.0)},
    ),
    Case(
        "unsorted", lambda rows: [*rows[:K], rows[K + 1], rows[K], *rows[K + 2 :]], 1,
        f"{SWAPPED} (2024-01-0",
    ),
    Case(
        "off_grid", added(lambda rows: [rows[K][0] + 7 * MINUTE_NS, *rows[K][1:]]), 1,
        f"{SWAPPED} (2024-01-0",
    ),
    Case("other_length", days_before, 5, "line 2 (2023-12-25T00:00:00Z): bars of 1440 among"),
    Case("filler", added(bar("2024-01-09 22:15", 0.0, moves=False)), 1, "line "),
    Case("weekend", added(bar("2024-01-06 12:00", 9.0, moves=True)), 1, "line "),
    Case(
        "clock", lambda rows: rows, 3, "week of 2024-01-01",
        {"keep": lambda rows: later(rows, -HOUR_NS)}, zone="UTC",
        reading={"clock": "fixed:+01:00"},
    ),
    Case("closed_hour", added(bar("2024-01-09 22:15", 9.0, moves=True)), 1, "line "),
    Case("level", too_dear, 1, f"{LINE} (2024-01-0"),
    Case("reference", lambda rows: rows, 3, "", other_seed=6),
    Case("invented", random_walk, BASE_ROWS, ""),
    Case("invented_head", invented_head, 20, "line 2 (2023-12-01T22:00:00Z)",
         others={"weekend": "keep"}),
    Case("stitched", stitched, BASE_ROWS - 1, ""),
    Case("flat", stay_flat, 1, ""),
    Case("hole", without(K, 8), 1, "2024-01-0"),
    Case(
        "forming", put(BASE_ROWS - 1, 5, 1.0), 1, f"line {BASE_ROWS + 1} (",
        {"drop": without(BASE_ROWS - 1)},
    ),
    Case("no_spread", put(K, 6, 0), 1, ""),
)  # fmt: skip
