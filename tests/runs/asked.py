"""`dream run` with a model behind a loopback server, for tests of whole runs."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.messages_server import HOLD

KEY = "sk-ant-" + "k9" * 20
MODEL = "claude-sonnet-5-5"
PRICE_USD = 0.00285
"""Of one answer of the server: 500 tokens in, 1,000 read and 100 written in cache, 150 out."""


def trading(body):
    """Enters where the prompt says that it may, closes at once, and says what it saw."""
    text = body["messages"][0]["content"]
    close = float(re.search(r"newest bar closed at ([\d.]+)\.", text)[1])
    free = re.search(r"^(\w+): .*entries today 0 of 1", text, re.MULTILINE)
    answer = json.loads(HOLD) | {"reasoning": f"{len(text)} characters, close {close}"}
    if "## Position\nnone" not in text:
        answer |= {"action": "CLOSE"}
    elif free:
        answer |= {
            "action": "BUY", "strategy": free[1], "confidence": 0.7,
            "stop": close - 20.0, "target": close + 20.0,
        }  # fmt: skip
    return json.dumps(answer)


@pytest.fixture
def waits(monkeypatch):
    """Waiting is written down, not done; and no proxy, which would load certificates each time."""
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return slept


@pytest.fixture
def ask(dream, bars_path, monkeypatch, waits):
    """`dream run` with a model at a loopback server and a key in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def run(server, *args, model="sonnet", decisions=10):
        said = dream(
            "run", "--model", model, "--bars", bars_path, "--base-url", server.url,
            "--decisions", decisions, *args,
        )  # fmt: skip
        assert "Traceback" not in said.err
        files = [path for path in dream.folder.rglob("*") if path.is_file()]
        for text in (said.out, said.err, *(path.read_text(errors="replace") for path in files)):
            assert KEY not in text
            assert KEY[7:] not in text
        return said

    run.folder = dream.folder / "runs"
    return run
