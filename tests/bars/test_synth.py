"""Synthetic bars: valid, the same from the same arguments, and of the market's calendar.

Their figures are held against real ones in test_calibration.py.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.bars import check, content_hash, synth
from dream.bars.clock import clocks
from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from dream.types import Bars


def test_the_same_arguments_give_the_same_bars() -> None:
    assert content_hash(synth.make(2_000, 7)) == content_hash(synth.make(2_000, 7))
    others = {
        content_hash(b)
        for b in (
            synth.make(2_000, 7),
            synth.make(2_000, 8),
            synth.make(2_000, 7, start_ns=synth.START_NS + 10**15),
            synth.make(2_000, 7, spread_ticks=23),
        )
    }
    assert len(others) == 4


@settings(max_examples=20)
@given(n=st.integers(1, 400), more=st.integers(1, 400), seed=st.integers(0, 2**64))
def test_a_longer_series_begins_with_the_shorter(n: int, more: int, seed: int) -> None:
    assert content_hash(synth.make(n + more, seed).prefix(n)) == content_hash(synth.make(n, seed))


@settings(max_examples=15)
@given(
    n=st.integers(1, 4_000),
    seed=st.integers(0, 2**32),
    start=st.integers(clocks.parse_instant("1990-01-01"), clocks.parse_instant("2090-01-01")),
)
def test_every_bar_is_valid_and_in_session(n: int, seed: int, start: int) -> None:
    bars = synth.make(n, seed, start_ns=start)
    at = check.nanoseconds(bars.t_close_ns - bars.bar_ns, 1, "made", 1)
    check.check_rows(check.Rows(at, bars.px, bars.spread, bars.volume))
    check.check_grid(at, bars.bar_ns)
    assert len(bars) == n
    assert start <= at.t_open_ns[0] < start + 6 * 86_400 * 10**9
    assert bars.spread.min() >= 1
    assert bars.volume.min() >= 1
    assert ((bars.minute >= 75) & (bars.minute <= 1440)).all()
    assert set(((bars.day + 3) % 7).tolist()) <= {0, 1, 2, 3, 4}
    first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(at.t_open_ns[0]) // 10**9)
    assert first.astimezone(ZoneInfo("America/New_York")).hour != 17


def test_the_first_bar() -> None:
    bars = synth.make(1, 1)
    assert clocks.iso(int(bars.t_close_ns[0]) - bars.bar_ns) == "2024-01-01T23:00:00Z"
    assert bars.px[0, 0] == 206_360


def test_a_start_inside_a_day_begins_there() -> None:
    start = clocks.parse_instant("2024-05-15T13:05Z")
    bars = synth.make(100, 1, start_ns=start)
    assert clocks.iso(int(bars.t_close_ns[0]) - bars.bar_ns) == "2024-05-15T13:15:00Z"
    assert np.diff(bars.day).sum() == 1


def test_any_length_stays_in_range() -> None:
    bars = synth.make(600_000, 3)
    assert bars.px.min() > 206_360 / 5 * 0.8
    assert bars.px.max() < 206_360 * 5 * 1.2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"n_bars": 0}, "bars is 0"),
        ({"n_bars": -5}, "bars is -5"),
        ({"seed": -1}, "seed is -1"),
        ({"spread_ticks": 0}, "spread is 0"),
        ({"n_bars": 10_000_000}, "pass the end of 2198"),
        ({"n_bars": 10**18}, "pass the end of 2198"),
    ],
)
def test_what_cannot_be_made(arguments: dict[str, int], said: str) -> None:
    with pytest.raises(SpecInvalid, match=said):
        synth.make(**({"n_bars": 10, "seed": 1} | arguments))


# The calendar


def days_of(bars: Bars) -> dict[str, tuple[int, int]]:
    """Trading-clock date to number of bars and minute of the last close."""
    last = np.flatnonzero(np.diff(bars.day, append=bars.day[-1] + 1))
    counts = np.diff(last, prepend=-1)
    return {
        clocks.day_text(int(bars.day[i])): (int(n), int(bars.minute[i]))
        for i, n in zip(last, counts, strict=True)
    }


def test_holidays_half_days_and_full_days() -> None:
    days = days_of(synth.make(60_000, 1, start_ns=clocks.parse_instant("2024-01-01")))
    # Real days without a bar, 2024 to March 2026, read from the data.
    closed = {"2024-01-01", "2024-03-29", "2024-12-25", "2025-01-01", "2025-04-18", "2025-12-25",
              "2026-01-01", "2026-04-03"}  # fmt: skip
    half = {"2024-01-15", "2024-02-19", "2024-05-27", "2024-06-19", "2024-07-04", "2024-09-02",
            "2024-11-28", "2024-11-29", "2024-12-24", "2025-01-20", "2025-02-17", "2025-05-26",
            "2025-06-19", "2025-07-04", "2025-09-01", "2025-11-27", "2025-11-28", "2025-12-24",
            "2026-01-19", "2026-02-16", "2026-05-25"}  # fmt: skip
    day, end, weekdays = date(2024, 1, 1), date(2026, 6, 1), set()
    while day < end:
        weekdays |= {day.isoformat()} if day.weekday() < 5 else set()
        day += timedelta(days=1)
    made = {d: v for d, v in days.items() if d < "2026-06-01"}
    assert weekdays - made.keys() == closed
    assert {d for d, v in made.items() if v == (82, 1290)} == half
    assert {v for d, v in made.items() if d not in half} == {(92, 1440)}


def test_easter_over_a_century() -> None:
    # Good Fridays from published tables of Easter, the earliest and the latest dates among them.
    known = [
        "1961-03-31",
        "1962-04-20",
        "1981-04-17",
        "1999-04-02",
        "2000-04-21",
        "2008-03-21",
        "2011-04-22",
        "2019-04-19",
        "2024-03-29",
        "2038-04-23",
        "2049-04-16",
        "2076-04-17",
    ]
    for text in known:
        day = date.fromisoformat(text)
        start = clocks.parse_instant((day - timedelta(days=3)).isoformat())
        days = days_of(synth.make(400, 1, start_ns=start))
        assert (day - timedelta(days=1)).isoformat() in days
        assert text not in days
