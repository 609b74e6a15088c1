"""The one loop with input and output: advance, recall, ask, write down, submit."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from dream.engine.session import Asked, OrderFilled, OrderRefused, Session, TradeClosed
from dream.errors import Diverged, RecallUnused
from dream.memory import recall as recalling
from dream.memory.features import features_of
from dream.runs import deciding, records
from dream.runs.episodes import Identity, episode
from dream.runs.observing import observation
from dream.runs.tokens import Tokens
from dream.types import (
    Decision,
    Features,
    Question,
    Recalled,
    RecallQuery,
    Reply,
    RunTable,
    Shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dream.memory.episodes import Memory
    from dream.runs.reuse import PaidAnswers
    from dream.types import (
        AskingDecider,
        Decider,
        Order,
        RecallFn,
        Snapshot,
        Trade,
    )


class Record(Protocol):
    """What the loop needs of a journal; it is checked against or appended to."""

    @property
    def digest(self) -> str:
        """Hash of the decision, order and trade lines so far."""
        ...

    @property
    def counts(self) -> Mapping[Any, int]:
        """Lines so far, by kind."""
        ...

    def emit(self, record: Any, *, meta: dict[str, Any] | None = None) -> None:
        """Check a derived line against the record, or append it."""
        ...

    @property
    def reply_meta(self) -> Mapping[str, Any]:
        """Wall-clock facts of the last reply, recorded or added."""
        ...

    def recorded_reply(
        self, seq: int, purpose: str, turn: int, request: str
    ) -> records.ReplyRecord | None:
        """The recorded reply to this question, None past the record's end."""
        ...

    def add_reply(
        self, record: records.ReplyRecord, *, meta: dict[str, Any] | None, paid: bool
    ) -> None:
        """Append a reply; a paid one is on disk when this returns."""
        ...


@dataclass(slots=True)
class Tally:
    """What was counted on the way."""

    statuses: Counter[str] = field(default_factory=Counter[str])
    actions: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    needs_equity: float | None = None
    trades: list[Trade] = field(default_factory=list["Trade"])
    decisions: int = 0
    recall_calls: int = 0
    recalled: int = 0
    injected: int = 0
    replies: int = 0
    cost_usd: float | None = 0.0
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True, slots=True)
class Watch:
    """The edge's eyes: told of every decision, asked whether to stop, and the clock for `meta`."""

    on_decision: Callable[[Tally, Snapshot], None] = lambda _tally, _ask: None
    stop: Callable[[], bool] = lambda: False
    now_iso: Callable[[], str | None] = lambda: None


class Stopped(Exception):  # noqa: N818 - not an error: the user asked for it
    """The watch asked to stop; the journal is whole and the run can be resumed."""


@dataclass(frozen=True, slots=True)
class Queries:
    """How memory is asked: the function (None for no memory), its name, k and the seed."""

    recall: RecallFn | None
    name: str
    k: int
    seed: int


