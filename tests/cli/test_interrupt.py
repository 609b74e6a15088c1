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
    with open("asked.log", "a") as log:
        log.write(f"{ask.seq}\\n")
    time.sleep(0.02)
    return {"action": "HOLD", "reasoning": str(ask.now_ns)}
"""


def start(cwd, *args):
    return subprocess.Popen(
        made.command(*args), cwd=cwd, env=made.environment(), text=True,
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


def test_ctrl_c_and_the_command_that_goes_on(dream, tmp_path, bars_path):
    """Also with --fresh, which is left out of that command: it would start yet another run."""
    (tmp_path / "mine.py").write_text(SLOW)
    log = tmp_path / "asked.log"
    args = ("run", "--model", "mine:decide", "--bars", bars_path, "--decisions", 40, "--json")
    process = start(tmp_path, *args, "--fresh")
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
    again = dream(*resume_command(err))
    assert again.code == 0, again.err
    assert log.read_text().split() == [str(n) for n in range(40)]
    made.only_run(tmp_path / "runs")


def test_ctrl_c_before_the_first_question(tmp_path, bars_path):
    """While Python starts, bars are read or code is loaded: never a traceback of ours."""
    args = ("run", "--bars", bars_path, "--decisions", 3_000, "--json")
    for delay in (0.4, 1.1):
        process = start(tmp_path, *args)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode in (130, 0, -signal.SIGINT), (out, err)
        assert "Traceback" not in err or process.returncode == -signal.SIGINT


def test_ctrl_c_twice_drops_the_decision_in_flight(dream, tmp_path, bars_path):
    # slow the first time only, without an edit: an edited decider would be another one
    asked = "len(__import__('pathlib').Path('asked.log').read_text().split())"
    first = f"60 if ask.seq == 2 and {asked} == 3 else 0"
    (tmp_path / "mine.py").write_text(SLOW.replace("0.02", first))
    log = tmp_path / "asked.log"
    args = ("run", "--model", "mine:decide", "--bars", bars_path, "--decisions", 4)
    process = start(tmp_path, *args)
    wait_until(process, lambda: log.exists() and log.read_text().count("\n") == 3)
    process.send_signal(signal.SIGINT)
    assert "finishing the decision in flight" in process.stderr.readline() + (
        process.stderr.readline()
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert len(made.of_kind(made.only_run(tmp_path / "runs"), "decision")) == 2
    assert dream(*resume_command(err)).code == 0
    assert log.read_text().split() == ["0", "1", "2", "2", "3"]


@pytest.mark.slow
def test_ctrl_c_in_a_paid_call_pays_it_and_goes_on(dream, tmp_path, bars_path, monkeypatch):
    """The answer that is on its way is waited for and written down: it is not asked for again."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-loopback")
    with MessagesServer(["ok", "timeout:1.5", "ok"]) as server:
        args = (
            "run", "--model", "haiku", "--bars", bars_path, "--decisions", 4,
            "--base-url", server.url, "--json",
        )  # fmt: skip
        process = start(tmp_path, *args)
        wait_until(process, lambda: len(server.seen) == 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "finishing the decision in flight" in err
        assert len(made.of_kind(made.only_run(tmp_path / "runs"), "decision")) == 2
        done = dream(*resume_command(err))
        assert done.code == 0, done.err
        assert len(server.seen) == 4
    assert json.loads(done.out)["decisions_by_status"]["ok"] == 4
