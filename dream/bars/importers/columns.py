"""Names of columns to what they hold, and places to it where there are no names."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dream.bars.importers import stamps
from dream.bars.importers.text_head import FEWEST, NUMBER, Head, key, shown
from dream.errors import BarsInvalid, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dream.bars.importers.sheet import Hints
    from dream.bars.importers.text_form import Form

PRICES: Final = ("open", "high", "low", "close")
HEADER: Final = ",".join(("timestamp", *PRICES))
ROLES: Final = ("timestamp", *PRICES, "volume", "spread")
STAMPS: Final = (
    "timestamp", "datetime", "dateandtime", "timestamputc", "datetimeutc", "timeutc", "utc",
    "opentime", "timeopen", "bartime", "time", "gmttime", "localtime", "timeeet", "ts", "dt",
    "date", "day", "dtyyyymmdd", "dateutc", "hour", "", "unnamed0", "index",
)  # fmt: skip
"""Keys of columns with times, the best first; a blank name is what pandas gives its index."""
_STEMS: Final = {"open": "o", "high": "h", "low": "l", "close": "c"}
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        name: (
            name, letter, f"{name}price", f"price{name}", f"{name}bid", f"bid{name}",
            *(f"{stem}{unit}" for stem in (name, letter) for unit in ("int", "cents")),
        )
        for name, letter in _STEMS.items()
    },
    "volume": ("tickvolume", "tickvol", "ticks", "tickcount", "volume", "vol", "v", "realvolume"),
    "spread": ("spread", "spreadpoints", "spreadpts", "avgspread"),
    "symbol": ("symbol", "ticker", "instrument", "pair"),
    "period": ("timeframe", "tf", "per", "period", "interval"),
}  # fmt: skip
INTEGER: Final = re.compile(r"(?:open|high|low|close|[ohlc])(int|cents)")
SAYS_UTC: Final = ("utc", "gmt", "gmttime")


@dataclass(frozen=True, slots=True)
class Roles:
    """Indices of the columns that are read, from 0.

    Attributes:
        names: of all columns, for messages and the report.
        stamp: one column or two, px: four, open high low close.
        unused: the rest. integer: what the names say of integer prices: `int`, `cents` or "".
    """

    names: tuple[str, ...]
    stamp: tuple[int, ...]
    px: tuple[int, ...]
    volume: int | None = None
    spread: int | None = None
    symbol: int | None = None
    period: int | None = None
    integer: str = ""

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the columns that are not read."""
        others = (self.volume, self.spread, self.symbol, self.period)
        used = {*self.stamp, *self.px, *others}
        return tuple(name for k, name in enumerate(self.names) if k not in used)

    @property
    def says_utc(self) -> bool:
        """Whether the name of the times' column says that they are UTC."""
        name = key(self.names[self.stamp[0]])
        return name.startswith(SAYS_UTC) or name.endswith(SAYS_UTC)


def locate(names: Sequence[str], head: Head, form: Form, hints: Hints) -> Roles:
    """The columns of a file whose header has these names.

    Raises:
        BarsInvalid: one that is needed is not there, or there twice.
        SpecInvalid: a hint names a column that does not exist.
    """
    keys = [form.renamed.get(k, k) for k in map(key, names)]
    given = {role: _hinted(role, name, names, head) for role, name in hints.columns.items()}
    free = [k if i not in {*given.values()} else "-" for i, k in enumerate(keys)]
    found = {role: _first(role, free, form.first_counts, names, head) for role in KEYS}
    found = {role: at for role, at in found.items() if at is not None} | given
    missing = [role for role in PRICES if role not in found]
    stamp = (given["timestamp"],) if "timestamp" in given else None
    stamp = stamp or _stamp(free, head, form.header_lines)
    if missing or not stamp:
        missing = [*missing] if stamp else ["timestamp", *missing]
        raise _no_column(missing, names, head)
    integer = INTEGER.fullmatch(keys[found["open"]])
    return Roles(
        tuple(names),
        stamp,
        tuple(found[role] for role in PRICES),
        found.get("volume"),
        found.get("spread"),
        found.get("symbol"),
        found.get("period"),
        integer[1] if integer else "",
    )


