"""Tokens by a simple rule, and a cache of prefixes as the Messages API keeps one.

A token is four bytes of UTF-8, rounded up for each block. That is no tokenizer: it is a rule that
anybody can work out again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.llm.fake.plan import Cache

BYTES_PER_TOKEN: Final = 4
LOOK_BACK: Final = 20
"""Blocks before a breakpoint at which an entry is looked for, as the API documents it."""
STEP_TOKENS: Final = 64
"""Automatic caches keep prefixes in steps of so many tokens."""
_HOUR_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a prompt, in the order in which prefixes are counted.

    Attributes:
        data: what the model is given. marked: a breakpoint lies behind it. life_s: that it asks
            for, None for the cache's own.
    """

    data: bytes
    marked: bool = False
    life_s: float | None = None

    @property
    def tokens(self) -> int:
        """By the rule."""
        return tokens_of(self.data)


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a prompt: read from the cache, written to it, and the rest."""

    read: int
    written: int
    uncached: int


def tokens_of(data: bytes) -> int:
    """A token for every four bytes begun."""
    return -(-len(data) // BYTES_PER_TOKEN)


def blocks_of(body: dict[str, Any]) -> list[Block]:
    """The prompt in its blocks: tools, the schema of the answer, system, then the messages."""
    out = [Block(_json(tool), *_mark(tool)) for tool in _list(body.get("tools"))]
    form = _dict(body.get("output_config")).get("format")
    if form is not None:
        out.append(Block(_json(form)))
    out += _content("system", body.get("system"))
    for message in _list(body.get("messages")):
        out += _content(str(_dict(message).get("role")), _dict(message).get("content"))
    if out and _dict(body.get("cache_control")):  # one mark for all: behind the last block
        out[-1] = Block(out[-1].data, *_mark(body))
    return out


def prompt_of(body: dict[str, Any]) -> str:
    """All that the messages say, one after another."""
    blocks = [
        block
        for message in _list(body.get("messages"))
        for block in _parts(_dict(message).get("content"))
    ]
    return "".join(str(_dict(block).get("text", "")) for block in blocks)


class PrefixCache:
    """Which beginnings of prompts are kept, until when.

    Args:
        rules: of the cache.
    """

    def __init__(self, rules: Cache) -> None:
        self._rules = rules
        self._until: dict[bytes, float] = {}
        self._lock = Lock()

    def count(self, model: str, blocks: list[Block], now_s: float, *, keep: bool = True) -> Counted:
        """The tokens of a prompt, whose prefixes are kept from now on.

        Args:
            model: each has a cache of its own.
            blocks: of the prompt.
            now_s: wall clock, seconds.
            keep: False where the answer never began: nothing is written.
        """
        whole = sum(block.tokens for block in blocks)
        if self._rules.mode == "none":
            return Counted(0, 0, whole)
        with self._lock:
            if self._rules.mode == "automatic":
                return self._automatic(model, blocks, now_s, keep=keep)
            return self._marked(model, blocks, now_s, keep=keep)

    def _marked(self, model: str, blocks: list[Block], now_s: float, *, keep: bool) -> Counted:
        keys, ends = _prefixes(model, blocks)
        marks = [i for i, block in enumerate(blocks) if block.marked]
        marks = [i for i in marks if ends[i] >= self._rules.min_tokens]
        hit = max((self._found(keys, mark, now_s) for mark in marks), default=-1)
        read = ends[hit] if hit >= 0 else 0
        last = max([*marks, hit]) if marks else -1
        written = ends[last] - read if last >= 0 else 0
        if keep:
            for mark in (*marks, *([hit] if hit >= 0 else [])):
                life_s = blocks[mark].life_s or self._rules.life_s
                self._until[keys[mark]] = now_s + life_s
        return Counted(read, written, sum(b.tokens for b in blocks) - read - written)

    def _found(self, keys: list[bytes], mark: int, now_s: float) -> int:
        for i in range(mark, max(mark - LOOK_BACK, -1), -1):
            if self._until.get(keys[i], 0.0) > now_s:
                return i
        return -1

    def _automatic(self, model: str, blocks: list[Block], now_s: float, *, keep: bool) -> Counted:
        data = b"".join(block.data for block in blocks)
        whole = sum(block.tokens for block in blocks)
        read = 0
        for n, key in _steps(model, data):
            if self._until.get(key, 0.0) > now_s and n == read + STEP_TOKENS:
                read = n
            if keep:
                self._until[key] = now_s + self._rules.life_s
        read = min(read, whole) if read >= self._rules.min_tokens else 0
        return Counted(read, 0, whole - read)


def _prefixes(model: str, blocks: list[Block]) -> tuple[list[bytes], list[int]]:
    """A hash and the tokens of every beginning."""
    h, total = hashlib.sha256(model.encode("utf-8", "surrogatepass")), 0
    keys: list[bytes] = []
    ends: list[int] = []
    for block in blocks:
        h.update(len(block.data).to_bytes(8, "big") + block.data)
        total += block.tokens
        keys.append(h.digest())
        ends.append(total)
    return keys, ends


def _steps(model: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    h = hashlib.sha256(b"steps:" + model.encode("utf-8", "surrogatepass"))
    size = STEP_TOKENS * BYTES_PER_TOKEN
    for n in range(len(data) // size):
        h.update(data[n * size : (n + 1) * size])
        yield (n + 1) * STEP_TOKENS, h.digest()


def _content(role: str, content: Any) -> list[Block]:
    return [
        Block(
            role.encode("utf-8", "replace")[:1] + _said(part),
            *_mark(part),
        )
        for part in _parts(content)
    ]


def _said(part: Any) -> bytes:
    text = _dict(part).get("text")
    return text.encode("utf-8", "replace") if isinstance(text, str) else _json(part)


def _parts(content: Any) -> list[Any]:
    """The blocks of a content, which may be one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else _list(content)


def _mark(part: Any) -> tuple[bool, float | None]:
    control = _dict(_dict(part).get("cache_control"))
    return bool(control), _HOUR_S if control.get("ttl") == "1h" else None


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
