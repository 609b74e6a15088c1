"""How far a clock is ahead of UTC, as a table, and the conversion of many stamps by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.types import I8

SECOND_NS: Final = 1_000_000_000
DAY_S: Final = 86_400
MARGIN_NS: Final = 2 * DAY_S * SECOND_NS
"""A table reaches this far beyond what is asked: no wall clock is so far from UTC."""
STEP_S: Final = 4 * DAY_S
"""Changes are looked for in such steps: the closest two of any zone since 1970 lie a week apart."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCK: Final = 1 << 16
"""Rows converted at a time: they stay in the cache, and few of the blocks meet a change."""
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """A clock over a range of time.

    Attributes:
        from_ns: (k,) int64 instants, ascending. ahead_ns: (k,) int64, wall time minus UTC from
            then on. The first row holds for everything before, too.
    """

    from_ns: I8
    ahead_ns: I8


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """Wall times as instants.

    Attributes:
        t_ns: (n,) int64, UTC. Of a doubled time the first of its two instants; of a missing one
            what the clock would have shown without its change.
        missing: (n,) bool, the clock skips this time.
        doubled: (n,) bool, the clock shows this time twice.
    """

    t_ns: I8
    missing: npt.NDArray[np.bool_]
    doubled: npt.NDArray[np.bool_]


def of_zone(zone: str, first_ns: int, last_ns: int) -> Offsets:
    """The offsets of a zone of the time zone database, for instants or wall times of a range.

    Raises:
        SpecInvalid: the zone is not known on this machine.
    """
    first, last = (
        (_EPOCH + timedelta(seconds=t_ns // SECOND_NS)).year
        for t_ns in (first_ns - MARGIN_NS, last_ns + MARGIN_NS)
    )
    return _of_years(zone, first, last)


@cache
def _of_years(zone: str, first: int, last: int) -> Offsets:
    rows = [row for year in range(first, last + 1) for row in _changes(zone, year)]
    kept = [row for k, row in enumerate(rows) if k == 0 or row[1] != rows[k - 1][1]]
    from_ns, ahead_ns = (np.array(kept, np.int64) * SECOND_NS).T.copy()
    for column in (from_ns, ahead_ns):
        column.flags.writeable = False  # many hold it
    return Offsets(from_ns, ahead_ns)


@cache
def _changes(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """A zone's offsets in one year: (first second since 1970, seconds ahead of UTC)."""
    try:
        rules = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise SpecInvalid(
            f"the time zone {zone[:40]!r} is not known on this machine; if no zone is, install the"
            " time zone database: pip install tzdata"
        ) from e

    def ahead(second: int) -> int:
        offset = (_EPOCH + timedelta(seconds=second)).astimezone(rules).utcoffset()
        assert offset is not None
        return offset // timedelta(seconds=1)

    second, end = ((datetime(y, 1, 1, tzinfo=UTC) - _EPOCH).days * DAY_S for y in (year, year + 1))
    found = [(second, ahead(second))]
    while second < end:
        following = min(second + STEP_S, end)
        if ahead(following) != found[-1][1]:
            before, after = second, following
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (
                    (middle, after) if ahead(middle) == found[-1][1] else (before, middle)
                )
            found.append((after, ahead(after)))
        second = following
    return tuple(found)


def blocks(values: I8) -> Iterator[slice]:
    """The slices of (n,) values that are worked on at a time."""
    return (slice(k, k + _BLOCK) for k in range(0, len(values), _BLOCK))


def to_wall(t_ns: I8, offsets: Offsets) -> I8:
    """(n,) int64 wall times of (n,) int64 instants, in any order."""
    wall = np.empty_like(t_ns)
    for part in blocks(t_ns):
        block = t_ns[part]
        ends = np.searchsorted(offsets.from_ns, (block.min(), block.max()), side="right")
        if ends[0] == ends[1]:
            row = ends[:1]
        else:
            row = np.searchsorted(offsets.from_ns, block, side="right")
        np.add(block, offsets.ahead_ns[np.maximum(row - 1, 0)], out=wall[part])
    return wall


def changes(offsets: Offsets) -> tuple[I8, I8]:
    """The stretch of wall time that each change skips or repeats.

    Returns:
        (k - 1,) int64 first moments of the stretches, and (k - 1,) int64 the moments after them.
    """
    before = offsets.from_ns[1:] + offsets.ahead_ns[:-1]
    after = offsets.from_ns[1:] + offsets.ahead_ns[1:]
    return np.minimum(before, after), np.maximum(before, after)


def to_utc(wall_ns: I8, offsets: Offsets) -> Converted:
    """Instants of (n,) int64 wall times, in any order; the table's changes do not overlap."""
    begin, end = changes(offsets)
    begin = np.append(begin, _NEVER)
    skips = np.append(np.diff(offsets.ahead_ns) > 0, False)
    t_ns = np.empty_like(wall_ns)
    missing, doubled = (np.zeros(len(wall_ns), np.bool_) for _ in range(2))
    for part in blocks(wall_ns):
        block = wall_ns[part]
        last = block.max()
        ends = np.searchsorted(end, (block.min(), last), side="right")
        if ends[0] == ends[1] and last < begin[ends[0]]:
            np.subtract(block, offsets.ahead_ns[ends[0]], out=t_ns[part])
            continue
        row = np.searchsorted(end, block, side="right")
        np.subtract(block, offsets.ahead_ns[row], out=t_ns[part])
        unclear = block >= begin[row]
        missing[part] = unclear & skips[row]
        doubled[part] = unclear & ~skips[row]
    return Converted(t_ns, missing, doubled)