@dataclass(slots=True)
class Loop:
    """One run being driven.

    Attributes:
        answers: what other runs have paid for; None to ask every question anew.
        foreign: whether the decider is code of the user's.
    """

    session: Session
    memory: Memory
    queries: Queries
    decider: Decider | AskingDecider
    record: Record
    identity: Identity
    watch: Watch = field(default_factory=Watch)
    answers: PaidAnswers | None = None
    tally: Tally = field(default_factory=Tally)
    foreign: bool = False
    _open: dict[int, tuple[int, Features, Decision]] = field(
        default_factory=dict[int, "tuple[int, Features, Decision]"]
    )

    def run(self) -> str:
        """Drive to the end; returns why it ended.

        Raises:
            Stopped: the watch asked to stop.
            LeakError: a recall function returned what it was not given.
            RecallUnused: a recall function was configured and never called.
        """
        while True:
            event = self.session.advance()
            if isinstance(event, Asked):
                self._decide(event)
            elif isinstance(event, OrderFilled | OrderRefused):
                self._ordered(event.order)
            elif isinstance(event, TradeClosed):
                self._traded(event.trade)
            else:
                return self._close(event.why)

    def _decide(self, asked: Asked) -> None:
        ask = asked.snapshot
        now_ns, obs, features = ask.now_ns, observation(ask), features_of(ask, None)
        recalled, shown, pool = self._recall(ask, features)
        if self.foreign:
            name = self.decider.name
            with deciding.unpainted(name, ask, shown):
                decision = deciding.plain_decision(self._answer(ask, shown), name, ask.seq)
        else:
            decision = self._answer(ask, shown)
        self.record.emit(
            records.decision_record(
                ask, decision, bar=asked.bar, obs=obs, pool=pool, recalled=recalled
            )
        )
        tally = self.tally
        tally.decisions += 1
        tally.statuses[decision.status] += 1
        if decision.status == "ok":
            tally.actions[decision.action] += 1
            if decision.action in ("BUY", "SELL"):
                if decision.strategy != features.strategy:
                    features = features_of(ask, decision.strategy)
                self._open[ask.seq] = (now_ns, features, decision)
        self.session.submit(decision)
        self.watch.on_decision(tally, ask)
        if self.watch.stop():
            raise Stopped

    def _recall(
        self, ask: Snapshot, features: Features
    ) -> tuple[list[Recalled], tuple[Shown, ...], int | None]:
        queries = self.queries
        if queries.recall is None:
            return [], (), None
        past = self.memory.visible(ask.now_ns)
        query = RecallQuery(ask.seq, ask.now_ns, features, queries.k, queries.seed)
        recalled = recalling.checked(queries.recall, query, past)
        self.tally.recall_calls += 1
        self.tally.recalled += len(recalled)
        self.tally.injected += sum(item.mark == "injected" for item in recalled)
        if not self.foreign:
            return recalled, tuple(Shown(past.kept(r.row), r) for r in recalled), len(past)
        # The list is written down after the decider had its hands on what it is shown.
        shown = tuple(
            Shown(past[r.row], Recalled(r.row, r.id, r.score, dict(r.components), r.mark))
            for r in recalled
        )
        return recalled, shown, len(past)

    def _answer(self, ask: Snapshot, shown: tuple[Shown, ...]) -> Decision:
        decider = self.decider
        with self._blamed(ask.seq):
            if not is_asking(decider):
                return cast("Decider", decider).decide(ask, shown)
            decider = cast("AskingDecider", decider)
            question, turn = decider.question(ask, shown), 0
        while True:
            reply = self._reply(decider, question, turn)
            with self._blamed(ask.seq):
                answer = decider.answer(question, reply)
            if not isinstance(answer, Question):
                return answer
            question, turn = answer, turn + 1

    def _blamed(self, seq: int) -> AbstractContextManager[None]:
        return deciding.blamed(self.decider.name, seq) if self.foreign else nullcontext()

    def _reply(self, decider: AskingDecider, question: Question, turn: int) -> Reply:
        """The recorded reply to this question, or a new one that is written down first."""
        recorded = self.record.recorded_reply(question.seq, question.purpose, turn, question.sha256)
        if recorded is None:
            reply, meta = self._new_reply(decider, question)
            recorded = records.reply_record(question, reply, turn)
            # What a user's function answers may have cost as much as a model's reply.
            durable = decider.paid or self.foreign
            self.record.add_reply(recorded, meta=meta if decider.paid else None, paid=durable)
        elif recorded.user != question.user:
            raise Diverged(
                question.seq,
                "user",
                f"question {question.seq}: reply line, field user: the recorded prompt is not the "
                f"one that the snapshot gives; the journal was edited, or another version wrote it",
            )
        # What is acted on is what a replay will read, not what came through the wire.
        reply = records.reply_of(recorded)
        tally = self.tally
        tally.replies += decider.paid
        if decider.paid:
            asked = self.record.reply_meta.get("asked")
            tally.tokens.add(decider.system or "", question, reply.usage, asked)
            known = tally.cost_usd is not None and reply.cost_usd is not None
            tally.cost_usd = tally.cost_usd + reply.cost_usd if known else None  # pyright: ignore[reportOperatorIssue]
        return reply

    def _new_reply(
        self, decider: AskingDecider, question: Question
    ) -> tuple[Reply, dict[str, Any]]:
        """What is sent for, or what another run has paid for; and when and how."""
        found = None if self.answers is None else self.answers.get(question.sha256)
        if found is not None:
            return found[0], {"answered": self.watch.now_iso(), "reused": found[1]}
        started = self.watch.now_iso()
        with self._blamed(question.seq):
            reply = decider.send(question)
        answered = self.watch.now_iso()
        return reply, {"asked": started, "answered": answered, "attempts": reply.attempts}

    def _ordered(self, order: Order) -> None:
        self.record.emit(records.order_record(order))
        if order.reason is not None:
            self._open.pop(order.seq, None)
            self.tally.refused[order.reason] += 1
            if order.needs_equity is not None:
                self.tally.needs_equity = max(self.tally.needs_equity or 0.0, order.needs_equity)

    def _traded(self, trade: Trade) -> None:
        identity = self.identity
        self.record.emit(records.trade_record(trade, identity.episode(trade)))
        self.tally.trades.append(trade)
        opened_ns, features, decision = self._open.pop(trade.seq)
        self.memory.add(episode(identity, self.decider.name, trade, opened_ns, features, decision))

    def _close(self, why: str) -> str:
        tally = self.tally
        if self.queries.recall is not None and tally.recall_calls == 0:
            raise RecallUnused(
                f"memory was configured and its recall function was never called in "
                f"{tally.decisions} decisions; the run would pass as one with memory. "
                f"Use --memory none, or an ask policy that asks."
            )
        assert len(self.memory) == len(tally.trades), "every closed trade is an episode"
        self._check_money()
        self.record.emit(
            records.ClosedRecord(
                ended=cast("Any", why),
                decisions=tally.decisions,
                counts=cast("Any", self.record.counts),
                final_equity=float(self.session.equity[-1]),
                recall_calls=tally.recall_calls,
                digest=self.record.digest,
            )
        )
        return why

    def _check_money(self) -> None:
        """What the trades brought is what the account changed by, but for float64's rounding."""
        start, end = self.session.terms.equity, float(self.session.equity[-1])
        moved = [trade.pnl for trade in self.tally.trades]
        scale = abs(start) + sum(abs(pnl) for pnl in moved)
        off = start + math.fsum(moved) - end
        assert abs(off) <= 1e-9 * scale, f"the trades and the equity are {off!r} apart"


