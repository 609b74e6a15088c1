"""Another future: the same bars up to a moment, other ones after it, and what a run said before.

A run may not know the bars after a moment, so whatever it writes before it must not depend on them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from dream.bars import series, store
from tests.runs import made

if TYPE_CHECKING:
    from pathlib import Path


class SawTheFuture(AssertionError):  # noqa: N818 - it says what it saw
    """A line before the moment depends on bars after it. `seq` is its question, None before any."""

    def __init__(self, seq: int | None, left: bytes | None, right: bytes | None) -> None:
        super().__init__(f"question {seq}: {left!r} with one future and {right!r} with another")
        self.seq = seq


def scrambled(path: Path, cut: int, seed: int) -> Path:
    """The bars of a file with those from `cut` on replaced; valid, at the same times.

    The later bars are shuffled, their bodies turned over at random and their sizes changed, and
    the whole is moved away, so that no price, level, gap or order of events stays what it was.
    """
    bars = store.read(path)
    rng = np.random.default_rng([seed, cut])
    n = len(bars) - cut
    shuffled = bars.px[cut:][rng.permutation(n)].astype(np.int64)
    o, h, l, c = (shuffled * rng.uniform(0.9, 1.1, (n, 1))).astype(np.int64).T
    turned = rng.random(n) < 0.5
    o, c = np.where(turned, c, o), np.where(turned, o, c)
    px = np.stack([o, np.maximum.reduce([o, h, c]), np.minimum.reduce([o, l, c]), c], axis=1)
    spread, volume = bars.spread.copy(), bars.volume.copy()
    spread[cut:] = rng.integers(0, 200, n)
    volume[cut:] = rng.integers(1, 9_999, n)
    mixed = np.concatenate([bars.px[:cut].astype(np.int64), px]).astype(np.int32)
    other = path.with_name(f"{path.stem}-{cut}-{seed}.parquet")
    t_open_ns = bars.t_close_ns - bars.bar_ns
    made_up = series(bars.instrument, bars.bar_ns, t_open_ns, mixed, spread, volume)
    store.write(made_up, other, source_clock="utc", force=True)
    return other


def bar_of(line: made.Line) -> int:
    """The bar at which a line became known; the last line knows all of them."""
    record = line.record
    if line.kind == "trade":
        return record["exit"]["bar"]
    return record.get("bar", -1 if line.kind == "opened" else 10**9)


def before(folder: Path, cut: int) -> list[made.Line]:
    """The lines of a run that were written before the bar at `cut`.

    A reply belongs to the decision after it. The bars' hash and path in the first line, and the
    run's id, which is made of it, are facts about the whole file: they are left out.
    """
    told, pending = [], []
    for line in made.lines(folder):
        pending.append(line)
        if line.kind == "reply":
            continue
        if bar_of(line) >= cut:
            break
        told += pending
        pending = []
    first = json.loads(told[0].body)
    del first["run_id"], first["hashes"]["bars"], first["spec"]["bars"]
    return [made.Line(made.as_line(first), first, None), *told[1:]]


def check_no_future(left: Path, right: Path, cut: int) -> list[made.Line]:
    """Compare two runs byte for byte up to the moment; returns what they said before it.

    Raises:
        SawTheFuture: with the question of the first line that differs.
    """
    a, b = before(left, cut), before(right, cut)
    for i in range(max(len(a), len(b))):
        one, other = (lines[i] if i < len(lines) else None for lines in (a, b))
        if one is None or other is None or one.body != other.body:
            record = (one or other or a[-1]).record
            raise SawTheFuture(record.get("seq"), one and one.body, other and other.body)
    assert made.bodies(left)[len(a) :] != made.bodies(right)[len(b) :], "nothing was scrambled"
    return a
