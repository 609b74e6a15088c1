"""Between the Messages API and llama.cpp's chat: what is asked, and what is said back.

Both directions are pure. What the API takes and this server does not is refused, never ignored,
unless it only sets how hard a model thinks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from dream.llm.local.grammar import Unsupported, grammar_of

SEED: Final = 1
MAX_TOKENS: Final = 4_096
_IGNORED: Final = {"model", "metadata", "thinking", "service_tier"}
_READ: Final = {"max_tokens", "messages", "system", "output_config", "tools", "tool_choice"}

TOO_LONG: Final = "exceed_context_size_error"
"""How llama.cpp calls a prompt that its context cannot hold."""


class Refused(Exception):  # noqa: N818 - an answer of the server, not an error of it
    """A request that is answered with an error.

    Attributes:
        status: of HTTP. kind: type of the error in the API's words.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind

    def body(self) -> dict[str, Any]:
        """As the API says it."""
        return {"type": "error", "error": {"type": self.kind, "message": str(self)}}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, understood.

    Attributes:
        chat: what llama.cpp is asked. tool: name of the forced tool. max_tokens: of the answer.
    """

    chat: dict[str, Any]
    tool: str | None
    max_tokens: int


def invalid(message: str) -> Refused:
    """A request that is refused as the API refuses a wrong one."""
    return Refused(400, "invalid_request_error", message)


def read_request(raw: bytes, model: str) -> Asked:
    """What a body asks for.

    Raises:
        Refused: it is no request, or asks for what this server does not do.
    """
    body = _object(raw)
    if body.get("model") != model:
        raise Refused(404, "not_found_error", f"model: only {model} is here")
    unknown = sorted(body.keys() - _IGNORED - _READ)
    if unknown:
        raise invalid(f"{unknown[0]}: not supported by this server")
    max_tokens = body.get("max_tokens")
    if type(max_tokens) is not int or not 1 <= max_tokens <= MAX_TOKENS:
        raise invalid(f"max_tokens: expected a whole number from 1 to {MAX_TOKENS}")
    chat: dict[str, Any] = {
        "messages": _turns(body),
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": SEED,
        "cache_prompt": True,
    }
    schema, tool = _form(body)
    if schema is not None:
        try:
            # One token less: the last one says that the answer is over.
            chat["grammar"] = grammar_of(schema, max_tokens - 1)
        except Unsupported as error:
            raise invalid(str(error)) from None
    return Asked(chat, tool, max_tokens)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body: Any = json.loads(raw)
    except (ValueError, RecursionError):
        raise invalid("the body is no JSON") from None
    if not isinstance(body, dict):
        raise invalid("the body is no JSON object")
    return cast("dict[str, Any]", body)


def _turns(body: dict[str, Any]) -> list[dict[str, str]]:
    messages: Any = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise invalid("messages: expected at least one")
    turns: list[dict[str, str]] = []
    if body.get("system"):
        turns.append({"role": "system", "content": _text(body["system"], "system")})
    for n, message in enumerate(cast("list[Any]", messages)):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            raise invalid(f"messages.{n}.role: expected user or assistant")
        turns.append({"role": role, "content": _text(message.get("content"), f"messages.{n}")})
    if turns[-1]["role"] != "user":
        raise invalid("messages: the last one must be the user's")
    return turns


def _text(content: Any, where: str) -> str:
    """The text of a content, be it a string or blocks of text."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in cast("list[Any]", content) if isinstance(content, list) else [None]:
        kind, text = (block.get("type"), block.get("text")) if isinstance(block, dict) else (0, 0)
        if kind != "text" or not isinstance(text, str):
            raise invalid(f"{where}: expected text, or blocks of text")
        texts.append(text)
    return "".join(texts)


def _form(body: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """The schema that the answer is held to, and the tool that it is put into."""
    output: Any = body.get("output_config") or {}
    wanted: Any = output.get("format") if isinstance(output, dict) else None
    choice: Any = body.get("tool_choice")
    if choice is None and body.get("tools"):
        raise invalid("tools: only with a tool_choice that forces one")
    if choice is not None:
        return _tool(body.get("tools"), choice)
    if wanted is None:
        return None, None
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        raise invalid("output_config.format: expected the type json_schema")
    return cast("dict[str, Any]", wanted).get("schema", {}), None


def _tool(tools: Any, choice: Any) -> tuple[dict[str, Any], str]:
    if not isinstance(choice, dict) or choice.get("type") not in ("tool", "any"):
        raise invalid("tool_choice: expected the type tool or any")
    kind, wanted = choice["type"], choice.get("name")
    for tool in cast("list[Any]", tools) if isinstance(tools, list) else []:
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and (kind == "any" or wanted == name):
            return tool.get("input_schema", {}), name
    raise invalid("tool_choice: no tool has that name")


def message(asked: Asked, answered: dict[str, Any], model: str, number: int) -> dict[str, Any]:
    """llama.cpp's answer in the API's words.

    Args:
        asked: the request.
        answered: as llama.cpp gives it.
        model: who answered.
        number: of the answer, from 1.

    Raises:
        Refused: llama.cpp gave an error.
    """
    if "choices" not in answered:
        raise _failed(answered.get("error") or {})
    choice, usage = answered["choices"][0], answered["usage"]
    text = choice["message"].get("content") or ""
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    said = usage["completion_tokens"]
    content: dict[str, Any] = {"type": "text", "text": text}
    if choice["finish_reason"] == "length":
        full = said < asked.max_tokens
        stop_reason = "model_context_window_exceeded" if full else "max_tokens"
    elif asked.tool is not None:
        stop_reason = "tool_use"
        content = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": asked.tool,
            "input": json.loads(text),
        }
    else:
        stop_reason = "end_turn"
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": said,
        },
    }


def _failed(error: dict[str, Any]) -> Refused:
    if error.get("type") == TOO_LONG:
        found, most = error.get("n_prompt_tokens"), error.get("n_ctx")
        return invalid(f"prompt is too long: {found} tokens > {most} maximum")
    return Refused(500, "api_error", str(error.get("message", "the engine gave no answer"))[:300])
