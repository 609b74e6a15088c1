"""The door to closed trades: an episode is seen strictly after it became known, or not at all.

Episodes wait in a queue that nobody is handed. A question at `now_ns` moves those known before it
into columns, and what a recall function receives is made of these columns alone, so that no way
from it leads to a later episode. What it is handed are copies: a column lies in immutable bytes, an
episode is made anew at every reading. Questions never go back in time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dream.errors import InputError, LeakError
from dream.memory.balance import in_short
from dream.memory.cards import NO_CARDS, Cards, dealt
from dream.memory.features import TREND, VOLATILITY, copied, log_or_nan, situation_of
from dream.memory.plain import number, whole, word
from dream.types import Episode, Features

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

Column = tuple[type[np.generic], Callable[[Episode], Any]]

FEATURE_COLUMNS: Final[dict[str, Column]] = {
    "known_ns": (np.int64, lambda e: e.known_ns),
    "opened_ns": (np.int64, lambda e: e.opened_ns),
    "atr_m15": (np.float64, lambda e: e.features.atr_m15),
    "atr_d1": (np.float64, lambda e: e.features.atr_d1),
    "log_atr_m15": (np.float64, lambda e: log_or_nan(e.features.atr_m15)),
    "log_atr_d1": (np.float64, lambda e: log_or_nan(e.features.atr_d1)),
    "sessions": (np.uint8, lambda e: e.features.sessions),
    "trend": (np.uint8, lambda e: TREND.index(e.features.trend)),
    "volatility": (np.uint8, lambda e: VOLATILITY.index(e.features.volatility)),
    "situation": (np.uint8, lambda e: situation_of(e.features)),
    "rsi": (np.float64, lambda e: e.features.rsi),
    "distance": (np.float64, lambda e: _or_nan(e.features.distance)),
    "weekday": (np.int8, lambda e: e.features.weekday),
    "hour": (np.int8, lambda e: e.features.hour),
    "side": (np.int8, lambda e: e.side),
    "confidence": (np.float64, lambda e: _or_nan(e.confidence)),
}
"""What was known at the decision, and when its outcome was known. NaN stands for unknown.

sessions is a bit set; trend and volatility are places in `words(name)`; situation is the three in
one (see `features.situation_of`). There is also `strategy`, int32, a place in `words("strategy")`.
"""

OUTCOME_COLUMNS: Final[dict[str, Column]] = {
    "pnl": (np.float64, lambda e: e.pnl),
    "negative": (np.bool_, lambda e: e.pnl < 0.0),
    "r": (np.float64, lambda e: _or_nan(e.r)),
    "mae": (np.float64, lambda e: _or_nan(e.mae)),
    "mfe": (np.float64, lambda e: _or_nan(e.mfe)),
}
"""What came of it: net money, whether it was lost, R, excursions. No similarity reads these."""

COLUMNS: Final[dict[str, Column]] = {**FEATURE_COLUMNS, **OUTCOME_COLUMNS}

_DTYPES: Final = {"strategy": np.int32, **{name: dtype for name, (dtype, _) in COLUMNS.items()}}
_INT64 = 2**63
_FIRST_CAPACITY = 64


class Past:
    """The episodes known by one moment, in the order of (known_ns, id). Satisfies EpisodeTable.

    Holds published rows only; what is still hidden cannot be reached from here. What it answers
    with is the asker's own and changes nothing here.
    """

    __slots__ = ("_before_ns", "_cards", "_copies", "_episodes", "_n", "_store", "_words")

    def __init__(
        self,
        episodes: list[Episode],
        store: Mapping[str, npt.NDArray[Any]],
        strategies: tuple[str, ...],
        before_ns: int,
        cards: Cards,
    ) -> None:
        self._episodes = episodes
        self._cards = cards
        self._store = store
        self._words = {"strategy": strategies, "trend": TREND, "volatility": VOLATILITY}
        self._before_ns = before_ns
        self._n = len(episodes)
        self._copies: dict[str, npt.NDArray[Any]] = {}

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, row: int, /) -> Episode:
        return _copy(self.kept(row))

    def id(self, row: int, /) -> str:
        """The id of the episode in a row; the same as past[row].id, without the copy."""
        return self.kept(row).id

    def kept(self, row: int, /) -> Episode:
        """The episode in a row without a copy, for this package's own functions: they only read."""
        if not -self._n <= row < self._n:
            raise IndexError(f"row {row} of a memory of {self._n} episodes")
        episode = self._episodes[row % self._n]
        assert episode.known_ns < self._before_ns, "an episode was read before it was known"
        return episode

    def column(self, name: str, /) -> npt.NDArray[Any]:
        """(len(self),) read-only; names, dtypes and meanings stand at COLUMNS.

        A copy in bytes, made at the first call: an array over other memory would lead to it by its
        base, and one that owned its memory could be made writable.

        Raises:
            KeyError: there is no such column.
        """
        copy = self._copies.get(name)
        if copy is None:
            if name not in _DTYPES:
                raise KeyError(f"no column {name!r}; there are: {', '.join(_DTYPES)}")
            store = self._store[name]
            copy = np.frombuffer(store[: self._n].tobytes(), store.dtype)
            self._copies[name] = copy
        return copy

    def shared(self, name: str, /) -> npt.NDArray[Any]:
        """The column without a copy, for this package's own functions: they only read."""
        rows = self._store[name][: self._n]
        rows.flags.writeable = False
        return rows

    def cards(self) -> Cards:
        """What is searched. Not copies: for this package's own functions, which only read."""
        return self._cards

    def words(self, name: str, /) -> tuple[str, ...]:
        """The words that the codes in column `strategy`, `trend` or `volatility` stand for."""
        return self._words[name]


