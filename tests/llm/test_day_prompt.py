"""The trading day as context: a question begins as the one before, and is cut where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dream.bars import series, synth
from dream.engine.session import Asked, Done, Session
from dream.llm import caching
from dream.llm.catalog import resolve
from dream.llm.decider import ModelDecider
from dream.llm.prompt import prompt_hash
from dream.llm.prompt_settings import PromptSettings
from dream.strategies import REGISTRY, asks
from dream.types import Bars, Decision, Question, Reply, Snapshot, Terms
from tests.llm import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dream.llm.catalog import Entry
    from dream.llm.client import MessageRequest

SONNET = resolve("sonnet")
SETTINGS = PromptSettings({name: name for name in REGISTRY}, context="day")
QUARTER_NS = 900_000_000_000


class Kept:
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        self.requests: list[MessageRequest] = []

    def send(self, request: MessageRequest, /) -> Reply:
        self.requests.append(request)
        return Reply("", "end_turn")


@cache
def made(n: int = 8_000, gone: int = 0) -> Bars:
    """Two summers and a winter between; of the bars that may go, each `gone` in a hundred did."""
    whole = synth.make(n, 3)
    if not gone:
        return whole
    kept = np.random.default_rng(gone).random(n) >= gone / 100
    opens = whole.t_close_ns[kept] - whole.bar_ns
    columns = (whole.px[kept], whole.spread[kept], whole.volume[kept])
    return series(whole.instrument, whole.bar_ns, opens, *columns)


def snapshots(bars: Bars, ask: str, most: int) -> Iterator[tuple[int, Snapshot]]:
    """Bar and snapshot of the questions of a run that trades whenever it may."""
    session = Session(bars, REGISTRY, Terms(equity=100_000.0), asks=asks.policy(ask, manage=False))
    session.show_day()
    while most and not isinstance(event := session.advance(), Done):
        if not isinstance(event, Asked):
            continue
        most -= 1
        yield event.bar, event.snapshot
        now = event.snapshot
        row = now.board[now.seq % 3]
        buy = Decision("BUY", row.strategy, stop=now.close - 5.0, target=now.close + 8.0)
        session.submit(Decision() if now.position else buy)


def decider(entry: Entry = SONNET, transport: Any = None) -> ModelDecider:
    return ModelDecider(entry, transport or Kept(), SETTINGS)


def content(question: Question, entry: Entry = SONNET) -> Any:
    """What is sent as the user's message."""
    kept = Kept()
    decider(entry, kept).send(question)
    return kept.requests[0].body()["messages"][0]["content"]


def marked(blocks: list[dict[str, Any]]) -> list[int]:
    return [i for i, block in enumerate(blocks) if "cache_control" in block]


@pytest.mark.parametrize(("ask", "gone", "most"), [
    ("bar", 0, 250), ("bar", 30, 150), ("every:7", 5, 100), ("every:90", 0, 40),
    ("setup", 0, 30),
])  # fmt: skip
def test_a_question_begins_as_the_one_before_it_that_day(ask: str, gone: int, most: int) -> None:
    asked, within, before = decider(), 0, None
    for bar, ask_ in snapshots(made(gone=gone), ask, most):
        question = asked.question(ask_, ())
        assert question.user is not None
        blocks = content(question)
        texts = [block["text"] for block in blocks]
        assert "".join(texts) == question.user
        assert all(text.strip() for text in texts), "a server refuses a blank one"
        marks = marked(blocks)
        assert 1 <= len(marks) <= 3
        assert marks[-1] == len(blocks) - 2, "all but what changes"
        if before is not None and before[0].day == ask_.day:
            _, was, had, old, bar_before = before
            shared = had[: was.cuts[-1]]
            assert question.user.encode().startswith(shared.encode())
            assert texts[: old + 1] == [b["text"] for b in content(was)][: old + 1]
            added = bar - bar_before
            assert len(texts) == old + 2 + added, "a block a bar"
            found = {j for i in marks for j in range(i, i - 20, -1)}
            assert (old in found) == (added < 60), "what the last request wrote is found"
            within += 1
        before = (ask_, question, question.user, marks[-1], bar)
    assert within > most // 2 or ask in ("setup", "every:90")


def test_the_day_is_all_there_and_twenty_bars_before_it() -> None:
    """Days are counted here as the clock of New York has them, from the bars' own day numbers."""
    bars = made(gone=20)
    closed = bars.t_close_ns.tolist()
    days, seen = bars.day.tolist(), 0
    for bar, ask in snapshots(bars, "bar", 250):
        first = min(i for i in range(bar, -1, -1) if days[i] == days[bar])
        while first and days[first - 1] == days[bar]:
            first -= 1
        assert ask.window_close_ns.tolist() == closed[first - 20 : bar + 1]
        assert (ask.window[:, :4] == bars.px[first - 20 : bar + 1] / 100).all()
        assert not ask.window.flags.writeable
        head, *rest = asked_texts(ask)
        assert head.count("\n") == 2 + 20 + 1
        assert len(rest) - 1 == bar + 1 - first
        seen += first == bar
    assert seen >= 3, "days began meanwhile"


def asked_texts(ask: Snapshot) -> list[str]:
    return [block["text"] for block in content(decider().question(ask, ()))]


