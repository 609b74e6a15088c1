"""Opens bar files: regular ones only, and of a length that fits into memory."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from dream.errors import BarsInvalid
from dream.files import open_descriptor

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

MOST_ROWS: Final = 20_000_000
"""Fifty years of one-minute bars. In memory they take 2 GB; the kernel counts bars in int32."""


def check_regular(path: Path) -> None:
    """Refuse what is no file, before a reader waits for it.

    Raises:
        BarsInvalid: a pipe, a device, a folder, or it cannot be opened.
    """
    try:
        os.close(open_descriptor(path, os.O_RDONLY))
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise BarsInvalid(f"cannot read {path}: {reason}; give the path of a bar file") from e


def check_rows(rows: int, path: Path) -> None:
    """Refuse a series that is too long to be held.

    Raises:
        BarsInvalid: more than MOST_ROWS.
    """
    if rows > MOST_ROWS:
        raise BarsInvalid(
            f"{path} has {rows:,} rows; expected at most {MOST_ROWS:,} bars; cut it into parts"
        )


@contextmanager
def parquet(path: Path) -> Generator[pq.ParquetFile]:
    """A Parquet file whose footer was read; nothing else is read of one with too many rows.

    Raises:
        BarsInvalid: it is no file or has too many rows.
        ArrowException, OSError: it is damaged.
    """
    check_regular(path)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        check_rows(file.metadata.num_rows, path)
        yield file
