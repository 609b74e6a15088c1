"""Synthetic bars against figures measured on real ones (XAUUSD M15, January 2024 to March 2026).

The figures stand here as numbers; test_real.py measures some of them again where the data lie.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.bars import check, clocks, content_hash, synth
from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.types import F8, Bars

SEEDS = range(10)
REAL_BARS = 53_119


@pytest.fixture(scope="module")
def sample() -> list[Bars]:
    return [synth.make(REAL_BARS, seed) for seed in SEEDS]


def in_session(bars: Bars) -> F8:
    """Close-to-close returns in basis points, gaps left out."""
    r = np.diff(np.log(bars.px[:, 3])) * 1e4
    return r[np.diff(bars.t_close_ns) == bars.bar_ns]


def lag(x: F8, k: int) -> float:
    x = x - x.mean()
    return float((x[:-k] * x[k:]).mean() / (x * x).mean())


def typical(values: list[float]) -> float:
    return float(np.median(values))


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


# The statistics


@pytest.mark.parametrize(
    ("figure", "real", "tolerance"),
    [
        (np.std, 13.31, 0.20),
        (lambda r: np.abs(r).mean(), 7.92, 0.12),
        (lambda r: np.median(np.abs(r)), 4.95, 0.12),
        (lambda r: np.quantile(np.abs(r), 0.90), 17.3, 0.15),
        (lambda r: np.quantile(np.abs(r), 0.99), 49.4, 0.20),
        (lambda r: np.quantile(np.abs(r), 0.999), 109.1, 0.30),
        (lambda r: lag(np.abs(r), 1), 0.366, 0.25),
        (lambda r: lag(np.abs(r), 4), 0.306, 0.25),
        (lambda r: lag(np.abs(r), 16), 0.206, 0.35),
        (lambda r: lag(np.abs(r), 92), 0.232, 0.25),
    ],
)
def test_returns(
    sample: list[Bars], figure: Callable[[F8], float], real: float, tolerance: float
) -> None:
    made = typical([figure(in_session(bars)) for bars in sample])
    assert made == pytest.approx(real, rel=tolerance)


def test_returns_have_no_memory_and_little_drift(sample: list[Bars]) -> None:
    for k in (1, 2, 4, 8):
        assert abs(typical([lag(in_session(bars), k) for bars in sample])) < 0.02
    drift = np.mean([in_session(bars).mean() for bars in sample])
    assert 0.0 < drift < 0.25  # real: 0.121 basis points a bar


def test_ranges(sample: list[Bars]) -> None:
    wide = [(b.px[:, 1] - b.px[:, 2]) / b.px[:, 0] * 1e4 for b in sample]
    for q, real in ((0.05, 4.36), (0.25, 7.93), (0.5, 11.99), (0.75, 18.8), (0.95, 39.5)):
        assert typical([float(np.quantile(x, q)) for x in wide]) == pytest.approx(real, rel=0.15)


def test_the_profile_of_the_day(sample: list[Bars]) -> None:
    """Mean range by 15 minutes of New York's day, a few slots of it; the peak is at 09:30."""
    real = {
        "18:00": 22.8, "20:00": 20.9, "21:00": 22.1, "23:45": 9.95, "02:00": 16.7, "04:00": 17.3,
        "07:00": 15.6, "08:30": 29.7, "09:30": 32.2, "10:00": 31.2, "12:00": 17.9, "14:00": 14.9,
        "16:45": 9.15,
    }  # fmt: skip
    opens = np.concatenate([b.minute for b in sample]) - 15
    wide = np.concatenate([(b.px[:, 1] - b.px[:, 2]) / b.px[:, 0] * 1e4 for b in sample])
    means = {m: float(wide[opens == m].mean()) for m in range(60, 1440, 15)}
    for text, expected in real.items():
        hour, minute = map(int, text.split(":"))
        assert means[(hour * 60 + minute + 420) % 1440] == pytest.approx(expected, rel=0.25), text
    assert max(means, key=lambda m: means[m]) == 9 * 60 + 30 + 420


