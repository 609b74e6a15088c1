"""A server of the Messages API on loopback, to rehearse a run against.

    with FakeServer(plan, now_ns=time.time_ns) as server:
        ...  dream run --base-url {server.url}

It binds 127.0.0.1 and nothing else, takes any key or none, and reads no more than MAX_REQUEST
bytes of a request. Each connection has a thread, so that none waits for another.
"""

from __future__ import annotations

import json
import re
import select
import socket
import struct
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, cast

from dream.errors import InputError
from dream.llm.fake import messages
from dream.llm.fake.desk import BadRequest, Desk, read_body
from dream.llm.fake.ledger import Ledger
from dream.llm.fake.plan import Plan
from dream.llm.fake.tokens import blocks_of
from dream.llm.fake.tracker import TooManyRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.llm.fake.desk import Arrived
    from dream.llm.fake.messages import Sent

MAX_REQUEST: Final = 8 * 1024 * 1024
"""Longest body of a request, in bytes."""
IDLE_S: Final = 300.0
"""A connection on which nothing comes for so long is closed."""
_PIECE_S: Final = 0.1
"""Between two bytes of a trickle."""
_LOOK_S: Final = 0.05
"""How often a silent connection is looked at: has the client gone?"""
_PATH: Final = re.compile(r"(?:/run/([A-Za-z0-9._-]{1,100}))?(/v1/.*)")


