"""Take a key out of what a server says, in whatever form it repeats it back."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK: Final = "[key]"
PIECE: Final = 12
"""A stretch of so many characters of a key is taken out, though the rest be missing."""
SHORTEST: Final = 8
"""Shorter keys are no secrets (`ollama`, `x`) and stand in answers by chance: they are left."""


def redactor(key: str) -> Callable[[str], str]:
    """A function that replaces every stretch of the key in a text by MARK.

    Found are the key and its pieces as they are, percent-encoded, escaped as in JSON, in
    hexadecimal, and in base64 wherever in the encoded bytes it stands.
    """
    size = min(PIECE, len(key))
    pieces: set[str] = set()
    if len(key) >= SHORTEST:
        pieces = {f[i : i + size] for f in _forms(key) for i in range(len(f) - size + 1)}

    def redact(text: str) -> str:
        if not pieces:
            return text
        struck = strike(text)
        # Escapes of characters that need none: whoever reads them would make the key of them.
        plain = _ESCAPE.sub(_unescaped, struck)
        cleaned = strike(plain)
        return struck if cleaned == plain else cleaned

    def strike(text: str) -> str:
        starts = [i for i in range(len(text) - size + 1) if text[i : i + size] in pieces]
        out: list[str] = []
        end = 0
        for start in starts:
            if start > end or not out:
                out += (text[end:start], MARK)
            end = start + size
        return "".join((*out, text[end:]))

    return redact


_ESCAPE: Final = re.compile(r"\\u00([2-7][0-9a-fA-F])|%([2-7][0-9a-fA-F])")


def _unescaped(found: re.Match[str]) -> str:
    character = chr(int(found[1] or found[2], 16))
    return found[0] if character in '"\\\x7f' else character


def _forms(key: str) -> Iterator[str]:
    raw = key.encode()
    yield key
    yield quote(key, safe="")
    yield json.dumps(key)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()
    # Three bytes make four characters, so what stands before the key shifts it in one of three
    # ways; characters that it shares with its neighbours are left out.
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + raw).decode().rstrip("=")
            whole = (before + len(raw)) * 8 // 6
            yield text[shared:whole]
