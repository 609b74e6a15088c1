"""Runs that end and are no fair result: what they say, and their exit codes."""

from __future__ import annotations

import json

from dream.bars import store, synth


def test_a_memory_that_was_never_asked_is_exit_code_6(dream):
    """Bars that end a day after the first question could come; no set-up appears in it."""
    path = dream.folder / "short.parquet"
    store.write(synth.make(3_125, 2), path, source_clock="utc")
    said = dream("run", "--bars", path, "--ask", "setup")
    assert (said.code, said.out) == (6, ""), said
    assert "its recall function was never called in 0 decisions" in said.err
    assert dream("run", "--bars", path, "--ask", "setup", "--memory", "none").code == 0


def test_too_many_failed_answers_are_not_comparable_and_exit_code_0(dream, bars_path):
    answers = ['{"action": "HOLD"}'] * 18 + ['{"status": "api_error"}'] * 2
    (dream.folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
    args = ("run", "--bars", bars_path, "--model", "scripted:answers.jsonl", "--decisions", 20)
    said = dream(*args)
    assert said.code == 0
    assert "Not comparable: 10.0% of the decisions" in said.out
    assert json.loads(dream(*args, "--json").out)["comparable"] is False
