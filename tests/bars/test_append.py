"""A newer export makes a series longer; it never changes what is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars import content_hash, series, synth, with_atr_m5
from dream.bars.append import Gap, append
from dream.bars.clock import clocks
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars.sameness import same

WHOLE = synth.make(92 * 12, 1)  # Tuesday 2024-01-02 to Wednesday 2024-01-17


def keeping(bars: Bars, rows: np.ndarray) -> Bars:
    t = (bars.t_close_ns - bars.bar_ns)[rows]
    return series(
        bars.instrument, bars.bar_ns, t, bars.px[rows], bars.spread[rows], bars.volume[rows]
    )


def changed(bars: Bars, field: str, row: int, by: int = 1) -> Bars:
    array = getattr(bars, field).copy()
    array[row] += by
    return replace(bars, **{field: array}, memo={})


def test_the_usual_case() -> None:
    made = append(WHOLE.prefix(600), WHOLE.between(500, 1_000))
    assert same(made.bars, WHOLE.prefix(1_000))
    assert content_hash(made.bars) == content_hash(WHOLE.prefix(1_000))
    assert (made.added, made.earlier, made.overlapped) == (400, 0, 100)
    assert (made.other_spread, made.other_volume, made.only_old, made.only_new) == (0, 0, 0, 0)
    assert made.gaps == made.notes == ()


@given(
    old=st.sets(st.integers(0, 59), min_size=1),
    new=st.sets(st.integers(0, 59), min_size=1),
    earlier=st.booleans(),
)
def test_which_bars_are_taken(old: set[int], new: set[int], earlier: bool) -> None:
    a, b = (keeping(WHOLE, np.array(sorted(rows))) for rows in (old, new))
    made = append(a, b, earlier=earlier)
    behind = {row for row in new if row > max(old)}
    before = {row for row in new if row < min(old)}
    taken = behind | (before if earlier else set())
    assert same(made.bars, keeping(WHOLE, np.array(sorted(old | taken))))
    assert (made.added, made.earlier, made.overlapped) == (len(taken), len(before), len(old & new))
    assert made.only_old == len({r for r in old if min(new) <= r <= max(new)} - new)
    assert made.only_new == len(new - old - behind - before)
    assert bool(made.notes) == (not old & new)


def test_an_export_without_anything_new() -> None:
    made = append(WHOLE, WHOLE.between(100, 200))
    assert same(made.bars, WHOLE)
    assert (made.added, made.overlapped, made.only_old) == (0, 100, 0)


def test_an_older_export() -> None:
    old, new = WHOLE.between(500, 600), WHOLE.prefix(550)
    made = append(old, new)
    assert same(made.bars, old)
    assert (made.added, made.earlier) == (0, 500)
    made = append(old, new, earlier=True)
    assert same(made.bars, WHOLE.prefix(600))
    assert (made.added, made.earlier) == (500, 500)


def test_spread_and_volume_may_differ_and_are_counted() -> None:
    new = changed(changed(changed(WHOLE, "spread", 3), "volume", 3), "volume", 5)
    made = append(WHOLE.prefix(600), new)
    assert (made.other_spread, made.other_volume) == (1, 2)
    assert same(made.bars, WHOLE)


# Where they do not agree


def test_other_prices_are_shown() -> None:
    o, h, l, c = WHOLE.px[200].tolist()
    new = changed(changed(WHOLE, "px", 300, 7), "px", 200, 5)
    with pytest.raises(BarsInvalid) as refused:
        append(WHOLE.prefix(600), new)
    opens = clocks.iso(int(WHOLE.t_close_ns[199]))
    before = " ".join(f"{x / 100:.10g}" for x in (o, h, l, c))
    after = " ".join(f"{x / 100:.10g}" for x in (o + 5, h + 5, l + 5, c + 5))
    assert str(refused.value) == (
        "the prices of 2 of the 600 bars that both series have differ, first those of the bar that"
        f" opens at {opens}: {before} in the old one, {after} in the new one; expected one feed and"
        " one clock"
    )


def test_a_last_bar_that_was_not_complete() -> None:
    with pytest.raises(BarsInvalid, match="it is the last of the old series and may not have been"):
        append(changed(WHOLE.prefix(600), "px", 599), WHOLE)


@pytest.mark.parametrize(("hours", "said"), [(2, "2 h earlier"), (-3, "3 h later")])
def test_another_clock_is_recognised(hours: int, said: str) -> None:
    t = WHOLE.t_close_ns - WHOLE.bar_ns + hours * 60 * MINUTE_NS
    moved = series(WHOLE.instrument, WHOLE.bar_ns, t, WHOLE.px, WHOLE.spread, WHOLE.volume)
    with pytest.raises(BarsInvalid, match=f"agree where the new one is {said}: correct its clock"):
        append(WHOLE.prefix(600), moved.between(300, 1_000))


def test_series_of_another_kind() -> None:
    other = {
        "15-minute bars of XAGUSD with tick 0.01": replace(WHOLE, instrument=Instrument("XAGUSD")),
        "15-minute bars of XAUUSD with tick 0.1": replace(WHOLE, instrument=Instrument(tick=0.1)),
        "5-minute bars of XAUUSD with tick 0.01": replace(WHOLE, bar_ns=5 * MINUTE_NS),
    }
    for kind, bars in other.items():
        with pytest.raises(BarsInvalid) as refused:
            append(WHOLE, bars)
        assert "15-minute bars of XAUUSD with tick 0.01, the new one" in str(refused.value)
        assert f"the new one {kind}; expected the same" in str(refused.value)
    for pair in ((WHOLE.prefix(0), WHOLE), (WHOLE, WHOLE.prefix(0))):
        with pytest.raises(BarsInvalid, match="series has no bars"):
            append(*pair)
    small = replace(WHOLE, instrument=Instrument(lot_min=0.01))  # terms of trade are not the feed's
    assert append(WHOLE.prefix(600), small).bars.instrument == Instrument()


def test_another_grid() -> None:
    def hours(start: str) -> Bars:
        t = clocks.parse_instant(start) + np.arange(12) * 240 * MINUTE_NS
        px = np.full((12, 4), 200_000, np.int32)
        return series(Instrument(), 240 * MINUTE_NS, t, px, np.zeros(12, np.int32), np.ones(12))

    with pytest.raises(BarsInvalid, match="bars on other grids"):
        append(hours("2024-01-08T22:00Z"), hours("2024-01-09T00:00Z"))


# Gaps


@pytest.mark.parametrize(
    ("old_end", "new_begin", "trading_min"),
    [
        ("2024-01-04T22:00Z", "2024-01-04T23:00Z", None),  # the daily break
        ("2024-01-05T22:00Z", "2024-01-07T23:00Z", None),  # a weekend
        ("2024-01-05T21:30Z", "2024-01-07T23:30Z", None),  # a weekend, and an hour
        ("2024-01-05T21:15Z", "2024-01-07T23:30Z", 75),
        ("2024-01-05T22:00Z", "2024-01-08T23:00Z", 1_380),  # a Monday too
        ("2024-01-04T10:00Z", "2024-01-04T11:00Z", None),
        ("2024-01-04T10:00Z", "2024-01-04T11:15Z", 75),
        ("2024-01-04T10:00Z", "2024-01-11T10:00Z", 5 * 1_380),
    ],
)
def test_what_is_a_gap(old_end: str, new_begin: str, trading_min: int | None) -> None:
    end, begin = clocks.parse_instant(old_end), clocks.parse_instant(new_begin)
    old = WHOLE.prefix(int(np.searchsorted(WHOLE.t_close_ns, end, side="right")))
    rest = int(np.searchsorted(WHOLE.t_close_ns - WHOLE.bar_ns, begin))
    new = WHOLE.between(rest, len(WHOLE))
    expected = () if trading_min is None else (Gap(end, begin, trading_min),)
    assert append(old, new).gaps == expected
    assert append(new, old, earlier=True).gaps == expected
    assert append(new, old).gaps == ()
    assert append(old, new).notes == (
        "the two have no bar in common: nothing tells that they are one feed",
    )


def test_a_gap_of_summer_time() -> None:
    """The weekend on which New York changes its clock is one like the others."""
    bars = synth.make(92 * 4, 1, start_ns=clocks.parse_instant("2024-03-06T23:00Z"))
    assert append(bars.prefix(184), bars.between(184, 368)).gaps == ()
    assert append(bars.prefix(184), bars.between(276, 368)).gaps[0].trading_min == 1_380


# The average of finer bars


def test_averages_are_joined_where_both_have_them() -> None:
    old, new = (
        with_atr_m5(WHOLE, np.arange(1_104.0)),
        with_atr_m5(WHOLE, 5_000 + np.arange(1_104.0)),
    )
    made = append(old.prefix(600), new.between(550, 700))
    assert made.bars.atr_m5 is not None
    assert made.bars.atr_m5.tolist() == [*range(600), *range(5_600, 5_700)]
    assert made.notes == ()
    for pair in ((old.prefix(600), WHOLE), (WHOLE.prefix(600), new)):
        made = append(*pair)
        assert made.bars.atr_m5 is None
        assert made.notes == (
            "only one of the two has the average of 5-minute bars: it was left out",
        )
    assert same(append(old, WHOLE.between(0, 50)).bars, old)  # nothing was added


def test_averages_that_are_not_known_at_the_seam() -> None:
    average = np.ones(1_104)
    average[:14] = np.nan
    old, new = with_atr_m5(WHOLE.prefix(600), average[:600]), WHOLE.between(590, 1_104)
    made = append(old, with_atr_m5(new, average[: len(new)]))
    assert made.notes == ("the average of 5-minute bars is not known in 4 bars at the seam",)
