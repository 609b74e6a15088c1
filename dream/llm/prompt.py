"""What a model is shown: versioned templates, rendered from a snapshot and what was recalled.

Stable first, volatile last: the system prompt is the same for a whole run, and in the user prompt
the clock comes at the end. Versions are only ever added, so that old journals replay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

from dream.errors import SpecInvalid
from dream.llm import prompt_v1
from dream.llm.prompt_settings import PromptSettings
from dream.llm.specimen import specimens
from dream.types import Shown, Snapshot

System: TypeAlias = Callable[[PromptSettings], str]
User: TypeAlias = Callable[[Snapshot, Sequence[Shown], PromptSettings], str]

TEMPLATES: Final[dict[str, tuple[System, User]]] = {"v1": (prompt_v1.system, prompt_v1.user)}
"""Version to the functions that make its system and its user prompt."""


def system_prompt(settings: PromptSettings) -> str:
    """The part that is the same for every question of a run.

    Raises:
        SpecInvalid: there is no such version of the template.
    """
    return _template(settings.version)[0](settings)


def user_prompt(ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings) -> str:
    """One question: everything known at the close of the newest bar, and nothing later.

    Args:
        ask: the snapshot, prices in quote currency.
        shown: the recalled episodes; the memory block is left out when there are none.
        settings: of the run.

    Raises:
        SpecInvalid: there is no such version of the template.
    """
    return _template(settings.version)[1](ask, shown, settings)


@cache
def prompt_hash(version: str) -> str:
    """sha256 of what is asked with a template in two specimens, the answer's schema included.

    It stays the same as long as the same is asked, however the code is written.

    Raises:
        SpecInvalid: there is no such version.
    """
    h = hashlib.sha256(version.encode())
    for settings, ask, shown in specimens(version):
        schema = json.dumps(settings.schema())
        for text in (system_prompt(settings), user_prompt(ask, shown, settings), schema):
            h.update(len(text).to_bytes(8, "big") + text.encode())
    return h.hexdigest()


def _template(version: str) -> tuple[System, User]:
    if version not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise SpecInvalid(f"unknown prompt version {version!r}; known: {known}")
    return TEMPLATES[version]
