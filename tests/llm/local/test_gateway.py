"""The server's life: it starts with the first question, answers its own run only, and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dream.errors import ModelUnavailable
from dream.llm.client import CallFailed
from dream.llm.local import pins
from dream.llm.local.transport import LocalTransport
from tests.llm.local.stand_in import installed, request

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path / "local", monkeypatch)


@pytest.fixture
def local(folder: Path) -> Iterator[LocalTransport]:
    transport = LocalTransport(folder, threads=3)
    yield transport
    transport.close()


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int, within_s: float = 20.0) -> bool:
    for _ in range(int(within_s * 20)):
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


def test_the_server_starts_with_the_first_question_and_ends_with_the_run(local) -> None:
    assert local._process is None
    reply = local.send(request("hello"))
    pid, threads = map(int, (reply.text or "").split())
    assert threads == 3
    assert pid == local._process.pid != os.getpid()
    assert (reply.model, reply.stop_reason) == (pins.MODEL, "end_turn")
    usage = reply.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (10, 40, 7)
    assert local.send(request("again")).text == reply.text
    local.close()
    assert not is_running(pid)
    local.close()


def test_what_stops_an_answer_and_what_is_too_long(local) -> None:
    assert local.send(request("cut")).stop_reason == "model_context_window_exceeded"
    with pytest.raises(CallFailed, match="prompt is too long: 9 tokens > 8 maximum") as caught:
        local.send(request("long"))
    assert caught.value.again is False


def test_a_server_that_was_killed_is_started_again(local) -> None:
    first = int((local.send(request("hello")).text or "").split()[0])
    os.kill(first, signal.SIGKILL)
    local._process.wait()
    second = int((local.send(request("hello")).text or "").split()[0])
    assert second != first


def test_nobody_else_is_answered(local) -> None:
    local.send(request("hello"))
    url = local._inner._base_url
    for key, path, status in (
        ("", "/v1/messages", 401),
        ("Bearer x", "/v1/messages", 401),
        (f"Bearer {local._inner._key}", "/v1/models", 404),
        (f"Bearer {local._inner._key}", "/v1/messages", 400),
    ):
        asked = urllib.request.Request(url + path, b"{", {"authorization": key})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=10)
        error: dict[str, Any] = json.load(caught.value)
        assert caught.value.code == status
        assert error["type"] == "error"


RUN = """
import sys
from pathlib import Path
from dream.llm.local import pins
from dream.llm.local.transport import LocalTransport
from tests.llm.local.stand_in import request
pins.WEIGHTS_SHA256 = sys.argv[2]
local = LocalTransport(Path(sys.argv[1]))
print(local.send(request("hello")).text, flush=True)
local.send(request("sleep"))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_the_server_ends_when_the_run_is_killed_in_the_middle_of_an_answer(folder) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), pins.WEIGHTS_SHA256],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert run.stdout is not None
    with run.stdout:
        server = int(run.stdout.readline().split()[0])
    assert is_running(server)
    time.sleep(0.2)
    run.kill()
    run.wait()
    assert ends(server)


@pytest.mark.parametrize(("threads", "why"), [(13, "RuntimeError: no luck"), (14, "signal 6")])
def test_a_server_that_does_not_start_says_why_and_is_not_tried_again(folder, threads, why) -> None:
    local = LocalTransport(folder, threads=threads)
    with pytest.raises(CallFailed, match=f"the model local does not start: .*{why}") as caught:
        local.send(request("hello"))
    assert caught.value.again is False
    assert local._process is None


def test_damaged_weights_are_noticed_before_they_are_loaded(folder) -> None:
    (folder / pins.WEIGHTS_FILE).write_bytes(b"weightz")
    local = LocalTransport(folder)
    with pytest.raises(CallFailed, match=r"other content than was installed; dream models install"):
        local.send(request("hello"))


def test_nothing_is_installed(tmp_path) -> None:
    with pytest.raises(ModelUnavailable, match=r"dream models install local fetches it \(127 MB\)"):
        LocalTransport(tmp_path / "none")
