"""Deciders without a model: by rules, never, by chance, and by a script."""

from __future__ import annotations

import hashlib
import inspect
import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

from dream.errors import DreamError, InputError, SpecInvalid
from dream.files import open_regular
from dream.llm.parse import (
    MAX_TEXT,
    Unreadable,
    load_json,
    parse_answer,
    read_reply,
    unread,
    well_formed,
)
from dream.types import Decision, Question, Reply, Shown, Snapshot, Status

if TYPE_CHECKING:
    from pathlib import Path

MAX_SCRIPT: Final = 67_108_864
"""Longest script file, in bytes."""
MAX_RAW: Final = 1_048_576
"""Longest raw text as an answer, in characters: as long as that of a model can be."""
_MAX_SAID: Final = 300
"""Longest part of a message that is somebody else's, in characters."""
_MAX_LINE: Final = 4 * MAX_TEXT + 2
"""In bytes; a longer line has more than MAX_TEXT characters."""

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
            too), a mapping in the answer schema or with a `status` alone, or raw text, which may be
            unreadable.
        name: of the decider, in journals and messages.

    Raises:
        InputError: answers is a single text or mapping, or cannot be gone through.
    """

    paid = False
    system = None

    def __init__(self, answers: Answers, name: str = "scripted") -> None:
        if isinstance(answers, str | bytes | Mapping):
            raise InputError("a script is a list of answers, found a single one: put it in a list")
        self.name = name
        self._answers = answers
        self._rest: Iterator[Answer] = iter(())
        self._drawn = 0
        if not callable(answers) and not isinstance(answers, Sequence):
            try:
                self._rest = iter(answers)
            except TypeError:
                kind = type(answers).__name__
                raise InputError(
                    f"a script is a list, an iterator or a function, found {kind}"
                ) from None

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question:
        """The question without a prompt; its hash is a digest of all that may be looked at."""
        return Question(ask.seq, "decision", None, shown_digest(ask, shown), ask, tuple(shown))

    def send(self, question: Question, /) -> Reply:
        """The scripted answer as text.

        Raises:
            InputError: the script has no answer for this question, one that is none, or fails.
        """
        where = f"decider {self.name}, question {question.seq}"
        try:
            answer = self._take(question)
            return _as_reply(answer)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error.__cause__
        except DreamError:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"{where}: failed: {_told(error)}") from error

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
                raise _exhausted(len(answers))
            return answers[seq]
        if seq < self._drawn:
            raise InputError(
                f"the answers come from an iterator that has already given {self._drawn}; it "
                f"cannot go back. Use a list, or a new iterator for each run."
            )
        while True:
            try:
                item = next(self._rest)
            except StopIteration:
                raise _exhausted(self._drawn) from None
            self._drawn += 1
            if self._drawn > seq:
                return item


def load_script(path: Path | str) -> tuple[str | Decision, ...]:
    """The answers of a JSON Lines file, for `Scripted`; docs/deciders.md has the format.

    Raises:
        InputError: the file cannot be read or is no regular one, or a line is no answer; names the
            line.
    """
    answers: list[str | Decision] = []
    seen: dict[bytes, str | Decision] = {}  # most lines are a few different ones
    with open_regular(path, "script") as file:
        for number, start, raw in _lines(file, path):
            answer = seen.get(raw)
            if answer is None:
                answer = seen[raw] = _line(raw, start, f"script {path}: line {number}")
            answers.append(answer)
    if not answers:
        raise InputError(f"script {path}: it is empty; write one answer a line")
    return tuple(answers)


def _lines(file: BinaryIO, path: Path | str) -> Iterator[tuple[int, int, bytes]]:
    """Number from 1, place of the first byte, and bytes of each line, without its end."""
    number = start = 0
    while True:
        try:
            raw = file.readline(_MAX_LINE + 1)
        except OSError as error:
            raise InputError(f"script {path}: cannot be read: {error.strerror}") from None
        if not raw:
            return
        number += 1
        if len(raw) > _MAX_LINE:
            raise InputError(f"script {path}: line {number}: longer than {MAX_TEXT} characters")
        if start + len(raw) > MAX_SCRIPT:
            raise InputError(f"script {path}: longer than {MAX_SCRIPT} bytes; split it")
        yield number, start, raw.removesuffix(b"\n").removesuffix(b"\r")
        start += len(raw)


def _line(raw: bytes, start: int, where: str) -> str | Decision:
    try:
        line = raw.decode("utf-8")
        found = load_json(line)
        if isinstance(found, str):
            return well_formed(found)
        if isinstance(found, dict) and set(found) == {"status"}:
            return Decision(status=_status(found["status"]))
        parse_answer(line)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {start + error.start}") from None
    except (Unreadable, InputError) as problem:
        raise InputError(
            f"{where}: {problem}. Expected an answer such as "
            f'{{"action":"BUY","strategy":"VolBreakout"}}, a JSON string with raw text, or '
            f'{{"status":"api_error"}}.'
        ) from None
    return line


def _status(found: object) -> Status:
    for status in _REPLY_OF:
        if found == status:
            return status
    raise InputError(f"there is no status {_cut(repr(found))} to script; {', '.join(_REPLY_OF)}")


def _as_reply(answer: object) -> Reply:
    if isinstance(answer, str):
        text = well_formed(str.__str__(answer))  # whatever a subclass makes of itself
        if len(text) > MAX_RAW:
            raise InputError(f"a text of {len(text)} characters; an answer has at most {MAX_RAW}")
        return Reply(text=text, stop_reason="end_turn")
    if isinstance(answer, Decision):
        if answer.status != "ok":
            return _REPLY_OF[_status(answer.status)]
        answer = asdict(answer)
        del answer["status"], answer["error"]
    if not isinstance(answer, Mapping):
        if inspect.iscoroutine(answer):
            answer.close()  # else Python warns that nobody waited for it
        kind = type(answer).__name__
        raise InputError(f"expected a Decision, a mapping or a text, found {kind}")
    fields = dict(answer)
    if set(fields) == {"status"}:
        return _REPLY_OF[_status(fields["status"])]
    try:
        text = json.dumps(fields)
        parse_answer(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the answer cannot be written as JSON: {_cut(str(error))}") from None
    except Unreadable as problem:
        raise InputError(
            f"the scripted answer is none: {problem}. Give it as text if it is meant to be "
            f"unreadable."
        ) from None
    return Reply(text=text, stop_reason="end_turn")


def _told(error: BaseException) -> str:
    """Class, message and place of what somebody else's code raised."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it was written by somebody else, too
        said = "(it cannot be shown)"
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {_cut(said)} ({last.filename}, line {last.lineno})"


def _cut(said: str) -> str:
    return said if len(said) <= _MAX_SAID else said[:_MAX_SAID] + "..."


def _exhausted(count: int) -> InputError:
    return InputError(
        f"the script is used up; it has {count} answers, for questions 0 to {count - 1}. Add "
        f"answers and start another run (--fresh), or end it earlier with --decisions {count}."
        if count
        else "the script has no answers. Add some."
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
