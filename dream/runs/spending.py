"""Money spent: a line before each attempt at a paid call and one after it, in spend.jsonl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from dream.errors import JournalCorrupt
from dream.runs.lines import RESTORE, LineReader, encode, load_json, parse_as, with_crc
from dream.runs.records import Count, Record
from dream.runs.stores import DISK, AppendFile, Disk, open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

SPEND: Final = "spend.jsonl"

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
    """Adds up attempts; one without an end, or without a known price, counts at its ceiling.

    Attributes:
        attempts: how many began. unsure, unsure_usd: those that ended without a known cost, or of
            which no end is known once another one began in their place, and the most they cost.
    """

    def __init__(self) -> None:
        self._settled_usd = 0.0
        self._begun: dict[Attempt, float] = {}
        self.attempts = 0
        self.unsure = 0
        self.unsure_usd = 0.0

    def begin(self, line: AttemptBegun) -> None:
        """Counts an attempt at its ceiling, beside a lost one of the same name."""
        key = (line.seq, line.turn, line.attempt)
        if key in self._begun:
            self._lose(self._begun.pop(key))
        self._begun[key] = line.ceiling_usd
        self.attempts += 1

    def end(self, line: AttemptEnded) -> bool:
        """Counts it at its cost instead; False when it had not begun."""
        ceiling_usd = self._begun.pop((line.seq, line.turn, line.attempt), None)
        if ceiling_usd is None:
            return False
        if line.cost_usd is None:
            self._lose(ceiling_usd)
        else:
            self._settled_usd += line.cost_usd
        return True

    def _lose(self, ceiling_usd: float) -> None:
        self._settled_usd += ceiling_usd
        self.unsure += 1
        self.unsure_usd += ceiling_usd

    @property
    def open(self) -> int:
        """Attempts in flight, or interrupted in it."""
        return len(self._begun)

    @property
    def open_usd(self) -> float:
        """The most that they can cost."""
        return sum(self._begun.values())

    def total(self) -> float:
        """US dollars."""
        return self._settled_usd + self.open_usd


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


def spending(folder: Path) -> Spending:
    """The attempts of a run so far; reads only, and nothing is counted without paid calls.

    Raises:
        JournalCorrupt: a line of spend.jsonl that is not the last is damaged.
    """
    path = folder / SPEND
    return _read_spend(path)[0] if path.exists() else Spending()


def spent_usd(folder: Path) -> float:
    """What a run has spent so far in US dollars; reads only, 0 for a run without paid calls.

    Raises:
        JournalCorrupt: a line of spend.jsonl that is not the last is damaged.
    """
    return spending(folder).total()


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
