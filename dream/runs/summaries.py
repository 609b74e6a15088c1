"""Keeps the summary of a finished run beside its journal, and believes it only as it was written.

A summary is derived: it can always be made again by a replay, which takes a while. So it is kept,
under a check over its own bytes, the journal's and the version of dream. A damaged or edited one,
or one of another journal, is made again. The check has no secret: it does not stop a forger.
"""

from __future__ import annotations

import json
from hashlib import blake2b, file_digest
from typing import TYPE_CHECKING, Any, Final, cast

from dream import __version__
from dream.errors import InputError
from dream.files import read_bounded
from dream.reports.metrics import Summary
from dream.runs.stores import JOURNAL, open_for_reading, write_whole

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY: Final = "summary.json"
LONGEST: Final = 16 * 1024 * 1024
"""Bytes; a summary has about three thousand."""

_HEAD: Final = b'{\n "check": "%b",'


def keep(folder: Path, summary: Summary) -> None:
    """Write the summary of a finished run, all or nothing.

    Raises:
        JournalUnwritable: the folder cannot be written or the disk is full.
    """
    rest = json.dumps(summary, indent=1, allow_nan=False).encode().removeprefix(b"{")
    write_whole(folder / SUMMARY, _head(folder, rest) + rest)


def kept(folder: Path) -> Summary | None:
    """The summary that was kept, None where there is none that can be believed."""
    try:
        found = read_bounded(folder / SUMMARY, "summary", LONGEST)
    except InputError:
        return None
    rest = found[len(_HEAD % bytes(32)) :]
    if found != _head(folder, rest) + rest:
        return None
    data: dict[str, Any] = json.loads(b"{" + rest)
    # The same version can still be another state of the code.
    return cast("Summary", data) if data.keys() == Summary.__annotations__.keys() else None


def _head(folder: Path, rest: bytes) -> bytes:
    """The first bytes of the file, with the check."""
    with open_for_reading(folder / JOURNAL) as file:
        journal = file_digest(file, "sha256").digest()
    check = blake2b(journal + __version__.encode() + rest, digest_size=16)
    return _HEAD % check.hexdigest().encode()
