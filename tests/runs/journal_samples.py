"""A small run as records, worked out by hand, and disks that fail."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dream.runs.journal import Journal
from dream.runs.records import (
    ClosedRecord,
    DecisionRecord,
    OpenedRecord,
    OpenPosition,
    OrderRecord,
    RecalledItem,
    ReplyRecord,
    TokenUsage,
    TradeCosts,
    TradeFill,
    TradeRecord,
)
from dream.runs.stores import Disk

TORN_TEXT = '\ud83d lone, \u2028 line, \x00 nul,\nnew\r\n,"meta":{"a":1},"crc":"00000000"}\\'
USAGE = TokenUsage(
    input_tokens=900,
    cache_read_tokens=100,
    cache_write_tokens=None,
    output_tokens=40,
    thinking_tokens=0,
)


def opened(**spec):
    return OpenedRecord(
        run_id="rules-none-0123456789ab",
        spec={"bars": "gold.parquet", "terms": {"equity": 10_000.0}, **spec},
        hashes={"bars": "ab12", "prompt": "cd34"},
        system=None,
        strategies=("VolBreakout", "PullbackEntry"),
    )


def reply(seq, *, turn=0, raw='{"action":"BUY"}'):
    return ReplyRecord(
        seq=seq,
        purpose="repair" if turn else "decision",
        turn=turn,
        request=f"{seq:062x}{turn:02x}",
        user=f"prompt {seq}",
        raw=raw,
        stop_reason="end_turn",
        model="model-1",
        usage=USAGE,
        cost_usd=0.0125,
        error=None,
    )


def decision(seq, /, **changed):
    values = {
        "seq": seq,
        "bar": 100 + seq,
        "time": f"2024-01-02T{10 + seq // 4:02d}:{15 * (seq % 4):02d}:00Z",
        "obs": f"{seq:016x}",
        "live": (),
        "pool": None,
        "recalled": (),
        "action": "HOLD",
        "strategy": None,
        "confidence": None,
        "stop": None,
        "target": None,
        "reasoning": "",
        "status": "ok",
        "error": None,
        "equity": 10_000.0,
        "position": None,
    }
    return DecisionRecord(**(values | changed))


POSITION = OpenPosition(
    strategy="VolBreakout",
    side=1,
    entry=2050.3,
    lots=0.05,
    stop=2045.0,
    target=2061.0,
    unrealised=-1.5,
)
ITEM = RecalledItem(id="e1", score=0.75, mark="injected", parts={"atr": 0.5, "session": 1.0})
ORDER = OrderRecord(
    seq=0,
    action="BUY",
    strategy="VolBreakout",
    bar=101,
    time="2024-01-02T10:00:00Z",
    reason=None,
    price=2050.3,
    lots=0.05,
    stop=2045.0,
    target=2061.0,
    needs_equity=None,
)
REFUSED = OrderRecord(
    seq=2,
    action="BUY",
    strategy=None,
    bar=102,
    time="2024-01-02T10:30:00Z",
    reason="unknown_strategy",
    price=None,
    lots=None,
    stop=None,
    target=None,
    needs_equity=None,
)
TRADE = TradeRecord(
    id="0123456789abcdef",
    seq=0,
    strategy="VolBreakout",
    side=1,
    entry=TradeFill(bar=101, time="2024-01-02T10:00:00Z", price=2050.3, lots=0.05, why="open"),
    exit=TradeFill(bar=102, time="2024-01-02T10:30:00Z", price=2045.0, lots=0.05, why="stop"),
    stop=2045.0,
    target=2061.0,
    pnl=-26.5,
    r=-1.0,
    mae=5.3,
    mfe=0.25,
    ambiguous=True,
    costs=TradeCosts(spread=1.5, slippage=0.0, commission=0.0, swap=-0.125),
    pnl_stop_first=-26.5,
    pnl_target_first=53.5,
    known="2024-01-02T10:30:00Z",
)
DIGEST_KINDS = ("decision", "order", "trade")


def small_run(*, asked=True):
    """Every kind of line, all but `closed`: one losing trade, one refusal, one repair."""
    texts = [reply(0), reply(1, raw=TORN_TEXT), reply(1, turn=1), reply(2)] if asked else []
    first, second, repair, third = [[r] for r in texts] or [[], [], [], []]
    return [
        opened(),
        *first,
        decision(0, action="BUY", strategy="VolBreakout", live=("VolBreakout",), confidence=0.7),
        ORDER,
        *second,
        *repair,
        decision(1, equity=9_998.5, position=POSITION, pool=1, recalled=(ITEM,)),
        TRADE,
        *third,
        decision(2, action="BUY", reasoning=TORN_TEXT, equity=9_973.5),
        REFUSED,
    ]


def long_run(questions=80):
    """Paid questions, one after the other."""
    yield opened()
    for seq in range(questions):
        yield reply(seq, raw=TORN_TEXT * (seq % 5))
        yield decision(seq, time="2024-01-02T10:00:00Z", reasoning=TORN_TEXT)


def put(journal, records, meta=None):
    """Gives records to a journal as the driver does: recorded replies are taken, new ones added."""
    for record in records:
        if isinstance(record, ReplyRecord):
            known = journal.recorded_reply(record.seq, record.purpose, record.turn, record.request)
            if known is None:
                journal.add_reply(record, meta=meta, paid=True)
            else:
                assert known == record
        else:
            journal.emit(record, meta=meta)


def closing(journal, **changed):
    """The closed line of `small_run`."""
    values = {
        "ended": "decisions",
        "decisions": 3,
        "counts": journal.counts,
        "final_equity": 9_973.5,
        "recall_calls": 1,
        "digest": journal.digest,
    }
    return ClosedRecord(**(values | changed))


def write_run(folder, records=None, *, closed=True, meta=None):
    """A whole run on the disk; returns the bytes of its journal."""
    with Journal.open(folder, disk=QUICK) as journal:
        put(journal, small_run() if records is None else records, meta)
        if closed:
            journal.emit(closing(journal))
    return (folder / "journal.jsonl").read_bytes()


def not_synced(_fd):
    """Leaves syncing to the system: for tests that open thousands of files."""


QUICK = Disk(sync=not_synced)


@dataclass
class Failing:
    """Real calls until the n-th of one name, which fails; a dead disk fails from then on."""

    name: str
    n: int
    dead: bool = False
    calls: int = 0
    failed: bool = False

    def _pass(self, name):
        if self.failed and self.dead:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if name != self.name:
            return True
        self.calls += 1
        if self.calls == self.n:
            self.failed = True
            return False
        return True

    def write(self, fd, data):
        if self._pass("write"):
            return os.write(fd, data)
        # A disk that fills up takes a part first, as `write` may.
        os.write(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self, _fd):
        if not self._pass("sync"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def cut(self, fd, size):
        if not self._pass("cut"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.ftruncate(fd, size)

    @property
    def disk(self):
        return Disk(self.write, self.sync, self.cut)


ROOT = Path(__file__).resolve().parents[2]


def start_python(code, *arguments, **options):
    """Another process of this Python that can import dream and tests."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def run_python(code, *arguments):
    """What it said when it was done; a failure fails the test."""
    with start_python(code, *arguments, stderr=subprocess.PIPE) as process:
        out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return subprocess.CompletedProcess(process.args, 0, out, said)
