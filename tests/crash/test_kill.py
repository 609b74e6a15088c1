"""SIGKILL at any moment: the same command again gives the same journal; nobody is asked twice.

Each kill waits for a random number of questions and a random part of a few milliseconds more, so it
falls anywhere between two lines, also where the machine is slow; every fourth one comes at a random
moment after the start, while Python starts, bars are read or the record is replayed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from itertools import pairwise

import pytest

from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made

__all__ = ["dream"]

DECISIONS = 2_000
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
KILLS = int(os.environ.get("DREAM_TEST_KILLS", "50" if NIGHTLY else "6"))

DECIDER = """
import os

def decide(ask, shown):
    log = os.open("asked.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, b"%d %d\\n" % (os.getpid(), ask.seq))
    os.close(log)
    reasoning = f"{len(shown)} recalled at {ask.now_ns}"
    if ask.position is not None:
        return {"action": "CLOSE" if ask.position.bars_held > 5 else "HOLD", "reasoning": reasoning}
    away = ask.indicators.atr_m15 * (2 + ask.seq % 3)
    return {
        "action": "BUY", "strategy": ask.board[ask.seq % 3].strategy, "confidence": 0.5,
        "stop": ask.close - away, "target": ask.close + away, "reasoning": reasoning,
    }
"""


@pytest.fixture
def place(tmp_path):
    """A folder with the decider in it."""
    (tmp_path / "mine.py").write_text(DECIDER)
    return tmp_path


def arguments(bars, *more):
    return (
        "run", "--model", "mine:decide", "--bars", bars, "--decisions", DECISIONS,
        "--sync", "each", "--json", *more,
    )  # fmt: skip


class Victim:
    """A command of its own, to be killed."""

    def __init__(self, cwd, *args):
        self.log = cwd / "asked.log"
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            made.command(*args),
            cwd=cwd,
            env=made.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def wait_for(self, questions):
        """Until so many questions were asked in all."""
        while self.process.poll() is None and asked_bytes(self.log).count(b"\n") < questions:
            assert time.monotonic() < self.started + 120
            time.sleep(0.002)

    def kill(self):
        """Kill it without a word; whether it was still there."""
        self.process.send_signal(signal.SIGKILL)
        out, err = self.process.communicate()
        assert self.process.returncode in (-signal.SIGKILL, 0), (out, err)
        return self.process.returncode != 0


def asked_bytes(log):
    return log.read_bytes() if log.exists() else b""


def check_nobody_asked_twice(log, decisions):
    """A question comes again only as the first of a process whose predecessor died in it."""
    asked = [tuple(map(int, line.split())) for line in asked_bytes(log).splitlines()]
    again = 0
    for (pid, seq), (next_pid, next_seq) in pairwise(asked):
        if pid != next_pid and next_seq == seq:
            again += 1
        else:
            assert next_seq == seq + 1
    assert sorted({seq for _, seq in asked}) == list(range(decisions))
    assert len(asked) == decisions + again
    return again


@pytest.mark.slow
def test_killed_at_random_moments(place, bars_path, tmp_path_factory):
    alone = tmp_path_factory.mktemp("alone")
    (alone / "mine.py").write_text(DECIDER)
    whole = made.dream(*arguments(bars_path), cwd=alone)
    assert whole.returncode == 0, whole.stderr
    assert check_nobody_asked_twice(alone / "asked.log", DECISIONS) == 0

    rng = random.Random(20_240_102)
    marks = sorted(rng.randrange(DECISIONS) for _ in range(KILLS))
    killed = 0
    for n, mark in enumerate(marks):
        victim = Victim(place, *arguments(bars_path))
        if n % 4 == 3:
            time.sleep(rng.uniform(0.0, 2.0))
        else:
            victim.wait_for(mark)
            time.sleep(rng.uniform(0.0, 0.004))
        killed += victim.kill()
    assert killed >= KILLS - 3

    done = made.dream(*arguments(bars_path), cwd=place)
    assert done.returncode == 0, done.stderr
    check_nobody_asked_twice(place / "asked.log", DECISIONS)
    asked = asked_bytes(place / "asked.log")
    runs = [made.only_run(folder / "runs") for folder in (place, alone)]
    assert made.bodies(runs[0]) == made.bodies(runs[1])
    ends = [json.loads(text) for text in (done.stdout, whole.stdout)]
    assert ends[0] | {"wall_s": 0} == ends[1] | {"wall_s": 0}
    assert ends[0]["trades"] > 10
    assert ends[0]["recall"]["recalled"] > 1_000
    again = made.dream("replay", runs[0], "--json", cwd=place)
    assert json.loads(again.stdout)["digest"] == ends[0]["digest"]
    assert asked_bytes(place / "asked.log") == asked, "a replay asks nobody"


@pytest.mark.slow
def test_killed_while_a_paid_call_is_in_flight(dream, place, bars_path, monkeypatch):
    """The server sees each question once, but those that were in flight at a kill."""
    plan = ["ok"] * 3 + ["timeout:60", "ok"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-loopback")
    with MessagesServer(plan) as server:
        command = (
            "run", "--model", "haiku", "--bars", bars_path, "--decisions", 8,
            "--base-url", server.url,
        )  # fmt: skip
        victim = Victim(place, *command)
        while len(server.seen) < 4 and victim.process.poll() is None:
            time.sleep(0.002)
        assert victim.kill()
        done = dream(*command)
        assert done.code == 0, done.err
        assert len(server.seen) == 8 + 1
        prompts = [seen.body["messages"][0]["content"] for seen in server.seen]
    assert prompts[3] == prompts[4]
    assert len(set(prompts)) == 8
    folder = made.only_run(place / "runs")
    assert [r["user"] for r in made.of_kind(folder, "reply")] == list(dict.fromkeys(prompts))
    spend = [json.loads(line) for line in (folder / "spend.jsonl").read_text().splitlines()]
    assert sum("ceiling_usd" in line for line in spend) == 9
    assert sum("cost_usd" in line for line in spend) == 8


def test_a_second_process_is_turned_away_and_the_first_is_not_disturbed(dream, place, bars_path):
    victim = Victim(place, *arguments(bars_path))
    victim.wait_for(3)
    second = dream(*arguments(bars_path))
    assert (second.code, second.out) == (4, "")
    assert second.err.startswith("dream: ")
    assert "another process is writing this run" in second.err
    assert second.err.count("\n") == 1
    assert victim.kill()
    check_nobody_asked_twice(place / "asked.log", asked_bytes(place / "asked.log").count(b"\n"))
