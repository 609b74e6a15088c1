"""Bar files for tests, written by other means than those under test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
START = datetime(2024, 1, 8, 1, 0, tzinfo=UTC)


def good_rows(n: int = 20) -> list[Row]:
    """Valid 15-minute bars from Monday 2024-01-08 01:00 UTC on; row k is number k + 1."""
    return [
        {
            "timestamp": START + timedelta(minutes=15 * k),
            "open": 2000.00 + k,
            "high": 2002.50 + k,
            "low": 1999.25 + k,
            "close": 2001.10 + k,
            "volume": 100.0 + k,
            "spread": 0.25,
        }
        for k in range(n)
    ]


def csv_text(rows: list[Row], stamp: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    """The rows as CSV; stamps and values that are text already stay as they are."""

    def text(value: object) -> str:
        return value.strftime(stamp) if isinstance(value, datetime) else str(value)

    lines = [",".join(rows[0]), *(",".join(map(text, row.values())) for row in rows)]
    return "\n".join(lines) + "\n"


def write_csv(path: Path, rows: list[Row], stamp: str = "%Y-%m-%dT%H:%M:%SZ") -> Path:
    path.write_text(csv_text(rows, stamp), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: list[Row], zone: str | None = "UTC") -> Path:
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if zone != "UTC":
        plain = pl.col("timestamp").dt.replace_time_zone(None)
        frame = frame.with_columns(plain if zone is None else plain.dt.replace_time_zone(zone))
    frame.write_parquet(path)
    return path


def names(folder: Path) -> list[str]:
    """What lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())
