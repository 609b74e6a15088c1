"""What comes from HistData: generic ASCII, the same for NinjaTrader, and ticks, which are refused.

Its MetaTrader files are those of `metatrader`; its spreadsheets are plain text once exported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head

_STAMP: Final = re.compile(r"\d{8} \d{6}")


def _ascii(head: Head) -> bool:
    return len(head.first) in {5, 6} and bool(_STAMP.fullmatch(head.first[0]))


FORMS: Final = (
    Form(
        "HistData ASCII",
        _ascii,
        clock="wall",
        notes=("HistData documents UTC-5 without daylight saving; its gold was seen to switch",),
    ),
)
