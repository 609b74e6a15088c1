"""The chart of `dream bars info`: every mark of series whose holes are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import series, synth
from dream.bars.chart import BUT_A_DAY, HOLED, NOTHING, OUTSIDE, WHOLE, chart
from dream.bars.clock import clocks
from dream.types import MINUTE_NS, Bars, Instrument
from tests.indicators.series import bars_of, walk


def without(bars: Bars, *rows: int) -> Bars:
    keep = np.delete(np.arange(len(bars)), rows)
    t = (bars.t_close_ns - bars.bar_ns)[keep]
    return series(Instrument(), bars.bar_ns, t, bars.px[keep], bars.spread[keep], bars.volume[keep])


def marks(bars: Bars) -> str:
    """The chart without its legend."""
    return "\n".join(chart(bars).split("\n")[:-3])


def test_days() -> None:
    """Tuesday 2024-01-02 on; the 15th is a half day. What is gone is told row by row."""
    bars = synth.make(92 * 25, 1)
    bars = without(
        bars,
        0,  # the series begins where it likes
        100,  # one bar of the 3rd
        *range(184, 276),  # the 4th
        *range(276, 279),  # the head of the 5th
        *range(92 * 5 - 20, 92 * 5),  # the tail of the 8th: an early close
    )
    assert chart(bars) == "\n".join([  # noqa: FLY002 - a line a row
        "         1   5    10   15   20   25   30",
        "2024-01   █▒·▒  █████  █████  █████  ███       1,897",
        "2024-02  ██  ██                                  286",
        "",
        "A mark is a trading day: █ whole, ▒ bars missing for 15 minutes or more,",
        "· no bars (a holiday or a hole).",
    ])  # fmt: skip


def test_weeks() -> None:
    bars = synth.make(92 * 300, 1)
    week = 92 * 4 + 92 * 5  # the first is one of four days, which the second follows
    bars = without(
        bars,
        92 * 4 + 10,  # a bar of the second week
        *range(week, week + 92 * 10 - 10),  # the third and the fourth, a half day among them
    )
    lines = chart(bars).split("\n")
    assert lines[0].split() == list("JFMAMJJASOND")
    assert lines[1].startswith("2024  █▒··███████")
    assert lines[1][6 + 12] == BUT_A_DAY  # Good Friday, 29 March
    assert lines[1][6 : 6 + 53].count(BUT_A_DAY) == 2  # and Christmas
    assert lines[2].startswith("2025  ▓█████████")  # the week of New Year
    assert sum(int(line.split()[-1].replace(",", "")) for line in lines[1:3]) == len(bars)
    assert len(lines) == 3 + 3


def test_weeks_belong_to_the_year_of_their_thursday() -> None:
    start = clocks.parse_instant("2020-01-01")
    ends = {}
    for line in chart(synth.make(92 * 260 * 7, 1, start_ns=start)).split("\n")[1:-3]:
        year, weeks = line[:4], line[6:59]
        ends[year] = len(weeks.rstrip(OUTSIDE))
    # 2020 and 2026 begin or end on a Thursday: 53 of them
    assert ends == {
        "2020": 53, "2021": 52, "2022": 52, "2023": 52, "2024": 52, "2025": 52, "2026": 53,
    } | {year: n for year, n in ends.items() if year > "2026"}  # fmt: skip


@pytest.mark.parametrize("minutes", [1, 5])
def test_quiet_minutes_have_no_mark(minutes: int) -> None:
    bars = bars_of(walk(1, 2, holes=False, step=minutes), minutes)
    quiet = 15 // minutes - 1
    assert HOLED not in marks(without(bars, *range(100, 100 + quiet)))
    assert HOLED in marks(without(bars, *range(100, 101 + quiet)))
    late = len(bars) // 2
    assert HOLED not in marks(without(bars, *range(late, late + quiet)))
    assert HOLED in marks(without(bars, *range(late, late + quiet + 1)))


@pytest.mark.parametrize("minutes", [60, 240, 1440])
def test_longer_bars(minutes: int) -> None:
    closes = list(range(minutes, 1441, minutes))[minutes == 60 :]
    days = [19_723 + k for k in range(14) if (19_723 + k + 3) % 7 < 5]
    rows = [(day, m, 5, 6, 4, 5) for day in days for m in closes]
    drawn = chart(bars_of(rows, minutes)).split("\n")[1]
    assert drawn.split()[1:3] == ["█████", "█████"]
    if minutes < 1440:
        gone = [row for i, row in enumerate(rows) if i not in {1, 3 * len(closes)}]
        drawn = chart(bars_of(gone, minutes)).split("\n")[1]
        assert drawn.split()[1:3] == ["▒██▒█", "█████"]


@given(
    steps=st.lists(st.integers(1, 60_000), min_size=1, max_size=60),
    minutes=st.sampled_from((1, 5, 15, 60, 240, 1440)),
)
def test_any_series_fits_on_a_screen(steps: list[int], minutes: int) -> None:
    t = np.cumsum(steps) * minutes * MINUTE_NS % (150 * 365 * 1440 * MINUTE_NS)
    t = np.unique(t)
    n = len(t)
    px = np.full((n, 4), 7, np.int32)
    bars = series(Instrument(), minutes * MINUTE_NS, t, px, np.zeros(n, np.int32), np.zeros(n))
    drawn = chart(bars)
    lines = drawn.split("\n")
    assert drawn == chart(bars)
    assert max(map(len, lines)) <= 80
    assert set("".join(line[6:62] for line in lines[1:-3])) <= {
        *(WHOLE, BUT_A_DAY, HOLED, NOTHING, OUTSIDE, ","),
        *"0123456789-",
    }
    assert sum(int(line.split()[-1].replace(",", "")) for line in lines[1:-3]) == n
