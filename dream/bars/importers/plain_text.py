"""Any other text file with a stamp and four prices in each line."""

from __future__ import annotations

from typing import Final

from dream.bars.importers.text_form import Form

NAME: Final = "plain text"
FORMS: Final = (Form(NAME, lambda _: True),)
