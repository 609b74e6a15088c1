"""The lines of a journal: one model per kind, their bytes, and the way from and to `dream.types`.

A record's fields stand in the order in which they are written. Only `opened` and `reply` are facts;
all other kinds are derived from them and the bars. Text that a model wrote is carried as it came,
lone surrogates included: it is written as ASCII with JSON escapes.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf

from dream.runs.instants import iso_utc, ns_utc
from dream.types import (
    Action,
    Costs,
    Decision,
    Fill,
    Order,
    Question,
    Recalled,
    Reply,
    Snapshot,
    Status,
    Trade,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA: Final = 1
"""Version of the lines that this code writes."""

Kind = Literal["opened", "reply", "decision", "order", "trade", "closed"]


def _instant(text: str) -> str:
    ns_utc(text)
    return text


def _joined(text: str) -> str:
    """Two surrogates that make one character become it, as they do for whoever reads the JSON."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _plain_json(spec: dict[str, Any]) -> dict[str, Any]:
    """A copy of a spec, as its readers will have it."""
    try:
        text = json.dumps(spec, allow_nan=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the spec is not JSON: {error}") from error
    if '"meta":{' in text:
        raise ValueError("the spec must not have an object under a key 'meta', as lines have")
    return json.loads(text)


# pydantic's own str refuses lone surrogates, which models send.
Text: TypeAlias = Annotated[InstanceOf[str], AfterValidator(_joined)]
Instant: TypeAlias = Annotated[str, AfterValidator(_instant)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Hex: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]+$")]
Hex16: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Hex32: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex64: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Names: TypeAlias = Annotated[tuple[Text, ...], Field(strict=False)]


class Record(BaseModel):
    """What every line is: frozen, nothing extra, nothing coerced, no NaN and no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class OpenedRecord(Record):
    """The first line: what was run, on what, with which prompt."""

    v: Literal[1] = SCHEMA
    kind: Literal["opened"] = "opened"
    run_id: Text
    spec: Annotated[dict[Text, Any], AfterValidator(_plain_json)]
    hashes: dict[Text, Hex]
    system: Text | None
    strategies: Names


class TokenUsage(Record):
    """Tokens of one call, null where the server did not say."""

    input_tokens: Count | None
    cache_read_tokens: Count | None
    cache_write_tokens: Count | None
    output_tokens: Count | None
    thinking_tokens: Count | None


class ReplyRecord(Record):
    """One call to somebody else: what was asked (by hash) and what came back."""

    v: Literal[1] = SCHEMA
    kind: Literal["reply"] = "reply"
    seq: Count
    purpose: Literal["decision", "repair"]
    turn: Annotated[int, Field(ge=0, le=1)]
    request: Hex64
    user: Text | None
    raw: Text | None
    stop_reason: Text | None
    model: Text | None
    usage: TokenUsage | None
    cost_usd: Annotated[float, Field(ge=0.0)] | None
    error: Text | None


class RecalledItem(Record):
    """One recalled episode and what its score is made of."""

    id: Text
    score: float
    mark: Text
    parts: dict[Text, float]


class OpenPosition(Record):
    """The position at the decision; prices in quote currency, unrealised in account currency."""

    strategy: Text
    side: Literal[1, -1]
    entry: float
    lots: float
    stop: float
    target: float
    unrealised: float


class DecisionRecord(Record):
    """One question and its answer. pool is the number of visible episodes, null without memory."""

    v: Literal[1] = SCHEMA
    kind: Literal["decision"] = "decision"
    seq: Count
    bar: Count
    time: Instant
    obs: Hex16
    live: Names
    pool: Count | None
    recalled: Annotated[tuple[RecalledItem, ...], Field(strict=False)]
    action: Action
    strategy: Text | None
    confidence: float | None
    stop: float | None
    target: float | None
    reasoning: Text
    status: Status
    error: Text | None
    equity: float
    position: OpenPosition | None


class OrderRecord(Record):
    """What became of an order; reason is null when it was filled."""

    v: Literal[1] = SCHEMA
    kind: Literal["order"] = "order"
    seq: Annotated[int, Field(ge=-1)]
    action: Action
    strategy: Text | None
    bar: Count
    time: Instant
    reason: Text | None
    price: float | None
    lots: float | None
    stop: float | None
    target: float | None
    needs_equity: float | None


class TradeFill(Record):
    """One execution of a trade."""

    bar: Count
    time: Instant
    price: float
    lots: float
    why: Text


class TradeCosts(Record):
    """What the trade paid, in account currency."""

    spread: float
    slippage: float
    commission: float
    swap: float


class TradeRecord(Record):
    """A closed trade; id is its episode's, known the close of the bar in which it ended."""

    v: Literal[1] = SCHEMA
    kind: Literal["trade"] = "trade"
    id: Hex16
    seq: Annotated[int, Field(ge=-1)]
    strategy: Text
    side: Literal[1, -1]
    entry: TradeFill
    exit: TradeFill
    stop: float
    target: float
    pnl: float
    r: float
    mae: float
    mfe: float
    ambiguous: bool
    costs: TradeCosts
    pnl_stop_first: float
    pnl_target_first: float
    known: Instant


class ClosedRecord(Record):
    """The last line: how the run ended. counts has the lines before it by kind."""

    v: Literal[1] = SCHEMA
    kind: Literal["closed"] = "closed"
    ended: Literal["decisions", "end_of_data", "ruin"]
    decisions: Count
    counts: dict[Kind, Count]
    final_equity: float
    recall_calls: Count
    digest: Hex32


AnyRecord: TypeAlias = (
    OpenedRecord | ReplyRecord | DecisionRecord | OrderRecord | TradeRecord | ClosedRecord
)

KINDS: Final[Mapping[Kind, type[AnyRecord]]] = {
    "opened": OpenedRecord,
    "reply": ReplyRecord,
    "decision": DecisionRecord,
    "order": OrderRecord,
    "trade": TradeRecord,
    "closed": ClosedRecord,
}


def _values(value: Any, *but: str) -> dict[str, Any]:
    """The fields of a frozen dataclass by name, except some."""
    return {name: getattr(value, name) for name in _names(type(value), but)}


@cache
def _names(of: Any, but: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(of) if f.name not in but)


def _payload(record: Record, *but: str) -> dict[str, Any]:
    """The fields of a record by name, except its version, its kind and some."""
    return {n: x for n, x in vars(record).items() if n not in {"v", "kind", *but}}


def reply_record(question: Question, reply: Reply, turn: int) -> ReplyRecord:
    """The line of one call; turn is 0, or 1 for a repair."""
    return ReplyRecord(
        seq=question.seq,
        purpose=question.purpose,
        turn=turn,
        request=question.sha256,
        user=question.user,
        raw=reply.text,
        usage=None if reply.usage == Usage() else TokenUsage(**_values(reply.usage)),
        **_values(reply, "text", "usage", "attempts"),
    )


def reply_of(record: ReplyRecord) -> Reply:
    """The reply as it came."""
    usage = Usage() if record.usage is None else Usage(**_payload(record.usage))
    return Reply(record.raw, record.stop_reason, record.model, usage, record.cost_usd, record.error)


def decision_record(
    ask: Snapshot,
    decision: Decision,
    *,
    bar: int,
    obs: str,
    pool: int | None,
    recalled: Sequence[Recalled],
) -> DecisionRecord:
    """The line of one question and its answer.

    Args:
        ask: what was shown.
        decision: what was answered.
        bar: index of the newest bar.
        obs: 16 hex digits, a digest of what was shown.
        pool: number of visible episodes, None when nothing recalls.
        recalled: what the recall function returned.
    """
    held = ask.position
    return DecisionRecord(
        seq=ask.seq,
        bar=bar,
        time=iso_utc(ask.now_ns),
        obs=obs,
        live=tuple(row.strategy for row in ask.board if row.live),
        pool=pool,
        recalled=tuple(
            RecalledItem(id=r.id, score=r.score, mark=r.mark, parts=dict(r.components))
            for r in recalled
        ),
        **_values(decision, "stop", "target"),
        stop=_finite(decision.stop),
        target=_finite(decision.target),
        equity=ask.account.equity,
        position=held and OpenPosition(**{n: getattr(held, n) for n in OpenPosition.model_fields}),
    )


def _finite(price: float | None) -> float | None:
    """What a decider of the user's may get wrong: the order says not_finite, JSON has no word."""
    return price if price is not None and math.isfinite(price) else None


def order_record(order: Order) -> OrderRecord:
    """The line of an order."""
    return OrderRecord(time=iso_utc(order.t_ns), **_values(order, "t_ns"))


def order_of(record: OrderRecord) -> Order:
    """The order again."""
    return Order(t_ns=ns_utc(record.time), **_payload(record, "time"))


def trade_record(trade: Trade, episode: str) -> TradeRecord:
    """The line of a closed trade and the id of its episode."""
    return TradeRecord(
        id=episode,
        entry=_fill_record(trade.entry),
        exit=_fill_record(trade.exit),
        costs=TradeCosts(**_values(trade.costs)),
        known=iso_utc(trade.known_ns),
        **_values(trade, "entry", "exit", "costs", "known_ns"),
    )


def trade_of(record: TradeRecord) -> Trade:
    """The trade again."""
    return Trade(
        entry=_fill_of(record.entry),
        exit=_fill_of(record.exit),
        costs=Costs(**_payload(record.costs)),
        known_ns=ns_utc(record.known),
        **_payload(record, "id", "entry", "exit", "costs", "known"),
    )


def _fill_record(fill: Fill) -> TradeFill:
    return TradeFill(time=iso_utc(fill.t_ns), **_values(fill, "t_ns"))


def _fill_of(record: TradeFill) -> Fill:
    return Fill(t_ns=ns_utc(record.time), **_payload(record, "time"))
