"""The bill as the server sees it: every request, what became of it, and what it cost.

Billed (`cost_usd`) is every answer that was handed over whole, a refusal, a cut-off answer
(max_tokens) and another model's included. An error status costs nothing. An answer that was made
and did not reach the client as such (a cut body, broken JSON, a silence that the client did not
wait out) stands in a second sum, `lost_usd`: a real server bills it, and the client cannot know.
Prices are those of the model asked. Headers, and with them keys, are never kept.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

from dream.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class Row:
    """One request.

    Attributes:
        n: in order of arrival, from 0. at_ns: wall clock of the arrival, UTC.
        run, decision, turn, attempt, sha256: as `tracker.Place`. model: asked.
        fault: that it met, None for none.
        again: it had been answered whole before, with an answer that a client keeps.
        status: HTTP status, None where none was sent. whole: a message was handed over to its last
            byte; None while the request is in flight.
        input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, thinking_tokens: counts,
            0 where nothing was made; thinking is part of the output.
        cost_usd: billed, None where the price is not known. lost_usd: made and not received.
    """

    n: int
    at_ns: int
    run: str
    decision: int
    turn: int
    attempt: int
    sha256: str
    model: str
    fault: str | None
    again: bool
    status: int | None = None
    whole: bool | None = None
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0
    cost_usd: float | None = 0.0
    lost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Bill:
    """What became of a request.

    Attributes:
        status: HTTP status, None where none was sent.
        usage: tokens, None where no answer was made. usd: what they cost, None where not known.
        whole: a message is handed over to its last byte. kept: and is one that a client keeps.
    """

    status: int | None = None
    usage: Usage | None = None
    usd: float | None = 0.0
    whole: bool = False
    kept: bool = False


class Ledger:
    """The rows, in order of arrival; for many threads."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._on_failure: Callable[[OSError], None] = lambda _error: None
        self._rows: list[Row] = []
        self._written = 0
        self._ended: set[int] = set()
        self._kept: set[tuple[str, str]] = set()
        self._lock = Lock()

    def write_to(self, file: BinaryIO, on_failure: Callable[[OSError], None]) -> None:
        """Have each row written as a line of JSON, once it and all before it have ended.

        Args:
            file: gets the totals as its last line.
            on_failure: told once, where it cannot be written any more; nothing more is tried.
        """
        self._file = file
        self._on_failure = on_failure

    def open(self, row: Row) -> None:
        """Add a request that has arrived; it gets its number."""
        with self._lock:
            row.n = len(self._rows)
            row.again = (row.run, row.sha256) in self._kept
            self._rows.append(row)

    def settle(self, row: Row, bill: Bill) -> None:
        """Fill in a row; once more where the connection broke after all."""
        usage = bill.usage or Usage(0, 0, 0, 0, 0)
        with self._lock:
            row.status, row.whole = bill.status, bill.whole
            row.input_tokens = usage.input_tokens or 0
            row.cache_read_tokens = usage.cache_read_tokens or 0
            row.cache_write_tokens = usage.cache_write_tokens or 0
            row.output_tokens = usage.output_tokens or 0
            row.thinking_tokens = usage.thinking_tokens or 0
            row.cost_usd = bill.usd if bill.whole else 0.0
            row.lost_usd = 0.0 if bill.whole else bill.usd
            if bill.kept:
                self._kept.add((row.run, row.sha256))

    def end(self, row: Row) -> None:
        """Nothing more will come of a request: its row may be written."""
        with self._lock:
            self._ended.add(row.n)
            while self._written in self._ended:
                self._ended.discard(self._written)
                self._write(asdict(self._rows[self._written]))
                self._written += 1

    def close(self) -> None:
        """Write what is still in flight, and the totals."""
        with self._lock:
            for row in self._rows[self._written :]:
                self._write(asdict(row))
            self._written = len(self._rows)
            self._write({"totals": _totals(self._rows)})

    def rows(self) -> list[dict[str, Any]]:
        """All rows so far."""
        with self._lock:
            return [asdict(row) for row in self._rows]

    def totals(self) -> dict[str, Any]:
        """Sums over all rows so far: see `docs/fake.md`."""
        with self._lock:
            return _totals(self._rows)

    def _write(self, record: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            _put(self._file, json.dumps(record, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            self._file = None
            self._on_failure(error)


def _put(file: BinaryIO, line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    file.flush()


def _totals(rows: list[Row]) -> dict[str, Any]:
    faults: dict[str, int] = {}
    for row in rows:
        if row.fault is not None:
            faults[row.fault] = faults.get(row.fault, 0) + 1
    return {
        "requests": len(rows),
        "runs": len({row.run for row in rows}),
        "decisions": len({(row.run, row.decision) for row in rows}),
        "in_flight": sum(row.whole is None for row in rows),
        "answered_whole": sum(bool(row.whole) for row in rows),
        "asked_again": sum(row.again for row in rows),
        "faults": dict(sorted(faults.items())),
        "input_tokens": sum(row.input_tokens for row in rows),
        "cache_read_tokens": sum(row.cache_read_tokens for row in rows),
        "cache_write_tokens": sum(row.cache_write_tokens for row in rows),
        "output_tokens": sum(row.output_tokens for row in rows),
        "thinking_tokens": sum(row.thinking_tokens for row in rows),
        "cost_usd": sum(row.cost_usd or 0.0 for row in rows),
        "lost_usd": sum(row.lost_usd or 0.0 for row in rows),
        "unpriced": sum(row.cost_usd is None or row.lost_usd is None for row in rows),
    }
