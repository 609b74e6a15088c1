"""Whole runs whose context is the trading day, and what is said of the cache."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dream.llm import caching, catalog
from dream.runs import api
from dream.runs.access import Access
from dream.runs.drive import Watch
from dream.runs.spec import make_spec
from dream.runs.tokens import Tokens
from dream.types import Question, Usage
from tests.llm import cases
from tests.messages_server import HOLD, MessagesServer
from tests.runs import made, scramble
from tests.runs.test_scramble import both

MODEL = "claude-sonnet-5-5"


def whole(body):
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def trading(body):
    """Enters where it may, by what the prompt says at its end."""
    text = whole(body)
    close = float(re.search(r"newest bar closed at ([\d.]+)\.", text)[1])
    free = re.search(r"^(\w+): .*entries today 0 of 1", text, re.MULTILINE)
    answer = json.loads(HOLD) | {"reasoning": hashlib.sha256(text.encode()).hexdigest()}
    if free and "## Position\nnone" in text:
        answer |= {
            "action": "BUY", "strategy": free[1], "stop": close - 4.0, "target": close + 4.0,
        }  # fmt: skip
    return json.dumps(answer)


def reads(tokens):
    """A message whose usage says that so many tokens came from the cache."""
    usage = {"input_tokens": 500, "output_tokens": 60, "cache_read_input_tokens": tokens}
    content = [{"type": "text", "text": HOLD}]
    message = {"type": "message", "model": MODEL, "content": content, "stop_reason": "end_turn"}
    return "body:" + json.dumps(message | {"usage": usage})


@pytest.fixture
def access(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def at(server):
        keys = {"ANTHROPIC_API_KEY": "sk-ant-loopback"}
        return Access(keys, server.url, lambda _s: None, time.time_ns)

    return at


@pytest.fixture
def bars(bars_path, tmp_path):
    return Path(shutil.copy(bars_path, tmp_path / "gold.parquet"))


def spec(bars, **settings):
    return made.spec(bars, **{"model": MODEL, "context": "day", **settings})


def test_what_was_sent_is_in_the_journal_and_comes_out_again(bars, tmp_path, access):
    with MessagesServer(answer=trading) as server:
        run = made.run(spec(bars, decisions=60), tmp_path, options={"access": access(server)})
    replies = made.of_kind(run.folder, "reply")
    assert len(replies) == len(server.seen) == 60
    for reply, seen in zip(replies, server.seen, strict=True):
        assert reply["user"] == whole(seen.body)
        sent = json.dumps(seen.body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert reply["request"] == hashlib.sha256(sent.encode()).hexdigest()
    assert run.summary["trades"] > 0
    assert made.lines(run.folder)[0].record["spec"]["context"] == "day"
    again = api.replay(run.folder)
    assert (again.complete, again.digest) == (True, run.digest)


def test_a_run_that_was_stopped_goes_on_with_the_same_questions(bars, tmp_path, access):
    with (
        MessagesServer(["ok"] * 57 + ["401"], trading) as server,
        pytest.raises(Exception, match="401"),
    ):
        made.run(spec(bars), tmp_path / "a", options={"access": access(server)})
    with MessagesServer(answer=trading) as server:
        resumed = made.run(spec(bars), tmp_path / "a", options={"access": access(server)})
        assert len(server.seen) == 3
        at_once = made.run(spec(bars), tmp_path / "b", options={"access": access(server)})
    assert made.bodies(resumed.folder) == made.bodies(at_once.folder)


def test_the_context_is_another_run_and_window_is_the_one_it_was():
    base = {"bars": "/x.parquet", "model": MODEL}
    old, same, day = (make_spec(base | x) for x in ({}, {"context": "window"}, {"context": "day"}))
    assert old.run_id() == same.run_id() == "claude_sonnet_5_5-hybrid-f1d8a0c615ee"
    assert old.settings_hash().startswith("f204d6c49d232f14")
    assert "context" not in old.as_json()
    assert day.as_json()["context"] == "day"
    assert day.run_id() != old.run_id()
    assert day.settings_hash() != old.settings_hash()


@pytest.mark.parametrize(("ask", "cut"), [("bar", 3_500), ("every:4", 4_500), ("setup", 5_600)])
def test_the_day_shows_nothing_of_what_comes(bars, tmp_path, ask, cut):
    settings = {"ask": ask, "context": "day", "decisions": 500}
    one, other = both(bars, cut, tmp_path, settings)
    assert len(scramble.check_no_future(one, other, cut)) > 5


def test_no_prompt_of_a_day_knows_what_comes(bars, tmp_path, access):
    cut = 3_180
    with MessagesServer(answer=trading) as server:
        given = {"options": {"access": access(server)}}
        settings = {"context": "day", "model": MODEL, "decisions": 80}
        one, other = both(bars, cut, tmp_path, settings, **given)
    told = scramble.check_no_future(one, other, cut)
    assert sum(line.kind == "reply" for line in told) > 50


def test_tokens_are_summed_by_class_and_the_share_is_of_the_input(bars, tmp_path, access):
    with MessagesServer() as server:
        run = made.run(spec(bars, decisions=4), tmp_path, options={"access": access(server)})
    tokens = {
        "input": 2_000,
        "cache_read": 4_000,
        "cache_write": 400,
        "output": 600,
        "thinking": 80,
    }
    assert run.summary["tokens"] == tokens
    assert run.summary["cached_share"] == 4_000 / 6_400
    assert run.summary["cache_note"] is None


@pytest.mark.parametrize(
    ("plan", "silent"),
    [([reads(0)], 30), ([reads(0)] * 15 + [reads(9)] + [reads(0)], 0), ([reads(None)], 30),
     (["nousage"], 0)],
)  # fmt: skip
def test_a_cache_that_stays_silent_is_spoken_of(bars, tmp_path, access, plan, silent):
    with MessagesServer(plan) as server:
        run = made.run(spec(bars, decisions=30), tmp_path, options={"access": access(server)})
        done = made.run(spec(bars, decisions=30), tmp_path, options={"access": access(server)})
    note = run.summary["cache_note"]
    if not silent:
        assert note is None
        assert not any("cache" in said for said in run.notes)
        return
    assert note.startswith(f"{silent} replies in a row read nothing from the cache")
    assert note in run.notes
    assert note in done.notes
    (run.folder / "summary.json").unlink()
    with MessagesServer(plan) as server:
        again = made.run(spec(bars, decisions=30), tmp_path, options={"access": access(server)})
    assert again.summary | {"wall_s": 0} == run.summary | {"wall_s": 0}


@pytest.mark.parametrize(("wait_s", "spoken"), [(200, True), (301, False)])
def test_questions_further_apart_than_an_entry_lives_find_nothing(
    bars, tmp_path, access, wait_s, spoken
):
    """The clock of the run moves on by half of that at each look: before a call and after it."""
    at = iter(range(0, 10**9, wait_s // 2 + wait_s % 2))

    def now_iso():
        now = time.gmtime(1_795_000_000 + next(at))
        return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", now)

    watch = Watch(now_iso=now_iso)
    with MessagesServer([reads(0)]) as server:
        given = {"options": {"access": access(server), "watch": watch}}
        run = made.run(spec(bars, decisions=25), tmp_path, **given)
    assert (run.summary["cache_note"] is not None) is spoken
    assert made.run(spec(bars, decisions=25), tmp_path, **given).summary == run.summary
    (run.folder / "summary.json").unlink()
    again = made.run(spec(bars, decisions=25), tmp_path, options={"access": access(server)})
    assert again.summary["cache_note"] == run.summary["cache_note"]


def question(user, cuts=()):
    return Question(0, "decision", user, "0" * 64, cases.flat(), (), cuts)


def test_the_shortest_beginning_counts_in_bytes():
    tokens = Tokens()
    assert tokens.prefix_bytes is None
    tokens.add("système", question("éé\nnow", (3,)), Usage(), None)
    assert tokens.prefix_bytes == 8 + 5
    tokens.add("système", question("whole"), Usage(), None)
    assert tokens.prefix_bytes == 8
    assert tokens.sums == Usage()


@pytest.mark.parametrize(
    ("cache_kind", "size", "spoken"),
    [("marked", 4_095, True), ("marked", 4_096, False), ("automatic", 4_095, True),
     ("none", 10, False), ("marked", None, False)],
)  # fmt: skip
def test_a_prompt_below_the_minimum_is_spoken_of(cache_kind, size, spoken):
    entry = replace(catalog.resolve("sonnet"), cache=cache_kind, cache_min_tokens=1_024)
    note = caching.note(entry, size, 0)
    assert (note is not None) is spoken
    assert note is None or "about 1,023 tokens (4 bytes each)" in note
    unknown = replace(entry, cache_min_tokens=None)
    assert caching.note(unknown, size, 19) is None
    assert (caching.note(unknown, size, 20) is not None) is (cache_kind == "marked")
