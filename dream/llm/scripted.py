"""Deciders without a model: by rules, never, by chance, and by a script."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from dream.errors import InputError, SpecInvalid
from dream.llm.parse import (
    Unreadable,
    load_json,
    parse_answer,
    read_reply,
    unread,
    well_formed,
)
from dream.types import Decision, Question, Reply, Shown, Snapshot, Status

MAX_SCRIPT: Final = 67_108_864
"""Longest script file, in bytes."""

Answer: TypeAlias = Decision | Mapping[str, Any] | str
Answers: TypeAlias = Iterable[Answer] | Callable[[Snapshot, Sequence[Shown]], Answer]

_REPLY_OF: Final[dict[Status, Reply]] = {
    "parse_error": Reply(text=""),
    "truncated": Reply(text="", stop_reason="max_tokens"),
    "model_refusal": Reply(text="", stop_reason="refusal"),
    "api_error": Reply(text=None, error="scripted"),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """Takes the first set-up in board order that is live and has an entry left, when flat."""

    name: str = "rules"

    def decide(self, ask: Snapshot, _shown: Sequence[Shown], /) -> Decision:
        """BUY or SELL as that set-up points, with the board's levels; else HOLD."""
        if ask.position is None:
            for row in ask.board:
                if row.live and not row.exhausted:
                    return Decision("BUY" if row.live > 0 else "SELL", row.strategy)
        return Decision()


@dataclass(frozen=True, slots=True)
class Never:
    """Never trades: what the account is worth without the agent."""

    name: str = "never"

    def decide(self, _ask: Snapshot, _shown: Sequence[Shown], /) -> Decision:
        """HOLD."""
        return Decision()


@dataclass(frozen=True, slots=True)
class Random:
    """Buys by chance: what an agent without skill would get from the same exits and costs.

    When flat it enters with probability p, under a strategy drawn from those of the board that have
    an entry left, with stop = close - 0.5 x ATR(14, D1) and target = close + 1 x ATR(14, D1), twice
    the distance. It keeps no state: question n of seed s always gets the same draw, from
    SHA-256 of "s:n".

    Attributes:
        p: probability of an entry at a flat question, 0 ... 1. seed: of the draws.

    Raises:
        SpecInvalid: p is out of range.
    """

    p: float
    seed: int

    def __post_init__(self) -> None:
        if not 0.0 <= self.p <= 1.0:
            raise SpecInvalid(f"random:P wants a probability from 0 to 1, found {self.p:g}")

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"random:{self.p:g}"

    def decide(self, ask: Snapshot, _shown: Sequence[Shown], /) -> Decision:
        """BUY by chance, else HOLD."""
        rows = [row for row in ask.board if not row.exhausted]
        draw = hashlib.sha256(f"{self.seed}:{ask.seq}".encode()).digest()
        enters = int.from_bytes(draw[:8], "big") / 2.0**64 < self.p
        if ask.position is not None or not rows or not enters:
            return Decision()
        row = rows[int.from_bytes(draw[8:16], "big") * len(rows) >> 64]
        away = 0.5 * ask.indicators.atr_d1
        return Decision("BUY", row.strategy, stop=ask.close - away, target=ask.close + 2.0 * away)


