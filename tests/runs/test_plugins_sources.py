"""What a function of the user's own is written in: its file, those beside it, or what was typed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.runs import made

PRINT = "from dream.runs import plugins, sources; print(sources.source_hash({}))"
FILES = {
    "mine.py": "import helper\nfrom pack import deep\nimport numpy\n\ndef choose(*a): return a\n",
    "helper.py": "from values import LIMIT\n",
    "values.py": "LIMIT = 3\n",
    "pack/__init__.py": "",
    "pack/deep.py": "from . import near\n\ndef f():\n    from .sub.far import g\n",
    "pack/near.py": "import mine\n\ndef pick(*a): return a\n",
    "pack/sub/far.py": "from ..other import g\n",
    "pack/other.py": "def g(): pass\n",
    "apart.py": "",
}


def found(folder, name, seed="0"):
    """The hash of a function in a process of its own."""
    code = PRINT.format(f'plugins.load("{name}", "strategy")')
    return typed(folder, code, seed=seed)


def typed(folder, text, seed="0"):
    """What a process prints that gets its program through a pipe."""
    done = subprocess.run(
        [sys.executable, "-"],
        input=text,
        cwd=folder,
        env=made.environment(PYTHONHASHSEED=seed, PYTHONPATH=f"{folder}{os.pathsep}{made.ROOT}"),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("function", ["mine:choose", "pack.near:pick"])
def test_an_edit_of_any_file_that_it_leads_to_is_seen(folder, function):
    before = found(folder, function)
    assert len(before) == 32
    for name, text in FILES.items():
        (folder / name).write_text(text + "\n# edited\n")
        after = found(folder, function)
        assert (after != before) == (name != "apart.py"), name
        (folder / name).write_text(text)
    assert found(folder, function, seed="7") == before


def test_the_hash_does_not_depend_on_the_folder(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("elsewhere") / "x"
    folder.rename(other)
    before = found(other, "mine:choose")
    other.rename(folder)
    assert found(folder, "mine:choose") == before


TYPED = """
LIMIT = 5

def inner(x):
    return x in {"a", "b", "c", (1, 2)}

def choose(query, past, *, k=3):
    return [inner(p) for p in past]

class Decider:
    share = 0.5

    def decide(self, moment):
        return inner(moment) < LIMIT

"""


@pytest.mark.parametrize(
    ("what", "edit"),
    [
        ("choose", ("k=3", "k=4")),
        ("choose", ('"c"', '"d"')),
        ("choose", ("past]", "past if p]")),
        ("Decider", ("inner(moment)", "not inner(moment)")),
        ("Decider", ("0.5", "0.6")),
        ("Decider", ("= 5", "= 6")),
        ("Decider()", ("= 5", "= 6")),
        ("Decider", ('"c"', '"d"')),
    ],
)
def test_what_is_typed_has_the_hash_of_its_code(tmp_path, what, edit):
    ask = PRINT.format(what) + "\n"
    before = typed(tmp_path, TYPED + ask)
    assert len(before) == 32
    assert typed(tmp_path, "\n\n" + TYPED + ask, seed="7") == before
    assert typed(tmp_path, TYPED.replace(*edit) + ask) != before
