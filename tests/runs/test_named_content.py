"""Whatever `module:name` stands for: an edit of the file that names it is seen, and its state."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches

import pytest

from dream.errors import InputError
from dream.runs import assemble
from tests.runs import made

FILES = {
    "their_mine.py": """
from functools import partial, wraps
from dream.strategies import vol_breakout
from dream.types import Decision
from far.their_base import Agent, base, logged

wide = partial(vol_breakout, range_atr=0.01)
agent = Agent(True)
tight = partial(base, far=5.0)
method = Agent(False).decide

@wraps(vol_breakout)
def breakout(bars, **given):
    return vol_breakout(bars, **given)

@logged
def shows(query, past):
    return []
""",
    "far/their_base.py": """
from functools import wraps
from dream.types import Decision

class Agent:
    def __init__(self, holds): self.holds = holds
    def __call__(self, ask, shown): return Decision("HOLD" if self.holds else "CLOSE")
    def decide(self, ask, shown): return Decision()

def base(ask, shown, *, far): return Decision()

def logged(function):
    @wraps(function)
    def call(*args): return function(*args)
    return call
""",
}
WAYS = {
    "a partial of ours": {"strategies": ("their_mine:wide",)},
    "a wrapper of ours": {"strategies": ("their_mine:breakout",)},
    "an object": {"model": "their_mine:agent"},
    "a method": {"model": "their_mine:method"},
    "a partial": {"model": "their_mine:tight"},
    "a decorated function": {"memory": "their_mine:shows"},
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two modules of the user's, of which one lies where the other does not look for it."""
    place = tmp_path / "modules"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text.replace("from far.their_base", "from their_base"))
    monkeypatch.syspath_prepend(place)
    monkeypatch.syspath_prepend(place / "far")
    forget()
    yield place
    forget()


def forget():
    invalidate_caches()
    for name in ("their_mine", "their_base"):
        sys.modules.pop(name, None)


def hashes(spec):
    forget()
    return assemble.assemble(spec).hashes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("edited", FILES)
def test_an_edit_of_each_file_is_seen(bars_path, files, way, edited):
    spec = made.spec(bars_path, **WAYS[way])
    before = hashes(spec)
    assert hashes(spec) == before
    path = files / edited
    path.write_text(path.read_text() + "\n# edited\n")
    leads = edited == "their_mine.py" or "ours" not in way
    assert (hashes(spec) != before) == leads


def test_a_finished_run_of_what_was_there_before_is_not_handed_out(bars_path, tmp_path, files):
    spec = made.spec(bars_path, model="their_mine:agent", memory="none")
    made.run(spec, tmp_path / "runs")
    forget()
    assert made.run(spec, tmp_path / "runs").already_done
    path = files / "their_mine.py"
    path.write_text(path.read_text().replace("Agent(True)", "Agent(False)"))
    forget()
    with pytest.raises(InputError, match="decider changed since the run began"):
        made.run(spec, tmp_path / "runs")


def test_so_does_the_state_of_an_object_that_is_read_from_elsewhere(bars_path, files):
    path = files / "their_mine.py"
    path.write_text(
        path.read_text()
        + "import pathlib\nagent.holds = pathlib.Path(__file__).with_suffix('.txt').read_text()\n"
    )
    spec = made.spec(bars_path, model="their_mine:agent", memory="none")
    found = []
    for text in ("", "yes", ""):
        path.with_suffix(".txt").write_text(text)
        found.append(hashes(spec))
    assert found[0] == found[2] != found[1]


def test_an_object_that_changes_while_it_runs_goes_on(bars_path, files):
    spec = made.spec(bars_path, model="their_mine:agent", memory="none")
    before = assemble.assemble(spec).hashes
    import_module("their_mine").agent.calls = 3
    assert assemble.assemble(spec).hashes == before
