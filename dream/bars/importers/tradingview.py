"""What TradingView exports: seconds since 1970 or ISO times with an offset, then indicators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head

_STAMP: Final = re.compile(r"\d{9,10}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")
_COLUMNS: Final = ("time", "open", "high", "low", "close")


def _export(head: Head) -> bool:
    stamps = head.values(0, 1)[:1]
    plain = head.comments == 0 and "volume" not in head.first
    return head.first[:5] == _COLUMNS and plain and all(map(_STAMP.fullmatch, stamps))


FORMS: Final = (Form("TradingView export", _export, first_counts=True),)
