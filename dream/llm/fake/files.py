"""Reads a plan and a file of answers; what is wrong with them is told by file, line and key."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from dream.errors import InputError
from dream.files import read_bounded
from dream.llm.fake.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_PLAN: Final = 1_048_576
MAX_ANSWERS: Final = 67_108_864
"""Longest files, in bytes."""
_MAX_SAID: Final = 200
_KEY: Final = re.compile(r"[a-z0-9_]+")
"""What a key of a plan looks like; pydantic puts its own words among them."""


def load_plan(path: Path) -> Plan:
    """The plan in a TOML file; `answers` may name a file beside it.

    Raises:
        InputError: it cannot be read or is no plan; names the file, the line and the key.
    """
    text = _text(path, "plan", MAX_PLAN)
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"plan {path}: not TOML: {_cut(str(error))}") from None
    named = table.get("answers")
    if isinstance(named, str) and named not in ("hold", "drawn"):
        table["answers"] = load_answers(path.parent / named)
    try:
        return Plan.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = [key for key in first["loc"] if _KEY.fullmatch(str(key))]
        line = _line_of(text, place)
        where = ".".join(map(str, place)) or "the plan"
        found = "" if isinstance(first["input"], dict) else f", found {first['input']!r}"
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            said, found = "there is no such key", ""
        raise InputError(
            f"plan {path}, line {line}: {_cut(where)}: {said}{_cut(found)}. docs/fake.md shows a "
            f"whole plan"
        ) from None


def load_answers(path: Path) -> tuple[str, ...]:
    """The texts in a JSON Lines file: an object is sent as JSON, a string as it stands.

    Raises:
        InputError: it cannot be read, or a line is neither; names the line.
    """
    out: list[str] = []
    lines = _text(path, "answers", MAX_ANSWERS).split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict | str):
            raise InputError(
                f"answers {path}, line {number}: expected a JSON object (an answer) or a JSON "
                f"string (raw text), found {_cut(line)!r}"
            )
        out.append(found if isinstance(found, str) else line.strip())
    return tuple(out)


def _text(path: Path, what: str, limit: int) -> str:
    raw = read_bounded(path, what, limit)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path}: byte {error.start} is not UTF-8") from None


def _line_of(text: str, place: Sequence[int | str]) -> int:
    """The line (from 1) of a key, or of the nearest thing around it that has one."""
    lines = text.split("\n")
    at = 0
    for step, key in enumerate(place):
        if isinstance(key, int):
            named = str(place[step - 1]) if step else ""
            head = re.compile(rf"\s*\[\[\s*{re.escape(named)}\s*\]\]")
            found = [n for n, line in enumerate(lines) if head.match(line)][key : key + 1]
        else:
            name = rf"""["']?{re.escape(key)}["']?"""
            here = re.compile(rf"\s*(\[+([\w\"'-]+\.)*\s*{name}\s*[\].]|([\w\"'-]+\.)*{name}\s*=)")
            found = [n for n, line in enumerate(lines) if n >= at and here.match(line)][:1]
        at = found[0] if found else at
    return at + 1


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_SAID else text[:_MAX_SAID] + "..."
