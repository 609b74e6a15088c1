"""A key from a command of the user's, such as a password store: run without a shell, and bounded.

What the command says besides is not shown: it may hold the key.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

from dream.errors import ModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.llm.catalog import Entry

LIMIT_S: Final = 30.0
MAX_OUTPUT: Final = 65_536
"""Most bytes that are read of what a command prints."""

_known: dict[tuple[str, ...], str] = {}
"""Keys that this process has: a password store is asked once."""


def key_of(entry: Entry, keys: Mapping[str, str], limit_s: float = LIMIT_S) -> str | None:
    """The key for a model, None where it takes none or there is none.

    Args:
        entry: the model.
        keys: environment variable to key.
        limit_s: how long its key command may take.

    Raises:
        ModelUnavailable: its key command gives no key.
    """
    if entry.key_command:
        return first_line(entry.key_command, limit_s)
    return None if entry.key_env is None else keys.get(entry.key_env)


def first_line(command: tuple[str, ...], limit_s: float = LIMIT_S) -> str:
    """The first line that a command prints; remembered until the process ends.

    Raises:
        ModelUnavailable: it cannot be started, takes longer, fails, or prints nothing or too much.
    """
    if command not in _known:
        _known[command] = _printed(command, limit_s)
    return _known[command]


def _printed(command: tuple[str, ...], limit_s: float) -> str:
    # Its words are not shown: somebody may have written the key in its place.
    name = "the key_command of this model"
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that what it leaves behind can be ended with it
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no command"
        raise ModelUnavailable(f"{name} cannot be started: {reason}. Mend dream.toml") from None
    try:
        data, code = _ended(process, limit_s)
    except (Empty, subprocess.TimeoutExpired):
        raise ModelUnavailable(
            f"{name} did not end within {limit_s:g} s. Run it by hand: it may wait for a password"
        ) from None
    finally:
        _end(process)
    if len(data) > MAX_OUTPUT:
        raise ModelUnavailable(f"{name} printed more than {MAX_OUTPUT} bytes, which no key has")
    if code != 0:
        raise ModelUnavailable(
            f"{name} ended with code {code}. Run it by hand to see why; what it says is not shown "
            f"here, because it may hold the key"
        )
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0]:
        raise ModelUnavailable(f"{name} printed no key: expected it as the first line")
    return lines[0]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and, where there are groups, what it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _ended(process: subprocess.Popen[bytes], limit_s: float) -> tuple[bytes, int]:
    """What a process prints, but for what is too long, and its exit code."""
    output = process.stdout
    assert output is not None, "it was started with a pipe"
    read: SimpleQueue[bytes] = SimpleQueue()

    def work() -> None:
        # Not to the end of the file: an agent that it started may hold the pipe open for ever.
        with output:
            data = bytearray()
            while b"\n" not in data and len(data) <= MAX_OUTPUT:
                part = os.read(output.fileno(), MAX_OUTPUT + 1 - len(data))
                if not part:
                    break
                data += part
            read.put(bytes(data))
            while os.read(output.fileno(), MAX_OUTPUT):
                pass

    Thread(target=work, name="dream-key", daemon=True).start()
    data = read.get(timeout=limit_s)
    if len(data) > MAX_OUTPUT:
        return data, 0
    return data, process.wait(timeout=limit_s)
