"""What a run leaves on the disk: append-only files of whole lines, one writer's lock, money spent.

A line counts as written when it is synced. When a write or a sync fails, what was never synced is
cut off again and the file takes no more; where even that fails, or the process is killed, the next
opening finds a torn tail and sets it aside. So a file is good after every failure.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from dream.errors import InputError, JournalBusy, JournalCorrupt, JournalUnwritable
from dream.runs.lines import (
    LINE_MAX,
    RESTORE,
    LineReader,
    encode,
    load_json,
    parse_as,
    with_crc,
)
from dream.runs.records import Count, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock_now(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_now(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


JOURNAL: Final = "journal.jsonl"
SPEND: Final = "spend.jsonl"
LOCK: Final = "journal.lock"

BATCH_LINES: Final = 1000
BATCH_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Disk:
    """The three calls that change a file; a test makes the n-th of them fail."""

    write: Callable[[int, bytes], int] = os.write
    sync: Callable[[int], None] = os.fsync
    cut: Callable[[int, int], None] = os.ftruncate


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


def open_for_reading(path: Path) -> BinaryIO:
    """An existing file.

    Raises:
        InputError: it is not there or not readable.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror or error}; expected the folder of a run"
        ) from error


def lock_folder(folder: Path) -> int:
    """Makes this process the one writer of a run; closing the returned descriptor ends it.

    The system ends it as well when the process dies, however it dies.

    Raises:
        JournalBusy: another writer has it.
        JournalUnwritable: the folder cannot be made or locked.
    """
    path = folder / LOCK
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock_now(fd)
        except OSError as error:
            os.close(fd)
            if error.errno not in {errno.EACCES, errno.EAGAIN}:
                raise
            raise JournalBusy(
                f"{folder}: another process is writing this run; wait for it, stop it, or start "
                "another run with --fresh"
            ) from error
    return fd


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
    """A file of whole lines that only grows. Hold the folder's lock while it is open."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk
        self._pending = bytearray()
        self._pending_lines = 0
        self._failed = False
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with writing(path):
            self._fd = os.open(path, flags, 0o644)
            self._size = os.fstat(self._fd).st_size
            try:
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
        """
        if not self._pending:
            return
        try:
            with writing(self.path):
                self._write(bytes(self._pending))
                self._disk.sync(self._fd)
        except BaseException:
            # An interrupt too: nobody knows how much of the batch was written.
            self.give_up()
            raise
        self._size += len(self._pending)
        self._pending.clear()
        self._pending_lines = 0

    def give_up(self) -> None:
        """Takes no more lines, and cuts off what was never synced if that can be done."""
        self._failed = True
        with suppress(OSError):
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
            with self.path.open("rb") as file:
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
        """Writes what is pending, then closes.

        Raises:
            JournalUnwritable: as `sync`; the file is closed all the same.
        """
        try:
            if not self._failed:
                self.sync()
        finally:
            os.close(self._fd)


Attempt = tuple[int, int, int]
Usd = Annotated[float, Field(ge=0.0)]


class AttemptBegun(Record):
    """The line before a paid call: which one, and what it can cost at most."""

    seq: Count
    turn: Count
    attempt: Count
    ceiling_usd: Usd


class AttemptEnded(Record):
    """The line after a paid call: what it cost, null where the price is not known."""

    seq: Count
    turn: Count
    attempt: Count
    cost_usd: Usd | None


class Spending:
    """Adds up attempts; one without an end, or without a known price, counts at its ceiling."""

    def __init__(self) -> None:
        self._settled_usd = 0.0
        self._begun: dict[Attempt, float] = {}

    def begin(self, line: AttemptBegun) -> None:
        """Counts an attempt at its ceiling, beside a lost one of the same name."""
        key = (line.seq, line.turn, line.attempt)
        self._settled_usd += self._begun.pop(key, 0.0)
        self._begun[key] = line.ceiling_usd

    def end(self, line: AttemptEnded) -> bool:
        """Counts it at its cost instead; False when it had not begun."""
        ceiling_usd = self._begun.pop((line.seq, line.turn, line.attempt), None)
        if ceiling_usd is None:
            return False
        self._settled_usd += ceiling_usd if line.cost_usd is None else line.cost_usd
        return True

    def total(self) -> float:
        """US dollars."""
        return self._settled_usd + sum(self._begun.values())


def _read_spend(path: Path) -> tuple[Spending, LineReader]:
    spending = Spending()
    with open_for_reading(path) as file:
        reader = LineReader(file, path)
        for line in reader:
            data = load_json(line.head + b"}", line.place)
            if "ceiling_usd" in data:
                spending.begin(parse_as(AttemptBegun, data, line.place))
            elif not spending.end(parse_as(AttemptEnded, data, line.place)):
                raise JournalCorrupt(
                    f"{line.place}: the end of an attempt that never began; {RESTORE}"
                )
    return spending, reader


def spent_usd(folder: Path) -> float:
    """What a run has spent so far in US dollars; reads only, 0 for a run without paid calls.

    Raises:
        JournalCorrupt: a line of spend.jsonl that is not the last is damaged.
    """
    path = folder / SPEND
    return _read_spend(path)[0].total() if path.exists() else 0.0


class Spend:
    """The attempts at paid calls of one run. Open it only while its journal is open for writing."""

    def __init__(self, file: AppendFile, spending: Spending) -> None:
        self._file = file
        self._spending = spending

    @classmethod
    def open(cls, folder: Path, *, disk: Disk = DISK) -> Spend:
        """Reads what was spent and goes on; a torn last line is set aside in spend.torn.

        Raises:
            JournalCorrupt: a line that is not the last is damaged.
            JournalUnwritable: the file cannot be written.
        """
        path = folder / SPEND
        file = AppendFile(path, disk)
        try:
            spending, reader = _read_spend(path)
            if reader.torn_bytes:
                file.set_aside(reader.end)
        except BaseException:
            file.close()
            raise
        return cls(file, spending)

    def before(self, seq: int, turn: int, attempt: int, ceiling_usd: float) -> None:
        """Writes down that an attempt begins and what it can cost at most; on the disk on return.

        Raises:
            JournalUnwritable: then the attempt must not be made.
        """
        line = AttemptBegun(seq=seq, turn=turn, attempt=attempt, ceiling_usd=ceiling_usd)
        self._write(line)
        self._spending.begin(line)

    def after(self, seq: int, turn: int, attempt: int, cost_usd: float | None) -> None:
        """Writes down what it cost, None where that is not known: it then stays at its ceiling.

        Raises:
            JournalUnwritable: it stays at its ceiling.
        """
        line = AttemptEnded(seq=seq, turn=turn, attempt=attempt, cost_usd=cost_usd)
        self._write(line)
        began = self._spending.end(line)
        assert began, f"attempt {line} was never begun"

    def _write(self, line: Record) -> None:
        self._file.append(with_crc(encode(line)[:-1]))
        self._file.sync()

    def total(self) -> float:
        """US dollars so far, with an unfinished attempt at its ceiling."""
        return self._spending.total()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file all or nothing: under another name first, then renamed.

    Raises:
        JournalUnwritable: the folder cannot be written or the disk is full.
    """
    temporary = path.with_name(path.name + ".part")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
