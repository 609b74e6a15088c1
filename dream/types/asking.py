"""What a decider is shown, what it answers, and who it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dream.types.arrays import F8, I2, I8
    from dream.types.recalling import Shown
    from dream.types.trading import Account, Action, Position

Status = Literal["ok", "parse_error", "truncated", "model_refusal", "api_error"]


@dataclass(frozen=True, slots=True)
class Indicators:
    """What is shown to the agent, frozen at the decision; prices in quote currency.

    Attributes:
        atr_m15, atr_h1, atr_d1: Wilder's ATR(14) of completed periods.
        rsi: RSI(14) on M15, 0 ... 100.
        sma_50, sma_200: simple averages of M15 closes.
        bb_low, bb_mid, bb_high: Bollinger(20, 2) on M15.
        adx_h1: ADX(14) on completed H1 bars.
        sma_20_h1: simple average of 20 completed H1 closes.
        atr_d1_pct: share (0 ... 1) of the last 20 values of ATR(14, D1) at or below the present.
        trend: up, down or range.
        volatility: low, normal or high.
        sessions: bit set of ASIA, LONDON, NEW_YORK.
    """

    atr_m15: float
    atr_h1: float
    atr_d1: float
    rsi: float
    sma_50: float
    sma_200: float
    bb_low: float
    bb_mid: float
    bb_high: float
    adx_h1: float
    sma_20_h1: float
    atr_d1_pct: float
    trend: str
    volatility: str
    sessions: int


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One strategy's state at a bar; prices in quote currency, None where not known.

    Attributes:
        strategy: its name on the board.
        live: 1 a long set-up, -1 a short one, 0 none.
        stop, target: what it would use at this bar, live or not.
        trigger: price at which it would become live, None where it has no single price.
        distance: trigger - close; positive where the trigger is above.
        levels: its reference levels by name.
        entries_today: fills of this trading day. entries_per_day: fills allowed, 0 for no limit.
        expires_minute: trading-clock minute at which a position is closed, 0 for never.
    """

    strategy: str
    live: int
    stop: float | None
    target: float | None
    trigger: float | None
    distance: float | None
    levels: Mapping[str, float | None]
    entries_today: int
    entries_per_day: int
    expires_minute: int

    @property
    def exhausted(self) -> bool:
        """Whether the day's entries are used up."""
        return 0 < self.entries_per_day <= self.entries_today


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """All that a decider and a recall function may know, at the close of one bar.

    Attributes:
        seq: number of the question, from 0.
        now_ns: close time of the newest bar.
        minute, day: the same moment by the trading clock (see Bars).
        window: (k, 6) float64 copy: open, high, low, close, volume, spread; newest last; prices in
            quote currency. The last 20 bars; where the run's context is `day`, every bar of the
            trading day so far and the 20 before it.
        window_close_ns: (k,) int64 copy, the close times of the rows.
        closed_at_minute: (k,) int16 copy, trading-clock minutes of the rows.
        indicators: of completed periods. board: a row for each strategy, in board order.
        position: None when flat. account: money, and the last closed trades.
    """

    seq: int
    now_ns: int
    minute: int
    day: int
    window: F8
    window_close_ns: I8
    closed_at_minute: I2
    indicators: Indicators
    board: tuple[BoardRow, ...]
    position: Position | None
    account: Account

    @property
    def close(self) -> float:
        """The newest close in quote currency."""
        return float(self.window[-1, 3])


@dataclass(frozen=True, slots=True)
class Decision:
    """What the agent decided.

    Attributes:
        action: BUY, SELL, HOLD or CLOSE.
        strategy: for an entry, a name on the board; else None.
        confidence: 0 ... 1, None where not said. Written down, never used.
        stop, target: in quote currency; None for the board's, which it lends while it is live.
        reasoning: in words.
        status: how it came about; only `ok` counts as the agent's choice.
        error: of an answer that could not be read, why; None otherwise.
    """

    action: Action = "HOLD"
    strategy: str | None = None
    confidence: float | None = None
    stop: float | None = None
    target: float | None = None
    reasoning: str = ""
    status: Status = "ok"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, None where the server did not say."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a decider that answers with text.

    Attributes:
        seq: number of the decision. purpose: decision or repair.
        user: the prompt sent, None for deciders without one. sha256: hash of the whole request.
        ask: the snapshot, for deciders on this machine; never written or sent.
        shown: the recalled episodes, likewise.
        cuts: rising character offsets at which user is sent in blocks; what stands before the last
            of them is expected to begin the next question too.
    """

    seq: int
    purpose: Literal["decision", "repair"]
    user: str | None
    sha256: str
    ask: Snapshot
    shown: tuple[Shown, ...] = ()
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as it came.

    Attributes:
        text: raw text, None when the call failed for good.
        stop_reason: as the server gave it. model: as the server gave it.
        error: class and message of the failure, None when there was none.
        cost_usd: None when the price is not known.
        attempts: how often it was asked for until this came; a fact of the wall clock, never
            compared on replay.
    """

    text: str | None
    stop_reason: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    error: str | None = None
    attempts: int = 1


class Decider(Protocol):
    """Decides from the snapshot alone; pure. Its decisions are computed again on replay."""

    @property
    def name(self) -> str:
        """As journals and reports call it."""
        ...

    def decide(self, ask: Snapshot, shown: Sequence[Shown], /) -> Decision:
        """The decision for what is shown."""
        ...


class AskingDecider(Protocol):
    """Asks somebody else. question and answer are pure; only send has an effect.

    send's reply is written down before answer is called, and never asked for again. answer returns
    a Question to ask once more (a repair turn, counted) or a Decision.
    """

    @property
    def name(self) -> str:
        """As journals and reports call it."""
        ...

    @property
    def system(self) -> str | None:
        """The system prompt, None for deciders without one."""
        ...

    @property
    def paid(self) -> bool:
        """Whether a reply costs money or hours: then each is synced to disk at once."""
        ...

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question:
        """What will be asked."""
        ...

    def send(self, question: Question, /) -> Reply:
        """Ask; the only effect."""
        ...

    def answer(self, question: Question, reply: Reply, /) -> Decision | Question:
        """Read the reply: a decision, or one more question."""
        ...