class Memory:
    """Closed trades, append-only. The only way to read them is `visible`."""

    def __init__(self, imported: Iterable[Episode] = ()) -> None:
        """Episodes of earlier runs, in any order; each stays hidden until it is known.

        Raises:
            InputError: an episode is impossible, or two have the same id.
        """
        self._waiting: list[tuple[int, str, Episode]] = []
        self._ids: set[str] = set()
        self._episodes: list[Episode] = []
        self._strategies: dict[str, int] = {}
        self._added_ns = self._asked_ns = -_INT64
        for given in imported:
            episode = _plain(given)
            self._admit(episode)
            self._waiting.append((episode.known_ns, episode.id, episode))
        heapq.heapify(self._waiting)
        self._cards = NO_CARDS
        self._resize(_FIRST_CAPACITY)
        self._table = Past(self._episodes, self._store, (), self._asked_ns, self._cards)

    def __len__(self) -> int:
        """Episodes held, visible or not."""
        return len(self._ids)

    def add(self, episode: Episode) -> None:
        """Keep a trade that has just closed.

        Raises:
            LeakError: it became known before the newest trade or before a question that has been
                asked, which should have seen it.
            InputError: it is impossible, or its id is here already.
        """
        episode = _plain(episode)
        known = episode.known_ns
        if known < self._added_ns or known < self._asked_ns:
            raise LeakError(
                f"episode {episode.id} was known at {known} ns and arrives after "
                f"{'a trade' if known < self._added_ns else 'a question'} at "
                f"{max(self._added_ns, self._asked_ns)} ns; add trades in the order in which they "
                f"close, and earlier ones to Memory(imported)"
            )
        self._admit(episode)
        self._added_ns = known
        heapq.heappush(self._waiting, (known, episode.id, episode))

    def visible(self, now_ns: int) -> Past:
        """The episodes with known_ns < now_ns, strictly.

        Raises:
            LeakError: an earlier call asked for a later moment.
        """
        if now_ns < self._asked_ns:
            raise LeakError(
                f"memory was asked for {now_ns} ns after {self._asked_ns} ns; its questions must "
                f"come in the order of time. Use a new Memory to look at an earlier moment"
            )
        self._asked_ns = now_ns
        if self._waiting and self._waiting[0][0] < now_ns:
            self._publish(now_ns)
        assert not self._episodes or self._episodes[-1].known_ns < now_ns, "visible too early"
        return self._table

    def hidden(self, now_ns: int) -> int:
        """How many episodes are held that are not yet known at now_ns. Counts as a question."""
        self.visible(now_ns)
        return len(self._waiting)

    def _admit(self, episode: Episode) -> None:
        _check(episode)
        if episode.id in self._ids:
            raise InputError(
                f"episode {episode.id} (run {episode.run_id}, seq {episode.seq}) is in memory "
                f"already; an imported file may hold this run's own trades: leave them out"
            )
        self._ids.add(episode.id)

    def _publish(self, now_ns: int) -> None:
        """Move what is known before now_ns into the columns, in the order of (known_ns, id)."""
        batch: list[Episode] = []
        while self._waiting and self._waiting[0][0] < now_ns:
            batch.append(heapq.heappop(self._waiting)[2])
        first = len(self._episodes)
        last = first + len(batch)
        if last > self._capacity:
            self._resize(max(last, 2 * self._capacity))
        codes = self._strategies
        for episode in batch:
            codes.setdefault(episode.strategy, len(codes))
        self._store["strategy"][first:last] = [codes[episode.strategy] for episode in batch]
        for name, (_, value) in COLUMNS.items():
            self._store[name][first:last] = [value(episode) for episode in batch]
        new = {name: rows[first:last] for name, rows in self._store.items()}
        self._cards = dealt(self._cards, new)
        self._episodes += batch
        self._table = Past(self._episodes, self._store, tuple(codes), now_ns, self._cards)

    def _resize(self, capacity: int) -> None:
        """New storage; tables made before keep the old one, whose rows stay as they are."""
        n = len(self._episodes)
        grown: dict[str, npt.NDArray[Any]] = {}
        for name, dtype in _DTYPES.items():
            grown[name] = np.zeros(capacity, dtype)
            if n:
                grown[name][:n] = self._store[name][:n]
        self._capacity = capacity
        self._store = grown


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