def by_place(head: Head, form: Form, hints: Hints) -> Roles:
    """The columns of a file without a header: stamp, open, high, low, close and perhaps volume.

    Raises:
        BarsInvalid: they are not in this order.
        SpecInvalid: a hint names a column that does not exist.
    """
    if form.names and len(form.names) == len(head.first):
        return locate(form.names, head, form, hints)
    kinds = [_kind(head.values(k, 0)) for k in range(len(head.first))]
    first = next((k for k, found in enumerate(kinds) if found not in {None, "time"}), None)
    stamp = [] if first is None else [first]
    if first is not None and kinds[first : first + 2] == ["date", "time"]:
        stamp.append(first + 1)
    names = [f"column {k + 1}" for k in range(len(head.first))]
    for k, role in zip(stamp, ("date", "time") if stamp[1:] else ("timestamp",), strict=False):
        names[k] = role
    free = [k for k in range(len(names)) if not stamp or k > stamp[-1]]
    for k, role in zip(free, (*PRICES, "volume"), strict=False):
        names[k] = role
    if stamp and stamp[0] > 0 and not NUMBER.fullmatch(head.first[0]):
        names[0] = "symbol"
    roles = locate(names, head, form, hints)
    if not hints.columns:
        _check_order(roles, head)
    return roles


def _check_order(roles: Roles, head: Head) -> None:
    """Refuse columns taken by their place of which high and low are not the extremes."""
    rows = [
        [line.fields[k].replace(",", ".") for k in roles.px]
        for line in head.lines
        if len(line.fields) == len(head.first)
    ]
    px = [[float(f) for f in row] for row in rows if all(map(NUMBER.fullmatch, row))]
    right = sum(max(o, c) <= h and min(o, c) >= l for o, h, l, c in px)
    if right * 2 < len(px):
        raise BarsInvalid(
            f"{head.path}: there is no header, and columns {shown([str(k + 1) for k in roles.px])}"
            f" are not open, high, low, close; found {shown(head.first)}; put a header before"
            " them, or say with --column which column is which"
        )


def _hinted(role: str, name: str, names: Sequence[str], head: Head) -> int:
    """The column that the user gave by its name or its number."""
    if role not in ROLES:
        raise SpecInvalid(f"--column {role[:40]}: no such role; there are: {', '.join(ROLES)}")
    same = [k for k, n in enumerate(names) if n == name]
    same = same or [k for k, n in enumerate(names) if key(n) == key(name) != ""]
    if len(same) == 1:
        return same[0]
    if not same and name.isdecimal() and 0 < int(name[:9]) <= len(names):
        return int(name) - 1
    fault = "two columns" if same else "no column"
    raise SpecInvalid(
        f"--column {role}={name[:40]}: {fault} of this name in {head.path}; found {shown(names)};"
        " give a name or a number from 1"
    )


def _first(
    role: str, keys: Sequence[str], first_counts: bool, names: Sequence[str], head: Head
) -> int | None:
    """The column with the best name for a role."""
    for name in KEYS[role]:
        found = [k for k, other in enumerate(keys) if other == name]
        if len(found) > 1 and role in ROLES and not first_counts:
            raise BarsInvalid(
                f"{head.path}: two columns {names[found[0]]}; expected each name once; found"
                f" {shown(names)}; rename one, or say with --column which one is meant"
            )
        if found:
            return found[0]
    return None


def _stamp(keys: Sequence[str], head: Head, after: int) -> tuple[int, ...] | None:
    """The column with whole stamps, or those with dates and times, or dates alone."""
    after = after if head.has_header else 0
    places = [k for name in STAMPS for k, other in enumerate(keys) if other == name]
    kinds = {k: _kind(head.values(k, after)) for k in places}
    for whole in ("full", "epoch"):
        for k in places:
            if kinds[k] == whole:
                return (k,)
    date = next((k for k in places if kinds[k] == "date"), None)
    time = next((k for k in places if kinds[k] == "time"), None)
    if date is None:
        return tuple(places[:1]) or None
    return (date,) if time is None else (date, time)


def _kind(values: Sequence[str]) -> stamps.Kind | None:
    """What most of some fields are."""
    kinds: Counter[stamps.Kind | None] = Counter(stamps.kind(v) for v in values)
    return kinds.most_common(1)[0][0] if kinds else None


def _no_column(missing: Sequence[str], names: Sequence[str], head: Head) -> BarsInvalid:
    few = len(names) < FEWEST
    ticks = {"bid", "ask"} <= set(map(key, names))
    fault = f"there are {len(names)} columns, " if few else ""
    fault += f"no column {', '.join(missing)}"
    found, mend = shown(names), "rename the columns, or say with --column which is which"
    if not head.has_header:
        fault += " and no header"
        found, mend = shown(head.first), f"put a header such as {HEADER} before the first line"
    return BarsInvalid(
        f"{head.path}, line {head.lines[0].number}: {fault}; expected timestamp, open, high, low,"
        f" close and perhaps volume, spread; found {found}; "
        + ("export bars, not ticks" if few or ticks else mend)
    )
