"""Frozen values and protocols that cross parts of dream.

Prices inside the engine are int32 ticks; prices shown to a decider are float64 in the quote
currency. Instants are int64 nanoseconds UTC. A bar is known at its close time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

I1: TypeAlias = npt.NDArray[np.int8]
U1: TypeAlias = npt.NDArray[np.uint8]
I2: TypeAlias = npt.NDArray[np.int16]
I4: TypeAlias = npt.NDArray[np.int32]
I8: TypeAlias = npt.NDArray[np.int64]
F8: TypeAlias = npt.NDArray[np.float64]
Ticks: TypeAlias = int

Action = Literal["BUY", "SELL", "HOLD", "CLOSE"]
Status = Literal["ok", "parse_error", "truncated", "model_refusal", "api_error"]

MISSING: Final[int] = -(2**31)
"""The int32 that stands for "no such price" in arrays of ticks."""

MINUTE_NS: Final[int] = 60_000_000_000
ASIA, LONDON, NEW_YORK = 1, 2, 4
"""Bits of a session set."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """What is traded.

    Attributes:
        symbol: name, such as XAUUSD.
        tick: smallest price step in quote currency.
        contract: units (ounces) in one lot.
        lot_step: smallest step of a position's size, in lots.
        lot_min: smallest position, in lots.
        lot_max: largest position, in lots.
    """

    symbol: str = "XAUUSD"
    tick: float = 0.01
    contract: float = 100.0
    lot_step: float = 0.001
    lot_min: float = 0.001
    lot_max: float = 100.0

    @property
    def ticks_per_unit(self) -> int:
        """Ticks in one unit of the quote currency; a tick always divides it."""
        return round(1.0 / self.tick)

    @property
    def money_per_tick_step(self) -> float:
        """Money won or lost by one lot step over one tick."""
        return self.contract * self.lot_step / self.ticks_per_unit

    def to_ticks(self, price: float) -> int:
        """A price in ticks by the one rounding rule, floor(price / tick + 0.5)."""
        return math.floor(price * self.ticks_per_unit + 0.5)

    def to_price(self, ticks: int) -> float:
        """Ticks as a price, correctly rounded."""
        return ticks / self.ticks_per_unit


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """A closed bar series: bid prices in ticks, each row known at its close. Read-only.

    Attributes:
        instrument: what the prices are of.
        bar_ns: length of a bar in nanoseconds.
        t_close_ns: (n,) int64, close time UTC; strictly increasing.
        minute: (n,) int16, minute of the trading day (New York + 7 h) at which the bar closes,
            counted in the day in which it opened: 15 ... 1440 for M15.
        day: (n,) int32, trading-day number: days since 1970-01-01 of the trading-clock date.
        px: (n, 4) int32, open, high, low, close in ticks.
        spread: (n,) int32, spread of the bar in ticks, 0 where unknown.
        volume: (n,) float64.
        memo: derived arrays, computed once per series by `indicators`; never part of identity.
    """

    instrument: Instrument
    bar_ns: int
    t_close_ns: I8
    minute: I2
    day: I4
    px: I4
    spread: I4
    volume: F8
    memo: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def __len__(self) -> int:
        return len(self.t_close_ns)

    def prefix(self, n: int) -> Bars:
        """The first n bars as copies, so that no view leads back to later rows."""
        t_close_ns, minute, day = (
            self.t_close_ns[:n].copy(),
            self.minute[:n].copy(),
            self.day[:n].copy(),
        )
        px, spread, volume = self.px[:n].copy(), self.spread[:n].copy(), self.volume[:n].copy()
        for array in (t_close_ns, minute, day, px, spread, volume):
            array.flags.writeable = False
        return Bars(self.instrument, self.bar_ns, t_close_ns, minute, day, px, spread, volume)


@dataclass(frozen=True, slots=True, eq=False)
class Setups:
    """What a strategy says about every bar, all in ticks; row i uses bars up to i only.

    Attributes:
        live: (n,) int8: +1 a long set-up, -1 a short one, 0 none.
        stop: (n,) int32 stop that it would use, MISSING where not known.
        target: (n,) int32 target that it would use, MISSING where not known.
        trigger: (n,) int32 price at which it would become live, MISSING where there is none.
        levels: reference levels shown on the board, name to (n,) int32, MISSING where unknown.
        expires_minute: trading-clock minute at which a position is closed; 0 for never.
        entries_per_day: fills allowed per trading day; 0 for no limit.
    """

    live: I1
    stop: I4
    target: I4
    trigger: I4
    levels: Mapping[str, I4]
    expires_minute: int = 0
    entries_per_day: int = 0


class Strategy(Protocol):
    """A pure function of the bars; its own parameters are numbers, named, with defaults.

    Causality is checked by the gate, not trusted.
    """

    def __call__(self, bars: Bars, *args: Any, **params: Any) -> Setups: ...


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
        atr_d1_pct: share (0 ... 1) of the last 20 values of ATR(14, D1) at or below the present one.
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
    """One strategy's state at a bar; prices in quote currency, None where not known."""

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


