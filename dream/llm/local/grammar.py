"""A JSON schema as a grammar that a model is held to: each answer fits it and has an end.

The grammar is in GBNF, one rule without references, so it is a regular expression in other words.
Every text that it allows is ASCII and no longer than the bound it was made for; a token is at least
one character, so no answer is cut off by max_tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_TEXT: Final = 80
"""Characters of a text for which the schema gives no maxLength."""
_DEEPEST: Final = 8
_WHOLE: Final = '"-"? ("0" | [1-9] [0-9]{0,6})'
_WHOLE_CHARS: Final = 8
_FRACTION: Final = ' ("." [0-9]{1,4})?'
_FRACTION_CHARS: Final = 5
_PLAIN: Final = r"[ !#-\[\]-~]"
"""A character that needs no escape in a JSON string."""
_NOTES: Final = {"description", "title", "default", "examples"}
"""What a schema may say that asks for nothing."""


class Unsupported(Exception):  # noqa: N818 - a fact about a schema, answered with a 400
    """The schema asks for something that the grammar cannot hold a model to."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules one after the other, each with the length of its longest text in characters."""

    parts: tuple[tuple[str, int], ...]

    @property
    def rule(self) -> str:
        """The one rule that they are together."""
        return " ".join(rule for rule, _ in self.parts)

    @property
    def longest(self) -> int:
        """Length of the longest text that is allowed, in characters."""
        return sum(longest for _, longest in self.parts)


def grammar_of(schema: Mapping[str, Any], max_chars: int) -> str:
    """The grammar of a schema whose answers have at most so many characters.

    Args:
        schema: objects with all properties required, arrays are not taken; enum, const, anyOf,
            string with maxLength, number, integer, boolean and null.
        max_chars: of a whole answer; the strings get what the rest leaves of it.

    Raises:
        Unsupported: another keyword, or max_chars is too few even for the shortest strings.
    """
    for text_chars in range(LONGEST_TEXT, 0, -1):
        made = _of(schema, text_chars, 0)
        if made.longest <= max_chars:
            return f"root ::= {made.rule}"
    needed = _of(schema, 1, 0).longest
    raise Unsupported(f"max_tokens: {max_chars} is too few for an answer, which takes {needed}")


def _of(schema: Any, text_chars: int, depth: int) -> Grammar:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        raise Unsupported("schema: expected an object, not nested deeper than 8 levels")
    schema = cast("dict[str, Any]", schema)
    for keyword, made in _BY_KEYWORD.items():
        if keyword in schema:
            _only(schema, {keyword, "type"})
            return made(schema[keyword], text_chars, depth)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, text_chars, depth)
    if kind == "string":
        return _string(schema, text_chars)
    if isinstance(kind, str) and kind in _BY_TYPE:
        _only(schema, {"type"})
        return _BY_TYPE[kind]
    raise Unsupported(f"schema: no type {kind!r}; there are object, string, {', '.join(_BY_TYPE)}")


def _only(schema: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(schema.keys() - known - _NOTES)
    if unknown:
        raise Unsupported(f"schema: the keyword {unknown[0]!r} is not supported")


def _object(schema: Mapping[str, Any], text_chars: int, depth: int) -> Grammar:
    _only(schema, {"type", "properties", "required", "additionalProperties"})
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise Unsupported("schema: an object needs properties")
    if schema.get("additionalProperties") is not False:
        raise Unsupported("schema: an object needs additionalProperties: false")
    properties = cast("dict[str, Any]", properties)
    if set(schema.get("required", ())) != set(properties):
        raise Unsupported("schema: every property of an object must be required")
    parts: list[tuple[str, int]] = []
    for n, (name, value) in enumerate(properties.items()):
        parts += (
            *_literal(("," if n else "{") + json.dumps(name) + ":").parts,
            *_of(value, text_chars, depth + 1).parts,
        )
    return Grammar((*parts, *_literal("}").parts))


def _string(schema: Mapping[str, Any], text_chars: int) -> Grammar:
    _only(schema, {"type", "maxLength"})
    most = schema.get("maxLength", text_chars)
    if type(most) is not int or most < 1:
        raise Unsupported("schema: maxLength must be a whole number of at least 1")
    chars = min(most, text_chars)
    return _one(f'"\\"" {_PLAIN}{{1,{chars}}} "\\""', chars + 2)


def _any_of(schemas: Any, text_chars: int, depth: int) -> Grammar:
    if not isinstance(schemas, list) or not schemas:
        raise Unsupported("schema: anyOf needs at least one schema")
    made = [_of(schema, text_chars, depth + 1) for schema in cast("list[Any]", schemas)]
    # What all begin with is said once: the engine then follows one path there, not one for each.
    shared = 0
    while all(len(m.parts) > shared + 1 and m.parts[shared] == made[0].parts[shared] for m in made):
        shared += 1
    rests = [Grammar(m.parts[shared:]) for m in made]
    branches = (f"({' | '.join(rest.rule for rest in rests)})", max(rest.longest for rest in rests))
    return Grammar((*made[0].parts[:shared], branches))


def _enum(values: Any, text_chars: int, depth: int) -> Grammar:
    if not isinstance(values, list) or not values:
        raise Unsupported("schema: enum needs at least one value")
    return _any_of([{"const": value} for value in cast("list[Any]", values)], text_chars, depth)


def _const(value: Any, _text_chars: int, _depth: int) -> Grammar:
    try:
        return _literal(json.dumps(value, allow_nan=False))
    except ValueError:
        raise Unsupported("schema: a value of enum or const is no JSON") from None


def _literal(text: str) -> Grammar:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return _one(f'"{escaped}"', len(text))


def _one(rule: str, longest: int) -> Grammar:
    return Grammar(((rule, longest),))


_BY_KEYWORD: Final[dict[str, Callable[[Any, int, int], Grammar]]] = {
    "anyOf": _any_of,
    "enum": _enum,
    "const": _const,
}
_BY_TYPE: Final = {
    "number": _one(_WHOLE + _FRACTION, _WHOLE_CHARS + _FRACTION_CHARS),
    "integer": _one(_WHOLE, _WHOLE_CHARS),
    "boolean": _one('("true" | "false")', len("false")),
    "null": _literal("null"),
}
