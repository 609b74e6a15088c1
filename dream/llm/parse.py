"""Turn a model's text into a decision, or say why that cannot be done.

The text is untrusted: bounded in size, read as strict JSON, never evaluated. A server that was
given a schema enforces its shape but no bounds, so every answer is validated here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dream.llm import words
from dream.types import Action, Decision, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.types import Reply

MAX_TEXT: Final = 65_536
"""Longest JSON that is read, in characters."""
MAX_REASONING: Final = 4_000
"""Longest reasoning that is kept; what is cut off is counted in a mark at its end."""
MAX_PROBLEM: Final = 300
"""Longest reason that is kept of an answer that could not be read, in characters."""

_SAID_BY_STOP: Final[dict[str, Status]] = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "model_refusal",
}


class Unreadable(Exception):  # noqa: N818 - a fact about a text, not an error of the program
    """The text is not an answer; str() is the reason, fit to be shown to whoever wrote it.

    It is derived again on replay, so it says the same under every version of Python.
    """


Price = Annotated[float, Field(allow_inf_nan=False)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    action: Action
    strategy: str | None = Field(default=None, max_length=100)
    confidence: float | None = Field(default=None, ge=0, le=1)
    stop: Price | None = None
    target: Price | None = None
    reasoning: str = ""


def answer_schema(strategies: Sequence[str], *, allow_sell: bool) -> dict[str, Any]:
    """JSON schema of an answer, in the subset that servers constrain by.

    Reasoning comes first, so that a model that cannot think beforehand reasons before it decides.
    Bounds are absent because the servers refuse schemas with them; the form is the one that the
    SDK gives to its own schemas.
    """
    actions = ["BUY", "SELL", "HOLD", "CLOSE"] if allow_sell else ["BUY", "HOLD", "CLOSE"]
    price = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    named = {"anyOf": [{"enum": list(strategies)}, {"type": "null"}]}
    properties: dict[str, Any] = {
        "reasoning": {"type": "string", "description": "two to four sentences"},
        "action": {"enum": actions},
        "strategy": {**named, "description": "needed for an entry, else null"},
        "confidence": {"type": "number", "description": "0 to 1"},
        "stop": {**price, "description": "price, or null for the board's"},
        "target": {**price, "description": "price, or null for the board's"},
    }
    return _all_of(properties)


def tight_schema(strategies: Sequence[str], *, allow_sell: bool) -> dict[str, Any]:
    """JSON schema that allows no answer which `parse_answer` refuses.

    An entry names a strategy and nothing else does; a confidence is one of 21.
    """
    properties: dict[str, Any] = answer_schema(strategies, allow_sell=allow_sell)["properties"]
    entries = ["BUY", "SELL"] if allow_sell else ["BUY"]
    price = properties["stop"]["anyOf"]
    narrow: dict[str, Any] = {
        "reasoning": {"type": "string"},
        "action": {"enum": entries},
        "strategy": {"enum": list(strategies)},
        "confidence": {"enum": [n / 20 for n in range(21)]},
        "stop": {"anyOf": price},
        "target": {"anyOf": price},
    }
    none = {"type": "null"}
    other = {"action": {"enum": ["HOLD", "CLOSE"]}, "strategy": none, "stop": none, "target": none}
    return {"anyOf": [_all_of(narrow), _all_of(narrow | other)]}


def _all_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_answer(text: str, *, tolerant: bool = False) -> Decision:
    """Read one answer.

    Args:
        text: one JSON object with `action` and, optionally, `strategy`, `confidence`, `stop`,
            `target` and `reasoning`; nothing else in it. An unknown strategy or a SELL where shorts
            are not allowed is read as it stands: the engine refuses the order.
        tolerant: read it as an answer that no server forced, by the rules of `dream.llm.words`.

    Raises:
        Unreadable: for every text that is not such an answer, and nothing else.
    """
    if tolerant:
        if len(text) > MAX_TEXT:
            raise _too_long(text)
        text = words.plain_json(_object_in(text))
    found = load_json(text)
    if not isinstance(found, dict):
        raise Unreadable(f"expected one JSON object, found {_kind(found)}")
    fields = cast("dict[str, Any]", found)
    try:
        answer = _Answer.model_validate(words.plain_fields(fields) if tolerant else fields)
    except ValidationError as error:
        raise Unreadable(_explain(error)) from None
    if answer.action in ("BUY", "SELL") and not answer.strategy:
        raise Unreadable(f"strategy: {answer.action} needs the name of a strategy on the board")
    return Decision(
        action=answer.action,
        strategy=answer.strategy or None,
        confidence=answer.confidence,
        stop=answer.stop,
        target=answer.target,
        reasoning=bounded(well_formed(answer.reasoning)),
    )


def _object_in(text: str) -> str:
    found = words.last_object(text)
    if found is None:
        raise Unreadable(f"no complete JSON object outside of reasoning, found {_shown(text)}")
    return found


def read_reply(reply: Reply, *, tolerant: bool = False) -> Decision:
    """The decision in a reply; a failed call, a refusal and a cut-off answer are no chosen HOLD.

    Raises:
        Unreadable: there is a whole answer and it cannot be read.
    """
    if reply.text is None:
        return Decision(status="api_error")
    if reply.stop_reason in _SAID_BY_STOP:
        return Decision(status=_SAID_BY_STOP[reply.stop_reason])
    return parse_answer(reply.text, tolerant=tolerant)


def unread(problem: Unreadable) -> Decision:
    """The decision of an answer that could not be read, with at most MAX_PROBLEM of the reason."""
    said = str(problem)
    error = said if len(said) <= MAX_PROBLEM else said[: MAX_PROBLEM - 3] + "..."
    return Decision(status="parse_error", error=error)


def load_json(text: str) -> Any:
    """Strict and bounded JSON: no NaN, no infinity, no key twice, no nesting that fills the stack.

    Raises:
        Unreadable: with the place of the first fault.
    """
    if len(text) > MAX_TEXT:
        raise _too_long(text)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError:
        # Without Python's own words: they change with its versions, and reasons are replayed.
        raise Unreadable(f"not JSON: {_shown(text)}") from None
    except RecursionError:
        raise Unreadable("not an answer: nested too deeply") from None
    except ValueError:  # what Python refuses to turn into an integer
        raise Unreadable("not an answer: a number of thousands of digits") from None


def _too_long(text: str) -> Unreadable:
    return Unreadable(f"{len(text)} characters, at most {MAX_TEXT} are read")


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise Unreadable(f"the key {_shown(twice)} is there twice")
    return out


def _no_constant(name: str) -> None:
    raise Unreadable(f"{name} is not a number that an answer may have")


def _explain(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False)
    lines = [
        f"{_cut('.'.join(map(str, p['loc'])))}: {p['msg']}, found {_shown(p['input'])}"
        for p in problems[:3]
    ]
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return well_formed("; ".join(lines)) + more


def _shown(value: object) -> str:
    """A value as a message shows it; containers by name, for they may be deep."""
    if isinstance(value, dict | list):
        return _kind(cast("object", value))
    return well_formed(_cut(repr(value)))


def _cut(text: str) -> str:
    return text if len(text) <= 84 else text[:80] + "..."


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    names = {type(None): "null", str: "a string", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def bounded(text: str) -> str:
    """The reasoning, cut at MAX_REASONING with a count of what was cut."""
    over = len(text) - MAX_REASONING
    return text if over <= 0 else f"{text[:MAX_REASONING]} [{over} more characters cut]"
