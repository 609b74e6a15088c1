"""What a user should know of a run that goes on: where it was asked before, and with what."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dream.runs.journal import Journal

_VERSIONS: Final = ("dream", "numpy", "numba", "anthropic")


def other_endpoint(journal: Journal, endpoint: str | None) -> tuple[str, ...]:
    """Says so where the run was begun with another server than the one named now."""
    asked = journal.opened_meta.get("endpoint")
    if journal.opened is None or asked == endpoint:
        return ()
    told = f"the run was begun with answers from {asked}, now {endpoint} is named"
    return (f"{told}; fresh (--fresh) starts another run",)


def of_resume(journal: Journal) -> tuple[str, ...]:
    """What was recorded, what was torn off, and which versions began it."""
    notes: list[str] = []
    if journal.recorded:
        notes.append(f"went on after {journal.recorded:,} recorded decisions, derived again")
    if journal.torn_bytes:
        size = "1 byte" if journal.torn_bytes == 1 else f"{journal.torn_bytes} bytes"
        notes.append(f"a torn last line of {size} was set aside in journal.torn")
    was: Any = journal.opened_meta.get("versions", {})
    for name, now in versions().items():
        if journal.opened is not None and was.get(name) != now:
            notes.append(
                f"the run was begun with {name} {was.get(name)}, now {now}; what is recorded was "
                f"derived again and compared"
            )
    return tuple(notes)


def versions() -> dict[str, str]:
    """Of Python and of what computes or asks."""
    found = {"python": platform.python_version()}
    for name in _VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
