"""Bars of 5 minutes made into those of 15 and 60 that the same terminal exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from dream.bars import series
from dream.bars.clock import clocks
from dream.bars.resample import resample
from dream.types import MINUTE_NS, Bars, Instrument

if TYPE_CHECKING:
    from pathlib import Path


def exported(path: Path, minutes: int) -> Bars:
    """A MetaTrader 5 export as polars reads it; its clock is that of Athens."""
    if not path.is_file():
        pytest.skip(f"no real data at {path}")
    stamp = (pl.col("<DATE>") + " " + pl.col("<TIME>")).str.to_datetime("%Y.%m.%d %H:%M:%S")
    frame = pl.read_csv(path, separator="\t").with_columns(
        t=stamp.dt.replace_time_zone("Europe/Athens").dt.epoch("ms") * 1_000_000
    )
    prices = frame.select("<OPEN>", "<HIGH>", "<LOW>", "<CLOSE>").to_numpy()
    return series(
        Instrument(),
        minutes * MINUTE_NS,
        frame["t"].to_numpy(),
        np.rint(prices * 100).astype(np.int32),
        frame["<SPREAD>"].to_numpy().astype(np.int32),
        frame["<TICKVOL>"].to_numpy().astype(np.float64),
    )


@pytest.fixture(scope="module")
def exports(real_bars_path: Path) -> dict[int, Bars]:
    samples = real_bars_path.parent / "samples"
    names = {5: "m5_tab_2025q1", 15: "m15_tab", 60: "h1_tab"}
    return {m: exported(samples / f"mt5_export_{name}.csv", m) for m, name in names.items()}


@pytest.mark.parametrize(
    ("finer", "longer", "common"), [(5, 15, 5_765), (5, 60, 1_443), (15, 60, 4_858)]
)
def test_longer_bars_are_the_terminals_own(
    exports: dict[int, Bars], finer: int, longer: int, common: int
) -> None:
    made, theirs = resample(exports[finer], longer).bars, exports[longer]
    shared, i, j = np.intersect1d(made.t_close_ns, theirs.t_close_ns, return_indices=True)
    assert len(shared) == len(made) == common
    for field in ("px", "volume", "spread", "minute", "day"):
        assert np.array_equal(getattr(made, field)[i], getattr(theirs, field)[j]), field


def test_a_day_is_the_trading_day(exports: dict[int, Bars]) -> None:
    made = resample(exports[15], 1440)
    assert np.array_equal(made.bars.day, np.unique(exports[15].day))
    assert (made.bars.minute == 1440).all()
    assert made.bars.volume.sum() == exports[15].volume.sum()
    # 09:00 to 10:15 of one day, and the first hour after a weekend.
    days = [clocks.day_text(int(day)) for day in made.bars.day[made.partial.holed]]
    assert (days, made.partial.missing) == (["2025-03-06", "2025-03-10"], 5 + 4)
