"""Where a model is reached and with which key: both are checked before anything is sent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dream.errors import InputError, ModelUnavailable
from dream.llm.anthropic import AnthropicTransport
from dream.llm.client import CallFailed
from dream.llm.endpoint import host_of
from tests.llm.line import KEY, REQUEST, Line
from tests.messages_server import HOLD, MessagesServer

pytestmark = pytest.mark.usefixtures("straight")


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("", "is empty"),
        ("api.anthropic.com", "does not begin with"),
        ("ftp://x", "does not begin with"),
        ("file:///etc/passwd", "does not begin with"),
        ("http+unix://x", "does not begin with"),
        ("http://", "names no host"),
        ("http:///v1", "names no host"),
        ("http://:80", "names no host"),
        ("http://x\n", "has a blank, a line end"),
        ("http://x\r\nHost: y", "has a blank, a line end"),
        ("http://x y/", "has a blank"),
        (" http://x", "has a blank"),
        ("http://x\0", "has a blank, a line end"),
        ("http://bücher.example", "outside ASCII"),
        ("http://[", "a bracket without its partner"),
        ("http://[::1", "a bracket without its partner"),
        ("http://x:y", "a port that is no number"),
        ("http://x:99999", "a port that is no number"),
        ("http://x:-1", "a port that is no number"),
        ("http://x:0", "has port 0"),
        ("http://me:hunter2@x", "has a user or a password"),
        ("http://hunter2@x", "has a user or a password"),
        ("https://me:hunter2@x:y", "a port that is no number"),
        ("http://x?key=hunter2", "has a query or a fragment"),
        ("http://x/#hunter2", "has a query or a fragment"),
        ("http://x?", "has a query or a fragment"),
        ("http://a..b", "has a host that is neither"),
        ("http://-a", "has a host that is neither"),
        ("http://x\\hunter2", "has a host that is neither"),
        ("http://%78", "has a host that is neither"),
        (f"http://{'a' * 64}", "has a host that is neither"),
        ("http://[::1%25eth0]", "has a host that is neither"),
        ("http://[v1.x:y]", "has a host that is neither"),
    ],
)
def test_what_is_no_endpoint_is_refused_and_told_without_a_password(url: str, wrong: str) -> None:
    said = r"^the base URL must be an http or https address, such as https://api\.anthropic\.com; "
    with pytest.raises(InputError, match=f"{said}the one given .*{wrong}") as caught:
        AnthropicTransport(key=KEY, key_env="A_KEY", base_url=url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com"),
        ("https://api.anthropic.com/", "https://api.anthropic.com"),
        ("HTTP://LocalHost:8080/some/path", "http://localhost:8080"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://my_server", "http://my_server"),
        ("http://host.", "http://host."),
    ],
)
def test_an_endpoint_is_called_by_scheme_host_and_port(url: str, host: str) -> None:
    assert host_of(url) == host


def test_a_path_of_the_endpoint_is_kept() -> None:
    with MessagesServer() as server, Line(f"{server.url}/gate/way/") as line:
        assert line.send().text == HOLD
        assert [seen.path for seen in server.seen] == ["/gate/way/v1/messages"]


@pytest.mark.parametrize("key", [None, ""])
def test_no_key_is_said_before_anything_is_sent(key: str | None) -> None:
    with pytest.raises(ModelUnavailable, match=r"no key for https://api.anthropic.com: set A_KEY"):
        AnthropicTransport(key=key, key_env="A_KEY", base_url="https://api.anthropic.com")


@pytest.mark.parametrize(
    "key",
    ["sk-secret\n", " sk-secret", "sk-sécret", "sk secret", "sk-secret\0", "\ud800sk", "k" * 5_000],
)
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"the key in A_KEY has .*: set it again") as caught:
        AnthropicTransport(key=key, key_env="A_KEY", base_url="https://api.anthropic.com")
    assert not any(part in str(caught.value) for part in ("secret", "sécret", "kkkk"))


@pytest.mark.parametrize("proxy", ["http://me:hunter2@x:port", "ftp://me:hunter2@x"])
def test_a_proxy_that_is_none_is_a_failed_call(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of proxies is read when the connection is set up."""
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with Line("https://api.anthropic.com") as line:
        with pytest.raises(ModelUnavailable, match="no connection can be set up") as caught:
            line.send()
        with pytest.raises(CallFailed) as bare:
            line.transport.send(REQUEST)
    assert (bare.value.again, bare.value.cost_usd) == (False, 0.0)
    assert "hunter2" not in str(caught.value) + str(bare.value)
    assert line.waits == []


class Odd(Exception):  # noqa: N818 - of no class that is known
    pass


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Odd("strange"), False),
        (RuntimeError("closed"), False),
        (UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"), False),
        (ConnectionResetError("peer"), True),
    ],
)
def test_whatever_is_raised_below_is_a_failed_call(
    error: Exception, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK lets some classes through and wraps others: raised where it reads its input."""

    def raises(*_: object) -> None:
        raise error

    with MessagesServer() as server, Line(server.url) as line:
        monkeypatch.setattr(line.transport, "_own_headers", raises)
        with pytest.raises(CallFailed, match=type(error).__name__) as inside:
            line.transport.send(REQUEST)
        assert inside.value.again is again
        monkeypatch.undo()
        monkeypatch.setattr("dream.llm.anthropic._post", raises)
        with pytest.raises(CallFailed, match=type(error).__name__) as outside:
            line.transport.send(REQUEST)
        assert outside.value.again is again


def test_a_lone_surrogate_in_a_prompt_does_not_end_in_a_traceback() -> None:
    from dataclasses import replace  # noqa: PLC0415

    with MessagesServer() as server, Line(server.url) as line:
        with pytest.raises(ModelUnavailable, match="surrogates not allowed"):
            line.send(replace(REQUEST, user="\ud800"))
        assert server.seen == []


def test_the_log_of_the_sdk_does_not_show_the_key() -> None:
    """ANTHROPIC_LOG prints requests and headers; a server may repeat the key in a header."""
    program = f"""
import logging
logging.basicConfig(level=logging.DEBUG)
from dream.llm.client import CallFailed
from tests.llm.line import REQUEST, Line
from tests.messages_server import MessagesServer
with MessagesServer(["headers:401", "ok"]) as server, Line(server.url) as line:
    try:
        line.transport.send(REQUEST)
    except CallFailed as failure:
        print(failure)
    print(line.transport.send(REQUEST).stop_reason)
    assert [s.headers["authorization"] for s in server.seen] == ["Bearer {KEY}"] * 2
"""
    environ = {**os.environ, "ANTHROPIC_LOG": "debug", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert "answered 401" in done.stdout
    assert "end_turn" in done.stdout
    assert KEY[:12] not in done.stdout + done.stderr
