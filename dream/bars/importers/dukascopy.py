"""What comes from Dukascopy: its website and the downloader dukascopy-node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head

_MILLISECONDS: Final = re.compile(r"\d{12,13}")


def _gmt(head: Head) -> bool:
    return head.keys[:2] == ("gmttime", "open")


def _local(head: Head) -> bool:
    return head.keys[:2] == ("localtime", "open")


def _node(head: Head) -> bool:
    stamps = head.values(0, 1)[:1]
    named = head.first[:5] == ("timestamp", "open", "high", "low", "close")
    known = bool(stamps) and all(map(_MILLISECONDS.fullmatch, stamps))
    return named and len(head.first) <= 6 and known


FORMS: Final = (
    Form("Dukascopy website, GMT", _gmt, clock="utc"),
    Form("Dukascopy website, local time", _local),
    Form("dukascopy-node", _node),
)
