"""A prompt template of the user's: found by its name, and held to give texts that can be sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from dream.errors import InputError, SpecInvalid
from dream.llm.parse import well_formed
from dream.llm.prompt import Template
from dream.runs import plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.llm.prompt_settings import PromptSettings
    from dream.types import Shown, Snapshot

LONGEST: Final = 4_194_304
"""Bytes of one prompt as the journal writes it, in ASCII with escapes; a line holds it twice."""


def load(name: str) -> Template:
    """The template that `module:name` names, its texts checked whenever they are made.

    Raises:
        SpecInvalid: the module cannot be imported, or what it has by that name is no Template.
    """
    found = plugins.named(name, "prompt")
    if not isinstance(found, Template):
        there = "no such name" if found is None else f"a {type(found).__name__}"
        raise SpecInvalid(f"prompt {name}: expected a dream.llm.prompt.Template, found {there}")
    what = f"prompt {name}"
    system, user = (plugins.blamed(f, what) for f in (found.system, found.user))

    def whole(settings: PromptSettings) -> str:
        return _text(system(settings), f"{what}, system")

    def parts(
        ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings
    ) -> str | Sequence[str]:
        return _texts(user(ask, shown, settings), f"{what}, question {ask.seq}")

    return Template(whole, parts)


def _texts(given: Any, where: str) -> str | Sequence[str]:
    if not isinstance(given, list | tuple):
        return _text(given, where)
    texts = [_text(part, where) for part in cast("Sequence[Any]", given)]
    if not texts or sum(map(_written, texts)) > LONGEST:
        raise InputError(f"{where}: expected texts of 1 to {LONGEST:,} bytes, found other")
    return texts


def _text(given: Any, where: str) -> str:
    """A text that a server takes: one of blanks alone is refused by it."""
    if not isinstance(given, str):
        found = type(given).__name__
        raise InputError(f"{where}: expected a text or a list of texts, found {found}")
    if not given.strip() or _written(given) > LONGEST:
        raise InputError(
            f"{where}: expected a text of 1 to {LONGEST:,} bytes (each character outside ASCII is "
            f"written as 6 or 12) that are not all blank, found {_written(given):,}"
        )
    return well_formed(given)


def _written(text: str) -> int:
    return len(text) if text.isascii() else len(json.dumps(text)) - 2
