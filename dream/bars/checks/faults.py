"""What can be wrong with an export, what is done about it, and how often it was found.

Every fault has a default and the other actions that may be chosen instead. Nothing is repaired
silently and nothing is dropped without a count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from dream.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Action = Literal["refuse", "drop", "keep", "first", "last", "sort", "round"]

MOST_PLACES: Final = 20
"""Places of one fault that a report names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault that an export can have.

    Attributes:
        what: said of the rows or of the series. actions: what may be done, the default first.
    """

    what: str
    actions: tuple[Action, ...]


KINDS: Final[dict[str, Kind]] = {
    "unreadable": Kind("a field is not what its column holds", ("refuse", "drop")),
    "columns": Kind("a row has other columns than the rest", ("refuse", "drop")),
    "no_such_time": Kind("the clock skips this time of day", ("refuse", "drop")),
    "twice_time": Kind("the clock shows this time twice that day", ("refuse", "drop")),
    "price": Kind("a price is missing, not positive or too large", ("refuse", "drop")),
    "impossible": Kind("high or low contradict the other prices", ("refuse", "drop")),
    "off_tick": Kind("a price lies between two ticks", ("refuse", "round")),
    "amount": Kind("volume or spread is missing, negative or too large", ("refuse", "drop")),
    "duplicate": Kind("a row is there twice, with equal values", ("drop", "refuse")),
    "conflict": Kind("a stamp is there twice, with other values", ("refuse", "first", "last")),
    "unsorted": Kind("a row is earlier than the one before it", ("refuse", "sort")),
    "off_grid": Kind("a stamp lies between two bars", ("refuse", "drop")),
    "other_length": Kind("bars of another length are among the rest", ("refuse", "drop")),
    "filler": Kind("a bar without volume and movement fills a closed time", ("drop", "keep")),
    "weekend": Kind("a bar opens at the weekend", ("refuse", "drop", "keep")),
    "clock": Kind("weeks have bars in gold's closed hour", ("refuse", "keep")),
    "closed_hour": Kind("single bars open in gold's closed hour", ("keep", "drop", "refuse")),
    "level": Kind("prices are not those of the instrument at the time", ("refuse", "keep")),
    "reference": Kind("returns do not follow the reference series", ("refuse", "keep")),
    "invented": Kind("bars look made up", ("refuse", "keep")),
    "invented_head": Kind("the first rows look made up", ("refuse", "drop", "keep")),
    "stitched": Kind("opens equal the closes before them, over gaps too", ("keep", "refuse")),
    "flat": Kind("bars have no movement at all", ("keep", "refuse")),
    "hole": Kind("bars are missing inside a session", ("keep", "refuse")),
    "forming": Kind("the last bar may not have been complete", ("drop", "keep")),
    "no_spread": Kind("a spread column has zeros", ("keep", "refuse")),
}  # fmt: skip
"""Name to fault; the actions stand with the default first."""


@dataclass(frozen=True, slots=True)
class Found:
    """One fault as it was met in a file.

    Attributes:
        kind: a key of KINDS. action: what was done.
        count: rows, or for `hole` holes and for `clock` weeks.
        places: the first of them in words, such as "line 17: high is '12,,5'".
        note: said once of the whole fault, "" where nothing is to be said.
    """

    kind: str
    action: Action
    count: int
    places: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done about each fault: the defaults, but for `chosen`."""

    chosen: Mapping[str, Action] = field(default_factory=dict[str, "Action"])

    def __post_init__(self) -> None:
        """Refuses a fault or an action that does not exist.

        Raises:
            SpecInvalid: naming what there is.
        """
        for name, action in self.chosen.items():
            if name not in KINDS:
                raise SpecInvalid(f"--on {name[:40]}: no such fault; there are: {', '.join(KINDS)}")
            if action not in KINDS[name].actions:
                raise SpecInvalid(
                    f"--on {name}={str(action)[:40]}: expected {' or '.join(KINDS[name].actions)}"
                )

    def of(self, kind: str) -> Action:
        """What is done about a fault."""
        return self.chosen.get(kind, KINDS[kind].actions[0])


class Tally:
    """Counts faults while a file is read; the first places of each are kept in words."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[str]] = {}
        self._notes: dict[str, str] = {}

    def add(self, kind: str, count: int, places: Iterable[str] = (), note: str = "") -> None:
        """Counts a fault; `places` is read only as far as they are shown."""
        if not count:
            return
        self._counts[kind] = self._counts.get(kind, 0) + count
        kept = self._places.setdefault(kind, [])
        kept += islice(places, MOST_PLACES - len(kept))
        if note:
            self._notes[kind] = note

    def count(self, kind: str) -> int:
        """How often a fault was met so far."""
        return self._counts.get(kind, 0)

    def found(self) -> tuple[Found, ...]:
        """All faults that were met, in the order of KINDS."""
        return tuple(
            Found(
                kind, self.policy.of(kind), self._counts[kind], tuple(self._places[kind]),
                self._notes.get(kind, ""),
            )
            for kind in KINDS
            if kind in self._counts
        )  # fmt: skip
