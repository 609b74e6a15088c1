"""What a run leaves on the disk: append-only files of whole lines, and one writer's lock.

A line counts as written when it is synced and the file still lies where its reader will look for
it. When a write or a sync fails, what was never synced is cut off again and the file takes no more;
where even that fails, or the process is killed, the next opening finds a torn tail and sets it
aside. So a file is good after every failure. One that somebody else changed is left as it is.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from dream.errors import InputError, JournalBusy, JournalUnwritable
from dream.files import open_descriptor
from dream.runs.lines import LINE_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from io import BufferedReader
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock_now(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_now(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


JOURNAL: Final = "journal.jsonl"
LOCK: Final = "journal.lock"

BATCH_LINES: Final = 1000
BATCH_BYTES: Final = 1024 * 1024

_NO_LOCKS: Final = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@dataclass(frozen=True, slots=True)
class Disk:
    """The calls that change a file or take its lock; a test makes the n-th of them fail."""

    write: Callable[[int, bytes], int] = os.write
    sync: Callable[[int], None] = os.fsync
    cut: Callable[[int, int], None] = os.ftruncate
    lock: Callable[[int], None] = _lock_now


DISK: Final = Disk()


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Turns the system's refusal into the error that says what to do."""
    try:
        yield
    except OSError as error:
        raise JournalUnwritable(
            f"{path}: cannot be written: {error.strerror or error}; what was recorded so far is "
            "whole: mend the disk (space, rights, quota) and run the same command again to go on"
        ) from error


def open_for_reading(path: Path) -> BufferedReader:
    """An existing file.

    Raises:
        InputError: it is not there or not readable.
    """
    try:
        return os.fdopen(open_descriptor(path, os.O_RDONLY), "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{path}: cannot be read: {reason}; expected the folder of a run"
        ) from error


def _lock(fd: int, folder: Path, disk: Disk) -> None:
    try:
        disk.lock(fd)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EAGAIN}:
            raise JournalBusy(
                f"{folder}: another process is writing this run; wait for it, stop it, or start "
                "another run with --fresh"
            ) from error
        if error.errno in _NO_LOCKS:
            raise JournalUnwritable(
                f"{folder}: its file system takes no locks ({error.strerror}), so two processes "
                "could write one run; keep runs on another one with --runs"
            ) from error
        raise


