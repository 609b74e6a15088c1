"""dream.toml and DREAM_* variables: nothing is taken for something else, nothing is ignored."""

from __future__ import annotations

import json
import os
from inspect import signature

import pytest

from dream.cli.run import run
from dream.cli.settings import TYPED_ONLY


@pytest.fixture(autouse=True)
def no_settings_of_ours(monkeypatch):
    for name in list(os.environ):
        if name.startswith("DREAM_"):
            monkeypatch.delenv(name)


@pytest.fixture
def told(dream):
    """What a run says of a dream.toml that must not be taken."""

    def call(text):
        data = text if isinstance(text, bytes) else f"[run]\n{text}\n".encode()
        (dream.folder / "dream.toml").write_bytes(data)
        said = dream("run")
        assert (said.code, said.out) == (2, ""), said
        assert said.err.startswith("dream: ")
        assert said.err.count("\n") == 1
        assert "dream.toml" in said.err
        assert len(said.err) < 600
        assert [path.name for path in dream.folder.iterdir()] == ["dream.toml"]
        return said.err

    return call


VALUES = {
    "a truth value": ("true", "true"),
    "a whole number": ("3", "3"),
    "a number": ("1.5", "1.5"),
    "a text": ('"words"', "'words'"),
    "a list of texts": ('["a=1"]', "['a=1']"),
    "a list": ("[1]", "[1]"),
    "a table": ("{a = 1}", "{'a': 1}"),
    "a date": ("2024-01-02", "2024-01-02"),
}
TEXT, WHOLE, NUMBER = ("a text in quotes", ["a text"]), ("a whole number", ["a whole number"]), (
    "a number", ["a number", "a whole number"],
)  # fmt: skip
TRUTH, LIST = ("true or false", ["a truth value"]), ("a list of texts", ["a list of texts"])
SETTINGS = {
    "model": TEXT, "decisions": WHOLE, "bars": TEXT, "from": TEXT, "to": TEXT, "memory": TEXT,
    "ask": TEXT, "manage": TRUTH, "context": TEXT, "prompt": TEXT, "strategies": TEXT,
    "autonomy": TEXT, "shorts": TRUTH,
    "equity": NUMBER, "risk": NUMBER, "spread": NUMBER, "slippage": NUMBER, "commission": NUMBER,
    "swap": NUMBER, "intrabar": TEXT, "max-gap": NUMBER, "set": LIST, "seed": WHOLE,
    "on-error": TEXT, "base-url": TEXT, "local-threads": WHOLE, "budget": NUMBER,
    "timeout": NUMBER, "sync": TEXT, "reuse-answers": TRUTH,
    "repeats": WHOLE, "at-once": WHOLE, "runs": TEXT, "json": TRUTH,
    "quiet": TRUTH,
}  # fmt: skip


def test_every_option_is_in_the_table():
    assert len(SETTINGS) + len(TYPED_ONLY) == len(signature(run).parameters)


@pytest.mark.parametrize("key", SETTINGS)
def test_a_value_of_another_type_is_refused(told, key):
    """Each option with a value of every type that is not its own."""
    expected, own = SETTINGS[key]
    for kind, (written, shown) in VALUES.items():
        if kind not in own:
            said = told(f"{key} = {written}")
            assert f"[run] {key}: expected {expected}, found {shown}" in said, kind


def test_a_value_of_its_type_is_taken(dream, bars_path):
    (dream.folder / "dream.toml").write_text(
        f'[run]\nbars = "{bars_path}"\nspread = 1\nmax-gap = 90\ndecisions = 3\njson = true\n'
        'set = ["memory.k=2"]\nruns = "mine"\n'
    )
    summary = json.loads(dream("run").out)
    assert summary["terms"]["spread"] == 1.0
    assert summary["terms"]["max_gap_ns"] == 90 * 60 * 10**9
    assert summary["journal"].startswith("mine/")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("max-gap = 1\nmax_gap = 2", "max_gap is given twice"),
        (f"seed = {10**25}", "64 bits"),
        (f"equity = {10**400}", "64 bits"),
        (f"seed = {'9' * 5000}", "a number in it is too long"),
        (f"memory = '{'x' * 5000}'", "memory has 5,000 characters"),
        (f"set = ['{'x' * 5000}']", "set has 5,000 characters"),
        (f"set = [{', '.join(['1'] * 900)}]", "expected a list of texts"),
        (f"set = {'[' * 5000}", "nested too deeply"),
        (b"[run]\nmodel = '\xff'\n", "cannot be read"),
        (b"#" * (1 << 20) + b"\n", "longer than 1048576 bytes"),
    ],
)  # fmt: skip
def test_what_no_setting_is(told, text, word):
    assert word in told(text)


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nothing"])
def test_what_is_no_file(dream, kind):
    path = dream.folder / "dream.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    said = dream("models")
    assert (said.code, said.out) == (2, "")
    assert str(path) in said.err
    assert "Traceback" not in said.err


def test_a_variable_that_is_no_setting_is_refused_with_the_one_that_was_meant(dream, monkeypatch):
    monkeypatch.setenv("DREAM_MODLE", "sonnet")
    said = dream("run")
    assert (said.code, said.out) == (2, "")
    assert "DREAM_MODLE is no setting" in said.err
    assert "did you mean DREAM_MODEL?" in said.err
    assert "DREAM_MAX_GAP" in said.err
    assert "sonnet" not in said.err, "the value may be a secret"
    assert list(dream.folder.iterdir()) == []


@pytest.mark.parametrize("name", ["DREAM_AS_JSON", "DREAM_FROM_", "DREAM_set", "DREAM_"])
def test_a_variable_has_one_name(dream, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert f"the variable {name} is no setting" in dream("run").err


@pytest.mark.parametrize("key", SETTINGS)
def test_an_empty_variable_is_no_wish_for_the_default(dream, monkeypatch, key):
    name = f"DREAM_{key.upper().replace('-', '_')}"
    monkeypatch.setenv(name, "")
    said = dream("run")
    assert (said.code, said.out) == (2, "")
    assert f"{name} is set and empty" in said.err
    assert list(dream.folder.iterdir()) == []


def test_where_variables_mean_nothing_they_are_left_alone(dream, bars_path, monkeypatch):
    monkeypatch.setenv("DREAM_MODLE", "sonnet")
    monkeypatch.setenv("DREAM_BARS", "")
    for words in (["--help"], ["run", "--help"], ["models"], ["bars", "info", bars_path]):
        assert dream(*words).code == 0
    assert "expected the folder of a run" in dream("verify", "nosuch").err


def test_the_variables_of_the_tests_are_left_alone(dream, bars_path, monkeypatch):
    monkeypatch.setenv("DREAM_TEST_KILLS", "3")
    assert dream("run", "--bars", bars_path, "--decisions", 2).code == 0


def test_endless_values_are_not_shown_whole(dream, monkeypatch):
    for option in ("--model", "--ask", "--memory", "--strategies", "--bars", "--decisions", "--x"):
        for length in (500, 4_000, 1_000_000):
            said = dream("run", option, "7x" * (length // 2))
            assert (said.code, said.out) == (2, "")
            assert len(said.err) < (1_000 if option.startswith("--m") else 5_000), option
    monkeypatch.setenv("DREAM_DECISIONS", "7" * 100_000)
    said = dream("run")
    assert said.code == 2
    assert "the variable DREAM_DECISIONS has 100,000 characters" in said.err
    assert len(said.err) < 300
