"""The journal of a run: recorded lines are compared with what is derived again, then it goes on.

Resume is replay that runs out of record. While recorded lines remain, `emit` compares and
`recorded_reply` hands out; past them `emit` and `add_reply` append. A journal that was opened with
`read` has no such past: it raises EndOfRecord there, and never writes.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Self, cast

from dream.errors import Diverged, JournalCorrupt, JournalError
from dream.runs.lines import (
    NO_CHAIN,
    RESTORE,
    LineReader,
    Sealed,
    chained,
    encode,
    load,
    parse,
    seal,
)
from dream.runs.records import KINDS, Kind, OpenedRecord, ReplyRecord
from dream.runs.stores import (
    DISK,
    JOURNAL,
    AppendFile,
    Disk,
    lock_folder,
    open_for_reading,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dream.runs.records import AnyRecord

Sync = Literal["each", "batch"]

EXCERPT: Final = 100
"""Characters of a value in a message."""

NOTHING: Final = ()
"""Stands for an absent value; JSON has no tuples."""


class EndOfRecord(Exception):  # noqa: N818 - a signal, not an error
    """The record of an unfinished run ends here; only a read-only journal raises it."""


class Tally:
    """What is true of all lines so far: how many of each kind, the chain, the digest."""

    def __init__(self) -> None:
        self._lines: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self._digest = blake2b(digest_size=16)
        self.chain = NO_CHAIN

    def add(self, kind: Kind, body: bytes, chain: str) -> None:
        """Takes the next line."""
        self._lines[kind] += 1
        self.chain = chain
        if kind in {"decision", "order", "trade"}:
            self._digest.update(body)

    @property
    def digest(self) -> str:
        """Hash over the bodies of the decision, order and trade lines, 32 hex digits."""
        return self._digest.hexdigest()

    @property
    def counts(self) -> dict[str, int]:
        """Lines by kind, those that occurred, in the order of KINDS."""
        return {kind: n for kind, n in self._lines.items() if n}


@dataclass(frozen=True, slots=True)
class Extent:
    """What a first pass over a journal found."""

    lines: int
    decisions: int
    end: int
    torn_bytes: int
    opened: OpenedRecord | None
    opened_meta: dict[str, Any]
    is_closed: bool


def _survey(file: BinaryIO, path: Path) -> Extent:
    """Checks every line: crc, chain, JSON, kind, `opened` first and only there, `closed` last."""
    lines, decisions, opened, opened_meta, is_closed = 0, 0, None, cast("dict[str, Any]", {}), False
    reader = LineReader(file, path)
    for sealed in chained(reader):
        data = load(sealed.whole, sealed.place)
        kind = data["kind"]
        if is_closed:
            raise JournalCorrupt(f"{sealed.place}: a line after the closed line; {RESTORE}")
        if (kind == "opened") != (lines == 0):
            raise JournalCorrupt(
                f"{sealed.place}: expected one opened line, the first, found {kind}; {RESTORE}"
            )
        if kind == "opened":
            opened = cast("OpenedRecord", parse(sealed.body, sealed.place))
            opened_meta = data.get("meta") or {}
        is_closed = kind == "closed"
        decisions += kind == "decision"
        lines += 1
    return Extent(lines, decisions, reader.end, reader.torn_bytes, opened, opened_meta, is_closed)


def read_records(folder: Path) -> Iterator[AnyRecord]:
    """The validated records of a run in order, one at a time, whether it is finished or not.

    A torn tail, which the next resume sets aside, is not among them.

    Raises:
        InputError: there is no journal.
        JournalCorrupt, SchemaUnknown: with the place.
    """
    path = folder / JOURNAL
    with open_for_reading(path) as file:
        for sealed in chained(LineReader(file, path)):
            yield parse(sealed.body, sealed.place)


class Journal:
    """One run's journal; use it as a context manager.

    Attributes:
        opened: the recorded first line, None for a new journal. opened_meta: its wall-clock facts.
        recorded: decision lines that were there when it was opened.
        torn_bytes: length of the torn tail that was found (and set aside in journal.torn, unless
            the journal is read-only).
        is_closed: whether the journal has its closed line.
        reply_meta: wall-clock facts of the last reply that was handed back or added.
    """

    def __init__(
        self, record: Iterator[Sealed], extent: Extent, file: AppendFile | None, sync: Sync
    ) -> None:
        self._record = record
        self._left = extent.lines
        self._file = file
        self._sync = sync
        self._tally = Tally()
        self._held = ExitStack()
        self.recorded = extent.decisions
        self.opened = extent.opened
        self.opened_meta = extent.opened_meta
        self.torn_bytes = extent.torn_bytes
        self.is_closed = extent.is_closed
        self.reply_meta: dict[str, Any] = {}

    @classmethod
    def open(cls, folder: Path, *, sync: Sync = "batch", disk: Disk = DISK) -> Self:
        """The journal of a run, new or to be gone on with, as its only writer.

        Args:
            folder: the run's folder, made where it does not exist.
            sync: `each` to have every line on the disk before `emit` returns, `batch` for that only
                with paid replies and at the end.
            disk: the calls that change files.

        Raises:
            JournalBusy: another process writes it.
            JournalCorrupt: a line that is not the last is damaged, or a line was edited.
            JournalUnwritable: the folder or the file cannot be written.
            SchemaUnknown: written by a newer version.
        """
        path = folder / JOURNAL
        with ExitStack() as held:
            held.callback(os.close, lock_folder(folder, disk))
            file = AppendFile(path, disk)
            held.callback(file.close)
            return cls._over(path, held, file, sync)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The journal of a run to be replayed: no lock, no write, EndOfRecord where it ends.

        Raises:
            InputError: there is no journal.
            JournalCorrupt, SchemaUnknown: as `open`.
        """
        path = folder / JOURNAL
        with ExitStack() as held:
            return cls._over(path, held, None, "batch")

    @classmethod
    def _over(cls, path: Path, held: ExitStack, file: AppendFile | None, sync: Sync) -> Self:
        source = held.enter_context(open_for_reading(path))
        extent = _survey(source, path)
        if file is not None and extent.torn_bytes:
            file.set_aside(extent.end)
        # The same open file again, up to where it was surveyed: a writer may go on beside a replay.
        source.seek(0)
        journal = cls(chained(LineReader(source, path, extent.end)), extent, file, sync)
        journal._held = held.pop_all()
        return journal

    @property
    def live(self) -> bool:
        """Whether the record is exhausted: what comes now is new."""
        return not self._left

    @property
    def digest(self) -> str:
        """Hash over the decision, order and trade lines emitted so far, 32 hex digits."""
        return self._tally.digest

    @property
    def counts(self) -> dict[str, int]:
        """Lines emitted so far by kind, those that occurred, in a fixed order."""
        return self._tally.counts

    @property
    def chain(self) -> str:
        """Chain of the last line emitted so far, 32 hex digits."""
        return self._tally.chain

    def emit(self, record: AnyRecord, *, meta: dict[str, Any] | None = None) -> None:
        """Compares a derived line with the recorded one, or appends it past the record's end.

        Args:
            record: any kind but a reply.
            meta: wall-clock facts; written with a new line, never compared.

        Raises:
            Diverged: the recorded line is another one.
            JournalUnwritable: it could not be written.
            EndOfRecord: the journal is read-only and its record has ended.
        """
        assert not isinstance(record, ReplyRecord), "a reply is a fact: add_reply"
        body = encode(record)
        if self.live:
            self._append(record.kind, body, meta, now=self._sync == "each")
            return
        sealed = self._next()
        if sealed.body != body:
            recorded = load(sealed.body, sealed.place)
            raise _difference(sealed, recorded, load(body, "the derived line"))
        self._tally.add(record.kind, body, sealed.chain)

    def recorded_reply(self, seq: int, purpose: str, turn: int, request: str) -> ReplyRecord | None:
        """The recorded reply to a question, None past the record's end: then ask and add_reply.

        Raises:
            Diverged: the next recorded line is not the reply to this question.
            EndOfRecord: the journal is read-only and its record has ended.
        """
        if self.live:
            self._writable()
            return None
        sealed = self._next()
        asked = {"kind": "reply", "seq": seq, "purpose": purpose, "turn": turn, "request": request}
        data = load(sealed.body, sealed.place)
        recorded = {name: data.get(name) for name in asked}
        if recorded != asked:
            raise _difference(sealed, recorded, asked)
        record = cast("ReplyRecord", parse(sealed.body, sealed.place))
        self._tally.add("reply", sealed.body, sealed.chain)
        self.reply_meta = sealed.meta()
        return record

    def add_reply(
        self, record: ReplyRecord, *, meta: dict[str, Any] | None = None, paid: bool
    ) -> None:
        """Appends a reply; one that was paid for is on the disk when this returns.

        Raises:
            JournalUnwritable: it could not be written, and must not be acted on.
            EndOfRecord: the journal is read-only.
        """
        assert self.live, "a recorded reply comes from recorded_reply"
        self._append("reply", encode(record), meta, now=paid or self._sync == "each")
        self.reply_meta = meta or {}

    def close(self) -> None:
        """Writes what is pending and lets go of the files and the lock; twice is harmless.

        Raises:
            JournalUnwritable: what was pending could not be written.
        """
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Sealed:
        sealed = next(self._record, None)
        if sealed is None:
            raise JournalCorrupt(
                f"the journal became shorter while it was being read: {self._left} recorded lines "
                f"are missing; {RESTORE}"
            )
        self._left -= 1
        return sealed

    def _writable(self) -> AppendFile:
        if self.is_closed:
            raise JournalError(
                "the journal is closed: its run is finished and takes no more lines; "
                "start another run with --fresh"
            )
        if self._file is None:
            raise EndOfRecord
        return self._file

    def _append(self, kind: Kind, body: bytes, meta: dict[str, Any] | None, *, now: bool) -> None:
        file = self._writable()
        line, chain = seal(body, meta, self._tally.chain)
        try:
            file.append(line)
            if now:
                file.sync()
            self._tally.add(kind, body, chain)
        except BaseException:
            # An interrupt here may have left the line in the file but not in the chain.
            file.give_up()
            raise
        self.is_closed = kind == "closed"


