"""The length of a bar: told by the stamps, and one in a file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from dream.bars import store
from dream.bars.importers import text_blocks
from tests.bars.files import START, Row, good_rows, write_csv
from tests.bars.refusing import refusal

if TYPE_CHECKING:
    from pathlib import Path


def at_minutes(minutes: list[int]) -> list[Row]:
    rows = good_rows(len(minutes))
    return [
        row | {"timestamp": START + timedelta(minutes=m)}
        for row, m in zip(rows, minutes, strict=True)
    ]


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        ([0], "1 row does not tell the length of a bar"),
        ([0, 7, 14, 21], "4 rows, most of them 7 minutes apart, do not tell the length of a bar"),
        ([0, 2880, 5760], "most of them 2880 minutes apart"),
        # hours first, quarters after: the quarters are more, the hours are no holes
        (
            [*range(0, 840, 60), *range(840, 1440, 15)],
            "14 x bars of another length are among the rest (refused); line 2 (2024-01-08T01:00",
        ),
        # quarters first, then three days of daily bars
        (
            [*range(0, 600, 15), *(1440 * d for d in range(1, 5))],
            "line 42 (2024-01-09T01:00:00Z): bars of 1440 among those of 15 minutes",
        ),
        # in the middle, where a block ends too
        (
            [*range(0, 1500, 15), *range(1500, 3000, 60), *range(3000, 6000, 15)],
            "25 x bars of another length are among the rest (refused); line 102 ",
        ),
    ],
)
def test_bar_length_unknown_or_mixed(
    tmp_path: Path, minutes: list[int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 512)
    assert said in refusal(write_csv(tmp_path / "bars.csv", at_minutes(minutes)))


@pytest.mark.parametrize(("period", "kept"), [("M15", 20), ("M7", 20), ("H48", 20), ("M5", 0)])
def test_a_length_that_the_file_states(tmp_path: Path, period: str, kept: int) -> None:
    rows = [row | {"timeframe": period} for row in good_rows()]
    path = write_csv(tmp_path / "bars.csv", rows)
    if kept:
        assert store.read(path).bar_ns == 15 * 60 * 10**9
    else:
        assert "no row is left" in refusal(path)
        assert "the file states bars of 5 minutes: mend what it states" in refusal(path)


def test_missing_bars_are_no_mixture(tmp_path: Path) -> None:
    minutes = [m for m in range(0, 3000, 15) if m % 75 != 30]
    bars = store.read(write_csv(tmp_path / "bars.csv", at_minutes(minutes)))
    assert len(bars) == len(minutes)
    assert bars.bar_ns == 15 * 60 * 10**9


def test_bars_longer_than_an_hour_may_follow_the_trading_clock(tmp_path: Path) -> None:
    # H4 bars of a New York + 7 h terminal open at 22:00 UTC in winter and 21:00 in summer.
    winter = [datetime(2024, 3, 7, 22, tzinfo=UTC) + timedelta(hours=4 * k) for k in range(6)]
    summer = [datetime(2024, 3, 11, 21, tzinfo=UTC) + timedelta(hours=4 * k) for k in range(6)]
    rows = [r | {"timestamp": t} for r, t in zip(good_rows(12), winter + summer, strict=True)]
    bars = store.read(write_csv(tmp_path / "bars.csv", rows))
    assert bars.bar_ns == 4 * 3600 * 10**9
    assert bars.minute.tolist() == [240, 480, 720, 960, 1200, 1440] * 2
    rows[8]["timestamp"] += timedelta(hours=1)
    assert "; line 10 (2024-03-12T06:00:00Z): off the grid of 240-minute bars" in refusal(
        write_csv(tmp_path / "bars.csv", rows)
    )
