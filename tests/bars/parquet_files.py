"""Parquet files of forty bars in any dress, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dream.bars.importers.parquet import open_parquet
from dream.bars.importers.sheet import Chunk, Hints, Layout
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from pathlib import Path

N = 40
START_S = 1_704_672_000
"""2024-01-08 00:00 UTC."""
SECONDS = START_S + 900 * np.arange(N)
WALL = [datetime(2024, 1, 8) + timedelta(minutes=15 * k) for k in range(N)]  # noqa: DTZ001
OPEN, HIGH, LOW, CLOSE = (
    [round(base + 0.25 * k, 2) for k in range(N)] for base in (2000.1, 2003.7, 1999.03, 2001.99)
)


def bars(stamp: Any, name: str = "time", **others: Any) -> dict[str, Any]:
    return {
        name: stamp, "open": OPEN, "high": HIGH, "low": LOW, "close": CLOSE,
        "volume": [100 + k for k in range(N)], **others,
    }  # fmt: skip


def utc(unit: str = "ms") -> Any:
    return pa.array(WALL, pa.timestamp(unit)).cast(pa.timestamp(unit, "UTC"))


def put(folder: Path, table: Any, **options: Any) -> Path:
    path = folder / "gold"
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    return path


def load(path: Path, hints: Hints = Hints()) -> tuple[Layout, Chunk]:  # noqa: B008 - frozen
    """The layout, and the chunks as one."""
    opened = open_parquet(path, hints)
    parts = list(opened.chunks)
    names = ("line", "stamp_ns", "px", "volume", "spread")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return opened.layout, Chunk(*columns, bad=tuple(row for part in parts for row in part.bad))


def refusal(path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught:
        load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def is_right(rows: Chunk, *, ahead_h: int = 0) -> None:
    """The bars are those above, their stamps so many hours later."""
    assert rows.line.tolist() == list(range(1, N + 1))
    assert rows.stamp_ns.tolist() == [(int(s) + 3600 * ahead_h) * 10**9 for s in SECONDS]
    assert rows.px.T.tolist() == [OPEN, HIGH, LOW, CLOSE]
    assert rows.bad == ()
    assert rows.px.dtype == rows.volume.dtype == rows.spread.dtype == np.float64
    assert rows.line.dtype == rows.stamp_ns.dtype == np.int64
