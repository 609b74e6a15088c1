"""What commands say of numbers, as a reader would say it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dream.bars import series, store, synth
from dream.cli.words import many
from dream.types import Instrument
from tests.runs import made


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 trades"), (1, "1 trade"), (2, "2 trades"), (12_345, "12,345 trades")]
)
def test_one_is_one(n, text):
    assert many(n, "trade") == text


def test_days_are_counted_once_each(dream):
    """Five days of 92 bars: one closes early, one lacks two bars, one lacks one at its head."""
    bars = synth.make(92 * 5, 1)
    gone = [100, 101, 92 * 2, *range(92 * 3 + 80, 92 * 4)]
    keep = np.delete(np.arange(len(bars)), gone)
    opens = (bars.t_close_ns - bars.bar_ns)[keep]
    arrays = (bars.px[keep], bars.spread[keep], bars.volume[keep])
    cut = series(Instrument(), bars.bar_ns, opens, *arrays)
    store.write(cut, dream.folder / "cut.parquet", source_clock="utc")
    said = dream("bars", "info", "cut.parquet").out
    assert "5: 2 complete, 1 with an early close, 2 with bars missing or at an end" in said
    assert re.search(r"^missing +3 bars inside trading days$", said, re.MULTILINE)
    assert re.search(r"^closed hour +0 bars between 17:00 and 18:00 New York$", said, re.MULTILINE)


def test_bars_in_the_closed_hour_raise_a_doubt(dream):
    """Two hours off: bars lie where gold is not traded."""
    bars = synth.make(200, 1)
    opens = bars.t_close_ns - bars.bar_ns + 2 * 3600 * 10**9
    arrays = (bars.px, bars.spread, bars.volume)
    store.write(
        series(Instrument(), bars.bar_ns, opens, *arrays), dream.folder / "off.parquet",
        source_clock="utc",
    )  # fmt: skip
    assert "New York: is the clock of the stamps right?" in dream("bars", "info", "off.parquet").out


def test_one_decision(dream, bars_path):
    dream("run", "--bars", bars_path, "--decisions", 1)
    assert "identical: 1 decision in" in dream("replay", made.only_run(dream.folder / "runs")).out
