"""The bodies that the server sends: messages, errors, models, and messages that are broken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.llm.catalog import CATALOG
from dream.llm.fake.answers import NO_ANSWER, forced_tool
from dream.llm.fake.faults import ERROR_TYPES
from dream.llm.fake.tokens import tokens_of
from dream.types import Usage

if TYPE_CHECKING:
    from dream.llm.fake.tokens import Counted

HUGE_BYTES: Final = 50 * 1024 * 1024
"""Length of the body that is too long."""
HTML: Final = b"<!doctype html><title>502</title><h1>Bad gateway</h1>\n"
OTHER_MODEL: Final = "some-other-model"
_STOPS: Final = {
    "refusal": "refusal",
    "max_tokens": "max_tokens",
    "context_exceeded": "model_context_window_exceeded",
    "no_stop": None,
}
_NO_TOOL: Final = ("max_tokens", "context_exceeded", "no_answer")
"""Faults whose answer is cut off or given in words, where a tool was to be used."""
BEFORE: Final = "Here is my decision:"
_WINDOW_TOKENS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out for one request.

    Attributes:
        status: HTTP status. body: its bytes. kind: content type. announced: content-length, longer
            than the body where it is cut. usage: tokens billed, None where nothing was made.
        retry_after_s: header, None for none.
    """

    status: int
    body: bytes
    kind: str = "application/json"
    announced: int | None = None
    usage: Usage | None = None
    retry_after_s: float | None = None


def error(status: int, said: str, retry_after_s: float | None = None) -> Sent:
    """An error status with the body that the API gives it."""
    kind = ERROR_TYPES.get(str(status), "invalid_request_error")
    body = {"type": "error", "error": {"type": kind, "message": said}}
    return Sent(status, json.dumps(body).encode(), retry_after_s=retry_after_s)


def message(
    body: dict[str, Any], text: str, counted: Counted, thinking: int, fault: str | None
) -> Sent:
    """An answer, broken as the fault says.

    Args:
        body: of the request.
        text: that answers it.
        counted: tokens of the prompt.
        thinking: tokens that are billed for thinking.
        fault: None for a whole and good answer.
    """
    content = _content(body, text, fault)
    output = sum(tokens_of(_said(block)) for block in content) + thinking
    if fault == "max_tokens":
        output = max(int(body["max_tokens"]), output)
    if thinking:
        content.insert(0, {"type": "thinking", "thinking": "", "signature": "rehearsal"})
    usage = Usage(counted.uncached, counted.read, counted.written, output, thinking)
    used_tool = any(block["type"] == "tool_use" for block in content)
    made = {
        "id": "msg_rehearsal",
        "type": "message",
        "role": "assistant",
        "model": OTHER_MODEL if fault == "wrong_model" else body["model"],
        "content": content,
        "stop_reason": _STOPS.get(fault or "", "tool_use" if used_tool else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": counted.uncached,
            "cache_read_input_tokens": counted.read,
            "cache_creation_input_tokens": counted.written,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": thinking},
            "service_tier": "standard",
        },
    }
    whole = json.dumps(made).encode()
    if fault == "cut":
        return Sent(200, whole[: len(whole) // 2], announced=len(whole), usage=usage)
    if fault == "bad_json":
        return Sent(200, whole[: len(whole) // 2], usage=usage)
    if fault == "bad_utf8":
        return Sent(200, whole.replace(b'"id": "', b'"id": "\xff\xfe', 1), usage=usage)
    return Sent(200, whole, usage=usage)


def _content(body: dict[str, Any], text: str, fault: str | None) -> list[dict[str, Any]]:
    if fault == "refusal":
        return []
    tool = forced_tool(body)
    given = None if tool is None or fault in _NO_TOOL else _object(text)
    if given is not None:
        used = {"type": "tool_use", "id": "toolu_rehearsal", "name": tool, "input": given}
        return [{"type": "text", "text": BEFORE}, used] if fault == "prose" else [used]
    said = {
        "max_tokens": text[: len(text) // 2],
        "context_exceeded": text[: len(text) // 2],
        "no_answer": NO_ANSWER,
        "prose": f"{BEFORE}\n{text}\nLet me know!",
    }
    return [{"type": "text", "text": said.get(fault or "", text)}]


def _object(text: str) -> dict[str, Any] | None:
    """What a tool is given; None for raw text of a file of answers, which no tool takes."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _said(block: dict[str, Any]) -> bytes:
    if block["type"] == "tool_use":
        return json.dumps(block["input"]).encode()
    return str(block["text"]).encode("utf-8", "replace")


def models() -> Sent:
    """The models of the catalogue, as the Models API lists them."""
    rows = [_model(entry.id) for entry in CATALOG.values()]
    listed = {
        "data": rows,
        "has_more": False,
        "first_id": rows[0]["id"],
        "last_id": rows[-1]["id"],
    }
    return Sent(200, json.dumps(listed).encode())


def model(name: str) -> Sent:
    """One model; a name that the catalogue does not have is not found."""
    if all(name != entry.id for entry in CATALOG.values()):
        return error(404, f"model: {name[:100]}")
    return Sent(200, json.dumps(_model(name)).encode())


def _model(name: str) -> dict[str, Any]:
    """Plausible values; what a real server supports is for the real server to say."""
    yes = {"supported": True}
    levels = dict.fromkeys(("low", "medium", "high", "xhigh", "max"), yes)
    kinds = dict.fromkeys(("adaptive", "between_tools", "disabled", "enabled"), yes)
    plain = ("batch", "citations", "code_execution", "image_input", "pdf_input")
    return {
        "type": "model",
        "id": name,
        "display_name": f"{name}, a rehearsal",
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": _WINDOW_TOKENS,
        "max_tokens": 64_000,
        "capabilities": {
            **dict.fromkeys(plain, yes),
            "structured_outputs": yes,
            "effort": {**yes, **levels},
            "thinking": {**yes, "types": kinds},
            "context_management": yes,
            "server_tools": {**yes, "web_search": yes, "code_execution": yes},
        },
    }
