"""What was found in an export and what was done about it, in figures and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.bars.checks.faults import KINDS
from dream.bars.clock.clocks import iso
from dream.types import MINUTE_NS

if TYPE_CHECKING:
    from dream.bars.checks.faults import Found

DONE: Final = {
    "refuse": "refused",
    "drop": "dropped",
    "keep": "kept",
    "first": "the first kept",
    "last": "the last kept",
    "sort": "sorted",
    "round": "rounded",
}
"""Action to what is said of it."""
MOST_FAULTS: Final = 4
"""Faults that a message names."""
LISTED_CHARS, PLACE_CHARS, NOTE_CHARS = 320, 120, 160
"""Characters of the faults in a message if there are several, of one place and of one note."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """What the closed hour says of the source clock.

    Attributes:
        declared: the rule that was used. judged: weeks that could be judged.
        standing: the weeks with bars in the closed hour, by their Monday.
        fitting: the rules that fit, the most common first; one that changes inside the file reads
            `A,B@DATE`. change: the Sundays between which it changes, where it does.
        why: what the closed hour says, in words.
        shifts: weeks of one shift against the reference, in words; empty without one.
    """

    declared: str
    judged: int = 0
    standing: tuple[str, ...] = ()
    fitting: tuple[str, ...] = ()
    change: tuple[str, str] | None = None
    why: str = ""
    shifts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """One export, checked.

    Attributes:
        source: its name. sha256: of the file as it lies there. format: see sheet.Layout.
        symbol, tick: what the prices were read as. point: of a spread in points, else None.
        clock: see Clocks.
        rows_read: rows in the source. rows_kept: bars that came of them. rounded: rows with a
            price or spread that was moved to the tick grid.
        bar_ns, from_ns, to_ns: length of a bar, first open, last close.
        found: the faults, each with its action.
        days, full_days, half_days, closed_days: trading days, as `holes.Holes` counts them.
        unused: columns that were not read. notes: what else is worth knowing.
    """

    source: str
    sha256: str
    format: str
    symbol: str
    tick: float
    point: float | None
    clock: Clocks
    rows_read: int
    rows_kept: int
    rounded: int
    bar_ns: int
    from_ns: int
    to_ns: int
    found: tuple[Found, ...]
    days: int
    full_days: int
    half_days: int
    closed_days: int
    unused: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def refused(self) -> tuple[Found, ...]:
        """The faults for which an import is refused."""
        return tuple(fault for fault in self.found if fault.action == "refuse")

    @property
    def dropped(self) -> dict[str, int]:
        """Rows that were left out, by reason."""
        return {
            fault.kind: fault.count
            for fault in self.found
            if fault.action in {"drop", "first", "last"}
        }

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object; instants are ISO 8601 in UTC."""
        record = asdict(self)
        for name in ("bar_ns", "from_ns", "to_ns"):
            del record[name]
        return record | {
            "bar_minutes": self.bar_ns // MINUTE_NS,
            "from": iso(self.from_ns),
            "to": iso(self.to_ns),
            "rows_dropped": self.dropped,
            "refused": [fault.kind for fault in self.refused],
        }


def listed(found: tuple[Found, ...]) -> str:
    """Faults in one line, for a message: the first of them in words, the rest by their number."""
    shown: list[str] = []
    for fault in found[:MOST_FAULTS]:
        text = in_words(fault)
        if shown and sum(map(len, shown)) + len(text) > LISTED_CHARS:
            break
        shown.append(text)
    more = len(found) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def in_words(fault: Found) -> str:
    """One fault in a line of a message: how often, what, what was done, the first place."""
    said = [f"{fault.count:,} x {KINDS[fault.kind].what} ({DONE[fault.action]})"]
    said += [_cut(fault.places[0], PLACE_CHARS)] if fault.places else []
    said += [_cut(fault.note, NOTE_CHARS)] if fault.note else []
    return "; ".join(said)


def described(fault: Found) -> str:
    """What a fault is, and what else is to be said of it."""
    note = f"; {fault.note}" if fault.note else ""
    return f"{KINDS[fault.kind].what}{note}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def refusal(report: Report) -> str:
    """Why an export is refused and what can be done, for a message."""
    refused = report.refused
    others = [(fault.kind, KINDS[fault.kind].actions) for fault in refused]
    choices = [
        f"--on {kind}={'|'.join(action for action in actions if action != 'refuse')}"
        for kind, actions in others[:MOST_FAULTS]
    ]
    if report.clock.fitting and any(fault.kind == "clock" for fault in refused):
        choices.insert(0, f"--clock {report.clock.fitting[0]}")
    choices += ["..."] if len(others) > MOST_FAULTS else []
    more = "; dream bars check names all" if sum(f.count for f in refused) > 1 else ""
    return (
        f"{report.source} ({report.format}, clock {report.clock.declared}): {listed(refused)}. "
        f"Nothing was written. Mend the file or choose what is done: {', '.join(choices)}{more}"
    )
