"""Four-hour bars as servers on European dates cut them, through the weeks between the switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dream.bars import store, synth
from dream.bars.checks import quality
from dream.bars.clock import zones
from dream.bars.ingest import ingest
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from dream.types import MINUTE_NS
from tests.bars import faulty

if TYPE_CHECKING:
    from pathlib import Path

H4_NS = 240 * MINUTE_NS


def four_hours(clock: str) -> list[list[int | float]]:
    """Bars from before America's switch of 2024-03-10 to after Europe's of 2024-03-31, on a grid
    of a server's clock: its stamps, prices in cents, volume, spread."""
    bars = synth.make(92 * 45, 3, start_ns=faulty.at("2024-02-18"))
    wall_ns = zones.to_wall(bars.t_close_ns - bars.bar_ns, zones.parse_clock(clock))
    stamp, first = np.unique(wall_ns // H4_NS, return_index=True)
    rows: list[list[int | float]] = []
    for t, part in zip(stamp.tolist(), np.split(np.arange(len(bars)), first[1:]), strict=True):
        px = bars.px[part]
        rows.append(
            [t * H4_NS, int(px[0, 0]), int(px[:, 1].max()), int(px[:, 2].min()), int(px[-1, 3]),
             float(bars.volume[part].sum()), int(bars.spread[part].min())]
        )  # fmt: skip
    return rows


def as_csv(path: Path, rows: list[list[int | float]]) -> Path:
    """Stamps without a zone."""
    text = faulty.write(path, rows, None).read_text(encoding="utf-8")
    path.write_text(text.replace("Z,", ","), encoding="utf-8")
    return path


@pytest.mark.parametrize("clock", ["eet-eu", "ny+7", "utc", "Europe/London"])
def test_bars_on_the_grid_of_their_own_clock_are_no_fault(tmp_path: Path, clock: str) -> None:
    """They are imported whole, stored and read back."""
    rows, out = four_hours(clock), tmp_path / "out.parquet"
    report = ingest(as_csv(tmp_path / "b.csv", rows), out, Reading(clock=clock))
    assert report.bar_ns == H4_NS
    assert "off_grid" not in {fault.kind for fault in report.found}
    bars = store.read(out)
    wall_ns = zones.to_wall(bars.t_close_ns - H4_NS, zones.parse_clock(clock))
    assert wall_ns.tolist() == [row[0] for row in rows[: len(wall_ns)]]
    assert len(wall_ns) >= len(rows) - 1  # the last may have been forming


def test_a_stray_stamp_among_them_is_one(tmp_path: Path) -> None:
    """By whatever clock."""
    rows = four_hours("eet-eu")
    stray = [int(rows[20][0]) + 60 * MINUTE_NS, *rows[20][1:]]
    source = as_csv(tmp_path / "b.csv", [*rows[:21], stray, *rows[21:]])
    with pytest.raises(BarsInvalid, match=r"1 x a stamp lies between two bars .* line 23"):
        ingest(source, tmp_path / "out.parquet", Reading(clock="eet-eu"))


def test_a_series_is_not_written_on_a_grid_that_its_clock_has_not(tmp_path: Path) -> None:
    """The label must explain the stamps."""
    rows = four_hours("eet-eu")
    ingest(as_csv(tmp_path / "b.csv", rows), tmp_path / "a.parquet", Reading(clock="eet-eu"))
    bars = store.read(tmp_path / "a.parquet")
    with pytest.raises(BarsInvalid, match="off the grid of 240-minute bars"):
        store.write(bars, tmp_path / "b.parquet", source_clock="utc")
    store.write(bars, tmp_path / "b.parquet", source_clock="eet-eu")


def test_the_clock_with_the_fewest_strays_counts() -> None:
    """Without the source's clock the weeks between the switches are off the grid."""
    wall_ns = np.array([row[0] for row in four_hours("eet-eu")], np.int64)
    t_ns = zones.to_utc(wall_ns, zones.parse_clock("eet-eu")).t_ns
    assert quality.off_grid(t_ns, H4_NS).sum() > 50
    assert quality.off_grid(t_ns, H4_NS, wall_ns).sum() == 0
