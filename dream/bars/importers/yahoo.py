"""What yfinance saves: three lines of header, or one with an adjusted close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head


def _three_lines(head: Head) -> bool:
    first = [line.fields[0].lower() for line in head.lines[:3]]
    return first in (["price", "ticker", "date"], ["price", "ticker", "datetime"])


def _one_line(head: Head) -> bool:
    return head.keys[:1] in {("date",), ("datetime",)} and "adjclose" in head.keys


FORMS: Final = (
    Form(
        "Yahoo Finance, three header lines",
        _three_lines,
        header_lines=3,
        renamed={"price": "timestamp"},
        symbol_line=1,
    ),
    Form("Yahoo Finance", _one_line),
)
