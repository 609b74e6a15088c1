"""--set sets what has no option of its own, --fresh is only typed, -q hides nothing but the bar."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.messages_server import MessagesServer

OWN = {
    "model": "--model", "decisions": "--decisions", "bars": "--bars", "from": "--from",
    "to": "--to", "memory": "--memory", "ask": "--ask", "manage": "--manage",
    "strategies": "--strategies", "seed": "--seed", "on_error": "--on-error",
    "terms.equity": "--equity", "terms.risk": "--risk", "terms.spread": "--spread",
    "terms.slippage": "--slippage", "terms.commission": "--commission", "terms.swap": "--swap",
    "terms.intrabar": "--intrabar", "terms.buy_only": "--shorts", "terms.autonomy": "--autonomy",
    "terms.max_gap_ns": "--max-gap", "context": "--context", "prompt": "--prompt",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_settings_of_ours(monkeypatch):
    for name in list(os.environ):
        if name.startswith("DREAM_"):
            monkeypatch.delenv(name)


@pytest.fixture
def refused(dream, bars_path):
    def call(*args):
        said = dream("run", "--bars", bars_path, "--decisions", 5, *args)
        assert (said.code, said.out) == (2, ""), said
        assert not (dream.folder / "runs").exists()
        return said.err

    return call


@pytest.mark.parametrize("key", OWN)
def test_set_gives_way_to_the_option(refused, key):
    assert refused("--set", f"{key}=3") == f"dream: --set {key}: use {OWN[key]}\n"


def test_nor_does_a_variable_or_the_file_override_an_option(dream, refused, monkeypatch):
    monkeypatch.setenv("DREAM_SET", "memory.k=2 decisions=500")
    assert "--set decisions: use --decisions" in refused()
    monkeypatch.delenv("DREAM_SET")
    (dream.folder / "dream.toml").write_text('[run]\nset = ["terms.spread=0"]\n')
    assert "--set terms.spread: use --spread" in refused()


@pytest.mark.parametrize("value", ["true", "false", '"yes"'])
def test_fresh_is_not_for_the_file(dream, refused, value):
    (dream.folder / "dream.toml").write_text(f"[run]\nfresh = {value}\n")
    assert "dream.toml: [run] fresh cannot be set here: every equal command" in refused()


@pytest.mark.parametrize("value", ["1", "0", ""])
def test_fresh_is_not_for_a_variable(refused, monkeypatch, value):
    monkeypatch.setenv("DREAM_FRESH", value)
    assert "the variable DREAM_FRESH cannot be used: every equal command" in refused()


def test_help_shows_no_variable_for_fresh(dream):
    assert "DREAM_FRESH" not in dream("run", "--help").out


def test_quiet_still_says_that_it_waits(dream, bars_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nobody")
    with MessagesServer(["429:7", "ok"]) as server:
        args = ("--model", "sonnet", "--base-url", server.url, "--bars", bars_path)
        said = dream("run", *args, "--decisions", 1, "-q", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["decisions"] == 1
    (line,) = [line for line in said.err.splitlines() if "asking again" in line]
    assert line.startswith("attempt 1 failed (")
    assert line.endswith("asking again in 7 s")
