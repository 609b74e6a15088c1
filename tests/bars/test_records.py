"""What messages say of binary files: records, and how one of another instrument is read."""

from __future__ import annotations

import lzma
import struct
from typing import TYPE_CHECKING

import pytest

from dream.bars.checks.faults import Policy
from dream.bars.ingest import ingest, read
from dream.bars.reading import Reading
from dream.errors import BarsInvalid
from dream.types import Instrument

if TYPE_CHECKING:
    from pathlib import Path

MONDAY_S = 1_704_672_000
"""2024-01-08 00:00."""


def history(path: Path, low: float) -> Path:
    """A MetaTrader history of 60 bars, the third of which has that low."""
    data = struct.pack("<i64s12s4i52x", 400, b"(C)opyright MetaQuotes", b"XAUUSD", 15, 2, 1, 2)
    for k in range(60):
        lowest = low if k == 2 else 1999.0
        data += struct.pack("<i5d", MONDAY_S + 900 * k, 2000.25, lowest, 2003.5, 2002.75, 100.0 + k)
    path.write_bytes(data)
    return path


def candles(folder: Path, symbol: str, price: int) -> Path:
    """Dukascopy candles of 2024-01-08, one a minute; prices as stored."""
    path = folder / symbol / "2024" / "00" / "08" / "BID_candles_min_1.bi5"
    path.parent.mkdir(parents=True)
    data = b"".join(
        struct.pack(">5If", 60 * k, price, price + k % 7, price - 9, price + 9, 1.5 + k % 5)
        for k in range(600)
    )
    path.write_bytes(lzma.compress(data, lzma.FORMAT_ALONE))
    return path


@pytest.mark.parametrize(
    ("low", "said"),
    [(2001.0, "record 3: open 2000.25"), (-1.0, "record 3: low -1 is negative"),
     (1999.001, "record 3: low 1999.001")],
)  # fmt: skip
def test_rows_of_a_binary_file_are_records(tmp_path: Path, low: float, said: str) -> None:
    """Also where a price is impossible, wrong or between two ticks."""
    with pytest.raises(BarsInvalid, match=said) as e:
        ingest(history(tmp_path / "a.hst", low), tmp_path / "o.parquet", Reading(clock="utc"))
    assert "line" not in str(e.value)


def test_candles_of_another_symbol_say_how_to_read_them(tmp_path: Path) -> None:
    """By symbol and price step; read so, nothing is wrong with their prices."""
    source = candles(tmp_path, "EURUSD", 109_500)
    with pytest.raises(
        BarsInvalid, match=r"EURUSD: give --symbol EURUSD --tick 0\.00001; --tick"
    ) as e:
        ingest(source, tmp_path / "o.parquet", Reading())
    assert "record 1: open 1.095" in str(e.value)
    report, _ = read(source, Reading(Instrument("EURUSD", 0.00001)))
    assert {"level", "off_tick"}.isdisjoint(fault.kind for fault in report.found)


def test_silver_is_another_symbol_and_gold_is_none(tmp_path: Path) -> None:
    """Gold out of its range of prices is still gold."""
    keep = Policy({"off_tick": "round"})
    for symbol, price, said in (("XAGUSD", 23_000, "--symbol XAGUSD --tick 0.001"),
                                ("XAUUSD", 23_000, "they look like silver")):  # fmt: skip
        report, _ = read(candles(tmp_path, symbol, price), Reading(policy=keep))
        (level,) = (fault for fault in report.found if fault.kind == "level")
        assert said in level.note
