"""What comes out of MetaTrader 4 and 5, by its terminal, its Python package or scripts.

All of it is in server time, epoch numbers too: the package gives the server's wall clock as if it
were UTC.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head

_DATE: Final = re.compile(r"\d{4}\.\d\d\.\d\d")
_TIME: Final = re.compile(r"\d\d:\d\d")
_BOTH: Final = re.compile(r"\d{4}\.\d\d\.\d\d \d\d:\d\d(:\d\d)?")
_PRICES: Final = ("open", "high", "low", "close")


def _terminal(head: Head) -> bool:
    return head.first[0] == "<DATE>" and "<OPEN>" in head.first


def _python(head: Head) -> bool:
    return {"time", "tickvolume", "spread", "realvolume"} <= set(head.keys)


def _script(head: Head) -> bool:
    return {"tickvolume", "open"} <= set(head.keys)


def _history(head: Head) -> bool:
    row = head.first
    return len(row) == 7 and bool(_DATE.fullmatch(row[0]) and _TIME.fullmatch(row[1]))


def _bare_script(head: Head) -> bool:
    return len(head.first) in {5, 6} and bool(_BOTH.fullmatch(head.first[0]))


FORMS: Final = (
    Form("MetaTrader 5 export", _terminal, clock="wall", spread_unit="points"),
    Form("MetaTrader 5 Python", _python, clock="wall", spread_unit="points"),
    Form("MetaTrader script", _script, clock="wall", spread_unit="points"),
    Form(
        "MetaTrader 4 history",
        _history,
        names=("date", "time", *_PRICES, "volume"),
        clock="wall",
        notes=("HistData has this layout, too, and another clock",),
    ),
    Form("MetaTrader script without header", _bare_script, clock="wall"),
)
