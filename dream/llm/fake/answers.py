"""What the server answers, in the form that the request asks for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from dream.llm.fake.plan import draw
from dream.llm.fake.tokens import prompt_of

if TYPE_CHECKING:
    from dream.llm.fake.plan import Plan

AWAY: Final = 0.005
"""Distance of a drawn entry's stop and target, as a share of the close."""
_FLAT: Final = re.compile(r"^## Position\nnone$", re.MULTILINE)
_CLOSE: Final = re.compile(r"newest bar closed at ([0-9.]{1,20}[0-9])")
_BOARD: Final = re.compile(r"^(\w+): .*; entries today ", re.MULTILINE)

NO_ANSWER: Final = "I would rather wait and see."
"""What the fault `no_answer` says."""


def answer_text(plan: Plan, run: str, decision: int, body: dict[str, Any]) -> str:
    """The text that answers a decision, the same at each attempt.

    A drawn BUY names a strategy of the board, or of the schema where the prompt has no board, with
    a stop and a target AWAY from the close where the prompt says it. Where the prompt says what
    position there is, an entry is only drawn when flat and CLOSE only when not.

    Args:
        plan: of the server.
        run: its name, empty for none.
        decision: its number in the run, from 0.
        body: of the request.
    """
    if isinstance(plan.answers, tuple):
        return plan.answers[decision] if decision < len(plan.answers) else _answer("HOLD")
    if plan.answers == "hold":
        return _answer("HOLD")
    prompt, u = prompt_of(body), draw(plan.seed, "answer", run, decision)
    names = _BOARD.findall(prompt) or _named(body)
    actions = ["HOLD"]
    if "## Position" not in prompt:
        actions += ["BUY", "CLOSE"]
    else:
        actions += ["BUY"] if _FLAT.search(prompt) else ["CLOSE"]
    action = actions[int(u * len(actions))]
    if action != "BUY" or not names:
        return _answer("HOLD" if action == "BUY" else action)
    name = names[int(draw(plan.seed, "strategy", run, decision) * len(names))]
    said = _CLOSE.search(prompt)
    close = float(said[1]) if said and said[1].count(".") <= 1 else None
    if close is None:
        return _answer("BUY", name)
    return _answer("BUY", name, round(close * (1 - AWAY), 2), round(close * (1 + AWAY), 2))


def forced_tool(body: dict[str, Any]) -> str | None:
    """The tool that the answer has to use, None where it is a text."""
    choice: Any = body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "tool":
        return str(choice.get("name"))
    tools: Any = body.get("tools")
    if kind == "any" and isinstance(tools, list) and tools and isinstance(tools[0], dict):
        return str(tools[0].get("name"))
    return None


def _named(body: dict[str, Any]) -> list[str]:
    """Strategies as the schema of the answer lists them."""
    tools: Any = body.get("tools") or [{}]
    schema: Any = (body.get("output_config") or {}).get("format", {}).get("schema")
    try:
        schema = schema or tools[0]["input_schema"]
        names = schema["properties"]["strategy"]["anyOf"][0]["enum"]
    except (LookupError, TypeError, AttributeError):
        return []
    return [name for name in names if isinstance(name, str)]


def _answer(
    action: str, strategy: str | None = None, stop: float | None = None, target: float | None = None
) -> str:
    return json.dumps(
        {
            "reasoning": f"A rehearsal: {action}, without a model.",
            "action": action,
            "strategy": strategy,
            "confidence": 0.5,
            "stop": stop,
            "target": target,
        }
    )