class Scripted:
    """Gives prepared answers, the same way a model does: as text that is written down and read.

    Args:
        answers: a sequence, where question n gets item n; an iterator, where it gets the n-th item
            drawn (after a resume, earlier ones are drawn and skipped); or a function of the
            snapshot and the recalled episodes. An answer is a Decision (its status is scripted
            too), a mapping in the answer schema, or raw text, which may be unreadable.
        name: of the decider, in journals.

    Raises:
        InputError: answers is a single text or mapping.
    """

    paid = False
    system = None

    def __init__(self, answers: Answers, name: str = "scripted") -> None:
        if isinstance(answers, str | Mapping):
            raise InputError("a script is a list of answers, found a single one: put it in a list")
        self.name = name
        self._answers = answers
        self._rest: Iterator[Answer] = iter(())
        if not callable(answers) and not isinstance(answers, Sequence):
            self._rest = iter(answers)
        self._drawn = 0

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question:
        """The question without a prompt; its hash is a digest of all that may be looked at."""
        return Question(ask.seq, "decision", None, shown_digest(ask, shown), ask, tuple(shown))

    def send(self, question: Question, /) -> Reply:
        """The scripted answer as text.

        Raises:
            InputError: the script has no answer for this question, or one that is none.
        """
        return _as_reply(self._take(question), question.seq)

    def answer(self, _question: Question, reply: Reply, /) -> Decision:
        """The decision; an unreadable answer is a parse_error at once."""
        try:
            return read_reply(reply)
        except Unreadable as problem:
            return unread(problem)

    def _take(self, question: Question) -> Answer:
        seq, answers = question.seq, self._answers
        if callable(answers):
            return answers(question.ask, question.shown)
        if isinstance(answers, Sequence):
            if seq >= len(answers):
                raise _exhausted(seq, len(answers))
            return answers[seq]
        if seq < self._drawn:
            raise InputError(
                f"question {seq}: the answers come from an iterator that has already given "
                f"{self._drawn}; it cannot go back. Use a list, or a new iterator for each run."
            )
        while True:
            try:
                item = next(self._rest)
            except StopIteration:
                raise _exhausted(seq, self._drawn) from None
            self._drawn += 1
            if self._drawn > seq:
                return item


def load_script(path: Path | str) -> tuple[str, ...]:
    """The answers of a JSON Lines file, for `Scripted`.

    Each line is one answer object, or a JSON string with raw text.

    Raises:
        InputError: the file cannot be read, or a line is neither; names the line.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_SCRIPT + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"script {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"script {path}: not UTF-8 at byte {error.start}") from None
    if len(data) > MAX_SCRIPT:
        raise InputError(f"script {path}: longer than {MAX_SCRIPT} bytes; split it")
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        raise InputError(f"script {path}: it is empty; write one answer a line")
    return tuple(
        _line(line, f"script {path}: line {number}") for number, line in enumerate(lines, 1)
    )


def _line(line: str, where: str) -> str:
    try:
        found = load_json(line)
        if isinstance(found, str):
            return well_formed(found)
        parse_answer(line)
    except Unreadable as problem:
        raise InputError(
            f"{where}: {problem}. Expected an answer such as "
            f'{{"action":"BUY","strategy":"VolBreakout"}}, or a JSON string with raw text.'
        ) from None
    return line


def _as_reply(answer: object, seq: int) -> Reply:
    if isinstance(answer, str):
        return Reply(text=well_formed(answer), stop_reason="end_turn")
    if isinstance(answer, Decision):
        if answer.status != "ok":
            return _REPLY_OF[answer.status]
        answer = asdict(answer)
        del answer["status"], answer["error"]
    if not isinstance(answer, Mapping):
        kind = type(answer).__name__
        raise InputError(f"question {seq}: expected a Decision, a mapping or a text, found {kind}")
    try:
        text = json.dumps(dict(answer))
        parse_answer(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"question {seq}: the answer cannot be written as JSON: {error}") from None
    except Unreadable as problem:
        raise InputError(
            f"question {seq}: the scripted answer is none: {problem}. Give it as text if it is "
            f"meant to be unreadable."
        ) from None
    return Reply(text=text, stop_reason="end_turn")


def _exhausted(seq: int, count: int) -> InputError:
    return InputError(
        f"question {seq}: the script is used up; it has {count} answers, for questions 0 to "
        f"{count - 1}. Add answers, or end the run earlier with --decisions {count}."
        if count
        else f"question {seq}: the script has no answers. Add some."
    )


def shown_digest(ask: Snapshot, shown: Sequence[Shown]) -> str:
    """SHA-256 of all that a decider may look at."""
    h = hashlib.sha256()
    for array in (ask.window, ask.window_close_ns, ask.closed_at_minute):
        h.update(array.tobytes())
    recalled = [(item.recalled.id, item.recalled.score, item.recalled.mark) for item in shown]
    rest = (ask.seq, ask.now_ns, ask.minute, ask.day, ask.indicators, ask.board, ask.position)
    h.update(repr((*rest, ask.account, recalled)).encode("utf-8", "replace"))
    return h.hexdigest()