def test_every_row_of_a_year_is_told_by_its_trading_day() -> None:
    """Over both changes of the clocks, Sunday openings and holidays."""
    bars = made(30_000)
    asked, wrong, days = decider(), 0, set()
    template = next(snapshots(made(), "bar", 1))[1]
    for bar in range(4_000, 30_000, 83):
        first = int(np.searchsorted(bars.day, bars.day[bar]))
        rows = slice(first - 20, bar + 1)
        ask = replace(
            template,
            now_ns=int(bars.t_close_ns[bar]),
            minute=int(bars.minute[bar]),
            day=int(bars.day[bar]),
            window=np.full((bar + 21 - first, 6), 2000.0),
            window_close_ns=bars.t_close_ns[rows],
            closed_at_minute=bars.minute[rows],
        )
        wrong += len(asked.question(ask, ()).cuts) != bar + 2 - first
        days.add(ask.day)
    assert wrong == 0
    assert len(days) > 250


def test_nothing_that_changes_stands_before_the_last_cut() -> None:
    """The same bars under another clock, account, position, trades, board and memory."""
    one = replace(cases.flat(), day=cases.flat().day)
    other = replace(cases.holding(), seq=99, indicators=replace(cases.INDICATORS, rsi=1.0))
    asked = ModelDecider(SONNET, Kept(), replace(cases.SETTINGS, context="day"))
    a, b = asked.question(one, ()), asked.question(other, cases.recalled())
    assert a.cuts == b.cuts
    assert (a.user or "")[: a.cuts[-1]] == (b.user or "")[: b.cuts[-1]]
    for word in ("## Now", "## Last closed trades", "## Board", "## Account", "## Earlier trades"):
        assert word not in (b.user or "")[: b.cuts[-1]]
        assert word in (b.user or "")[b.cuts[-1] :]


def test_the_last_line_is_still_the_clock() -> None:
    asked = ModelDecider(SONNET, Kept(), replace(cases.SETTINGS, context="day"))
    text = asked.question(cases.holding(), cases.recalled()).user or ""
    assert text.endswith(
        "## Now\nMonday 2024-06-10 11:15, session London. The newest bar closed at 2309.85.\n"
        "What do you do?\n"
    )


def test_the_hash_is_that_of_the_bytes_that_are_sent() -> None:
    kept = Kept()
    asked = decider(transport=kept)
    for _, ask in snapshots(made(), "bar", 3):
        question = asked.question(ask, ())
        asked.send(question)
        body = json.dumps(
            kept.requests[-1].body(), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode()
        assert kept.requests[-1].as_bytes() == body
        assert question.sha256 == hashlib.sha256(body).hexdigest() == kept.requests[-1].sha256()


def test_a_repair_begins_as_its_question() -> None:
    kept = Kept()
    asked = decider(transport=kept)
    *_, (_, ask) = snapshots(made(), "bar", 50)
    question = asked.question(ask, ())
    repair = asked.answer(question, Reply("I would buy.", "end_turn"))
    assert isinstance(repair, Question)
    for q in (question, repair):
        asked.send(q)
    first, second = (r.body()["messages"][0]["content"] for r in kept.requests)
    assert (repair.purpose, repair.cuts) == ("repair", question.cuts)
    assert second[:-1] == first[:-1]
    assert second[-1]["text"].startswith(first[-1]["text"])
    assert "You wrote:\nI would buy.\n" in second[-1]["text"]


@pytest.mark.parametrize("cache_kind", ["automatic", "none"])
def test_a_server_that_caches_by_itself_gets_the_same_text_and_no_marks(cache_kind: Any) -> None:
    entry = replace(SONNET, cache=cache_kind)
    _, ask = next(snapshots(made(), "bar", 1))
    question = decider(entry).question(ask, ())
    assert question.user == decider().question(ask, ()).user
    assert content(question, entry) == question.user
    kept = Kept()
    decider(entry, kept).send(question)
    assert "cache_control" not in kept.requests[0].as_bytes().decode()


def window_decider() -> ModelDecider:
    return ModelDecider(SONNET, Kept(), cases.SETTINGS)


def test_what_was_asked_before_there_was_a_day_is_asked_so_still() -> None:
    """Hashes of whole requests, recorded before."""
    asked = window_decider()
    one, two = asked.question(cases.flat(3), ()), asked.question(cases.holding(), cases.recalled())
    assert (one.cuts, two.cuts) == ((), ())
    repair = asked.answer(two, Reply("I would buy.", "end_turn"))
    assert isinstance(repair, Question)
    assert [q.sha256[:16] for q in (one, two, repair)] == [
        "f37837ca0fe10283", "4132f90bda11677f", "313be474d7fefab8",
    ]  # fmt: skip


def test_the_layout_of_the_day_is_not_edited() -> None:
    """A failure here means that the wording changed: add a version instead."""
    known = "73ac43abfca068e06a27c6bdda600981a3b5977458de15ac84a0733e28eb31dd"
    assert prompt_hash("v1", "day") == known


@given(st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=90), st.integers(0, 3))
@settings(max_examples=40)
def test_blocks_are_the_text_and_few_are_marked(texts: list[str], more: int) -> None:
    def cut(parts: list[str]) -> list[dict[str, Any]]:
        offsets = np.cumsum([len(part) for part in parts[:-1]]).tolist()
        return caching.blocks("".join(parts), offsets)

    found = cut(texts)
    assert [block["text"] for block in found] == texts
    marks = marked(found)
    assert marks == sorted({len(texts) - 2 - 20 * k for k in range(3)} - set(range(-99, 0)))
    grown = cut([*texts[:-1], *["bar"] * more, "now"])
    assert [b["text"] for b in grown][: len(texts) - 1] == texts[:-1]
