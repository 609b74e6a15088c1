"""What a name stands for: registries, the user's own functions, and whose fault it is."""

from __future__ import annotations

import importlib
import sys

import pytest

from dream.errors import InputError, LeakError, SpecInvalid
from dream.memory.recall import RECALL
from dream.runs import plugins, sources
from dream.strategies import REGISTRY

MINE = '''
from functools import partial
from dream.errors import LeakError

VALUE = 3

def fast(bars, *, half=3, wide=1.0):
    """A strategy."""
    return ("fast", bars, half, wide)

def plain(query, past):
    return [query, past]

def fails(*args):
    return {}["nothing"]

def leaks(*args):
    raise LeakError("seen")

def stops(*args):
    raise KeyboardInterrupt

bound = partial(fast, half=9)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's own."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("def half(:\n")
    (tmp_path / "raising.py").write_text("raise OSError('no such device')\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("mine", "broken", "raising"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch:fast", r"strategy nosuch:fast: cannot import nosuch: ModuleNotFoundError"),
        ("mine:nosuch", r"mine has no such name \('nosuch'\)"),
        ("mine:VALUE", r"mine has a int, not a function \('VALUE'\)"),
        ("mine:", r"no such name \(''\)"),
        (":fast", r"cannot import : ValueError"),
        ("broken:half", r"cannot import broken: SyntaxError: .*broken.py, line 1"),
        ("raising:half", r"cannot import raising: OSError: no such device"),
        ("mine:fast:more", r"no such name \('fast:more'\)"),
    ],
)
def test_a_function_that_cannot_be_had(mine, name, message):
    with pytest.raises(SpecInvalid, match=message):
        plugins.load(name, "strategy")


def test_a_function_is_called_as_it_is(mine):
    assert plugins.load("mine:fast", "strategy")("bars", half=4) == ("fast", "bars", 4, 1.0)


def test_its_own_faults_name_it_and_the_line(mine):
    fails = plugins.strategies(("mine:fails",), {})["fails"]
    line = MINE[: MINE.index('{}["nothing"]')].count("\n") + 1
    with pytest.raises(
        InputError,
        match=rf"strategy mine:fails failed: KeyError: 'nothing' \(.*mine.py, line {line}\)",
    ):
        fails(1, 2)


@pytest.mark.parametrize(("name", "error"), [("leaks", LeakError), ("stops", KeyboardInterrupt)])
def test_what_is_no_fault_passes_through(mine, name, error):
    with pytest.raises(error):
        plugins.load(f"mine:{name}", "decider")()


def test_strategies_in_the_order_given_with_their_parameters(mine):
    names = ("PullbackEntry", "mine:fast", "VolBreakout")
    found = plugins.strategies(names, {"mine:fast": {"half": 5.0}})
    assert list(found) == ["PullbackEntry", "fast", "VolBreakout"]
    assert found["PullbackEntry"] is REGISTRY["PullbackEntry"]
    assert found["fast"]("bars") == ("fast", "bars", 5.0, 1.0)


@pytest.mark.parametrize(
    ("names", "params", "message"),
    [
        (("Nosuch",), {}, "unknown strategy 'Nosuch'; known: VolBreakout, IntradayMomentum"),
        (("VolBreakout", "VolBreakout"), {}, "'VolBreakout' is named twice"),
        (("mine:fast", "mine:fast"), {}, "'fast' is named twice"),
        (("VolBreakout",), {"VolBreakout": {"bars": 1.0}}, "has no parameter 'bars'; it has:"),
        (("mine:fast",), {"mine:fast": {"bars": 1.0}}, "no parameter 'bars'; it has: half, wide"),
        (("mine:bound",), {"mine:bound": {"no": 1.0}}, "no parameter 'no'; it has: half, wide"),
    ],
)
def test_strategies_that_cannot_be(mine, names, params, message):
    with pytest.raises(SpecInvalid, match=message):
        plugins.strategies(names, params)


def test_recall_functions(mine):
    assert plugins.recall("none", {}) is None
    for name in RECALL:
        if name != "none":
            assert callable(plugins.recall(name, {}))
    assert plugins.recall("mine:plain", {})("query", "past") == ["query", "past"]
    with pytest.raises(SpecInvalid, match="known: none, similarity, hybrid, or module:function"):
        plugins.recall("nosuch", {})
    with pytest.raises(SpecInvalid, match="memory none has no parameters, found k"):
        plugins.recall("none", {"k": 3.0})
    with pytest.raises(SpecInvalid, match="has no parameter 'k'; it has: none"):
        plugins.recall("mine:plain", {"k": 3.0})


def test_the_hash_of_a_function_is_that_of_its_file(mine):
    before = sources.source_hash(plugins.load("mine:fast", "strategy"))
    assert before is not None
    assert sources.source_hash(plugins.load("mine:plain", "strategy")) == before
    assert sources.source_hash(plugins.load("mine:bound", "strategy")) == before
    (mine / "mine.py").write_text(MINE + "\nMORE = 1\n")
    del sys.modules["mine"]
    assert sources.source_hash(plugins.load("mine:fast", "strategy")) != before


def test_what_has_no_file_has_no_hash():
    assert sources.source_hash(len) is None
    assert sources.source_hash(eval("lambda query, past: []")) is not None, "this file's"
