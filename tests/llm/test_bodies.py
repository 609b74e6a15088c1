"""Bodies without measure: bombs, endless ones, packed ones. Each ends soon and in little memory."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

from dream.errors import ModelUnavailable
from dream.llm.client import CallFailed
from dream.llm.message import MAX_BODY, read_message, whole_body
from tests.llm.line import REQUEST, Line
from tests.messages_server import HOLD, MessagesServer, bomb

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("straight")

MIB = 1_048_576


@pytest.mark.parametrize("on_error", ["stop", "hold"])
@pytest.mark.parametrize("step", ["bomb:200", "bomb:529", "endless:200", "endless:503", "big"])
def test_a_body_without_measure_is_given_up_at_once_and_not_fetched_again(
    step: str, on_error: str
) -> None:
    bomb()
    with MessagesServer(["ok", step]) as server, Line(server.url, on_error=on_error) as line:
        line.send()  # what is imported and connected does not count
        tracemalloc.start()
        try:
            with pytest.raises(ModelUnavailable, match=r"127.*longer than 1048576 bytes.*same co"):
                line.send()
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(server.seen) == 2
        assert line.waits == []
    assert most < 12 * MIB, "the bomb unpacks to 64 MiB, the endless body to any number"


@pytest.mark.parametrize(("step", "cost_usd"), [("bomb:200", None), ("endless:429", 0.0)])
def test_only_a_refusal_without_measure_is_free(step: str, cost_usd: float | None) -> None:
    with (
        MessagesServer([step]) as server,
        Line(server.url) as line,
        pytest.raises(CallFailed) as caught,
    ):
        line.transport.send(REQUEST)
    assert (caught.value.again, caught.value.cost_usd) == (False, cost_usd)


def test_the_connection_is_usable_after_it() -> None:
    with MessagesServer(["endless:200", "ok"]) as server, Line(server.url) as line:
        with pytest.raises(CallFailed):
            line.transport.send(REQUEST)
        assert line.send().text == HOLD


def test_plain_bytes_are_asked_for() -> None:
    with MessagesServer() as server, Line(server.url) as line:
        line.send()
        (seen,) = server.seen
    assert seen.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "GZIP", "identity"])
def test_what_is_packed_nevertheless_is_understood(coding: str) -> None:
    packed = {"x-gzip": "gzip", "GZIP": "gzip"}.get(coding, coding)
    with MessagesServer([f"packed:{packed}"]) as server, Line(server.url) as line:
        assert line.send().text == HOLD
    data = b"x" * 70_000
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}.get(packed, bytes)
    assert whole_body(chunks(pack(data), 7), coding, None) == data


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "sk-ant-loopback-0123456789"])
def test_what_is_packed_otherwise_is_refused_and_not_fetched_again(coding: str) -> None:
    with MessagesServer([f"packed:{coding}"]) as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match="packed in a way") as caught:
            line.send()
        assert len(server.seen) == 1
    assert coding not in str(caught.value)


def test_the_longest_body_is_read_and_one_byte_more_is_not() -> None:
    for coding, pack in (("", bytes), ("gzip", gzip.compress)):
        longest = b"x" * MAX_BODY
        assert whole_body(chunks(pack(longest), 65_536), coding, None) == longest
        with pytest.raises(CallFailed, match="longer than") as caught:
            whole_body(chunks(pack(longest + b"x"), 65_536), coding, None)
        assert not caught.value.again


def test_what_is_packed_to_nothing_ends_too() -> None:
    """Empty gzip blocks: bytes that come for ever and unpack to none."""
    packer = zlib.compressobj(wbits=31)
    head = packer.compress(b"") + packer.flush(zlib.Z_SYNC_FLUSH)

    def endless() -> Iterator[bytes]:
        yield head
        while True:
            yield packer.flush(zlib.Z_FULL_FLUSH) or b"\0\0\0\xff\xff" * 1_000

    with pytest.raises(CallFailed, match="longer than"):
        whole_body(endless(), "gzip", None)


@pytest.mark.parametrize(
    ("data", "message"),
    [(gzip.compress(b"x" * 5_000)[:-9], "cut off"), (b"{}", "cannot be unpacked: Error -3")],
    ids=["cut", "not packed"],
)
def test_a_damaged_packed_body_may_be_fetched_again(data: bytes, message: str) -> None:
    with pytest.raises(CallFailed, match=message) as caught:
        whole_body([data], "gzip", None)
    assert caught.value.again


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


@pytest.mark.parametrize(
    "content",
    [
        b'{"type":"message","model":"m","content":[{"type":"text","text":"\xff"}]}',
        b'{"type":"message","model":"m","content":[{"type":"text","text":"\xed\xa0\x80"}]}',
        b"\xff\xfe{",
        b"<html><body>Welcome</body></html>",
        b'{"type":"message","model":"m","content":"words"}',
        b"",
    ],
)
def test_bytes_that_are_no_message_are_told_in_one_line(content: bytes) -> None:
    with pytest.raises(CallFailed, match="the answer is no message: ") as caught:
        read_message(content, "schema")
    assert caught.value.again, "a body that was mangled on its way may come whole the next time"
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 300


def test_words_in_place_of_a_forced_tool_are_kept_so_that_they_can_be_told() -> None:
    content = (
        b'{"type":"message","model":"m","stop_reason":"end_turn","content":'
        b'[{"type":"text","text":"I would "},{"type":"text","text":"wait."}]}'
    )
    assert read_message(content, "tool").text == "I would wait."
