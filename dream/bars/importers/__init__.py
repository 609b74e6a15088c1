"""Readers of foreign files: unpacked, told apart by content, read chunk by chunk.

A reader turns bytes into columns and stamps into numbers and says what the file says of itself
(`sheet.Layout`); nothing is believed yet. Readers are imported when a file of their kind is met,
because their libraries are slow to load.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from dream.bars import opening
from dream.bars.importers.sheet import Opened
from dream.errors import BarsInvalid

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from dream.bars.importers.sheet import Hints

READERS: Final = {"text": "text", "parquet": "parquet", "hst": "hst", "bi5": "bi5"}
PARQUET_MAGIC: Final = b"PAR1"


@contextmanager
def opened(path: Path, hints: Hints) -> Generator[Opened]:
    """An export whose layout is known; its rows are read inside the block.

    Args:
        path: any file that a reader knows, also in a zip or gz.
        hints: what the user says of it.

    Raises:
        BarsInvalid: it cannot be read or is of no known kind.
        SpecInvalid: a hint makes no sense for it.
    """
    from dream.bars.importers.container import unpacked  # noqa: PLC0415 - archives, only for imports

    with unpacked(path) as found:
        module = import_module(f"{__name__}.{READERS[found.kind]}")
        if found.kind == "bi5":
            made: Opened = module.open_bi5(found.path, hints, found.named)
        else:
            made = getattr(module, f"open_{found.kind}")(found.path, hints)
        notes = (*found.notes, *made.layout.notes)
        yield Opened(replace(made.layout, notes=notes), made.chunks)


def is_parquet(path: Path) -> bool:
    """Whether a file begins like Parquet.

    Raises:
        BarsInvalid: it cannot be read or is empty.
    """
    opening.check_regular(path)
    try:
        with path.open("rb") as f:
            head = f.read(len(PARQUET_MAGIC))
    except OSError as e:
        raise BarsInvalid(f"cannot read {path}: {e.strerror}; give the path of a bar file") from e
    if not head:
        raise BarsInvalid(f"{path} is empty; expected a file of bars")
    return head == PARQUET_MAGIC
