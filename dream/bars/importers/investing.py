"""What Investing.com exports: the close is called price, thousands are quoted, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dream.bars.importers.text_form import Form

if TYPE_CHECKING:
    from dream.bars.importers.text_head import Head


def _export(head: Head) -> bool:
    return head.keys[:5] == ("date", "price", "open", "high", "low")


FORMS: Final = (Form("Investing.com", _export, renamed={"price": "close"}),)
