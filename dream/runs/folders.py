"""Which folder a run is in: by its name, and by what it was begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.errors import DreamError, InputError, JournalError
from dream.runs.journal import Journal, read_records
from dream.runs.records import OpenedRecord
from dream.runs.stores import JOURNAL, make_folder

if TYPE_CHECKING:
    from pathlib import Path

    from dream.runs.assemble import Parts


def folder_of(parts: Parts, runs: Path, *, fresh: bool) -> Path:
    """The newest folder with a journal of this content; with `fresh` the next one, which is made.

    To make it, as only one process can, is what gives two fresh runs at the same time two folders.
    """
    first = runs / parts.spec.run_id()
    there = numbered(first)
    if fresh:
        n = len(there) + 1
        while not make_folder(following := _nth(first, n)):
            n += 1
        return following
    known = [folder for folder in there if (folder / JOURNAL).exists()]
    if len(known) < 2:
        return known[0] if known else first
    return next((folder for folder in reversed(known) if _begun_with(folder, parts)), known[-1])


def numbered(first: Path) -> list[Path]:
    """The folders that there are of a run, `id`, `id-2`, ..., oldest first."""
    found: list[Path] = []
    while (following := _nth(first, len(found) + 1)).exists():
        found.append(following)
    return found


def _nth(first: Path, n: int) -> Path:
    return first if n == 1 else first.with_name(f"{first.name}-{n}")


def _begun_with(folder: Path, parts: Parts) -> bool:
    """Whether the run in a folder has this content; one that cannot be read may be it."""
    try:
        opened = next(read_records(folder), None)
        if isinstance(opened, OpenedRecord):
            same_content(opened, parts)
    except JournalError:
        return True
    except DreamError:
        return False
    return True


def is_finished(folder: Path, parts: Parts) -> bool:
    """Whether nothing is left to do; an unfinished run must have the content that it began with."""
    if not (folder / JOURNAL).exists():
        return False
    with Journal.read(folder) as journal:
        if journal.opened is not None:
            same_content(journal.opened, parts)
        return journal.is_closed


def same_content(opened: OpenedRecord, parts: Parts, but: tuple[str, ...] = ()) -> None:
    """Refuse to go on where what lies behind a name is not what it was when the run began."""
    for name, was in opened.hashes.items():
        now = parts.hashes.get(name)
        if now != was and name not in but:
            what = {"bars": parts.spec.bars, "script": parts.spec.model}.get(name, name)
            raise InputError(
                f"{name} changed since the run began: {what} had hash {was[:16]}, now "
                f"{'nothing' if now is None else now[:16]}. Restore it, or start another run with "
                f"--fresh"
            )
