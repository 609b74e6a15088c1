"""Longer bars against a plain second way of making them, and against themselves cut short."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import series, synth
from dream.bars.clock import clocks
from dream.bars.resample import PERIODS, Resampled, resample
from dream.errors import BarsInvalid, SpecInvalid
from dream.indicators import periods
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars.sameness import same
from tests.indicators import slow
from tests.indicators.series import bars_of, walk

Row = tuple[int, ...]
STEPS = (
    (1, 5), (1, 15), (5, 15), (5, 60), (15, 60), (15, 240), (15, 1440), (60, 240), (240, 1440),
)  # fmt: skip


def finer(seed: int, days: int, step: int, *, holes: bool = True) -> Bars:
    """A seeded walk of bars of so many minutes, with spreads, of which some are not known."""
    bars = bars_of(walk(seed, days, holes=holes, step=step), step)
    rng = np.random.default_rng(seed)
    spread = rng.integers(0, 9, len(bars)).astype(np.int32)
    spread[rng.random(len(bars)) < 0.5] = 0
    return replace(bars, spread=spread, volume=rng.integers(0, 99, len(bars)).astype(np.float64))


def rows_of(bars: Bars) -> list[Row]:
    """Day, close minute, open, high, low, close, spread, volume of each bar as plain numbers."""
    table = [bars.day, bars.minute, *bars.px.T, bars.spread, bars.volume]
    return list(zip(*(column.tolist() for column in table), strict=True))


def plainly(bars: Bars, minutes: int) -> list[Row]:
    """All periods, the unfinished ones too, in plain Python."""
    out = []
    for (day, slot), part in groupby(
        rows_of(bars), key=lambda row: (row[0], (row[1] - 1) // minutes)
    ):
        rows = list(part)
        known = [row[6] for row in rows if row[6] > 0]
        out.append((
            day, (slot + 1) * minutes, rows[0][2], max(r[3] for r in rows),
            min(r[4] for r in rows), rows[-1][5], min(known, default=0), sum(r[7] for r in rows),
        ))  # fmt: skip
    return out


@given(
    seed=st.integers(0, 2**32),
    steps=st.sampled_from(STEPS),
)
def test_against_plain_python(seed: int, steps: tuple[int, int]) -> None:
    step, minutes = steps
    bars = finer(seed, 1 if step == 1 else 4, step)
    expected = plainly(bars, minutes)
    whole = expected[:]
    first, last = rows_of(bars)[0], rows_of(bars)[-1]
    begin = whole[0][1] - minutes
    if first[1] - step > (max(begin, 60)):
        whole = whole[1:]
    if last[1] % minutes:
        whole = whole[:-1]
    if not whole:
        with pytest.raises(BarsInvalid, match="does not fill one"):
            resample(bars, minutes)
        return
    made = resample(bars, minutes).bars
    assert rows_of(made) == whole
    assert made.bar_ns == minutes * MINUTE_NS
    assert made.t_close_ns.tolist() == [
        (day * 1440 + close - 120) * MINUTE_NS for day, close, *_ in whole
    ]
    # the indicators have the same periods, but for the first, which may be unfinished
    theirs = periods(bars, minutes).px
    assert np.array_equal(made.px[1:], theirs[len(theirs) - len(made) + 1 :])


@given(seed=st.integers(0, 2**32))
def test_in_two_steps_or_in_one(seed: int) -> None:
    bars = finer(seed, 2, 1)
    try:
        at_once = resample(bars, 60).bars
    except BarsInvalid:
        return
    assert at_once.atr_m5 is not None
    for minutes in (5, 15, 30):
        assert same(resample(resample(bars, minutes).bars, 60).bars, at_once)


@given(seed=st.integers(0, 2**32), share=st.floats(0.05, 1.0), minutes=st.sampled_from((15, 60)))
def test_what_comes_later_changes_no_longer_bar(seed: int, share: float, minutes: int) -> None:
    """Cut anywhere, or with other bars from there on: the bars that are there stay the same."""
    bars = finer(seed, 2, 5)
    full = resample(bars, minutes).bars
    cut = max(int(share * len(bars)), 1)
    try:
        part = resample(bars.prefix(cut), minutes).bars
    except BarsInvalid:  # not one is filled
        part = full.prefix(0)
    assert same(part, full.prefix(len(part))) or not len(part)
    closed = int(np.searchsorted(full.t_close_ns, bars.t_close_ns[cut - 1], side="right"))
    px = bars.px.copy()
    px[cut:] = px[cut:][::-1] * 3
    other = resample(replace(bars, px=px, memo={}), minutes).bars
    assert same(other.prefix(closed), full.prefix(closed))


def test_the_average_by_hand() -> None:
    """ATR(14) of the five-minute bars, in decimals, at the last of them in each longer bar."""
    bars = finer(3, 2, 5)
    average = slow.wilder(slow.true_range(bars.px.tolist()), 14)
    for minutes in (15, 60, 1440):
        made = resample(bars, minutes).bars
        assert made.atr_m5 is not None
        assert not made.atr_m5.flags.writeable
        for close, found in zip(made.t_close_ns, made.atr_m5, strict=True):
            known = average[np.searchsorted(bars.t_close_ns, close, side="right") - 1]
            assert np.isnan(found) if known is None else found == pytest.approx(float(known))


def test_where_there_is_no_average() -> None:
    assert resample(finer(1, 2, 1), 5).bars.atr_m5 is None
    assert resample(finer(1, 2, 15), 60).bars.atr_m5 is None
    carried = resample(resample(finer(1, 2, 5), 15).bars, 240).bars
    assert same(carried, resample(finer(1, 2, 5), 240).bars)


# What is partial


def counted(made: Resampled) -> tuple[int, int, list[int], int]:
    part = made.partial
    return part.head, part.tail, part.holed.tolist(), part.missing


DAY = range(92)


@pytest.mark.parametrize(
    ("minutes", "gone", "expected", "bars"),
    [
        (60, [], (0, 0, [], 0), 69),
        (60, [0], (3, 0, [], 0), 68),  # the series begins inside an hour
        (60, [0, 1, 2, 3], (0, 0, [], 0), 68),  # or at the next
        (60, [275], (0, 3, [], 0), 68),
        (60, [5, 6, 9], (0, 0, [1, 2], 3), 69),  # holes
        (60, [91, 90], (0, 0, [], 0), 69),  # an early close inside an hour
        (60, [92], (0, 0, [23], 1), 69),  # a day whose first bar is missing
        (60, [92, 93, 94, 95], (0, 0, [], 0), 68),  # an hour without bars is no bar
        (240, [], (0, 0, [], 0), 18),
        (240, [0], (11, 0, [], 0), 17),  # the head of a day has three hours of market
        (240, [11], (0, 0, [0], 1), 18),
        (240, list(range(80, 92)), (0, 0, [], 0), 18),  # half a day: 21:00 is inside 20:00 to 24:00
        (1440, [], (0, 0, [], 0), 3),
        (1440, [0], (91, 0, [], 0), 2),
        (1440, list(range(82, 92)), (0, 0, [], 0), 3),
        (1440, list(range(266, 276)), (0, 82, [], 0), 2),  # the last day may be a half day, or not
        (1440, [100, 150, 151], (0, 0, [1], 3), 3),
    ],
)  # fmt: skip
def test_ends_and_holes(
    minutes: int, gone: list[int], expected: tuple[int, int, list[int], int], bars: int
) -> None:
    """Three days of 92 bars, 01:00 to 24:00, with bars taken away."""
    rows = [row for i, row in enumerate(walk(1, 3, holes=False)) if i not in gone]
    made = resample(bars_of(rows), minutes)
    assert counted(made) == expected
    assert len(made.bars) == bars


def test_a_longer_bar_opens_where_its_period_does() -> None:
    bars = synth.make(92 * 5, 1, start_ns=clocks.parse_instant("2024-03-07T23:00Z"))
    assert len(set(np.diff(bars.day))) > 1  # over the weekend on which New York changes its clock
    for minutes in (60, 240, 1440):
        made = resample(bars, minutes).bars
        opens = made.minute - minutes
        assert (opens % minutes == 0).all()
        assert (made.t_close_ns - made.bar_ns <= bars.t_close_ns[-1]).all()
        assert opens[0] == (60 if minutes == 60 else 0)
    days = made.t_close_ns - made.bar_ns
    assert [clocks.iso(int(t)) for t in days] == [
        "2024-03-07T22:00:00Z",  # 17:00 New York, in winter and then in summer
        "2024-03-10T21:00:00Z",
        "2024-03-11T21:00:00Z",
        "2024-03-12T21:00:00Z",
        "2024-03-13T21:00:00Z",
    ]


# What cannot be made


def test_refusals() -> None:
    bars = bars_of(walk(1, 3, holes=False))
    for minutes in (0, -15, 7, 45, 120, 2880):
        with pytest.raises(SpecInvalid, match=r"expected M5 \(5\), M15 \(15\), M30 .* D1 \(1440\)"):
            resample(bars, minutes)
    for minutes in (5, 15):
        with pytest.raises(BarsInvalid, match="expected shorter bars that fit"):
            resample(bars, minutes)
    with pytest.raises(BarsInvalid, match="found bars of 20 minutes"):
        resample(bars_of(walk(1, 3, holes=False, step=20), 20), 30)
    with pytest.raises(BarsInvalid, match="there are no bars"):
        resample(bars.prefix(0), 60)
    with pytest.raises(BarsInvalid, match=r"from 2024-01-28T23:00:00Z to 2024-01-28T23:30:00Z"):
        resample(bars.prefix(2), 60)
    assert set(PERIODS.values()) == {5, 15, 30, 60, 240, 1440}


def flat(t_open_ns: np.ndarray, minutes: int) -> Bars:
    n = len(t_open_ns)
    px = np.full((n, 4), 200_000, np.int32)
    px[:, 3] += np.arange(n, dtype=np.int32)
    px[:, 1] = px[:, 3]
    return series(
        Instrument(), minutes * MINUTE_NS, t_open_ns, px, np.zeros(n, np.int32), np.ones(n)
    )


def test_bars_on_another_grid_than_the_trading_days() -> None:
    four_hours = flat(clocks.parse_instant("2024-01-08") + np.arange(12) * 240 * MINUTE_NS, 240)
    with pytest.raises(BarsInvalid, match=r"opens at 2024-01-08T20:00:00Z lies in two of them"):
        resample(four_hours, 1440)


def test_weekends_on_which_new_york_changes_its_clock() -> None:
    """A market that never closes. Each longer bar holds what happened before it closed."""
    for start in ("2024-03-08T22:00Z", "2024-11-01T21:00Z"):
        t = clocks.parse_instant(start) + np.arange(4 * 96) * 15 * MINUTE_NS
        bars = flat(t, 15)
        for minutes in (60, 240):
            made = resample(bars, minutes).bars
            row = np.searchsorted(made.t_close_ns, bars.t_close_ns[:-96])
            opened = made.t_close_ns[row] - made.bar_ns
            assert (opened < bars.t_close_ns[:-96]).all()
            last = np.searchsorted(bars.t_close_ns, made.t_close_ns, side="right") - 1
            assert (made.px[:, 3] <= bars.px[last, 3]).all()
            assert made.volume.sum() == len(bars) - resample(bars, minutes).partial.tail
    with pytest.raises(BarsInvalid, match="opens at 2024-11-03T06:00:00Z, a Sunday"):
        resample(bars, 1440)
