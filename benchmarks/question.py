"""One question, part by part: kernel, snapshot, recall, prompt, parse, journal line."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.rule_run import TERMS, bars
from benchmarks.timing import Row, each, in_words
from dream.engine import kernel
from dream.engine.session import Asked, Session
from dream.llm.parse import parse_answer
from dream.llm.prompt import PromptSettings, user_prompt
from dream.memory import recall
from dream.memory.episodes import Memory
from dream.memory.features import features_of
from dream.runs import drive, lines, records
from dream.strategies import REGISTRY, asks
from dream.types import Decision, Episode, RecallQuery, Shown, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

HAND_OVER_S, QUESTION_S = 5e-6, 1e-3
ANSWER = json.dumps(
    {"action": "BUY", "strategy": "VolBreakout", "confidence": 0.6, "reasoning": "A wide range."}
)


@cache
def session() -> Session:
    """A session that has been asked a thousand times."""
    made = Session(bars(50_802, 1), REGISTRY, TERMS, asks=asks.policy("bar", manage=False))
    for _ in range(1000):
        last_ask(made)
        made.submit(Decision())
    return made


def last_ask(of: Session) -> Snapshot:
    """The next question."""
    while not isinstance(event := of.advance(), Asked):
        pass
    return event.snapshot


def memory(episodes: int, ask: Snapshot) -> Memory:
    """Trades of every kind, all known before the question."""
    rng = np.random.default_rng(7)
    made = Memory()
    base = features_of(ask)
    for i in range(episodes):
        atr = base.atr_d1 * float(np.exp(rng.normal(0, 0.4)))
        features = type(base)(
            atr / 9, atr, int(rng.integers(1, 8)), ("up", "down", "range")[i % 3],
            ("low", "normal", "high")[i % 3], 50.0, None, "VolBreakout", i % 5, i % 24,
        )  # fmt: skip
        pnl = float(rng.normal(0, 20)) or 1.0
        made.add(
            Episode(
                f"{i:016x}", "run", "rules", i, ask.now_ns - 2 * 10**9 * (episodes - i) - 10**9,
                ask.now_ns - 2 * 10**9 * (episodes - i), features, "VolBreakout", 1, 2000.0,
                2000.0 + pnl, pnl, pnl / 25, 1.0, 1.0, "stop", None, "",
            )
        )  # fmt: skip
    return made


def kernel_s() -> float:
    """Seconds of one call of the kernel that ends in a question, arguments unpacked."""
    made = Session(bars(50_802, 1), REGISTRY, TERMS, asks=asks.policy("bar", manage=False))
    walker, due = made._walker, made._due  # noqa: SLF001 - the part, not the whole, is timed
    state: Any = walker.state

    def call() -> None:
        if state["bar"][0] >= len(made.bars) - 1:
            state["bar"] = made.first
        assert walker.advance(due) == kernel.ASK

    return each(call, 5_000)


def ask_s() -> float:
    """Seconds from an answer to the next snapshot, kernel included."""
    made = session()

    def call() -> None:
        ask = last_ask(made)
        assert len(ask.window) == 20
        made.submit(Decision())

    return each(call, 2_000)


def rows() -> list[Row]:
    """The lines of the report."""
    ask = last_ask(session())
    session().submit(Decision())
    parts = [("kernel", kernel_s()), ("snapshot, kernel included", ask_s())]
    settings = PromptSettings({name: name for name in REGISTRY}, TERMS)
    remembered = memory(100_000, ask)
    query = RecallQuery(ask.seq, ask.now_ns, features_of(ask), 5, 0)
    hybrid = recall.hybrid({})

    def recalled() -> list[Any]:
        return recall.checked(hybrid, query, remembered.visible(ask.now_ns))

    past = remembered.visible(ask.now_ns)
    assert len(past) == 100_000
    found = recalled()
    assert len(found) == 5
    assert any(past[item.row].pnl < 0 for item in found), "balance puts a loss in"
    shown = tuple(Shown(past[item.row], item) for item in found)
    assert parse_answer(ANSWER).action == "BUY"

    def journalled() -> None:
        line = records.decision_record(
            ask, Decision(), bar=1, obs=drive.observation(ask), pool=len(past), recalled=found
        )
        body, _ = lines.seal(lines.encode(line), None, "0" * 32)
        assert body.endswith(b"\n")

    todo: list[tuple[str, Callable[[], Any], int]] = [
        ("recall over 100,000 episodes", recalled, 200),
        ("prompt", lambda: user_prompt(ask, shown, settings), 200),
        ("parse", lambda: parse_answer(ANSWER), 500),
        ("journal line, without fsync", journalled, 500),
    ]
    parts += [(name, each(run, calls)) for name, run, calls in todo]
    whole = sum(seconds for name, seconds in parts if name != "kernel")
    limit = {"kernel": HAND_OVER_S}
    out = [
        Row(
            f"question: {name}", in_words(seconds), None,
            in_words(limit[name]) if name in limit else "",
            seconds <= limit[name] if name in limit else None,
        )
        for name, seconds in parts
    ]  # fmt: skip
    out.append(
        Row("question: whole", in_words(whole), None, in_words(QUESTION_S), whole <= QUESTION_S)
    )
    million = memory(1_000_000, ask)
    table = million.visible(ask.now_ns)
    asked = each(lambda: recall.checked(hybrid, query, table), 10)
    out.append(Row("recall over 1,000,000 episodes", in_words(asked)))
    return out
