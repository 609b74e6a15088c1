"""Readers of foreign files, one module per format.

A format is a module with `read(path, clock) -> Iterator[Raw]` and a line in FORMATS. It turns bytes
into columns and stamps into UTC, and refuses what is not its layout; `check` does the rest.
Modules are imported when a file of their kind is met, because their libraries are slow to load.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from dream.bars import opening
from dream.bars.check import PRICES, Raw
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dream.bars.check import Stamps
    from dream.types import F8

FORMATS: Final = {
    "parquet": "dream.bars.importers.plain_parquet",
    "csv": "dream.bars.importers.plain_csv",
}
REQUIRED: Final = ("timestamp", *PRICES)
OPTIONAL: Final = ("volume", "spread")
PARQUET_MAGIC: Final = b"PAR1"
HEADER: Final = "timestamp,open,high,low,close (and volume, spread where there are such)"
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SEPARATORS: Final = {";": "semicolon", "\t": "tab", "|": "bar"}
SHOWN, SHOWN_CHARS = 30, 40
"""Column names shown in a message, and characters of each."""


def sniff(path: Path) -> str:
    """The format of a file, by its first bytes, not its name.

    Raises:
        BarsInvalid: the file cannot be read or is empty.
    """
    opening.check_regular(path)
    try:
        with path.open("rb") as f:
            head = f.read(len(PARQUET_MAGIC))
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; give the path of a bar file") from e
    if not head:
        raise BarsInvalid(f"{path} is empty; expected a Parquet or CSV file of bars")
    return "parquet" if head == PARQUET_MAGIC else "csv"


def read(path: Path, clock: str | None) -> Iterator[Raw]:
    """The rows of a file in stretches, none of them empty, so that memory stays bounded.

    Args:
        path: the file.
        clock: source clock of stamps without a zone; None where every stamp must carry UTC itself.

    Raises:
        BarsInvalid: the file is unreadable, has other columns, or a value cannot be parsed.
    """
    module = import_module(FORMATS[sniff(path)])
    reader = cast("Callable[[Path, str | None], Iterator[Raw]]", module.read)
    return (rows for rows in reader(path, clock) if len(rows.at.t_open_ns))


@dataclass(frozen=True, slots=True)
class Columns:
    """Index of each known column by lower-cased name; names of the others, which are not used."""

    index: Mapping[str, int]
    unused: tuple[str, ...]


def locate(found: Sequence[str], path: Path) -> Columns:
    """Where the known columns are.

    Raises:
        BarsInvalid: a required column is missing, or a known one is there twice.
    """
    names = [name.strip().lower() for name in found]
    known = REQUIRED + OPTIONAL
    missing = [name for name in REQUIRED if name not in names]
    twice = [name for name in known if names.count(name) > 1]
    if missing or twice:
        _refuse_values(found, path)
        fault = f"no column {', '.join(missing)}" if missing else f"two columns {twice[0]}"
        shown = ", ".join(name[:SHOWN_CHARS] for name in found[:SHOWN])
        shown += ", ..." if len(found) > SHOWN else ""
        raise BarsInvalid(
            f"{path}: {fault}; expected timestamp, open, high, low, close and perhaps volume,"
            f" spread; found {shown}; rename the columns"
        )
    index = {name: names.index(name) for name in known if name in names}
    return Columns(
        index, tuple(f for f, name in zip(found, names, strict=True) if name not in known)
    )


def _refuse_values(found: Sequence[str], path: Path) -> None:
    """Say so where the first line is a row and no header, or its fields are not told apart.

    Raises:
        BarsInvalid: one of the two.
    """
    first = found[0] if len(found) == 1 else ""
    separator = next((name for mark, name in SEPARATORS.items() if mark in first), None)
    if separator is not None:
        raise BarsInvalid(
            f"{path}: the fields of the first line are separated by a {separator}; expected "
            f"commas, and a header such as {HEADER}"
        )
    if sum(NUMBER.fullmatch(name.strip()) is not None for name in found) >= len(PRICES):
        shown = ", ".join(name[:SHOWN_CHARS] for name in found[:SHOWN])
        raise BarsInvalid(
            f"{path}: the header is missing, the first line has values ({shown}); put a line with "
            f"the columns' names before it, such as {HEADER}"
        )


def raw(at: Stamps, numbers: Mapping[str, F8], unused: tuple[str, ...]) -> Raw:
    """Rows from columns by name; volume and spread are 0 (unknown) where there is no column.

    Args:
        at: the rows' places and open times.
        numbers: (n,) float64 by column name; the four prices and perhaps volume and spread.
        unused: names of the file's other columns.
    """
    nothing = np.zeros(len(at.t_open_ns))
    return Raw(
        at,
        np.stack([numbers[p] for p in PRICES], axis=1),
        numbers.get("spread", nothing),
        numbers.get("volume", nothing),
        unused,
    )