def test_the_shape_of_a_bar(sample: list[Bars]) -> None:
    o, h, l, c = np.concatenate([b.px for b in sample]).T.astype(np.float64)
    wide = np.maximum(h - l, 1)
    body, upper, lower = (
        np.abs(c - o) / wide,
        (h - np.maximum(o, c)) / wide,
        (np.minimum(o, c) - l) / wide,
    )
    assert body.mean() == pytest.approx(0.455, abs=0.02)
    assert body.std() == pytest.approx(0.261, abs=0.02)
    assert upper.mean() == pytest.approx(0.265, abs=0.02)
    assert lower.mean() == pytest.approx(0.280, abs=0.02)
    assert np.corrcoef(upper, lower)[0, 1] == pytest.approx(-0.234, abs=0.05)
    assert (upper == 0).mean() == pytest.approx(0.030, abs=0.01)
    assert (lower == 0).mean() == pytest.approx(0.031, abs=0.01)
    assert (c > o).mean() == pytest.approx(0.514, abs=0.02)
    seen = (c != o) & (h > l)
    logs = np.corrcoef(np.log((h - l)[seen]), np.log(np.abs(c - o)[seen]))
    assert logs[0, 1] == pytest.approx(0.669, abs=0.06)


def test_opens_and_gaps(sample: list[Bars]) -> None:
    daily, weekend, inside = [], [], []
    for b in sample:
        minutes = np.diff(b.t_close_ns) // (60 * 10**9)
        jump = b.px[1:, 0] - b.px[:-1, 3]
        gap = np.abs(np.log(b.px[1:, 0] / b.px[:-1, 3])) * 1e4
        inside.append(np.abs(jump[minutes == 15]))
        daily.append(gap[minutes == 75])
        weekend.append(gap[minutes > 2800])
    ticks = np.concatenate(inside)
    assert (ticks == 0).mean() == pytest.approx(0.380, abs=0.01)
    assert [np.quantile(ticks, q) for q in (0.5, 0.75)] == pytest.approx([1, 3], abs=1)
    assert np.quantile(ticks, 0.99) == pytest.approx(21, abs=3)
    day, week = np.concatenate(daily), np.concatenate(weekend)
    assert np.median(day) == pytest.approx(1.72, rel=0.2)
    assert np.quantile(day, 0.99) == pytest.approx(25.5, rel=0.35)
    assert np.median(week) == pytest.approx(6.6, rel=0.25)
    assert np.quantile(week, 0.95) == pytest.approx(65, rel=0.35)


def test_volume_follows_range(sample: list[Bars]) -> None:
    related = []
    for b in sample:
        wide = np.maximum(b.px[:, 1] - b.px[:, 2], 1) / b.px[:, 0]
        related.append(float(np.corrcoef(np.log(b.volume), np.log(wide))[0, 1]))
    assert typical(related) == pytest.approx(0.73, abs=0.06)
    assert typical([float(np.median(b.volume)) for b in sample]) == pytest.approx(2060, rel=0.25)


def test_spreads(sample: list[Bars]) -> None:
    spread = np.concatenate([b.spread for b in sample])
    opens = np.concatenate([b.minute for b in sample]) - 15
    middle = spread[(opens > 120) & (opens < 1380)]
    low, median, high = np.quantile(middle, (0.05, 0.5, 0.95))
    assert low >= 14
    assert median == 22
    assert high <= 35
    start = spread[opens < 90]
    assert 1.6 < np.quantile(start, 0.95) / median < 3.0  # as real feeds do after 18:00 New York
    wider = synth.make(2_000, 1, spread_ticks=44).spread.mean() / synth.make(2_000, 1).spread.mean()
    assert wider == pytest.approx(2.0, rel=0.02)
