"""A prompt template of one's own: found, hashed, replayed, and refused when it changes."""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import pairwise

import pytest

from dream.errors import InputError
from dream.runs import api
from tests.cli.typed import dream
from tests.messages_server import HOLD, MessagesServer
from tests.runs import made

__all__ = ["dream"]

TERSE = '''
from dream.llm import prompt_v1
from dream.llm.prompt import Template


def user(ask, shown, settings):
    """Only the close."""
    return f"{settings.instrument.symbol} closed at {ask.close:.2f}. {len(shown)} recalled.\\n"


def grown(ask, shown, settings):
    return ["Closes:\\n", *(f"{row[3]:.2f}\\n" for row in ask.window), "Now?"]


def system(settings):
    return "Answer HOLD as JSON."


TERSE = Template(system=system, user=user)
GROWN = Template(system=prompt_v1.system, user=grown)
NUMBER = Template(system=system, user=lambda ask, shown, settings: 7)
BLANK = Template(system=system, user=lambda ask, shown, settings: ["x", " \\n"])
EMPTY = Template(system=system, user=lambda ask, shown, settings: [])
FAILS = Template(system=system, user=lambda ask, shown, settings: 1 / 0)
PAINTS = Template(system=system, user=lambda ask, shown, settings: paint(ask))
DUMB = Template(system=lambda settings: None, user=user)
LONELY = Template(system=system, user=lambda ask, shown, settings: "a\\ud83d b")
TEXT = "no template"


def paint(ask):
    ask.window.setflags(write=True)
    ask.window[-1, 3] = 1.0
    return "painted"
'''


@pytest.fixture
def ask(dream, bars_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-loopback-0123456789")
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    (dream.folder / "mine.py").write_text(TERSE)

    def run(server, prompt, *args):
        return dream(
            "run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url,
            "--decisions", 5, "--prompt", prompt, *args,
        )  # fmt: skip

    run.folder = dream.folder
    return run


def test_a_template_of_ones_own_is_asked_with_and_replayed(ask, dream):
    with MessagesServer() as server:
        said = ask(server, "mine:TERSE", "--json")
        body = server.seen[2].body
    assert said.code == 0, said.err
    assert json.loads(said.out)["decisions_by_status"]["ok"] == 5
    assert body["system"][0]["text"] == "Answer HOLD as JSON."
    assert re.fullmatch(
        r"XAUUSD closed at \d+\.\d\d\. 0 recalled\.\n", body["messages"][0]["content"]
    )
    assert body["output_config"]["format"]["schema"]["required"], "answers are read as ever"
    folder = made.only_run(ask.folder / "runs")
    opened = made.lines(folder)[0].record
    assert opened["spec"]["prompt"] == "mine:TERSE"
    assert re.fullmatch(r"[0-9a-f]{32}", opened["hashes"]["prompt"])
    assert dream("replay", folder).code == 0


def test_several_texts_are_blocks_of_which_the_last_changes(ask):
    with MessagesServer() as server:
        assert ask(server, "mine:GROWN", "--context", "day").code == 0
        blocks = [seen.body["messages"][0]["content"] for seen in server.seen]
    first, *_, last = blocks[0]
    assert (first["text"], last["text"]) == ("Closes:\n", "Now?")
    for one, two in pairwise(blocks[1:]):  # the first was the last of its day
        texts = [block["text"] for block in two]
        assert [block["text"] for block in one][:-1] == texts[: len(one) - 1]
        assert "cache_control" in two[-2]


def test_an_edited_template_neither_goes_on_nor_replays(ask, dream):
    with MessagesServer(["ok"] * 3 + ["401"]) as server:
        assert ask(server, "mine:TERSE").code == 5
        edited = TERSE.replace("closed at", "stands at")
        (ask.folder / "mine.py").write_text(edited)
        fresh_modules()
        said = ask(server, "mine:TERSE")
        assert said.code == 2
        assert "prompt changed since the run began" in said.err
        assert len(server.seen) == 4, "nothing was asked"
    said = dream("replay", made.only_run(ask.folder / "runs"))
    assert said.code == 2
    assert "prompt changed since the run began" in said.err
    (ask.folder / "mine.py").write_text(TERSE)
    fresh_modules()
    with MessagesServer() as server:
        assert ask(server, "mine:TERSE").code == 0
        assert len(server.seen) == 2


def fresh_modules():
    """As in a new process."""
    sys.modules.pop("mine", None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine:TEXT", "prompt mine:TEXT: expected a dream.llm.prompt.Template, found a str"),
        ("mine:NONE", "prompt mine:NONE: expected a dream.llm.prompt.Template, found no such name"),
        ("nowhere:X", "prompt nowhere:X: cannot import nowhere"),
        ("v9", "prompt: unknown version, known: v1, or module:name; found 'v9'"),
        ("mine:NUMBER", "question 0: expected a text or a list of texts, found int"),
        ("mine:BLANK", "question 0: expected a text of 1 to 4,194,304 bytes"),
        ("mine:EMPTY", "question 0: expected texts of 1 to 4,194,304 bytes"),
        ("mine:FAILS", "prompt mine:FAILS failed: ZeroDivisionError: division by zero"),
        ("mine:DUMB", "prompt mine:DUMB, system: expected a text"),
        ("mine:PAINTS", "changed what it was shown at question 0"),
    ],
)
def test_what_cannot_be_a_template_is_told_in_a_line(ask, name, said):
    with MessagesServer() as server:
        found = ask(server, name)
    assert (found.code, found.out) == (2, ""), found
    assert "Traceback" not in found.err
    assert said in found.err.splitlines()[-1]
    assert len(server.seen) <= 1


def test_a_lone_surrogate_is_replaced_and_the_run_replays(ask, dream):
    with MessagesServer() as server:
        assert ask(server, "mine:LONELY").code == 0
        assert server.seen[0].body["messages"][0]["content"] == "a? b"
    assert dream("replay", made.only_run(ask.folder / "runs")).code == 0


def test_a_run_without_a_model_is_shown_no_prompt(dream, bars_path):
    """Nor is its module looked for."""
    said = dream("run", "--bars", bars_path, "--decisions", 5, "--prompt", "nowhere:X", "--json")
    assert said.code == 0, said.err


def test_the_answer_of_a_template_is_the_models_and_its_replay_needs_the_template(ask):
    with MessagesServer(answer=lambda body: HOLD) as server:
        assert ask(server, "mine:TERSE").code == 0
    (ask.folder / "mine.py").unlink()
    fresh_modules()
    with pytest.raises(InputError, match="cannot import mine"):
        api.replay(made.only_run(ask.folder / "runs"))
