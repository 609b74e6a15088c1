"""Opens what a user named: a regular file or nothing, so that no pipe or device hangs a run."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from dream.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

# Opening a pipe nobody writes to would wait for ever; the flag has no effect on regular files.
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_descriptor(path: Path | str, flags: int) -> int:
    """The descriptor of a regular file; a link to one is followed.

    Args:
        path: of the file.
        flags: as os.open takes them.

    Raises:
        OSError: as os.open, and where something else than a regular file lies there.
        ValueError: no file can have that name.
    """
    handle = os.open(path, flags | _FLAGS, 0o644)
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        found = "a folder" if stat.S_ISDIR(kind) else "a pipe or a device"
        raise OSError(errno.EINVAL, f"expected a regular file, found {found}")
    return handle


def open_regular(path: Path | str, what: str, *, error: type[InputError] = InputError) -> BinaryIO:
    """Open a regular file for reading bytes.

    Args:
        path: of the file.
        what: how a message calls it, such as "bars".
        error: raised where it cannot be opened or is something else than a file.
    """
    try:
        handle = open_descriptor(path, os.O_RDONLY)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{what} {path}: cannot be read: {reason}") from None
    return os.fdopen(handle, "rb")


def read_bounded(
    path: Path | str, what: str, limit: int, *, error: type[InputError] = InputError
) -> bytes:
    """All bytes of a regular file of at most `limit` bytes.

    Raises:
        InputError: it cannot be read, is no regular file, or is longer.
    """
    with open_regular(path, what, error=error) as file:
        try:
            data = file.read(limit + 1)
        except OSError as problem:
            raise error(f"{what} {path}: cannot be read: {problem.strerror}") from None
    if len(data) > limit:
        raise error(f"{what} {path}: longer than {limit} bytes")
    return data
