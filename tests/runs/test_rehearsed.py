"""Whole runs against a plan: each decision ends as worked out before, and costs what was billed."""

from __future__ import annotations

import math
import subprocess
import time

import pytest

from dream.llm.fake import FakeServer, Patient, load_plan, outcomes
from dream.runs.spending import spending
from tests.cli.typed import dream
from tests.llm.fake.asking import plan as planned
from tests.llm.line import KEY
from tests.runs import made

__all__ = ["dream"]

LIMIT_S = 1.0
PLAN = """\
seed = 7
answers = "drawn"

[shares]
"429" = 0.05
"529" = 0.03
"500" = 0.02
cut = 0.02
silence = 0.01
bad_json = 0.01
wrong_model = 0.01
refusal = 0.02
max_tokens = 0.02
no_answer = 0.03

[how."429"]
retry_after_s = 2

[how."529"]
times = 7

[[at]]
decision = 11
fault = "no_answer"
times = 2

[[at]]
request = 30
fault = "reset"

[[at]]
decision = 60
fault = "context_exceeded"
"""


@pytest.fixture
def impatient(monkeypatch):
    """Waits are not waited, and no proxy is loaded."""
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
@pytest.mark.parametrize(("on_error", "decisions"), [("hold", 300), ("stop", 100)])
def test_a_run_ends_as_the_plan_says(dream, bars_path, on_error, decisions):
    """What stops the run is gone on with by the same command."""
    path = dream.folder / "plan.toml"
    path.write_text(PLAN)
    plan = load_plan(path)
    supposed = outcomes(plan, decisions, Patient(limit_s=LIMIT_S, on_error=on_error))
    stops = 0
    with FakeServer(plan, now_ns=time.time_ns) as server:
        while True:
            said = dream(
                "run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url,
                "--decisions", decisions, "--on-error", on_error, "--timeout", LIMIT_S, "-q",
            )  # fmt: skip
            if said.code == 0:
                break
            assert said.code == 5, said.err
            stops += 1
        rows, totals = server.ledger.rows(), server.ledger.totals()
    decided = made.of_kind(made.only_run(dream.folder / "runs"), "decision")
    assert [d["status"] for d in decided] == [o.status for o in supposed]
    assert {o.status for o in supposed} == {
        "ok", "truncated", "model_refusal", "parse_error",
        *(["api_error"] if on_error == "hold" else []),
    }  # fmt: skip
    assert stops == sum(o.stops for o in supposed)
    assert (stops > 0) == (on_error == "stop")
    assert len(rows) == sum(o.requests for o in supposed)
    assert [n for n in range(decisions) for _ in range(supposed[n].requests)] == [
        row["decision"] for row in rows
    ]
    met = [row["fault"] for row in rows if row["fault"]]
    assert met == [fault for o in supposed for fault in o.faults]
    assert totals["asked_again"] == 0
    check_costs(made.only_run(dream.folder / "runs"), rows)
    assert len({d["action"] for d in decided}) > 1


def check_costs(folder, rows):
    """Each reply costs what the server billed for the answer that it kept; so do all attempts."""
    billed = [row for row in rows if row["whole"] and row["status"] == 200]
    seen = [row for row in billed if row["fault"] != "bad_json"]
    kept = {
        (row["decision"], row["turn"]): row["cost_usd"]
        for row in seen
        if row["fault"] != "wrong_model"
    }
    replies = made.of_kind(folder, "reply")
    said = {(r["seq"], r["turn"]): r["cost_usd"] for r in replies if r["raw"] is not None}
    assert said == kept
    spent = spending(folder)
    known_usd = math.fsum(row["cost_usd"] for row in seen)
    assert spent.total() - spent.unsure_usd == pytest.approx(known_usd, abs=1e-9)
    lost_usd = math.fsum(row["lost_usd"] for row in rows) + math.fsum(
        row["cost_usd"] for row in billed if row["fault"] == "bad_json"
    )
    assert 0 < lost_usd <= spent.unsure_usd


@pytest.mark.slow
def test_a_run_that_is_killed_ends_as_the_plan_says(bars_path, tmp_path):
    """SIGKILL with answers under way: they come again alike, and nothing else is asked again."""
    shares = {"refusal": 0.15, "max_tokens": 0.15, "no_answer": 0.3}
    plan = planned(shares=shares, how={"no_answer": {"times": 2}}, latency_s=0.05, seed=2)
    words = ("--model", "sonnet", "--decisions", 60, "--on-error", "hold")
    command = made.command("run", "--bars", bars_path, *words)
    kills = 0
    with FakeServer(plan, now_ns=time.time_ns) as server:
        env = made.environment(ANTHROPIC_API_KEY=KEY, DREAM_BASE_URL=server.url)
        for answers in (7, 40):
            run = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE)
            while server.ledger.totals()["requests"] < answers and run.poll() is None:
                time.sleep(0.01)
            run.kill()
            _, said = run.communicate()
            kills += run.returncode < 0
            assert b"Traceback" not in said
        done = subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True)
        totals = server.ledger.totals()
    assert (done.returncode, kills) == (0, 2), done.stderr
    supposed = outcomes(plan, 60)
    decided = made.of_kind(made.only_run(tmp_path / "runs"), "decision")
    assert [d["status"] for d in decided] == [o.status for o in supposed]
    assert len({o.status for o in supposed}) == 4
    assert totals["asked_again"] <= kills
    once = sum(o.requests for o in supposed)
    assert once <= totals["requests"] <= once + kills
