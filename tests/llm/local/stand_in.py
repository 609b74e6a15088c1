"""An installed folder whose engine is thirty lines of Python: for the process around the engine."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from dream.llm.catalog import resolve
from dream.llm.client import MessageRequest
from dream.llm.local import pins, place

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ENGINE = """
import os, time

class Any:
    def __getattr__(self, name):
        value = Any()
        setattr(self, name, value)
        return value

CommonParams = Any

class Server:
    def __init__(self, params):
        if params.cpuparams.n_threads == 13:
            raise RuntimeError("no luck")
        if params.cpuparams.n_threads == 14:
            os.abort()
        self.threads = params.cpuparams.n_threads

    def handle_chat_completions(self, chat):
        text = chat["messages"][-1]["content"]
        if text == "sleep":
            time.sleep(60)
        if text == "long":
            error = {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}
            return {"error": error}
        message = {"content": f"{os.getpid()} {self.threads}"}
        usage = {
            "prompt_tokens": 50, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 40},
        }
        reason = "length" if text == "cut" else "stop"
        return {"choices": [{"finish_reason": reason, "message": message}], "usage": usage}
"""
WEIGHTS = b"weights"


def installed(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """The folder, with the stand-in in the engine's place and a few bytes in that of the model."""
    patch.setattr(pins, "WEIGHTS_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    files: list[place.Installed] = []
    for path, content in ((pins.WEIGHTS_FILE, WEIGHTS), ("xllamacpp.py", ENGINE.encode())):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files.append(place.Installed(path, len(content), digest))
    place.write_list(folder, files)
    return folder


def request(text: str) -> MessageRequest:
    """A question in words, answered in words."""
    return MessageRequest(0, 0, replace(resolve("local"), answer="text"), "rules", text, {})
