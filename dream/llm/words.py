"""Read an answer that no server forced: a model asked in words may put words around its object.

docs/models.md states these rules one by one. They take nothing for something else: where a text
could mean two things it is left as it is, is refused as a strict answer would be, and is asked for
once more. Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import Any, Final

TAGS: Final = ("think", "thinking", "thought", "reasoning", "scratchpad")
"""Names of the tags between which a model thinks, in any case."""

_STRING = r'"(?:[^"\\]|\\.)*+"'
_TAG = rf"<(?P<end>/?)(?P<tag>{'|'.join(TAGS)})(?:\s[^<>]{{0,200}})?>"
_OUTSIDE: Final = re.compile(rf"\{{|{_TAG}", re.IGNORECASE)
_INSIDE: Final = re.compile(rf'[{{}}]|{_STRING}|"|{_TAG}', re.IGNORECASE | re.DOTALL)
_CLOSING: Final = {tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in TAGS}

# Neither can stand in a JSON object: a comma before its end, and digits behind a comma, where only
# a key could be.
_LOOSE: Final = re.compile(
    rf"(?P<string>{_STRING})|,(?=\s*\}})|(?P<before>:\s*)(?P<number>-?[1-9]\d{{0,2}}(?:,\d{{3}})++"
    rf"(?:\.\d+)?)(?=\s*[,}}])",
    re.DOTALL | re.ASCII,
)
_NUMBER: Final = re.compile(
    r"\$?\s*(?P<number>-?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?:USD)?", re.ASCII
)
_SHARE: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_PERCENT: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*%", re.ASCII)
_NOTHING: Final = ("", "null", "none", "n/a")


def last_object(text: str) -> str | None:
    """The last complete {...} outside of reasoning; None where there is none.

    Braces in strings do not count, and an object inside another is a part of it.
    """
    found: str | None = None
    start, depth, at = 0, 0, 0
    while at < len(text):
        token = (_INSIDE if depth else _OUTSIDE).search(text, at)
        if token is None or token[0] == '"':  # a string that does not end: nor does its object
            break
        at = token.end()
        if token["tag"] is not None:
            depth = 0
            if token["end"]:  # whatever came before it was reasoning
                found = None
                continue
            closing = _CLOSING[token["tag"].lower()].search(text, at)
            if closing is None:
                break
            at = closing.end()
        elif token[0] == "{":
            start, depth = start if depth else token.start(), depth + 1
        elif token[0] == "}":
            depth -= 1
            if not depth:
                found = text[start:at]
    return found


def plain_json(text: str) -> str:
    """The object without a comma before its end and without separators of thousands."""
    return _LOOSE.sub(_tightened, text)


def _tightened(loose: re.Match[str]) -> str:
    if loose["string"] is not None:
        return loose["string"]
    if loose["number"] is not None:
        return loose["before"] + loose["number"].replace(",", "")
    return ""


def plain_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer as a strict one has them, where a text says the same."""
    rules = {
        "action": _action,
        "strategy": _strategy,
        "confidence": _confidence,
        "stop": _price,
        "target": _price,
        "reasoning": _reasoning,
    }
    return {name: rules[name](x) if name in rules else x for name, x in fields.items()}


def _action(value: Any) -> Any:
    # Outside ASCII there are letters whose capitals are ASCII, such as the long s.
    return value.strip().upper() if isinstance(value, str) and value.isascii() else value


def _strategy(value: Any) -> Any:
    return _nothing_is_none(value.strip()) if isinstance(value, str) else value


def _confidence(value: Any) -> Any:
    """A share as it stands; "85%", and a whole number from 2 to 100, are percent."""
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value.strip())
        if percent is not None:
            return float(percent["number"]) / 100.0
        value = float(value) if _SHARE.fullmatch(value.strip()) else _nothing_is_none(value)
    whole = type(value) in (int, float) and 2 <= value <= 100 and value == int(value)
    return value / 100.0 if whole else value


def _price(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    number = _NUMBER.fullmatch(value.strip())
    if number is None:
        return _nothing_is_none(value)
    return float(number["number"].replace(",", ""))


def _reasoning(value: Any) -> Any:
    return "" if value is None else value


def _nothing_is_none(text: str) -> str | None:
    return None if text.strip().lower() in _NOTHING else text
