"""One question, whole and part by part: hand-over, snapshot, recall, prompt, parse, journal lines.

The model is one that answers at once, so that what is left is what dream adds to its thinking.
Nothing is synced to the disk: an fsync costs what the disk costs.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks import recalling
from benchmarks.rule_run import TERMS, bars
from benchmarks.timing import Row, each, in_words
from dream.engine import kernel
from dream.engine.session import Asked, Session
from dream.llm import catalog
from dream.llm.decider import ModelDecider
from dream.llm.prompt_settings import PromptSettings
from dream.memory import recall
from dream.memory.episodes import Memory
from dream.memory.features import features_of
from dream.runs import drive, episodes, records
from dream.runs.journal import Journal
from dream.runs.observing import observation
from dream.runs.stores import JOURNAL, Disk
from dream.strategies import REGISTRY, asks
from dream.types import Decision, RecallQuery, Reply, Shown, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.llm.client import MessageRequest
    from dream.types import Snapshot

HAND_OVER_S, QUESTION_S = 5e-6, 1e-3
BARS, EPISODES, QUESTIONS = 50_802, 100_000, 1_000
KERNEL = "hand-over of the kernel"
UNSYNCED = Disk(sync=lambda _fd: None)
ANSWER = json.dumps(
    {
        "action": "HOLD",
        "strategy": None,
        "confidence": 0.6,
        "reasoning": "The range is wide but the close is still inside it, and the hour is late.",
    }
)


class AtOnce:
    """A model that answers at once."""

    def send(self, request: MessageRequest, /) -> Reply:
        """The same answer to everything."""
        usage = Usage(input_tokens=1_500, output_tokens=60)
        return Reply(ANSWER, "end_turn", request.entry.id, usage, cost_usd=0.005)


def decider() -> ModelDecider:
    """A model's decider, prompts and all."""
    settings = PromptSettings({name: f.__doc__ or name for name, f in REGISTRY.items()}, TERMS)
    return ModelDecider(catalog.resolve("sonnet"), AtOnce(), settings)


def session(limit: int | None = None) -> Session:
    """Asked at every bar."""
    policy = asks.policy("bar", manage=False)
    return Session(bars(BARS, 1), REGISTRY, TERMS, asks=policy, limit=limit)


def next_ask(of: Session) -> Snapshot:
    """The next question."""
    while not isinstance(event := of.advance(), Asked):
        pass
    return event.snapshot


def hand_over_s() -> float:
    """One call of the kernel that ends in a question: arguments unpacked, a bar walked."""
    made = session()
    walker, due = made._walker, made._due  # noqa: SLF001 - the part, not the whole, is timed
    state: Any = walker.state
    calls = 5_000
    state["bar"] = made.first

    def walk() -> None:
        if state["bar"][0] >= BARS - 1:
            state["bar"] = made.first
        assert walker.advance(due) == kernel.ASK

    seconds = each(walk, calls)
    assert int(state["bar"][0]) == made.first + 5 * calls + 1, "each call walked one bar"
    return seconds


def snapshot_s() -> float:
    """From an answer to the next snapshot, hand-over included."""
    made = session()

    def ask() -> None:
        found = next_ask(made)
        assert len(found.window) == 20
        made.submit(Decision())

    return each(ask, 2_000)


def parts(folder: Path) -> dict[str, float]:
    """Seconds of each part of one question."""
    made, asked, past = session(), decider(), recalling.memory(EPISODES)
    ask = next_ask(made)
    features = features_of(ask)
    query = RecallQuery(ask.seq, recalling.NOW_NS, features, 5, 0)
    table = past.visible(query.now_ns)
    assert len(table) == EPISODES
    found = recall.checked(recalling.HYBRID, query, table)
    shown = tuple(Shown(table[item.row], item) for item in found)
    question = asked.question(ask, shown)
    assert len(shown) == 5
    assert all(item.episode.strategy in str(question.user) for item in shown)
    reply = asked.send(question)
    decision = asked.answer(question, reply)
    assert isinstance(decision, Decision)
    assert (decision.action, decision.status) == ("HOLD", "ok")
    with Journal.open(folder, disk=UNSYNCED) as journal:

        def write() -> None:
            journal.add_reply(records.reply_record(question, reply, 0), meta=None, paid=True)
            obs = observation(ask)
            journal.emit(
                records.decision_record(
                    ask, decision, bar=1, obs=obs, pool=len(table), recalled=found
                )
            )

        todo: dict[str, tuple[Callable[[], Any], int]] = {
            "features": (lambda: features_of(ask), 2_000),
            f"recall over {EPISODES:,} episodes": (
                lambda: recall.checked(recalling.HYBRID, query, past.visible(query.now_ns)),
                200,
            ),
            "prompt and its hash": (lambda: asked.question(ask, shown), 300),
            "answer parsed": (lambda: asked.answer(question, reply), 500),
            "two journal lines": (write, 500),
        }
        taken = {name: each(run, calls) for name, (run, calls) in todo.items()}
        assert journal.counts == {"reply": 5 * 500 + 1, "decision": 5 * 500 + 1}
    return {KERNEL: hand_over_s(), "snapshot, hand-over included": snapshot_s()} | taken


def whole_s(folder: Path, questions: int) -> float:
    """One question of a driven run, with a memory that is full from the start."""
    made, past = session(), Memory(recalling.episodes(EPISODES))
    past.visible(int(made.bars.t_close_ns[0]))
    queries = drive.Queries(recalling.HYBRID, "hybrid", 5, 0)
    with Journal.open(folder, disk=UNSYNCED) as journal:
        watch = drive.Watch(stop=lambda: loop.tally.decisions == questions)
        loop = drive.Loop(
            made,
            past,
            queries,
            decider(),
            journal,
            episodes.Identity("benchmark", "benchmark"),
            watch,
        )
        started = perf_counter()
        with suppress(drive.Stopped):
            loop.run()
        seconds = perf_counter() - started
    tally = loop.tally
    assert (tally.decisions, tally.replies, tally.recalled) == (questions, questions, 5 * questions)
    assert len((folder / JOURNAL).read_bytes().splitlines()) == 2 * questions
    return seconds / questions


def rows() -> list[Row]:
    """The lines of the report."""
    with tempfile.TemporaryDirectory() as scratch:
        taken = parts(Path(scratch) / "parts")
        runs = [whole_s(Path(scratch) / f"run{i}", QUESTIONS) for i in range(4)]
    whole = statistics.median(runs[1:])
    kernel_s = taken.pop(KERNEL)
    return [
        Row(KERNEL, in_words(kernel_s), None, in_words(HAND_OVER_S), kernel_s <= HAND_OVER_S),
        *(Row(name, in_words(seconds)) for name, seconds in taken.items()),
        Row("sum of the parts", in_words(sum(taken.values()))),
        Row(
            "a question of a driven run",
            in_words(whole),
            None,
            in_words(QUESTION_S),
            whole <= QUESTION_S,
        ),
    ]
