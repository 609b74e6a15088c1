"""What commands check of the paths they are given, and how they count."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from dream.errors import InputError

_LONG_WORD: Final = re.compile(r"\S{201,}")
_SHOWN: Final = 40
"""Characters that are shown of each end of a word that is too long to be read."""


def many(n: int, word: str) -> str:
    """A count with its word: 1 trade, 2,000 trades, 3 replies."""
    words = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{n:,} {word}" if n == 1 else f"{n:,} {words}"


def printable(text: str) -> str:
    """A text that may come from a file, without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def shown(message: str) -> str:
    """A message fit for a terminal: no control characters, no endless words."""
    clean = "".join(c if c.isprintable() or c == "\n" else "?" for c in message)
    return _LONG_WORD.sub(_both_ends, clean)


def _both_ends(word: re.Match[str]) -> str:
    """Both ends, so that a name can be recognised, and how much was left out."""
    text = word[0]
    return f"{text[:_SHOWN]}...({len(text) - 2 * _SHOWN:,} characters)...{text[-_SHOWN:]}"


def bar_file(path: Path | str) -> Path:
    """The path of a bar file, where the Parquet library can open it.

    Raises:
        InputError: its name is no UTF-8.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{path}: the path is not UTF-8, and bars can only be read and written under one that "
            f"is; rename the file or its folder"
        ) from None
    return Path(path)


def runs_folder(path: Path) -> Path:
    """The folder that holds run folders; it may have to be made first.

    Raises:
        InputError: it or what should hold it is a file, or nothing can be made there.
    """
    there = next((p for p in (path, *path.absolute().parents) if os.path.lexists(p)), Path("/"))
    if not there.is_dir():
        raise InputError(
            f"--runs {path}: {there} is a file; expected a folder, or a place where one can be made"
        )
    if there != path and not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            f"--runs {path}: cannot be made, because nothing can be written in {there}; give "
            f"another folder with --runs"
        )
    return path


def run_folder(path: Path) -> Path:
    """The folder of a run, from its own path or that of its journal.

    Raises:
        InputError: it is another file.
    """
    if path.name == "journal.jsonl":
        return path.parent
    if path.is_file():
        raise InputError(f"{path} is a file; expected the folder of a run, or its journal.jsonl")
    return path
