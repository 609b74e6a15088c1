"""How a prompt's beginning is cached by the server: where it is marked, and what to say of it.

A server of the Messages API caches what stands before a mark (`cache_control`), for five minutes
after each use. From a mark it looks back for what an earlier request marked, over few blocks only,
so a prompt that grows is sent in blocks that stay what they are, and marked more than once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.llm.catalog import Entry

LOOK_BACK: Final = 20
"""Blocks that one mark finds, itself among them."""
MARKS: Final = 3
"""Marks in a user prompt; a request takes four, and one is the system prompt's."""
LIFE_S: Final = 300.0
"""Seconds that an entry lives after its last use."""
SILENT: Final = 20
"""Replies in a row after which a cache that gave nothing is spoken of."""
TOKEN_BYTES: Final = 4
"""Of English, about; what a model makes of numbers is shorter."""


def block(text: str, *, marked: bool) -> dict[str, Any]:
    """One text as a block of the Messages API."""
    plain: dict[str, Any] = {"type": "text", "text": text}
    return {**plain, "cache_control": {"type": "ephemeral"}} if marked else plain


def blocks(user: str, cuts: Sequence[int]) -> list[dict[str, Any]]:
    """A user prompt in blocks, the last one before the last cut marked and few before that.

    With one mark in LOOK_BACK blocks, what the request before marked is found as long as fewer
    than MARKS x LOOK_BACK blocks were added since.

    Args:
        user: the whole prompt; it is the texts of the blocks, joined.
        cuts: rising offsets within it, at least one.
    """
    marked = range(len(cuts) - 1, -1, -LOOK_BACK)[:MARKS]
    spans = enumerate(pairwise((0, *cuts, len(user))))
    return [block(user[a:b], marked=i in marked) for i, (a, b) in spans]


def note(entry: Entry, prefix_bytes: int | None, silent: int) -> str | None:
    """What a user should know where a cache that was expected did nothing; else None.

    Args:
        entry: the model that was asked.
        prefix_bytes: of the shortest beginning that questions had in common, None without any.
        silent: most replies in a row, within the life of an entry, without a token from the cache.
    """
    least = entry.cache_min_tokens
    about = (prefix_bytes or 0) // TOKEN_BYTES
    if entry.cache != "none" and least is not None and prefix_bytes and about < least:
        return (
            f"what the questions have in common is about {about:,} tokens ({TOKEN_BYTES} bytes "
            f"each), and {entry.id} caches nothing shorter than {least:,}"
        )
    if entry.cache == "marked" and silent >= SILENT:
        return (
            f"{silent:,} replies in a row read nothing from the cache although the prompt is "
            f"marked for it: the endpoint does not cache it, or does not say so"
        )
    return None
