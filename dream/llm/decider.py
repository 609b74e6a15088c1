"""A model as a decider: builds the question, has it sent, reads the answer, asks once more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dream.llm import prompt
from dream.llm.client import MessageRequest
from dream.llm.parse import Unreadable, read_reply, unread, well_formed
from dream.types import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dream.llm.catalog import Entry
    from dream.llm.client import Transport
    from dream.llm.prompt_settings import PromptSettings
    from dream.types import Decision, Reply, Shown, Snapshot

MAX_QUOTED = 2_000
"""Longest part of an unreadable answer that is shown to its author, in characters."""


class ModelDecider:
    """Asks a model. question and answer are pure; only send has an effect.

    Args:
        entry: the model.
        transport: has a request answered, patiently: a `client.Client`.
        settings: of the prompts.

    Attributes:
        name: exact id of the model. system: its system prompt. paid: True.
    """

    paid = True

    def __init__(self, entry: Entry, transport: Transport, settings: PromptSettings) -> None:
        self.name = entry.id
        self.system = prompt.system_prompt(settings)
        self._entry = entry
        self._transport = transport
        self._settings = settings
        self._schema = settings.schema(tight=entry.tight)
        self._sha256 = self._request(0, 0, "").sha256_of()

    def question(self, ask: Snapshot, shown: Sequence[Shown], /) -> Question:
        """The question that this state of the market raises."""
        user = prompt.user_prompt(ask, shown, self._settings)
        sha256 = self._sha256(user)
        return Question(ask.seq, "decision", user, sha256, ask, tuple(shown))

    def send(self, question: Question, /) -> Reply:
        """Have it answered.

        Raises:
            ModelUnavailable: as `client.Client.send`.
        """
        assert question.user is not None, "every question of this decider has a prompt"
        turn = 1 if question.purpose == "repair" else 0
        return self._transport.send(self._request(question.seq, turn, question.user))

    def answer(self, question: Question, reply: Reply, /) -> Decision | Question:
        """The decision, or the same question once more where the answer cannot be read."""
        try:
            return read_reply(reply, tolerant=self._entry.answer == "text")
        except Unreadable as problem:
            if question.purpose == "repair":
                return unread(problem)
            return self._repair(question, reply.text or "", str(problem))

    def _request(self, seq: int, turn: int, user: str) -> MessageRequest:
        return MessageRequest(seq, turn, self._entry, self.system, user, self._schema)

    def _repair(self, question: Question, text: str, problem: str) -> Question:
        cut = well_formed(text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "...")
        user = (
            f"{question.user}\n## Your answer could not be read\n"
            f"Problem: {problem}\n"
            f"You wrote:\n{cut}\n\n"
            f"Answer the same question again, with one JSON object that satisfies this schema, and "
            f"nothing else:\n{json.dumps(self._schema)}\n"
        )
        sha256 = self._sha256(user)
        return Question(question.seq, "repair", user, sha256, question.ask, question.shown)