def lock_folder(folder: Path, disk: Disk) -> int:
    """Makes this process the one writer of a run; closing the returned descriptor ends it.

    The system ends it as well when the process dies, however it dies.

    Raises:
        InputError: a file is there.
        JournalBusy: another writer has it.
        JournalUnwritable: the folder cannot be made or locked.
    """
    path = folder / LOCK
    if folder.is_file():
        raise InputError(f"{folder} is a file; expected the folder of a run, or nothing there yet")
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        fd = open_descriptor(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock(fd, folder, disk)
        except BaseException:
            os.close(fd)
            raise
    return fd


def make_folder(folder: Path) -> bool:
    """Makes a folder that was not there; False where there is one, or another made it first.

    Raises:
        JournalUnwritable: it cannot be made.
    """
    with writing(folder):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            return False
    return True


def drop_empty(folder: Path) -> None:
    """Removes a folder in which nothing was begun."""
    with suppress(OSError):
        folder.rmdir()


def sync_folder(folder: Path, disk: Disk) -> None:
    """Makes a new file's name as durable as its bytes; Windows does so by itself."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        disk.sync(fd)
    finally:
        os.close(fd)


class AppendFile:
    """A file of whole lines that only grows. Hold the folder's lock while it is open.

    It has a lock of its own as well, since the folder's lock file can be deleted under a run.
    """

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._name = os.fspath(path)  # asked for twice a line
        self._disk = disk
        self._pending = bytearray()
        self._pending_lines = 0
        self._failed = False
        with writing(path):
            self._fd = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                if os.name != "nt":  # there a lock keeps readers out
                    _lock(self._fd, path.parent, disk)
                mine = os.fstat(self._fd)
                self._size, self._is = mine.st_size, (mine.st_dev, mine.st_ino)
                if not self._size:
                    sync_folder(path.parent, disk)
                    sync_folder(path.parent.parent, disk)
            except BaseException:
                os.close(self._fd)
                raise

    def append(self, line: bytes) -> None:
        """Adds a whole line, in memory until the batch is full or `sync` is called.

        Raises:
            JournalUnwritable: the batch could not be written, or an earlier one could not.
        """
        if self._failed:
            raise JournalUnwritable(
                f"{self.path}: not written, because an earlier write failed; run the same command "
                "again to go on from what was recorded"
            )
        if len(line) > LINE_MAX:
            raise JournalUnwritable(
                f"{self.path}: a line of {len(line):,} bytes; at most {LINE_MAX:,} are kept; make "
                "the prompt or the reply shorter"
            )
        self._pending += line
        self._pending_lines += 1
        if self._pending_lines >= BATCH_LINES or len(self._pending) >= BATCH_BYTES:
            self.sync()

    def sync(self) -> None:
        """Returns when every line is on the disk.

        Raises:
            JournalUnwritable: it could not be done; the file is as it was after the last success.
                Or somebody else deleted, replaced or changed it, and it is left as it is.
        """
        if not self._pending:
            return
        size = self._size + len(self._pending)
        try:
            self._check_ours(self._size)
            with writing(self.path):
                self._write(bytes(self._pending))
                self._disk.sync(self._fd)
            self._check_ours(size)
        except BaseException:
            # An interrupt too: nobody knows how much of the batch was written.
            self.give_up()
            raise
        self._size = size
        self._pending.clear()
        self._pending_lines = 0

    def _check_ours(self, size: int) -> None:
        """Holds the file to its path and length: else lines go where nobody will read them."""
        try:
            there = os.stat(self._name)  # noqa: PTH116 - a path makes it slower
        except OSError as error:
            found = f"it is not there any more ({error.strerror})"
        else:
            if (there.st_dev, there.st_ino) != self._is:
                found = "another file is in its place"
            elif there.st_size != size:
                found = f"it has {there.st_size:,} bytes, not the {size:,} that were written"
            else:
                return
        self._failed = True  # and nothing is cut off: it may be somebody else's
        raise JournalUnwritable(
            f"{self.path}: changed by somebody else while the run was going on: {found}; stop "
            "whatever does so, put the file back if there is a copy, and run the same command "
            "again to go on from what is there"
        )

    def give_up(self) -> None:
        """Takes no more lines, and cuts off what was never synced if that can be done."""
        if self._failed:
            return
        self._failed = True
        with suppress(OSError):
            # A cut never makes a file longer, which one that was emptied meanwhile would become.
            if os.fstat(self._fd).st_size > self._size:
                self._disk.cut(self._fd, self._size)

    def _write(self, rest: bytes) -> None:
        while rest:
            written = self._disk.write(self._fd, rest)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[written:]

    def set_aside(self, start: int) -> None:
        """Moves the bytes from start on to the end of the `.torn` file beside this one."""
        with writing(self.path):
            with open_for_reading(self.path) as file:
                file.seek(start)
                torn = AppendFile(self.path.with_suffix(".torn"), self._disk)
                try:
                    torn.append(file.read())
                finally:
                    torn.close()
            # Only now: a crash in between keeps the bytes twice, never not at all.
            self._disk.cut(self._fd, start)
            self._disk.sync(self._fd)
            self._size = start

    def close(self) -> None:
        """Writes what is pending, looks a last time whether the file is ours, then closes.

        Raises:
            JournalUnwritable: as `sync`; the file is closed all the same.
        """
        try:
            if not self._failed:
                self.sync()
                self._check_ours(self._size)
        finally:
            os.close(self._fd)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file all or nothing: under a name of its own first, then renamed.

    Raises:
        JournalUnwritable: the folder cannot be written or the disk is full.
    """
    temporary = path.with_name(f"{path.name}.{token_hex(4)}.part")
    try:
        with writing(path):
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