def is_asking(decider: Decider | AskingDecider) -> bool:
    """Whether the decider's answers come from outside and are written down as replies."""
    return hasattr(decider, "send")


def table(loop: Loop, ended: str) -> RunTable:
    """What the reports need of the finished loop."""
    session, tally, bars = loop.session, loop.tally, loop.session.bars
    walked = len(session.equity)
    return RunTable(
        decider=loop.decider.name,
        memory=loop.queries.name,
        decisions=tally.decisions,
        decisions_by_status=dict(sorted(tally.statuses.items())),
        actions=dict(sorted(tally.actions.items())),
        setups=session.walked_setups(),
        refused=dict(sorted(tally.refused.items())),
        needs_equity=tally.needs_equity,
        trades=tuple(tally.trades),
        start_equity=session.terms.equity,
        final_equity=float(session.equity[-1]),
        equity=session.equity,
        day=bars.day[:walked],
        bars_from_ns=int(bars.t_close_ns[0]),
        bars_to_ns=int(bars.t_close_ns[walked - 1]),
        asked_from=session.first,
        asked_from_ns=int(bars.t_close_ns[session.first]),
        recall_calls=tally.recall_calls,
        recalled=tally.recalled,
        injected=tally.injected,
        cost_usd=tally.cost_usd,
        replies=tally.replies,
        tokens=tally.tokens.sums,
        prefix_bytes=tally.tokens.prefix_bytes,
        silent=tally.tokens.silent,
        ended=ended,
        digest=loop.record.digest,
    )