_KINDS: Final[dict[Any, Callable[[Any], Any]]] = {
    "int": whole,
    "float": number,
    "str": word,
    "float | None": lambda value: None if value is None else number(value),
    "str | None": lambda value: None if value is None else word(value),
}
_PLAIN_FEATURES: Final = {f.name: _KINDS[f.type] for f in fields(Features)}
_PLAIN: Final = {f.name: _KINDS[f.type] for f in fields(Episode) if f.name != "features"}


def _plain(episode: Episode) -> Episode:
    """The episode made anew, in exact built-in types, so that nobody else holds what memory keeps.

    Raises:
        InputError: naming the episode and the field that is of another type.
    """
    features = episode.features

    def values(owner: Any, kinds: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, plain in kinds.items():
            try:
                out[name] = plain(getattr(owner, name))
            except (TypeError, ValueError) as error:
                raise InputError(f"episode {in_short(episode.id)}: {name}: {error}") from None
        return out

    kept = Features(**values(features, _PLAIN_FEATURES))
    return Episode(**values(episode, _PLAIN), features=kept)


_values_of = attrgetter(*_PLAIN)


def _copy(episode: Episode) -> Episode:
    values = dict(zip(_PLAIN, _values_of(episode), strict=True))
    return Episode(**values, features=copied(episode.features))


def _check(episode: Episode) -> None:
    """Refuse what columns cannot hold or order.

    Raises:
        InputError: naming the episode and the field.
    """
    features = episode.features
    if not episode.id:
        raise InputError(f"episode of run {episode.run_id}, seq {episode.seq}: it has no id")
    try:
        situation_of(features)
    except InputError as error:
        raise InputError(f"episode {episode.id}: {error}") from None
    for field, expected, found, good in (
        ("known_ns", "nanoseconds in 64 bits", episode.known_ns, abs(episode.known_ns) < _INT64),
        (
            "opened_ns",
            f"at most known_ns, {episode.known_ns}",
            episode.opened_ns,
            -_INT64 < episode.opened_ns <= episode.known_ns,
        ),
        ("pnl", "net money, finite", episode.pnl, math.isfinite(episode.pnl)),
        ("side", "1 or -1", episode.side, episode.side in {1, -1}),
        ("weekday", "0 to 6", features.weekday, 0 <= features.weekday < 7),
        ("hour", "0 to 23", features.hour, 0 <= features.hour < 24),
    ):
        if not good:
            raise InputError(f"episode {episode.id}: {field}: expected {expected}, found {found!r}")
