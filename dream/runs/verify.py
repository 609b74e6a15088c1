"""Checks a journal by itself, without bars, network or lock: bytes, schema, order and money."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.errors import JournalCorrupt
from dream.runs.journal import Tally
from dream.runs.lines import RESTORE, LineReader, chained, load, parse
from dream.runs.records import (
    ClosedRecord,
    DecisionRecord,
    Kind,
    OpenedRecord,
    OrderRecord,
    ReplyRecord,
    TradeRecord,
    ns_utc,
)
from dream.runs.stores import JOURNAL, open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

    from dream.runs.records import AnyRecord


CENT: Final = 0.005
"""Money within it is the same money; of an account below 5,000, a millionth is the bound."""

DAY_NS: Final = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Verified:
    """What a sound journal holds.

    Attributes:
        lines: whole lines, at least the opened one. by_kind: the same by kind.
        decisions: how many questions were decided.
        torn_bytes: length of a torn tail, which the next resume sets aside.
        closed: whether the run is finished.
        digest: hash over the decision, order and trade lines, 32 hex digits.
        pnl: sum of the trades' money, in account currency: the change of equity once closed.
    """

    lines: int
    by_kind: dict[str, int]
    decisions: int
    torn_bytes: int
    closed: bool
    digest: str
    pnl: float


def verify(folder: Path) -> Verified:
    """Checks every line of a run and what the lines say of each other.

    Bytes: crc, chain, JSON. Schema: every field. Order: `opened` first, questions counted from 0
    without a gap, every reply with its decision, orders and trades after their question, nothing
    after `closed`. Money: the trades' sum is the change of equity, at every flat decision and at
    the end. `closed` agrees with the lines before it.

    Raises:
        InputError: there is no journal.
        JournalCorrupt, SchemaUnknown: with the line and its byte offset; or there is no line.
    """
    path = folder / JOURNAL
    books = _Books()
    with open_for_reading(path) as file:
        reader = LineReader(file, path)
        for sealed in chained(reader):
            load(sealed.whole, sealed.place)
            record = parse(sealed.body, sealed.place)
            wrong = books.wrong(record)
            if wrong:
                raise JournalCorrupt(f"{sealed.place}: {record.kind} line: {wrong}; {RESTORE}")
            books.tally.add(record.kind, sealed.body, sealed.chain)
    counts = books.tally.counts
    if not counts:
        found = f"{reader.torn_bytes} bytes and no whole line" if reader.torn_bytes else "nothing"
        raise JournalCorrupt(
            f"{path}: expected an opened line, found {found}: no run is recorded here; run its "
            f"command again to begin it, or {RESTORE}"
        )
    return Verified(
        lines=sum(counts.values()),
        by_kind=counts,
        decisions=counts.get("decision", 0),
        torn_bytes=reader.torn_bytes,
        closed="closed" in counts,
        digest=books.tally.digest,
        pnl=books.pnl,
    )


class _Books:
    """What the lines so far say; `wrong` takes the next one and says what contradicts them."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.pnl = 0.0
        self._start_equity = 0.0
        self._largest = 0.0
        self._additions = 1
        self._questions = 0
        self._turns = 0

    def wrong(self, record: AnyRecord) -> str | None:
        """What contradicts the lines before it, None when nothing does."""
        return self._order(record.kind) or self._content(record)

    def _order(self, kind: Kind) -> str | None:
        before = self.tally.counts
        if (kind == "opened") == bool(before):
            return "expected one opened line, the first"
        if "closed" in before:
            return "expected nothing after the closed line"
        return None

    def _content(self, record: AnyRecord) -> str | None:
        match record:
            case OpenedRecord():
                return self._opened(record)
            case ReplyRecord():
                return self._reply(record)
            case DecisionRecord():
                return self._decision(record)
            case OrderRecord():
                return self._known(record.seq)
            case TradeRecord():
                self._add(record)
                return self._known(record.seq)
            case ClosedRecord():
                return self._closed(record)

    def _opened(self, record: OpenedRecord) -> str | None:
        terms: Any = record.spec.get("terms", record.spec)
        equity: Any = terms.get("equity") if isinstance(terms, dict) else None
        if type(equity) not in {int, float}:
            return f"expected the starting money in spec.terms.equity, found {equity!r}"
        self._start_equity = self._largest = float(equity)
        return None

    def _add(self, trade: TradeRecord) -> None:
        """Counts a trade's money, and how the engine may have rounded the same.

        It added the fee of the entry, a swap at each change of day, the price move and the fee of
        the exit to its cash, one after the other, and put the same parts together for the trade.
        """
        parts = abs(trade.pnl) + 2 * (abs(trade.costs.commission) + abs(trade.costs.swap))
        self._largest = max(self._largest, abs(self._start_equity + self.pnl) + parts)
        self.pnl += trade.pnl
        days = (ns_utc(trade.exit.time) - ns_utc(trade.entry.time)) // DAY_NS + 1
        self._additions += 8 + 2 * max(days, 0)

    def _reply(self, record: ReplyRecord) -> str | None:
        expected = (self._questions, self._turns, "repair" if self._turns else "decision")
        found = (record.seq, record.turn, record.purpose)
        self._turns += 1
        return _unequal("question, turn and purpose", expected, found)

    def _decision(self, record: DecisionRecord) -> str | None:
        expected = self._questions
        self._questions += 1
        self._turns = 0
        flat = record.position is None
        return _unequal("question", expected, record.seq) or (
            self._money(record.equity) if flat else None
        )

    def _known(self, seq: int) -> str | None:
        if seq < self._questions:
            return None
        return f"expected a question before it, at most {self._questions - 1}, found {seq}"

    def _closed(self, record: ClosedRecord) -> str | None:
        if self._turns:
            return f"expected a decision after the reply to question {self._questions}"
        return (
            _unequal("decisions", self._questions, record.decisions)
            or _unequal("counts", self.tally.counts, record.counts)
            or _unequal("digest", self.tally.digest, record.digest)
            or self._money(record.final_equity)
        )

    def _money(self, equity: float) -> str | None:
        """Flat, so equity is the starting money and what the trades brought: to the cent.

        Each addition, there and here, is off by half an ulp of the largest sum so far at most. That
        is far below a cent until an account has some 1e10; above, a cent cannot be asked for.
        """
        expected = self._start_equity + self.pnl
        scale = max(abs(self._start_equity), abs(equity))
        rounding = self._additions * math.ulp(self._largest)
        if abs(equity - expected) <= min(CENT, 1e-6 * scale) + rounding:
            return None
        return f"expected equity {expected!r} (start and the trades' sum), found {equity!r}"


def _unequal(name: str, expected: object, found: object) -> str | None:
    return None if expected == found else f"expected {name} {expected!r}, found {found!r}"
