"""What docs/fake.md says is so: its plan is read, its outcomes come out, its Python runs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import get_args

import pytest

from dream.llm.fake import faults, load_plan
from dream.llm.fake.plan import Plan
from tests.cli.typed import dream
from tests.docs.pages import ROOT, blocks, table
from tests.runs import made

__all__ = ["dream"]

PAGE = ROOT / "docs" / "fake.md"
BLOCKS = blocks(PAGE)
WORDS = {
    "again": "asks again", "again_once": "asks again once; stops the run at the second",
    "for_good": "stops the run", "model_refusal": "model_refusal",
    "truncated": "truncated", "unreadable": "asks for a repair",
}  # fmt: skip


@pytest.fixture
def plan_path(tmp_path):
    (toml,) = [block.text for block in BLOCKS if block.language == "toml"]
    path = tmp_path / "plan.toml"
    path.write_text(toml)
    return path


def test_the_plan_has_every_key(plan_path):
    plan = load_plan(plan_path)
    assert plan.model_fields_set == set(Plan.model_fields)
    assert plan.cache == Plan().cache, "what stands there is the default"
    assert (plan.how["429"].times, plan.at[0].times) == (2, 2)


def test_every_fault_is_explained():
    rows = table(PAGE, "## The plan", "fault")
    said = {fault: row[2] for row in rows for fault in row[0].split()}
    assert set(said) == set(get_args(faults.Fault))
    for fault, words in said.items():
        if fault in faults.SLOW:
            assert words == "asks again once its limit has passed"
            continue
        by_schema, by_tool = (
            faults.effect(fault, seconds=0, limit_s=1, answer=answer)
            for answer in ("schema", "tool")
        )
        if fault == "prose":
            assert (by_schema, by_tool) == ("unreadable", "ok")
        else:
            assert by_schema == by_tool
            assert words.startswith(WORDS[by_schema]), fault


def test_the_outcomes_come_out(dream, plan_path):
    shown = [block.text for block in BLOCKS if block.language == "text"]
    (command,) = [text for text in shown if "--outcomes" in text]
    (line,) = [text for text in shown if text.startswith("  ")]
    said = dream(*shlex.split(command)[1:])
    assert (said.code, said.err) == (0, "")
    assert line in said.out


@pytest.mark.usefixtures("plan_path")
@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "python"], ids=lambda b: b.line
)
def test_the_python_runs(tmp_path, block):
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=tmp_path, env=made.environment(),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
