"""Hand-made days: fifteen quiet ones, so that ATR D1 is exactly 200 ticks, then a test day.

On every quiet day each bar runs from 99,900 to 100,100 and closes at 100,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.indicators.series import FIRST_DAY, GRID, Row, bars_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.types import Bars, Setups

BASE = 100_000
QUIET = 15
TEST_DAY = FIRST_DAY + QUIET

Bar = tuple[int, int, int, int] | None


def made_day(bars: Mapping[int, Bar]) -> Bars:
    """The quiet days and one more.

    Its bars are given by close minute, relative to BASE, None for a missing one.
    The others are flat at BASE.
    """
    rows: list[Row] = [
        (FIRST_DAY + d, m, BASE, BASE + 100, BASE - 100, BASE) for d in range(QUIET) for m in GRID
    ]
    for minute in GRID:
        bar = bars.get(minute, (0, 0, 0, 0))
        if bar is not None:
            o, h, l, c = bar
            rows.append((TEST_DAY, minute, BASE + o, BASE + h, BASE + l, BASE + c))
    return bars_of(rows)


def live_minutes(bars: Bars, setups: Setups) -> list[int]:
    """Minutes of the test day at which the set-up is live; nothing is live before it."""
    live = setups.live != 0
    assert not live[bars.day < TEST_DAY].any()
    return bars.minute[live].tolist()


def at(bars: Bars, minute: int) -> int:
    """Index of the test day's bar that closes at this minute."""
    return int(((bars.day == TEST_DAY) & (bars.minute == minute)).argmax())
