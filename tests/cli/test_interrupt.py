"""Ctrl-C: the decision in flight is finished, the exit code is 130, the same command goes on."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time

import pytest

from tests.messages_server import MessagesServer
from tests.runs import made

SLOW = """
import time

def decide(ask, shown):
    open("asked.log", "a").write(f"{ask.seq}\\n")
    time.sleep(0.02)
    return {"action": "HOLD", "reasoning": str(ask.now_ns)}
"""


def start(cwd, *args, **env):
    return subprocess.Popen(
        made.command(*args), cwd=cwd, env=made.environment(**env), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def wait_until(process, true):
    end = time.monotonic() + 60
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def resume_command(err):
    """The command that it says to go on with, as words without the program's name."""
    words = shlex.split(re.search(r"^  (dream run .*)$", err, re.MULTILINE)[1])
    return words[1:]


@pytest.mark.parametrize("extra", [(), ("--fresh",)])
def test_ctrl_c_and_the_command_that_goes_on(tmp_path, bars_path, extra):
    (tmp_path / "mine.py").write_text(SLOW)
    log = tmp_path / "asked.log"
    args = ("run", "--model", "mine:decide", "--bars", bars_path, "--decisions", 40, "--json")
    process = start(tmp_path, *args, *extra)
    wait_until(process, lambda: log.exists() and log.read_text().count("\n") >= 5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "nothing is lost" in err
    assert "Traceback" not in err
    asked = log.read_text().split()
    assert 5 <= len(asked) < 40
    run = made.only_run(tmp_path / "runs")
    assert [str(d["seq"]) for d in made.of_kind(run, "decision")] == asked, "the last one too"
    again = made.dream(*resume_command(err), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert log.read_text().split() == [str(n) for n in range(40)]
    made.only_run(tmp_path / "runs")


def test_ctrl_c_before_the_first_question(tmp_path, bars_path):
    """While it still reads, or at once after it: never a traceback, and the run can be done."""
    args = ("run", "--bars", bars_path, "--decisions", 3_000, "--json")
    for delay in (0.35, 0.8, 1.3):
        process = start(tmp_path, *args)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode in (130, 0, -signal.SIGINT), (out, err)
        assert "Traceback" not in err or process.returncode == -signal.SIGINT
    assert made.dream(*args, cwd=tmp_path).returncode == 0


def test_ctrl_c_in_a_paid_call_pays_it_and_goes_on(tmp_path, bars_path):
    """The answer that is on its way is waited for and written down; a second one drops it."""
    env = {"ANTHROPIC_API_KEY": "sk-ant-loopback"}
    with MessagesServer(["ok", "timeout:1.5", "ok", "timeout:60", "ok"]) as server:
        args = (
            "run", "--model", "haiku", "--bars", bars_path, "--decisions", 5,
            "--base-url", server.url, "--json",
        )  # fmt: skip
        process = start(tmp_path, *args, **env)
        wait_until(process, lambda: len(server.seen) == 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "finishing the decision in flight" in err
        run = made.only_run(tmp_path / "runs")
        assert len(made.of_kind(run, "decision")) == 2

        process = start(tmp_path, *resume_command(err), **env)
        wait_until(process, lambda: len(server.seen) == 4)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert len(made.of_kind(run, "decision")) == 3

        done = made.dream(*resume_command(err), cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        assert len(server.seen) == 6, "only the one that was dropped is asked again"
    assert json.loads(done.stdout)["decisions_by_status"]["ok"] == 5
