"""Zips and other packed bars, for tests."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from dream.bars.importers.container import unpacked
from dream.errors import BarsInvalid
from tests.bars.files import csv_text, good_rows

if TYPE_CHECKING:
    from pathlib import Path

CSV = csv_text(good_rows()).encode()
REPORT = (
    b"HistData.com (c) 2024\nFile: DAT_ASCII_XAUUSD_M1_2024.zip Status Report\n\n"
    b"Average gap: 60s\nGap of 3600s found between 20240102165900 and 20240102175900.\n"
)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def put(folder: Path, data: bytes, name: str = "gold.dat") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(BarsInvalid) as caught, unpacked(path):
        pass
    assert str(path) in str(caught.value)
    return str(caught.value)
