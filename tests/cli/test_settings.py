"""dream.toml lies below DREAM_ variables, and those below flags."""

from __future__ import annotations

import json
import os

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_ours(monkeypatch):
    for name in list(os.environ):
        if name.startswith("DREAM_"):
            monkeypatch.delenv(name)


def write(dream, text):
    (dream.folder / "dream.toml").write_text(text, encoding="utf-8")


def test_the_file_the_variable_and_the_flag_win_in_this_order(dream, bars_path, monkeypatch):
    write(
        dream,
        f"[run]\nbars = {str(bars_path)!r}\ndecisions = 5\nmemory = 'none'\njson = true\n"
        "set = ['VolBreakout.range_atr=0.4']\nspread = 0.5\n",
    )
    told = json.loads(dream("run").out)
    assert (told["decisions"], told["memory"], told["bars"]) == (5, "none", str(bars_path))
    assert told["terms"]["spread"] == 0.5
    monkeypatch.setenv("DREAM_DECISIONS", "6")
    assert json.loads(dream("run").out)["decisions"] == 6
    assert json.loads(dream("run", "--decisions", 7).out)["decisions"] == 7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[run]\nnosuch = 1\n", ["[run] has no setting 'nosuch'", "decisions"]),
        ("[fly]\nfar = true\n", ["'fly' is no table", "[run]"]),
        ("run = 3\n", ["'run' is no table"]),
        ("[run\n", ["cannot be read"]),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_right(dream, text, words):
    write(dream, text)
    said = dream("models")
    assert (said.code, said.out) == (2, "")
    for word in ("dream.toml", *words):
        assert word in said.err


def test_a_variable_of_the_wrong_type_is_refused_by_its_option(dream, monkeypatch):
    monkeypatch.setenv("DREAM_DECISIONS", "many")
    said = dream("run")
    assert said.code == 2
    assert "--decisions" in said.err
    assert "integer" in said.err
    assert not (dream.folder / "runs").exists()
