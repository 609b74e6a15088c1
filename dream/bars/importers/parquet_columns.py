"""Which column of a Parquet file holds what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from dream.bars.importers.parquet_stamps import is_time_of_day
from dream.errors import BarsInvalid, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dream.bars.importers.sheet import Hints

PRICES: Final = ("open", "high", "low", "close")
GIVEN: Final = ("timestamp", *PRICES, "volume", "spread")
"""Roles that a user may give to a column."""
_PRICE_KEYS: Final = ("{0}", "{1}", "{0}price", "price{0}", "{0}bid", "bid{0}", "{0}int", "{1}int",
                      "{0}cents", "{1}cents")  # fmt: skip
KEYS: Final = {
    "timestamp": (
        "timestamp", "datetime", "timestamputc", "datetimeutc", "timeutc", "opentime", "timeopen",
        "bartime", "gmttime", "time", "ts", "dt", "date", "index", "level0", "indexlevel0",
        "unnamed0", "t", "unix", "epoch",
    ),
    **{name: tuple(key.format(name, name[0]) for key in _PRICE_KEYS) for name in PRICES},
    "volume": ("tickvolume", "tickvol", "volume", "vol", "v", "ticks", "realvolume"),
    "spread": ("spread", "spreadpoints"),
    "symbol": ("symbol", "ticker", "instrument", "pair"),
    "period": ("timeframe", "tf", "period", "interval"),
}  # fmt: skip
"""Role to names, the best first, in small letters and digits alone."""
_OF_SEVERAL: Final = re.compile(r"\('([^']+)', '[^']*'\)")
"""How pandas writes a column name of two levels, such as ('Close', 'GC=F')."""
SHOWN, SHOWN_CHARS = 30, 40
"""Names shown in a message, and characters of each."""


def _key(name: str) -> str:
    match = _OF_SEVERAL.fullmatch(name)
    return re.sub(r"[^a-z0-9]", "", (match[1] if match else name).lower())


def roles(names: Sequence[str]) -> dict[str, str]:
    """Role to the name of the column that holds it, by the names alone.

    The roles are the keys of KEYS, and `clock_time` where times of day lie beside dates.
    """
    found: dict[str, str] = {}
    for role, keys in KEYS.items():
        for key in keys:
            name = next((n for n in names if _key(n) == key), None)
            if name is not None:
                found[role] = name
                break
    date = next((n for n in names if _key(n) == "date"), None)
    if date is not None and _key(found["timestamp"]) == "time":
        found |= {"timestamp": date, "clock_time": found["timestamp"]}
    return found


def locate(schema: Any, path: Path, hints: Hints) -> dict[str, str]:
    """Role to column, with what the user said.

    Raises:
        BarsInvalid: a column is missing or there twice.
        SpecInvalid: a hint names no role or no column.
    """
    names: list[str] = schema.names
    found = roles(names)
    clock_time = found.get("clock_time")
    if clock_time and not is_time_of_day(schema.field(clock_time).type):
        found["timestamp"] = found.pop("clock_time")
    shown = ", ".join(n[:SHOWN_CHARS] for n in names[:SHOWN]) + ", ..." * (len(names) > SHOWN)
    for role, text in hints.columns.items():
        if role not in GIVEN:
            raise SpecInvalid(
                f"--column {role[:SHOWN_CHARS]}: no such role; there are: {', '.join(GIVEN)}"
            )
        place = int(text[:9]) if text.isdecimal() and text not in names else 0
        name = names[place - 1] if 0 < place <= len(names) else text
        if name not in names:
            raise SpecInvalid(
                f"--column {role}={text[:SHOWN_CHARS]}: no such column in {path}; found {shown}"
            )
        if role == "timestamp":
            found.pop("clock_time", None)
        found[role] = name
    missing = [role for role in ("timestamp", *PRICES) if role not in found]
    if missing:
        raise BarsInvalid(
            f"{path}: no column {', '.join(missing)}; expected timestamp, open, high, low, close"
            f" and perhaps volume, spread; found {shown}; rename the columns, or use --column"
        )
    for role, name in found.items():
        alike = () if role in hints.columns else (_key(name),)
        same = [n for n in names if n == name or _key(n) in alike]
        if len(same) > 1:
            raise BarsInvalid(
                f"{path}: two columns {role}: {same[0][:SHOWN_CHARS]} and {same[1][:SHOWN_CHARS]};"
                " expected one; leave one out, or name it with --column"
            )
    return found
