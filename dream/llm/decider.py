"""A model as a decider: builds the question, has it sent, reads the answer, asks once more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from dream.llm import prompt
from dream.llm.client import FormRefused, MessageRequest
from dream.llm.parse import Unreadable, read_reply, unread, well_formed
from dream.types import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dream.llm.catalog import Entry
    from dream.llm.client import Transport
    from dream.llm.profile import Answer
    from dream.llm.prompt_settings import PromptSettings
    from dream.types import Decision, Reply, Shown, Snapshot

MAX_QUOTED = 2_000
"""Longest part of an unreadable answer that is shown to its author, in characters."""
_ANSWERED_AS: Final = re.compile(r"answered as (tool|text): ")


class ModelDecider:
    """Asks a model. question and answer are pure; only send has an effect.

    An endpoint may refuse the way in which the entry forces an answer. As long as nothing was
    answered, the question is then asked once more in the entry's other way. If that is answered,
    the reply says so in its `error`, and every later question is asked that way: a replay and a
    resume read it there. After the first answer the way never changes.

    Args:
        entry: the model.
        transport: has a request answered, patiently: a `client.Client`.
        settings: of the prompts.
        template: of one's own, instead of the version that the settings name.
        tell: told where the other way is taken, in one line.

    Attributes:
        name: exact id of the model. system: its system prompt. paid: True.
    """

    paid = True

    def __init__(
        self,
        entry: Entry,
        transport: Transport,
        settings: PromptSettings,
        template: prompt.Template | None = None,
        tell: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._template = template or prompt.template(settings.version)
        self.name = entry.id
        self.system = self._template.system(settings)
        self._entry = entry
        self._transport = transport
        self._settings = settings
        self._tell = tell
        self._answered = False
        self._schema = settings.schema(tight=entry.tight)
        self._sha256 = self._request(0, 0, "", ()).sha256_of()

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question:
        """The question that this state of the market raises."""
        parts = prompt.in_parts(self._template.user(ask, shown, self._settings))
        user, cuts = "".join(parts), tuple(accumulate(map(len, parts[:-1])))
        sha256 = self._sha256(user, cuts)
        return Question(ask.seq, "decision", user, sha256, ask, tuple(shown), cuts)

    def send(self, question: Question, /) -> Reply:
        """Have it answered.

        Raises:
            ModelUnavailable: as `client.Client.send`.
        """
        assert question.user is not None, "every question of this decider has a prompt"
        turn = 1 if question.purpose == "repair" else 0
        request = self._request(question.seq, turn, question.user, question.cuts)
        try:
            return self._transport.send(request)
        except FormRefused as refused:
            fallback = self._entry.fallback
            if self._answered or fallback is None:
                raise
            return self._otherwise(request, fallback, refused)

    def _otherwise(self, request: MessageRequest, form: Answer, refused: FormRefused) -> Reply:
        """The reply to a question that is asked in the other way."""
        other = replace(request, entry=replace(self._entry, answer=form))
        try:
            reply = self._transport.send(other)
        except FormRefused:  # so it is not the form; what was said first fits what is meant
            raise refused from None
        if reply.text is None:
            return reply
        told = f"answered as {form}: the endpoint refuses {self._entry.answer} ({refused.reason})"
        self._tell(told)
        return replace(reply, error=told)

    def answer(self, question: Question, reply: Reply, /) -> Decision | Question:
        """The decision, or the same question once more where the answer cannot be read."""
        self._note_form(reply)
        try:
            return read_reply(reply, tolerant=self._entry.answer == "text")
        except Unreadable as problem:
            if question.purpose == "repair":
                return unread(problem)
            return self._repair(question, reply.text or "", str(problem))

    def _note_form(self, reply: Reply) -> None:
        if reply.text is None or self._answered:
            return
        self._answered = True
        other = _ANSWERED_AS.match(reply.error or "")
        if other is not None and other[1] == self._entry.fallback:
            self._entry = replace(self._entry, answer=self._entry.fallback)
            self._sha256 = self._request(0, 0, "", ()).sha256_of()

    def _request(self, seq: int, turn: int, user: str, cuts: tuple[int, ...]) -> MessageRequest:
        return MessageRequest(seq, turn, self._entry, self.system, user, self._schema, cuts)

    def _repair(self, question: Question, text: str, problem: str) -> Question:
        cut = well_formed(text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "...")
        user = (
            f"{question.user}\n## Your answer could not be read\n"
            f"Problem: {problem}\n"
            f"You wrote:\n{cut}\n\n"
            f"Answer the same question again, with one JSON object that satisfies this schema, and "
            f"nothing else:\n{json.dumps(self._schema)}\n"
        )
        sha256 = self._sha256(user, question.cuts)
        return replace(question, purpose="repair", user=user, sha256=sha256)
