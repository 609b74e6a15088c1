"""A Messages API on loopback with scripted faults, so that the real SDK can be tested against it.

    with MessagesServer(["429:0", "529", "ok"]) as server:
        ... base_url=server.url ...

One step of the plan per request; the last one repeats.

    ok            200, what `answer(body)` returns, in the shape that the request asked for
    text:T        200, the text T
    NNN[:S]       that status with a typed error, with `retry-after: S` where S is given
    echo:NNN      that status, and the message repeats the request's authorization header
    headers:NNN   that status, and a header and the reason repeat the authorization header
    bomb:NNN      that status, and a body of 64 MiB of blanks that gzip packs into 64 KiB
    endless:NNN   that status, and a body that never ends
    packed:C      200, as ok, packed as C: gzip or deflate; any other name is only named
    timeout:S     nothing for S seconds, then as ok
    trickle:S     a correct answer, one byte every S seconds
    body:T        200, the text T as the whole body
    badjson       200, a body that is not JSON
    notmessage    200, JSON that is not a message
    big           200, a message of two million characters
    cut           200, fewer bytes than announced
    reset         the connection is reset before any byte
    redirect      307 to another path
    wrongmodel    200, from some-other-model
    longname      200, from a model whose name has a million letters
    dated         200, from a dated snapshot of the model asked
    nostop        200, without a stop reason
    nousage       200, without counts of tokens
    refusal       200, stop_reason refusal and no content
    maxtok        200, stop_reason max_tokens and half an answer
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOLD = json.dumps(
    {
        "reasoning": "Nothing to do.",
        "action": "HOLD",
        "strategy": None,
        "confidence": 0.5,
        "stop": None,
        "target": None,
    }
)
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * 67_108_864)


BROKEN = {
    "badjson": b'{"type":"message","content":[',
    "notmessage": b'{"type":"completion","text":"hello"}',
}


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


class MessagesServer:
    """Answers by plan. `seen` holds the requests in the order in which they arrived."""

    def __init__(
        self,
        plan: Sequence[str] = ("ok",),
        answer: Callable[[dict[str, Any]], str] = lambda _body: HOLD,
    ) -> None:
        self.plan = list(plan)
        self.answer = answer
        self.seen: list[Seen] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.faults: list[BaseException] = []
        self._http = _Http(self)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        assert not self.faults, self.faults

    def next_step(self, request: Seen) -> str:
        with self.lock:
            self.seen.append(request)
            return self.plan[min(len(self.seen), len(self.plan)) - 1]


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close waits for them

    def __init__(self, owner: MessagesServer) -> None:
        self.owner = owner
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        import sys  # noqa: PLC0415

        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a kept-alive answer waits 40 ms for a delayed ACK
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Seen(self.path, headers, raw)
        kind, _, detail = self.server.owner.next_step(request).partition(":")
        if kind in ("timeout", "trickle"):
            self.slowly(kind, float(detail), request)
        elif kind.isdigit():
            self.error(int(kind), f"scripted {kind}", detail)
        elif kind in ("echo", "headers", "bomb", "endless"):
            self.badly(kind, int(detail), headers["authorization"])
        elif kind == "packed":
            pack = {"gzip": gzip.compress, "deflate": zlib.compress}.get(detail, bytes)
            body = pack(self.message(request.body))
            self.reply(200, body, {"content-encoding": detail})
        elif kind == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
        elif kind == "cut":
            self.reply(200, self.message(request.body), announced=100_000)
            self.close_connection = True
        elif kind == "redirect":
            self.reply(307, b"{}", {"location": "/elsewhere"})
        elif kind == "body":
            self.reply(200, detail.encode())
        else:
            self.reply(200, self.success(kind, detail, request.body))

    def success(self, kind: str, detail: str, body: dict[str, Any]) -> bytes:
        if kind in BROKEN:
            return BROKEN[kind]
        half = '{"reasoning":"The mark'
        over: dict[str, dict[str, Any]] = {
            "ok": {},
            "text": {"content": [{"type": "text", "text": detail}]},
            "big": {"content": [{"type": "text", "text": "x" * 2_000_000}]},
            "longname": {"model": "m" * 1_000_000},
            "wrongmodel": {"model": "some-other-model"},
            "dated": {"model": body["model"] + "-20260928"},
            "nostop": {"stop_reason": None},
            "nousage": {"usage": None},
            "refusal": {"stop_reason": "refusal", "content": []},
            "maxtok": {"stop_reason": "max_tokens", "content": [{"type": "text", "text": half}]},
        }
        return self.message(body, **over[kind])

    def message(self, body: dict[str, Any], **over: Any) -> bytes:
        tool = body.get("tool_choice", {}).get("name")
        if "content" not in over:
            text = self.server.owner.answer(body)
            if tool is None:
                over["content"] = [
                    {"type": "thinking", "thinking": "", "signature": "s"},
                    {"type": "text", "text": text},
                ]
            else:
                over["content"] = [
                    {"type": "tool_use", "id": "t", "name": tool, "input": json.loads(text)}
                ]
        message = {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_reason": "end_turn" if tool is None else "tool_use",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 500,
                "cache_read_input_tokens": 1_000,
                "cache_creation_input_tokens": 100,
                "output_tokens": 150,
                "output_tokens_details": {"thinking_tokens": 20},
                "service_tier": "standard",
            },
            **over,
        }
        return json.dumps(message).encode()

    def slowly(self, kind: str, seconds: float, request: Seen) -> None:
        closing = self.server.owner.closing
        if kind == "timeout":
            closing.wait(seconds)
            self.reply(200, self.message(request.body))
            return
        head = (
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"
        )
        for byte in head + self.message(request.body):
            self.wfile.write(bytes([byte]))
            if closing.wait(seconds):
                break
        self.close_connection = True

    def badly(self, kind: str, status: int, authorization: str) -> None:
        if kind == "echo":
            self.error(status, f"bad key {authorization}", "")
        elif kind == "headers":
            echoed = {"x-echo": authorization}
            self.reply(status, b"{}", echoed, reason=f"Bad {authorization}")
        elif kind == "bomb":
            self.reply(status, bomb(), {"content-encoding": "gzip"})
        else:
            self.endless(status)

    def endless(self, status: int) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        while not self.server.owner.closing.is_set():
            self.wfile.write(b" " * 65_536)

    def error(self, status: int, message: str, retry_after: str) -> None:
        error = {"type": ERRORS.get(status, "api_error"), "message": message}
        extra = {"retry-after": retry_after} if retry_after else {}
        self.reply(status, json.dumps({"type": "error", "error": error}).encode(), extra)

    def reply(
        self,
        status: int,
        body: bytes,
        extra: dict[str, str] | None = None,
        announced: int | None = None,
        reason: str | None = None,
    ) -> None:
        self.send_response(status, reason)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) if announced is None else announced))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
