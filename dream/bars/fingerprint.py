"""The hash of a file, worked out in a thread while the file is read."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Final

from dream.errors import BarsInvalid
from dream.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

BLOCK_BYTES: Final = 1 << 20


@contextmanager
def hashing(path: Path) -> Generator[Callable[[], str]]:
    """Begins to hash a file; what is handed out waits for the SHA-256, in hexadecimal digits.

    The hash is that of the bytes that were read inside the block before: a file that is not what
    it was at the begin of the block is refused.

    Raises:
        BarsInvalid: it cannot be read, or it changed; raised by what is handed out.
    """
    with open_regular(path, "bars", error=BarsInvalid) as file, ThreadPoolExecutor(1) as pool:
        begin, leave = os.fstat(file.fileno()), Event()

        def digest() -> str:
            made = hashlib.sha256()
            while not leave.is_set() and (block := file.read(BLOCK_BYTES)):
                made.update(block)
            return made.hexdigest()

        digested = pool.submit(digest)

        def result() -> str:
            try:
                sha256, end = digested.result(), path.stat()
            except OSError as e:
                raise BarsInvalid(f"cannot read {path}: {e.strerror}; give its path again") from e
            same = os.path.samestat(begin, end) and begin.st_size == end.st_size
            if not same or begin.st_mtime_ns != end.st_mtime_ns:
                raise BarsInvalid(
                    f"{path} changed while it was read; import it when nothing writes to it"
                )
            return sha256

        try:
            yield result
        finally:
            leave.set()