def _difference(sealed: Sealed, recorded: dict[str, Any], derived: dict[str, Any]) -> Diverged:
    found = _first_difference(recorded, derived, "")
    field, old, new = found or ("order of the fields", recorded, derived)
    seq = derived.get("seq", derived.get("decisions", 0))
    return Diverged(
        seq,
        field,
        f"{sealed.place}: question {seq}, {derived['kind']} line, field {field}: recorded "
        f"{_excerpt(old, new)}, now {_excerpt(new, old)}; the bars, the settings, the decider or "
        "the code are not those of the recorded run: restore them, or start another with --fresh",
    )


def _first_difference(old: Any, new: Any, path: str) -> tuple[str, Any, Any] | None:
    """Path and values of the first difference of two JSON values, in the order of the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = dict.fromkeys((*new, *old))
        pairs = [
            (f"{path}.{key}" if path else key, old.get(key, NOTHING), new.get(key, NOTHING))
            for key in keys
        ]
    elif isinstance(old, list) and isinstance(new, list):
        pairs = [
            (f"{path}[{i}]", *both)
            for i, both in enumerate(zip_longest(old, new, fillvalue=NOTHING))
        ]
    else:
        # By repr, because 1 == 1.0 == True and 0.0 == -0.0, but their bytes differ.
        return None if repr(old) == repr(new) else (path, old, new)
    hits = (_first_difference(was, now, where) for where, was, now in pairs)
    return next((hit for hit in hits if hit), None)


def _excerpt(value: Any, other: Any) -> str:
    """A value for a message: the part of it where it begins to differ from the other one."""
    text = "nothing" if value is NOTHING else repr(value)
    pairs = enumerate(zip(text, repr(other), strict=False))
    start = max(0, next((i for i, (a, b) in pairs if a != b), 0) - EXCERPT // 4)
    part = text[start : start + EXCERPT]
    return f"{'...' * (start > 0)}{part}{'...' * (start + EXCERPT < len(text))}"
