"""Readers of foreign files, one module per format.

A format is a module with `read(path, clock) -> Iterator[Raw]` and a line in FORMATS. It turns bytes
into columns and stamps into UTC, and refuses what is not its layout; `check` does the rest.
Modules are imported when a file of their kind is met, because their libraries are slow to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dream.bars.check import Raw

FORMATS: Final = {
    "parquet": "dream.bars.importers.plain_parquet",
    "csv": "dream.bars.importers.plain_csv",
}
REQUIRED: Final = ("timestamp", "open", "high", "low", "close")
OPTIONAL: Final = ("volume", "spread")
PARQUET_MAGIC: Final = b"PAR1"


def sniff(path: Path) -> str:
    """The format of a file, by its first bytes, not its name.

    Raises:
        BarsInvalid: the file cannot be read or is empty.
    """
    try:
        with path.open("rb") as f:
            head = f.read(len(PARQUET_MAGIC))
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; give the path of a bar file") from e
    if not head:
        raise BarsInvalid(f"{path} is empty; expected a Parquet or CSV file of bars")
    return "parquet" if head == PARQUET_MAGIC else "csv"


def read(path: Path, clock: str | None) -> Iterator[Raw]:
    """The rows of a file in stretches, so that memory stays bounded.

    Args:
        path: the file.
        clock: source clock of stamps without a zone; None where every stamp must carry UTC itself.

    Raises:
        BarsInvalid: the file is unreadable, has other columns, or a value cannot be parsed.
    """
    module = import_module(FORMATS[sniff(path)])
    reader = cast("Callable[[Path, str | None], Iterator[Raw]]", module.read)
    return reader(path, clock)


def locate(found: list[str], path: Path) -> dict[str, int]:
    """Where the known columns are, by lower-cased name; other columns are not used.

    Raises:
        BarsInvalid: a required column is missing, or a known one is there twice.
    """
    names = [name.strip().lower() for name in found]
    missing = [name for name in REQUIRED if name not in names]
    twice = [name for name in REQUIRED + OPTIONAL if names.count(name) > 1]
    if missing or twice:
        fault = f"no column {', '.join(missing)}" if missing else f"two columns {twice[0]}"
        shown = ", ".join(found[:30]) + (", ..." if len(found) > 30 else "")
        raise BarsInvalid(
            f"{path}: {fault}; expected timestamp, open, high, low, close and perhaps volume,"
            f" spread; found {shown}; rename the columns"
        )
    return {name: names.index(name) for name in REQUIRED + OPTIONAL if name in names}
