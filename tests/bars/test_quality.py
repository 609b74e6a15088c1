"""Filler, stitching, lengths, grids, ticks: figures of the real files, and faults put in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.bars.checks import quality
from dream.bars.clock.clocks import instants, iso
from dream.bars.clock.sessions import STRETCH
from tests.bars import by_hand

MINUTE_NS = 60 * 10**9
DAY_NS = 1440 * MINUTE_NS
MONDAY = 18_631 + 3 * 7
NAMES = list(by_hand.READ)


def days(bar_min: int, n: int, first: int = MONDAY) -> np.ndarray:
    """(n * bars,) open times of the first weekdays from a Monday on."""
    numbers = [first + k // 5 * 7 + k % 5 for k in range(n)]
    inside = np.arange(0, 1380, bar_min) * MINUTE_NS
    return np.concatenate([instants(np.array([d]), 60) + inside for d in numbers])


def still(n: int, price: int = 200_000) -> np.ndarray:
    return np.full((n, 4), price, np.int32)


def filled(name: str) -> np.ndarray:
    c = by_hand.read(name)
    return quality.filler(c.t, c.px, c.volume, c.bar_ns, has_volume=c.has_volume)


# Filler and flat bars


@pytest.mark.parametrize("name", NAMES)
def test_filler_of_the_files(name: str) -> None:
    expected = {"dukascopy_local_time_h1_flat_fill.csv": 322, "dukascopy_gmt_time_h1.csv": 8}
    assert filled(name).sum() == expected.get(name, 0)


@pytest.mark.parametrize("name", NAMES)
def test_flat_bars_of_the_files(name: str) -> None:
    seen = quality.flat(by_hand.read(name).px[~filled(name)])
    assert seen.nearly_all == (name == "mt4_v400_d1.hst")
    if seen.nearly_all:
        assert (seen.count, seen.share) == (677, 1.0)
    else:
        assert seen.share < 0.05  # daily futures without trades
    counted = {"tradingview_m5_iso_plus0530.csv": 4, "mt4_history_m15_holes.csv": 1,
               "xauusd_m15_real.parquet": 1}  # fmt: skip
    assert seen.count == counted.get(name, seen.count)


def test_filler_is_flat_empty_and_in_a_closed_time() -> None:
    numbers = np.array([MONDAY + 7])
    open_time, hour = instants(numbers, 600), instants(numbers, 30)
    good_friday = instants(np.array([18_719]), 600)  # 2021-04-02
    t = np.concatenate((open_time, hour, hour + 15 * MINUTE_NS, good_friday))
    order = np.argsort(t)
    t, px, volume = t[order], still(4), np.array([0.0, 0.0, 5.0, 0.0])[order]
    moving = px.copy()
    moving[:, 1] += 1

    def rows(prices: np.ndarray, amounts: np.ndarray, *, has_volume: bool) -> list[int]:
        mask = quality.filler(t, prices, amounts, 15 * MINUTE_NS, has_volume=has_volume)
        return np.flatnonzero(mask).tolist()

    assert rows(px, volume, has_volume=True) == [0, 3]
    assert rows(px, np.zeros(4), has_volume=True) == [0, 1]
    assert rows(px, volume, has_volume=False) == [0, 1]
    assert rows(moving, volume, has_volume=True) == []


# Stitching


@pytest.mark.parametrize("name", NAMES)
def test_one_file_is_stitched(name: str) -> None:
    c = by_hand.read(name)
    seen = quality.stitched(c.t[~filled(name)], c.px[~filled(name)], c.bar_ns)
    assert seen.is_stitched == (name == "vendor_m15_iso_z_comment_line.csv")
    if seen.is_stitched:
        assert seen.share > 0.99
        assert seen.gap_share > 0.99
        assert seen.gaps == 131
    elif seen.gaps > 20:
        assert seen.gap_share < 0.04


def test_gaps_begin_at_an_hour() -> None:
    t = np.array([0, 15, 30, 105, 180, 254]) * MINUTE_NS
    px = np.array([[1, 9, 1, 2], [2, 9, 1, 4], [3, 9, 1, 5], [5, 9, 1, 6], [7, 9, 1, 8],
                   [8, 9, 1, 8]], np.int32)  # fmt: skip
    seen = quality.stitched(t, px, 15 * MINUTE_NS)
    assert (seen.share, seen.gap_share, seen.gaps) == (3 / 5, 1 / 2, 2)
    assert not seen.is_stitched


def test_opens_are_compared_over_the_seams_of_stretches() -> None:
    n = 2 * STRETCH + 3
    px = np.arange(n, dtype=np.int32)[:, None] + np.array([0, 1, 0, 1], np.int32)
    t = np.arange(n, dtype=np.int64) * 900 * MINUTE_NS
    seen = quality.stitched(t, px, 15 * MINUTE_NS)
    assert (seen.share, seen.gap_share, seen.gaps) == (1.0, 1.0, n - 1)
    assert seen.is_stitched


# Lengths and grids


@pytest.mark.parametrize("name", NAMES)
def test_lengths_and_grids_of_the_files(name: str) -> None:
    c = by_hand.read(name)
    assert quality.bar_length(c.t) == c.bar_ns
    assert not quality.other_length(c.t, c.bar_ns).mask.any()
    off = c.t[quality.off_grid(c.t, c.bar_ns)]
    expected = ["2026-02-17T03:54:36Z", "2026-02-17T04:10:12Z"]
    assert [iso(int(x)) for x in off] == expected * (name == "m15_off_grid_stamps.csv")


def test_no_length_can_be_told() -> None:
    assert quality.bar_length(np.empty(0, np.int64)) is None
    assert quality.bar_length(np.array([5])) is None
    assert quality.bar_length(np.arange(9) * 7 * MINUTE_NS) is None
    assert quality.bar_length(np.arange(9) * 10 * DAY_NS) is None
    assert quality.bar_length(np.array([0, 5, 10, 70, 130]) * MINUTE_NS) == 5 * MINUTE_NS


def test_daily_bars_at_the_head_of_an_hourly_file() -> None:
    hourly = days(60, 40, MONDAY + 14)
    head = instants(np.array([MONDAY - 3 + k for k in (0, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14)]), 0)
    t = np.concatenate((head, hourly))
    seen = quality.other_length(t, 60 * MINUTE_NS)
    assert np.flatnonzero(seen.mask).tolist() == list(range(11))
    assert seen.lengths_ns == (DAY_NS,)


def test_longer_bars_between_shorter_ones_and_at_the_end() -> None:
    t = np.concatenate((days(5, 9), days(15, 7, MONDAY + 14), days(5, 9, MONDAY + 28)))
    first = 9 * 276
    seen = quality.other_length(t, 5 * MINUTE_NS)
    assert seen.lengths_ns == (15 * MINUTE_NS,)
    assert np.flatnonzero(seen.mask).tolist() == list(range(first, first + 7 * 92))
    assert np.array_equal(
        np.flatnonzero(quality.other_length(t[: first + 100], 5 * MINUTE_NS).mask),
        np.arange(first, first + 100),
    )


def test_shorter_bars_among_longer_ones() -> None:
    t = np.concatenate((days(15, 10), days(5, 1, MONDAY + 14), days(15, 10, MONDAY + 21)))
    seen = quality.other_length(t, 15 * MINUTE_NS)
    assert seen.lengths_ns == (5 * MINUTE_NS,)
    # The last of them cannot be told from a longer bar: nothing follows it.
    assert np.flatnonzero(seen.mask).tolist() == list(range(920, 920 + 275))


def test_minutes_without_ticks_are_no_other_length() -> None:
    kept = np.random.default_rng(7).random(13_800) < 0.6
    t = days(1, 10)[kept]
    assert not quality.other_length(t, MINUTE_NS).mask.any()


@given(st.sets(st.integers(0, 199), max_size=20), st.integers(1, 899))
def test_what_is_moved_off_the_grid_is_found(rows: set[int], seconds: int) -> None:
    t = days(15, 3)[:200].copy()
    t[sorted(rows)] += seconds * 10**9
    off = quality.off_grid(t, 15 * MINUTE_NS)
    assert np.flatnonzero(off).tolist() == sorted(rows)


def test_the_trading_clock_is_a_grid_too() -> None:
    numbers = np.arange(18_700, 18_960)  # over both changes of New York's clock
    numbers = numbers[(numbers + 3) % 7 < 5]
    four_hours = instants(numbers[:, None].repeat(6, 1).ravel(), 0) + np.tile(
        np.arange(6) * 240 * MINUTE_NS, len(numbers)
    )
    assert not quality.off_grid(four_hours, 240 * MINUTE_NS).any()
    four_hours[5] += 3600 * 10**9
    assert np.flatnonzero(quality.off_grid(four_hours, 240 * MINUTE_NS)).tolist() == [5]


def test_daily_bars_have_one_stamp_a_date() -> None:
    t = instants(np.array([18_700, 18_701, 18_701, 18_702]), 0)
    t[2] += 8 * 60 * MINUTE_NS
    assert quality.off_grid(t, DAY_NS).tolist() == [False, False, True, False]
    assert quality.off_grid(t[:0], DAY_NS).tolist() == []


# The last bar


def test_the_last_bar_of_the_files() -> None:
    seen = {}
    for name in NAMES:
        c, kept = by_hand.read(name), ~filled(name)
        seen[name] = quality.forming(c.t[kept], c.volume[kept], c.bar_ns, has_volume=c.has_volume)
    # The other two were downloaded while their last bar was forming; the rest was cut by day.
    assert {n for n, f in seen.items() if f.is_forming} == {
        "m15_int_cents_label_utc.parquet",
        "mt4_v400_d1.hst",
    }
    cents = seen["m15_int_cents_label_utc.parquet"]
    assert cents.volume == 2_183
    assert 6_000 < cents.usual < 7_000
    assert not seen["mt4_script_m5_semicolon_no_volume.csv"].is_known
    assert not seen["histdata_derived_m15_2024.csv"].is_known


@pytest.mark.parametrize(
    ("bars", "last", "is_forming"),
    [
        (100, 49.0, True),
        (100, 51.0, False),
        (92, 10.0, False),  # the day ends with it
        (8, 10.0, False),  # too few before it
    ],
)
def test_half_of_the_bars_before(bars: int, last: float, *, is_forming: bool) -> None:
    volume = np.full(bars, 100.0)
    volume[-1] = last
    seen = quality.forming(days(15, 2)[:bars], volume, 15 * MINUTE_NS, has_volume=True)
    assert seen.is_forming is is_forming
    assert seen.is_known is (bars > 8)
    assert not quality.forming(
        days(15, 2)[:bars], volume, 15 * MINUTE_NS, has_volume=False
    ).is_known


def test_a_time_of_day_at_which_volume_always_falls() -> None:
    volume = np.full(20 * 92, 100.0)
    volume[50::92] = 30.0
    t = days(15, 20)[: 19 * 92 + 51]
    volume = volume[: len(t)]
    assert not quality.forming(t, volume, 15 * MINUTE_NS, has_volume=True).is_forming
    volume[-1] = 10.0
    assert quality.forming(t, volume, 15 * MINUTE_NS, has_volume=True).is_forming


def test_volumes_of_zero_say_nothing() -> None:
    seen = quality.forming(days(15, 1), np.zeros(92), 15 * MINUTE_NS, has_volume=True)
    assert (seen.is_known, seen.is_forming) == (False, False)


# Spreads and ticks


def test_spreads_of_the_files() -> None:
    three_digits = quality.spreads(by_hand.read("mt5_python_m15_3_digits.csv").spread)
    assert three_digits == quality.Spreads(0.0, (159.0, 159.0, 160.0, 160.0))
    zeros = quality.spreads(by_hand.read("mt5_h1_server_rule_change.csv").spread).zeros
    assert zeros == pytest.approx(0.07, abs=0.005)
    assert quality.spreads(np.zeros(5, np.int32)) == quality.Spreads(1.0, ())


def test_ticks_of_the_files() -> None:
    by_hand.read("mt5_python_m15_3_digits.csv")
    for name, (frame, _, tick) in by_hand.READ.items():
        prices = frame().select(by_hand.OHLC).to_numpy()
        digits = quality.decimals(prices)
        assert digits is not None, name
        assert 10.0**-digits == pytest.approx(tick), name


@given(
    st.lists(st.integers(1, 10**9), min_size=4, max_size=40),
    st.integers(0, 5),
)
def test_decimals_of_made_prices(ticks: list[int], digits: int) -> None:
    ticks[0] += 1 if ticks[0] % 10 == 0 else 0  # one price needs the last digit
    px = np.array([k / 10**digits for k in ticks[: len(ticks) // 4 * 4]]).reshape(-1, 4)
    px = px * 3.0 / 3.0  # with the noise of floats
    assert quality.decimals(px) == digits


def test_decimals_that_are_too_many_and_none() -> None:
    assert quality.decimals(np.array([[2000.123456, 1, 1, 1]])) is None
    assert quality.decimals(np.full((1, 4), np.nan)) is None
    assert quality.decimals(np.array([[1000.0, 2000, 3000, 4000]])) == 0
