"""What memory keeps of a trade and how it is recalled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Features:
    """What a decision is compared by, frozen at the decision; nothing here knows an outcome.

    Attributes:
        atr_m15, atr_d1: in quote currency, NaN where unknown.
        sessions: bit set of ASIA 1, LONDON 2, NEW_YORK 4.
        trend: up, down, range or unknown. volatility: low, normal, high or unknown.
        rsi: 0 ... 100. distance: (close - trigger) / ATR D1, None without a trigger.
        strategy: the live or chosen one, None when there is none.
        weekday: 0 Monday. hour: 0 ... 23, both by the trading clock.
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
    """A closed trade as memory keeps it. Visible iff known_ns < now_ns, strictly.

    Attributes:
        id: unique in a memory; recalled items and trade lines of the journal name it.
        run_id: the run that traded. model: its decider. seq: the question that opened it.
        opened_ns: close of the bar at which it was decided, nanoseconds UTC.
        known_ns: close of the bar in which it ended: from then on it is known.
        features: of the decision.
        strategy: its name on the board. side: 1 long, -1 short.
        entry, exit: fill prices in quote currency.
        pnl: net money in account currency. r: pnl over the money at risk, None where unknown.
        mae, mfe: largest adverse and favourable move in quote currency, None where unknown.
        exit_reason: why it ended (see Fill.why).
        confidence: the decision's, None where not said. reasoning: the decision's.
        reflection: written after it had ended; empty where nobody wrote one.
        source: run, or where it was imported from.
    """

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
    """What a recall function is asked with. There is no clock and no way to name a later time.

    Attributes:
        seq: number of the question. now_ns: its moment, nanoseconds UTC.
        features: of this decision; strategy is the first live one, None where none is.
        k: the most items to return. seed: of the run, for what is drawn.
    """

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
        components: name to value, every part of the score; at most 32, names of at most 64
            characters.
        mark: "", `injected` (put in by balance) or `placebo`.
    """

    row: int
    id: str
    score: float
    components: Mapping[str, float] = field(default_factory=dict[str, float])
    mark: str = ""


class EpisodeTable(Protocol):
    """The episodes known by now, in the order in which they became known. Read-only."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Episode:
        """A copy of the episode in a row."""
        ...

    def id(self, row: int, /) -> str:
        """The episode's id, as Recalled needs it; cheaper than past[row].id."""
        ...

    def column(self, name: str, /) -> npt.NDArray[Any]:
        """A column, read-only, of the visible length; memory.episodes lists the names."""
        ...

    def words(self, name: str, /) -> tuple[str, ...]:
        """What the codes of a column of words (strategy, trend, volatility) stand for."""
        ...


@runtime_checkable
class RecallFn(Protocol):
    """memory_recall_fn: pure; sees only what was known."""

    def __call__(self, query: RecallQuery, past: EpisodeTable) -> list[Recalled]:
        """At most query.k rows of past, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Shown:
    """One recalled episode as it is put before the decider: the mark and the episode itself."""

    episode: Episode
    recalled: Recalled
