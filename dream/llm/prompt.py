"""What a model is shown: versioned templates, rendered from a snapshot and what was recalled.

Stable first, volatile last: the system prompt is the same for a whole run, and in the user prompt
the clock comes at the end. Versions are only ever added, so that old journals replay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from dream.errors import SpecInvalid
from dream.llm import prompt_v1
from dream.llm.prompt_settings import PromptSettings
from dream.llm.specimen import specimens
from dream.types import Shown, Snapshot

if TYPE_CHECKING:
    from dream.llm.prompt_settings import Context

System: TypeAlias = Callable[[PromptSettings], str]
User: TypeAlias = Callable[[Snapshot, Sequence[Shown], PromptSettings], str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Template:
    """How a model is asked. Pure: the same arguments always give the same text.

    Attributes:
        system: gives the part that is the same for a whole run.
        user: gives one question, as one text or as several that are joined. Of several, all but
            the last are what the next question is expected to begin with: they are cached.
    """

    system: System
    user: User


def _v1(ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings) -> str | Sequence[str]:
    layout = prompt_v1.day if settings.context == "day" else prompt_v1.user
    return layout(ask, shown, settings)


TEMPLATES: Final[dict[str, Template]] = {"v1": Template(prompt_v1.system, _v1)}
"""Version to template."""


def template(version: str) -> Template:
    """The template of a version.

    Raises:
        SpecInvalid: there is none.
    """
    if version not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise SpecInvalid(f"unknown prompt version {version!r}; known: {known}")
    return TEMPLATES[version]


def system_prompt(settings: PromptSettings) -> str:
    """The part that is the same for every question of a run.

    Raises:
        SpecInvalid: there is no such version of the template.
    """
    return template(settings.version).system(settings)


def user_prompt(ask: Snapshot, shown: Sequence[Shown], settings: PromptSettings) -> str:
    """One question: everything known at the close of the newest bar, and nothing later.

    Args:
        ask: the snapshot, prices in quote currency.
        shown: the recalled episodes; the memory block is left out when there are none.
        settings: of the run.

    Raises:
        SpecInvalid: there is no such version of the template.
    """
    return "".join(in_parts(template(settings.version).user(ask, shown, settings)))


def in_parts(user: str | Sequence[str]) -> tuple[str, ...]:
    """The texts that a user prompt is made of: joined, they are the prompt."""
    return (user,) if isinstance(user, str) else tuple(user)


@cache
def prompt_hash(version: str, context: Context = "window") -> str:
    """sha256 of what is asked with a template in two specimens, the answer's schema included.

    It stays the same as long as the same is asked, however the code is written.

    Raises:
        SpecInvalid: there is no such version.
    """
    h = hashlib.sha256(version.encode())
    asked = template(version)
    for settings, ask, shown in specimens(version, context):
        schema = json.dumps(settings.schema())
        for text in (asked.system(settings), *in_parts(asked.user(ask, shown, settings)), schema):
            h.update(len(text).to_bytes(8, "big") + text.encode())
    return h.hexdigest()
