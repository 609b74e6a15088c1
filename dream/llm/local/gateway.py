"""The server behind `local`, a process of its own: the Messages API on loopback, one model.

It is started by `transport.LocalTransport`, which writes one line of JSON to its standard input and
reads one from its standard output. It ends when its standard input does, so also when the process
that started it is killed. It writes nothing else anywhere.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread
from typing import Any, Final

from dream.llm.local import pins
from dream.llm.local.messages import Refused, invalid, message, read_request

HOST: Final = "127.0.0.1"
MAX_REQUEST: Final = 4_194_304
"""Longest request that is read, in bytes."""
_IDLE_S: Final = 60.0
_NO_FLASH_ATTENTION: Final = 0
"""As llama.cpp numbers it; -1 lets it choose."""
_BATCH_TOKENS: Final = 64
"""Tokens of a prompt that are read at once: with more the work no longer fits the cache."""


class Engine:
    """llama.cpp with the model loaded; answers one question at a time.

    Args:
        folder: where `local` is installed. threads: of the processor.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        sys.path.insert(0, str(folder))  # in this process only
        sys.dont_write_bytecode = True
        import xllamacpp  # noqa: PLC0415 # pyright: ignore[reportMissingImports]

        engine: Any = xllamacpp
        params = engine.CommonParams()
        params.model.path = str(folder / pins.WEIGHTS_FILE)
        params.n_ctx, params.n_parallel, params.n_gpu_layers = pins.CONTEXT_TOKENS, 1, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        # Measured at 3,600 tokens: a word takes half as long without flash attention, and what it
        # would save of memory a small batch saves too.
        params.flash_attn_type, params.n_ubatch = _NO_FLASH_ATTENTION, _BATCH_TOKENS
        params.warmup, params.verbosity = False, 0
        params.cache_ram_mib = 0  # no copies of earlier prompts: the newest one stays in place
        # The engine opens a server of its own that cannot be left out: nobody knows its key.
        params.hostnames, params.port, params.api_keys = [HOST], 0, [token_hex(32)]
        params.ui = params.endpoint_slots = params.endpoint_props = False
        self._server = engine.Server(params)
        self._lock = Lock()
        self._answers = 0

    def answer(self, raw: bytes) -> dict[str, Any]:
        """The message that answers a request.

        Raises:
            Refused: it is no request that can be answered.
        """
        asked = read_request(raw, pins.MODEL)
        with self._lock:
            self._answers += 1
            answered = self._server.handle_chat_completions(asked.chat)
            return message(asked, answered, pins.MODEL, self._answers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, engine: Engine, key: str) -> None:
        super().__init__((HOST, 0), _Handler)
        self.engine = engine
        self.key = f"Bearer {key}".encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_S
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name above
        """Write nothing."""

    def do_POST(self) -> None:
        """Answer a question."""
        try:
            status, body = 200, self._answer()
        except Refused as refused:
            status, body = refused.status, refused.body()
            self.close_connection = True  # what was sent may not have been read
        except Exception as error:  # noqa: BLE001 - whatever the engine raises
            failed = Refused(500, "api_error", f"{type(error).__name__}: {error}"[:300])
            status, body = failed.status, failed.body()
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> dict[str, Any]:
        given = self.headers.get("authorization", "").encode("latin-1", "replace")
        if not compare_digest(given, self.server.key):
            raise Refused(401, "authentication_error", "this server belongs to another process")
        if self.path.partition("?")[0] != "/v1/messages":
            raise Refused(404, "not_found_error", "only /v1/messages is here")
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_REQUEST:
            raise invalid(f"content-length: expected at most {MAX_REQUEST} bytes")
        return self.server.engine.answer(self.rfile.read(int(length)))


def main() -> int:
    """Load the model, say where it can be asked, and serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which closes the input
    out = _silence()
    started = json.loads(sys.stdin.buffer.readline() or b"{}")
    try:
        engine = Engine(Path(started["folder"]), int(started["threads"]))
        server = _Server(engine, str(started["key"]))
    except Exception as error:  # noqa: BLE001 - told to the process that waits
        _tell(out, {"error": f"{type(error).__name__}: {error}"[:300]})
        return 1
    Thread(target=server.serve_forever, daemon=True).start()
    _tell(out, {"port": server.server_port})
    while sys.stdin.buffer.read(4_096):
        pass
    os._exit(0)  # in the middle of an answer too; there is nothing to close


def _silence() -> int:
    """Let what the engine prints go nowhere; returns where standard output was."""
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return out


def _tell(out: int, said: dict[str, Any]) -> None:
    os.write(out, json.dumps(said).encode() + b"\n")
    os.close(out)


if __name__ == "__main__":
    sys.exit(main())