@dataclass(frozen=True, slots=True)
class Position:
    """The open position. side is +1 or -1; money in account currency."""

    seq: int
    strategy: str
    side: int
    entry_ns: int
    entry: float
    lots: float
    stop: float
    target: float
    unrealised: float
    unrealised_r: float
    bars_held: int


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution.

    Attributes:
        bar: index of the bar.
        t_ns: the bar's open time for fills at the open, else its close time (the fill is known then).
        price: in quote currency, after spread and slippage.
        lots: size.
        why: open (an entry), stop, stop_gap, target, target_gap, close, forced, forced_late,
            end_of_data, end_of_run, ruin.
    """

    bar: int
    t_ns: int
    price: float
    lots: float
    why: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What a trade paid, each positive when it cost money (swap may be negative: a credit)."""

    spread: float = 0.0
    slippage: float = 0.0
    commission: float = 0.0
    swap: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the four."""
        return self.spread + self.slippage + self.commission + self.swap


@dataclass(frozen=True, slots=True)
class Trade:
    """A closed trade. seq is the question that opened it (-1 in an unasked rule run).

    Attributes:
        pnl: net of all costs. r: pnl over the money at risk between fill and stop.
        mae, mfe: largest adverse and favourable move in quote currency, clipped at the exit.
        ambiguous: the exit bar reached stop and target after its open.
        pnl_stop_first, pnl_target_first: the same trade under either order of an ambiguous bar.
        known_ns: close time of the bar in which it ended.
    """

    seq: int
    strategy: str
    side: int
    entry: Fill
    exit: Fill
    stop: float
    target: float
    pnl: float
    r: float
    mae: float
    mfe: float
    ambiguous: bool
    costs: Costs
    pnl_stop_first: float
    pnl_target_first: float
    known_ns: int


@dataclass(frozen=True, slots=True)
class Account:
    """Money at a decision. equity is marked to the bar's close; cash is realised."""

    start: float
    cash: float
    equity: float
    trades: int
    recent: tuple[Trade, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """All that a decider and a recall function may know, at the close of one bar.

    Attributes:
        seq: number of the question, from 0.
        now_ns: close time of the newest bar.
        minute, day: the same moment by the trading clock (see Bars).
        window: (k, 6) float64 copy: open, high, low, close, volume, spread; newest last; prices in
            quote currency.
        window_close_ns: (k,) int64 copy, the close times of the rows.
        closed_at_minute: (k,) int16 copy, trading-clock minutes of the rows.
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
    """What the agent decided; stop and target in quote currency, None to use the board's.

    status says how it came about: only `ok` counts as the agent's choice.
    """

    action: Action = "HOLD"
    strategy: str | None = None
    confidence: float | None = None
    stop: float | None = None
    target: float | None = None
    reasoning: str = ""
    status: Status = "ok"


@dataclass(frozen=True, slots=True)
class Features:
    """What a decision is compared by, frozen at the decision; nothing here knows an outcome.

    Attributes:
        atr_m15, atr_d1: in units of price. sessions: bit set. trend, volatility: regime words.
        rsi: 0 ... 100. distance: (close - trigger) / ATR D1 of the strategy, None without a trigger.
        strategy: the live or chosen one, None when there is none. weekday: 0 Monday. hour: 0 ... 23,
            both by the trading clock.
    """

    atr_m15: float
    atr_d1: float
    sessions: int
    trend: str
    volatility: str
    rsi: float
    distance: float | None
    strategy: str | None
    weekday: int
    hour: int


@dataclass(frozen=True, slots=True)
class Episode:
    """A closed trade as memory keeps it. Visible iff known_ns < now_ns, strictly."""

    id: str
    run_id: str
    model: str
    seq: int
    opened_ns: int
    known_ns: int
    features: Features
    strategy: str
    side: int
    entry: float
    exit: float
    pnl: float
    r: float | None
    mae: float | None
    mfe: float | None
    exit_reason: str
    confidence: float | None
    reasoning: str
    reflection: str = ""
    source: str = "run"


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What a recall function is asked with. There is no clock and no way to name a later time."""

    seq: int
    now_ns: int
    features: Features
    k: int
    seed: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """One recalled episode: where it lies in `past`, its score and what the score is made of.

    Attributes:
        row: index in the table that the function received.
        id: the episode's id, for the check that it came from there.
        score: what the result is ordered by.
        components: name to value; every part of the score.
        mark: "" or `injected` (put in by balance) or `placebo`.
    """

    row: int
    id: str
    score: float
    components: Mapping[str, float] = field(default_factory=dict[str, float])
    mark: str = ""


class EpisodeTable(Protocol):
    """The episodes known by now, in the order in which they became known. Read-only."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Episode: ...

    def column(self, name: str, /) -> npt.NDArray[Any]:
        """One column as a read-only array of the visible length; memory.episodes lists the names."""
        ...

    def words(self, name: str, /) -> tuple[str, ...]:
        """What the codes of a column of words (strategy, trend, volatility) stand for."""
        ...


@runtime_checkable
class RecallFn(Protocol):
    """memory_recall_fn: pure; sees only what was known."""

    def __call__(self, query: RecallQuery, past: EpisodeTable) -> list[Recalled]: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """One recalled episode as it is put before the decider: the mark and the episode itself."""

    episode: Episode
    recalled: Recalled


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
    """

    seq: int
    purpose: Literal["decision", "repair"]
    user: str | None
    sha256: str
    ask: Snapshot
    shown: tuple[Shown, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as it came.

    Attributes:
        text: raw text, None when the call failed for good.
        stop_reason: as the server gave it. model: as the server gave it.
        error: class and message of the failure, None when there was none.
        cost_usd: None when the price is not known.
    """

    text: str | None
    stop_reason: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    error: str | None = None


class Decider(Protocol):
    """Decides from the snapshot alone; pure. Its decisions are computed again on replay."""

    @property
    def name(self) -> str: ...

    def decide(self, ask: Snapshot, shown: Sequence[Shown], /) -> Decision: ...


class AskingDecider(Protocol):
    """Asks somebody else. question and answer are pure; only send has an effect.

    send's reply is written down before answer is called, and never asked for again. answer returns
    a Question to ask once more (a repair turn, counted) or a Decision.
    """

    @property
    def name(self) -> str: ...

    @property
    def system(self) -> str | None:
        """The system prompt, None for deciders without one."""
        ...

    @property
    def paid(self) -> bool:
        """Whether a reply costs money or hours: then each is synced to disk at once."""
        ...

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question: ...

    def send(self, question: Question, /) -> Reply: ...

    def answer(self, question: Question, reply: Reply, /) -> Decision | Question: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of trade of a run; money in account currency, prices in quote currency.

    Attributes:
        equity: starting money. risk: share of equity at risk per trade. leverage: margin limit.
        spread: floor under the bar's own spread. slippage: against us on market and stop fills.
        commission: per lot and side. swap: per lot and change of trading day (negative costs).
        intrabar: which level counts first in a bar that reaches both after its open.
        buy_only: refuse SELL. autonomy: `free`, or `filter` to accept entries of live set-ups only.
        max_gap_ns: refuse a fill later than this after the decision; None for no limit.
    """

    equity: float = 10_000.0
    risk: float = 0.0025
    leverage: float = 20.0
    spread: float = 0.30
    slippage: float = 0.0
    commission: float = 0.0
    swap: float = 0.0
    intrabar: Literal["stop_first", "target_first", "nearer_first"] = "stop_first"
    buy_only: bool = True
    autonomy: Literal["free", "filter"] = "free"
    max_gap_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What became of an order.

    Attributes:
        seq: the question that gave it (-1 in an unasked rule run).
        bar, t_ns: where it was filled (open time) or refused (the decision's close or the open).
        reason: why it was refused, None when it was filled.
        price, lots, stop, target: of the fill; price and lots are None when refused.
        needs_equity: for `min_lot`, the smallest account that would have taken it.
    """

    seq: int
    action: Action
    strategy: str | None
    bar: int
    t_ns: int
    reason: str | None
    price: float | None = None
    lots: float | None = None
    stop: float | None = None
    target: float | None = None
    needs_equity: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """A finished run as reports need it, whether it was just run or read back.

    Attributes:
        bars_from_ns, bars_to_ns: close times of the first and last bar that the run walked.
        setups: rising edges of live set-ups over the asked bars, by strategy.
        refused: refused orders by reason. needs_equity: smallest account that would have taken
            every order refused as too small; None when there was none.
        equity: (n,) float64 at the walked bars' closes. day: (n,) int32 trading-day numbers.
        pools: visible episodes at each question that recalled; recalled, injected: totals.
        ended: decisions, end_of_data or ruin.
    """

    decider: str
    memory: str
    decisions: int
    decisions_by_status: Mapping[str, int]
    actions: Mapping[str, int]
    setups: Mapping[str, int]
    refused: Mapping[str, int]
    needs_equity: float | None
    trades: tuple[Trade, ...]
    start_equity: float
    final_equity: float
    equity: F8
    day: I4
    bars_from_ns: int
    bars_to_ns: int
    recall_calls: int
    recalled: int
    injected: int
    cost_usd: float | None
    replies: int
    ended: str
    digest: str
