"""How far stamps are ahead of a reference: made series, and every sample against the clean one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars import series, store
from dream.bars.checks import reference
from dream.bars.clock import zones
from dream.types import MINUTE_NS, Bars, Instrument
from tests.bars import stamps
from tests.bars.stamps import gold

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import F8, I8

M15 = 15 * MINUTE_NS
HOUR = 60 * MINUTE_NS


def walk(n: int, seed: int) -> F8:
    """Closes of a random walk, in ticks."""
    steps = np.random.default_rng(seed).standard_t(3, n) * 0.001
    return np.round(200_000 * np.exp(np.cumsum(steps)))


def bars(t_open_ns: I8, close: F8, bar_ns: int) -> Bars:
    px = np.repeat(close.astype(np.int32)[:, None], 4, axis=1)
    n = len(close)
    return series(Instrument(), bar_ns, t_open_ns, px, np.zeros(n, np.int32), np.zeros(n))


@pytest.mark.parametrize("shift_min", [0, 30, -330, 840, -840])
def test_half_hours_are_told_apart_with_short_bars(shift_min: int) -> None:
    t_ns = gold("2024-01-07", 12, 15)
    close = walk(len(t_ns), 1)
    found = reference.shift(t_ns + shift_min * MINUTE_NS, close / 100, M15, bars(t_ns, close, M15))
    assert (len(found.monday), len(found.stretches)) == (12, 1)
    assert set(found.shift_min.tolist()) == {shift_min} == {found.whole_min}
    assert found.stretches[0].first == "2024-01-08"
    assert found.median == pytest.approx(1.0)
    assert found.whole == pytest.approx(1.0)


@pytest.mark.parametrize("bar_min", [1, 5, 20, 60])
def test_bars_of_other_lengths_than_the_references(bar_min: int) -> None:
    t_ns = gold("2024-01-07", 4, 1)
    close = walk(len(t_ns), 2)
    ref = bars(t_ns[::15], close[14::15], M15)
    own = t_ns[::bar_min] + 2 * HOUR
    found = reference.shift(own, close[bar_min - 1 :: bar_min], bar_min * MINUTE_NS, ref)
    assert set(found.shift_min.tolist()) == {120}
    assert found.median == pytest.approx(1.0)


def test_a_correlation_as_numpy_computes_it() -> None:
    t_ns = gold("2024-01-07", 1, 60)
    a, b = walk(len(t_ns), 3), walk(len(t_ns), 4)
    both = np.round(np.sqrt(a * b))
    found = reference.shift(t_ns + HOUR, both, HOUR, bars(t_ns, a, HOUR))
    pairs = np.diff(t_ns) == HOUR
    expected = np.corrcoef(np.diff(np.log(both))[pairs], np.diff(np.log(a))[pairs])[0, 1]
    assert found.shift_min.tolist() == [60]
    assert found.correlation[0] == pytest.approx(expected)
    assert found.whole == pytest.approx(expected)


def test_a_clock_that_switches_is_cut_into_stretches() -> None:
    t_ns = gold("2024-02-25", 8, 15)
    close = walk(len(t_ns), 5)
    wall = zones.to_wall(t_ns, zones.parse_clock("eet-eu"))
    found = reference.shift(wall, close, M15, bars(t_ns, close, M15))
    assert [(s.first, s.last, s.shift_min, s.weeks) for s in found.stretches] == [
        ("2024-02-26", "2024-03-25", 120, 5),
        ("2024-04-01", "2024-04-15", 180, 3),
    ]
    assert found.whole < 0.9


@pytest.mark.parametrize("seed", range(3))
def test_another_market_agrees_at_no_shift(seed: int) -> None:
    t_ns = gold("2023-01-01", 52, 15)
    ref = bars(t_ns, walk(len(t_ns), 100), M15)
    found = reference.shift(t_ns, walk(len(t_ns), seed), M15, ref)
    assert len(found.monday) == 52
    assert found.stretches == ()
    assert found.median < 0.3
    assert found.whole < 0.1


def test_nothing_can_be_said_without_common_hours() -> None:
    t_ns = gold("2024-01-07", 2, 60)
    close = walk(len(t_ns), 6)
    ref = bars(t_ns, close, HOUR)
    later = t_ns + 400 * 24 * HOUR
    nothing = np.empty(0, np.int64)
    for found in (
        reference.shift(later, close, HOUR, ref),
        reference.shift(t_ns, close, 4 * HOUR, ref),
        reference.shift(nothing, np.empty(0), HOUR, ref),
        reference.shift(t_ns[:5], close[:5], HOUR, ref),
        reference.shift(t_ns, np.ones(len(t_ns)), HOUR, ref),
    ):
        assert (len(found.monday), found.stretches) == (0, ())
        assert (found.median, found.whole, found.whole_min) == (0, 0, 0)


# the samples


@pytest.fixture(scope="module")
def clean(real_bars_path: Path) -> Bars:
    return store.read(real_bars_path)


@pytest.fixture(scope="module")
def samples(real_bars_path: Path) -> Path:
    return real_bars_path.parent / "samples"


def shift_of(sample: stamps.Stamps, clean: Bars, clock: str = "utc") -> reference.Shift:
    t_ns = zones.to_utc(sample.wall_ns, zones.parse_clock(clock)).t_ns
    return reference.shift(t_ns, sample.close, sample.bar_ns, clean)


CLOCKS = {
    stamps.LABELLED: "ny+7",
    "dukascopy_m15_plus0000.csv": "utc",
    "dukascopy_node_h1_epoch_ms_holes.csv": "utc",
    "vendor_m15_iso_z_comment_line.csv": "utc",
    "mt5_export_m15_tab.csv": "eet-eu",
    "mt5_export_m5_tab_2025q1.csv": "eet-eu",
    "mt5_export_h1_tab.csv": "eet-eu",
    "dukascopy_local_time_h1_flat_fill.csv": "utc",
    "dukascopy_gmt_time_h1.csv": "utc",
    "histdata_derived_m15_2024.csv": "london-5",
    "histdata_ascii_m5_reserialised_2024-03.csv": "london-5",
    "tradingview_m5_iso_plus0530.csv": "utc",
    "mt5_python_m15_unix_server_time.csv": "eet-eu",
    "mt5_python_m15_3_digits.csv": "utc",
    "mt5_python_m15_gold_spread.csv": "eet-eu",
    "mt5_m5_symbol_column.csv": "Europe/London",
    "mt5_h1_server_rule_change.csv": "eet-eu",
    "m15_off_grid_stamps.csv": "utc",
    "vendor_m15_weekend_bars.csv": "utc",
    "m15_invented_head_then_hole.csv": "utc",
}


@pytest.mark.parametrize("name", CLOCKS)
def test_on_its_clock_every_sample_agrees_with_the_clean_series(
    samples: Path, clean: Bars, name: str
) -> None:
    found = shift_of(stamps.read(samples, name), clean, CLOCKS[name])
    assert len(found.monday) > 0
    assert set(found.shift_min.tolist()) == {0}
    assert found.correlation.min() > 0.96
    assert found.whole_min == 0
    assert found.whole > 0.96


@pytest.mark.parametrize(
    ("name", "stretches"),
    [
        (
            "histdata_derived_m15_2024.csv",
            [
                ("2024-01-01", "2024-03-25", -300, 13),
                ("2024-04-01", "2024-10-21", -240, 30),
                ("2024-10-28", "2024-12-30", -300, 10),
            ],
        ),
        (
            "mt5_m5_symbol_column.csv",
            [("2024-10-21", "2024-10-21", 60, 1), ("2024-10-28", "2024-11-04", 0, 2)],
        ),
        (
            # Two hours ahead in the weeks from 2021-11-01 and from 2022-03-14, when America was on
            # summer time and Europe was not: European dates, after 2020 as before.
            "mt5_h1_server_rule_change.csv",
            [
                ("2021-06-14", "2021-10-25", 180, 20),
                ("2021-11-01", "2022-03-21", 120, 21),
                ("2022-03-28", "2022-04-11", 180, 3),
            ],
        ),
    ],
)
def test_the_shift_follows_the_local_clock(
    samples: Path, clean: Bars, name: str, stretches: list[tuple[str, str, int, int]]
) -> None:
    found = shift_of(stamps.read(samples, name), clean)
    assert [(s.first, s.last, s.shift_min, s.weeks) for s in found.stretches] == stretches


def test_in_2020_that_server_kept_european_dates_too(samples: Path) -> None:
    utc = stamps.read(samples, "m15_headerless_yyyymmdd_hhmmss.csv")
    ref = bars(utc.wall_ns, utc.close * 100, M15)
    found = shift_of(stamps.read(samples, "mt5_h1_server_rule_change.csv"), ref)
    assert [(s.first, s.last, s.shift_min) for s in found.stretches] == [
        ("2020-03-02", "2020-03-23", 120),  # America switched on 2020-03-08
        ("2020-03-30", "2020-04-06", 180),
    ]


def test_invented_bars_agree_at_no_shift(samples: Path, clean: Bars) -> None:
    found = shift_of(stamps.read(samples, "invented_h1.csv"), clean)
    assert len(found.monday) == 3
    assert found.median < 0.3
    assert found.whole < 0.3
    assert found.stretches == ()
