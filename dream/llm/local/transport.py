"""Starts the server of `local` with the first question and stops it with the run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from secrets import token_hex
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

from dream.errors import ModelUnavailable
from dream.llm.anthropic import AnthropicTransport
from dream.llm.client import CallFailed
from dream.llm.local.place import check_there, check_whole

if TYPE_CHECKING:
    from dream.llm.client import MessageRequest
    from dream.types import Reply

START_S: Final = 120.0
"""Longest time that the server may take to load the model."""
ANSWER_S: Final = 900.0
"""Longest time that one answer may take: a first prompt of a whole day, on a busy machine."""
_STOP_S: Final = 5.0
_KEY_NAME: Final = "the key of the local server"


class LocalTransport:
    """The model on this machine, in a process that lives no longer than this object.

    Args:
        folder: where `local` is installed.
        threads: of the processor; another number gives other answers.

    Raises:
        ModelUnavailable: it is not installed, or not whole.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        check_there(folder)
        self._folder = folder
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._inner: AnthropicTransport | None = None

    def send(self, request: MessageRequest) -> Reply:
        """One attempt; starts the server where it does not run.

        Raises:
            CallFailed: it gave no usable answer, or cannot be started.
        """
        return self._ready().send(request)

    def connect(self) -> None:
        """Start the server, which takes some seconds, and set up what the first call needs.

        Raises:
            CallFailed: it cannot be started.
        """
        self._ready().connect()

    def _ready(self) -> AnthropicTransport:
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it was killed: the next one takes its place
        if self._inner is None:
            try:
                self._inner = self._start()
            except ModelUnavailable as error:
                raise CallFailed(str(error), again=False, cost_usd=0.0) from None
        return self._inner

    def close(self) -> None:
        """Stop the server."""
        inner, self._inner = self._inner, None
        process, self._process = self._process, None
        if inner is not None:
            inner.close()
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> AnthropicTransport:
        check_whole(self._folder)
        key = token_hex(32)
        # From the folder that holds the package, so that no module of the user's is in the way; by
        # standard input, because arguments can be read by everyone on the machine.
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "dream.llm.local.gateway"],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in a terminal is for the run
        )
        told = {"folder": str(self._folder.absolute()), "threads": self._threads, "key": key}
        said = _first_line(process, json.dumps(told).encode() + b"\n")
        if "port" not in said:
            self.close()
            raise ModelUnavailable(_why_not(process, said))
        return AnthropicTransport(
            key=key,
            key_env=_KEY_NAME,
            base_url=f"http://127.0.0.1:{said['port']}",
            limit_s=ANSWER_S,
            direct=True,
        )


def _first_line(process: subprocess.Popen[bytes], told: bytes) -> dict[str, Any]:
    """What the server says when it is ready, or why it is not; empty where it ended or hung."""
    assert process.stdin is not None
    assert process.stdout is not None
    timer = Timer(START_S, process.kill)
    timer.daemon = True
    timer.start()
    try:
        process.stdin.write(told)
        process.stdin.flush()
        return json.loads(process.stdout.readline(4_096))
    except (OSError, ValueError):
        return {}
    finally:
        timer.cancel()


def _why_not(process: subprocess.Popen[bytes], said: dict[str, Any]) -> str:
    reason = said.get("error")
    if reason is None:
        code = process.returncode
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        reason = f"its server ended with {ended} before it was ready"
    return f"the model local does not start: {reason}"