class FakeServer:
    """Listens from the moment it is made; answers within `with`.

    Args:
        plan: what it does to whom; without one, every answer is a HOLD.
        now_ns: the wall clock, nanoseconds UTC.
        port: to listen on, 0 for any that is free.
        price_at_ns: instant whose prices count, None for that of each answer.

    Attributes:
        url: base URL for clients. ledger: every request that came. faults: of the server's own.

    Raises:
        InputError: the port is taken or may not be used.
    """

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        now_ns: Callable[[], int],
        port: int = 0,
        price_at_ns: int | None = None,
    ) -> None:
        self.ledger = Ledger()
        self.faults: list[BaseException] = []
        self._desk = Desk(plan or Plan(), self.ledger, now_ns, price_at_ns)
        self._closing = threading.Event()
        try:
            self._http = _Http(port, self._desk, self.ledger, self._closing, self.faults)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"cannot listen on 127.0.0.1:{port}: {reason}; give another port, or 0 for any "
                f"that is free"
            ) from None
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Drop every connection, and write what is left of the ledger."""
        self._closing.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self.ledger.close()
        if self.faults:
            raise self.faults[0]

    def close(self) -> None:
        """Give the port back; for a server that never began to answer."""
        self._http.server_close()

    def url_of(self, run: str) -> str:
        """Base URL of a run of that name: letters, digits, dot, dash and underscore."""
        return f"{self.url}/run/{run}"


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close waits for them
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        desk: Desk,
        ledger: Ledger,
        closing: threading.Event,
        faults: list[BaseException],
    ) -> None:
        self.desk = desk
        self.ledger = ledger
        self.closing = closing
        self.faults = faults
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Without the look-up of a name that the standard library makes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def keep(self, connection: socket.socket, *, is_open: bool) -> None:
        with self._lock:
            (self._open.add if is_open else self._open.discard)(connection)
            late = is_open and self.closing.is_set()
        if late:  # accepted before the end and begun after it
            connection.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a kept-alive answer waits 40 ms for a delayed ACK
    timeout = IDLE_S

    @property
    def home(self) -> _Http:
        return cast("_Http", self.server)

    def setup(self) -> None:
        super().setup()
        self.home.keep(self.connection, is_open=True)

    def finish(self) -> None:
        self.home.keep(self.connection, is_open=False)
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/ledger":
            ledger = self.home.ledger
            found = {"totals": ledger.totals(), "rows": ledger.rows()}
            self._send(messages.Sent(200, json.dumps(found).encode()))
            return
        _, path = _parted(path)
        if path == "/v1/models":
            self._send(messages.models())
        elif path.startswith("/v1/models/"):
            self._send(messages.model(path.removeprefix("/v1/models/")))
        else:
            self._send(messages.error(404, "no such path"))

    def do_POST(self) -> None:
        raw = self._body()
        if raw is None:
            return
        name, path = _parted(self.path.partition("?")[0])
        try:
            if path == "/v1/messages":
                self._message(name, raw)
            elif path == "/v1/messages/count_tokens":
                body = read_body(_with_most(raw))
                tokens = sum(block.tokens for block in blocks_of(body))
                self._send(messages.Sent(200, json.dumps({"input_tokens": tokens}).encode()))
            else:
                self._send(messages.error(404, "no such path"))
        except BadRequest as problem:
            self._send(messages.error(400, str(problem)))
        except TooManyRuns:
            self._send(messages.error(400, "too many runs for one server"))

    def _body(self) -> bytes | None:
        """The body, None where it was refused or did not come."""
        length = self.headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,15}", length):
            self.close_connection = True
            self._send(messages.error(400, "a content-length is required"))
            return None
        if int(length) > MAX_REQUEST:
            self.close_connection = True
            self._send(messages.error(413, f"at most {MAX_REQUEST} bytes are read"))
            return None
        raw = self.rfile.read(int(length))
        return raw if len(raw) == int(length) else None

    def _message(self, name: str, raw: bytes) -> None:
        desk = self.home.desk
        arrived = desk.arrive(name, raw)
        sent: Sent | None = None
        try:
            silence = arrived.strike if arrived.fault == "silence" else None
            stayed = self._pass(arrived.wait_s + (silence.seconds if silence else 0.0))
            if arrived.fault == "reset":
                self._reset()
            else:
                sent = desk.answer(arrived)
            if stayed and sent is not None:
                self._deliver(arrived, sent)
            else:
                desk.settle(arrived, sent, whole=False)
        except OSError:  # the client has gone
            self.close_connection = True
            desk.settle(arrived, sent, whole=False)
        finally:
            desk.end(arrived)

    def _deliver(self, arrived: Arrived, sent: Sent) -> None:
        """Billed before its last byte goes out: who has the answer finds it in the ledger."""
        desk, strike = self.home.desk, arrived.strike
        if strike is not None and strike.fault == "huge":
            self._huge(sent)
        elif strike is not None and strike.fault == "trickle":
            self._trickle(sent, strike.seconds)
        desk.settle(arrived, sent, whole=True)
        if strike is None or strike.fault not in ("huge", "trickle"):
            self._send(sent)
        else:
            self.wfile.write(sent.body)

    def _pass(self, seconds: float) -> bool:
        """Wait; whether the client is still there at the end."""
        if seconds <= _LOOK_S:
            return not (seconds > 0 and self.home.closing.wait(seconds))
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            if self._gone() or self.home.closing.wait(min(left, _LOOK_S)):
                self.close_connection = True
                return False
        return not self._gone()

    def _gone(self) -> bool:
        """Whether the client has closed its end; it sends nothing else while it waits."""
        ready, _, _ = select.select([self.connection], [], [], 0)
        return bool(ready) and not self.connection.recv(1, socket.MSG_PEEK)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _huge(self, sent: Sent) -> None:
        """All but the answer itself, which comes at the end of 50 MiB of blanks."""
        self.close_connection = True
        self.wfile.write(_head(sent, messages.HUGE_BYTES, close=True))
        left = messages.HUGE_BYTES - len(sent.body)
        while left:
            piece = min(left, 65_536)
            self.wfile.write(b" " * piece)
            left -= piece

    def _trickle(self, sent: Sent, seconds: float) -> None:
        """Blanks before the answer, which JSON may begin with: no read waits long."""
        blanks = int(seconds / _PIECE_S)
        self.close_connection = True
        self.wfile.write(_head(sent, blanks + len(sent.body), close=True))
        for _ in range(blanks):
            if not self._pass(_PIECE_S):
                raise ConnectionAbortedError
            self.wfile.write(b" ")

    def _send(self, sent: Sent) -> None:
        """In one piece, so that no half waits for an acknowledgement."""
        length = len(sent.body) if sent.announced is None else sent.announced
        if length != len(sent.body):
            self.close_connection = True
        self.wfile.write(_head(sent, length, close=self.close_connection) + sent.body)


def _head(sent: Sent, length: int, *, close: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {sent.status} {_phrase(sent.status)}",
        f"content-type: {sent.kind}",
        f"content-length: {length}",
        "request-id: req_rehearsal",
    ]
    if sent.retry_after_s is not None:
        lines.append(f"retry-after: {sent.retry_after_s:g}")
    if close:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _phrase(status: int) -> str:
    known = {int(one): one.phrase for one in HTTPStatus}
    return known.get(status, "Overloaded")


def _parted(path: str) -> tuple[str, str]:
    """The name of the run in a path, empty for none, and the rest of it."""
    found = _PATH.fullmatch(path)
    return (found[1] or "", found[2]) if found else ("", "")


def _with_most(raw: bytes) -> bytes:
    """A request to count tokens needs no limit: one is put in, so that both are read alike."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return json.dumps({"max_tokens": 1, **body}).encode() if isinstance(body, dict) else raw
