"""What a run with a model will cost, before anything is asked: its real first prompts, counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from dream.engine.session import Asked, Done, Session
from dream.llm import catalog
from dream.types import Decision, Usage

if TYPE_CHECKING:
    from dream.types import AskingDecider

FIRST: Final = 20
"""Questions that are looked at."""
CHARS_PER_TOKEN: Final = 3
"""A guess: models count tokens in their own ways, and numbers take many."""
ANSWER_TOKENS: Final = 150
"""Of an answer of three sentences, without thinking: a guess as well."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of the calls that are still to be made, one a question; prompts grow with trades and memory.

    Attributes:
        questions: how many at most. input_tokens, cached_tokens: of one call, the mean of the
            first; cached is what it has in common with the one before, 0 where nothing is cached.
        usd: without a cache. cached_usd: with all that is cached read from the cache. most_usd:
            every answer as long as the limit allows. None where the price is not known.
    """

    model: str
    questions: int
    input_tokens: int
    cached_tokens: int
    usd: float | None
    cached_usd: float | None
    most_usd: float | None

    def told(self) -> str:
        """In one line."""
        calls = "1 question" if self.questions == 1 else f"{self.questions:,} questions"
        what = f"{self.model}: up to {calls} of about {self.input_tokens:,} tokens"
        if self.usd is None or self.cached_usd is None or self.most_usd is None:
            return f"{what}; its price is not known"
        cache = f", {_money(self.cached_usd)} where the cache serves" if self.cached_tokens else ""
        return (
            f"{what} and {ANSWER_TOKENS} out: about {_money(self.usd)} USD{cache}; "
            f"{_money(self.most_usd)} if every answer were as long as it may be"
        )


def estimate(
    entry: catalog.Entry, decider: AskingDecider, session: Session, asked: int, at_ns: int
) -> Estimate:
    """Count the first prompts of a run.

    Args:
        entry: the model.
        decider: builds its prompts; nothing is sent.
        session: of the run, not yet walked; it is used up.
        asked: decisions that are recorded already.
        at_ns: instant whose prices count.
    """
    texts: list[str] = []
    while len(texts) < FIRST and not isinstance(event := session.advance(), Done):
        if isinstance(event, Asked):
            question = decider.question(event.snapshot, ())
            texts.append((decider.system or "") + (question.user or ""))
            session.submit(Decision())
    tokens = round(sum(map(len, texts)) / max(len(texts), 1) / CHARS_PER_TOKEN)
    shared = [_shared_chars(*pair) for pair in pairwise(texts)]
    cached = round(sum(shared) / max(len(shared), 1) / CHARS_PER_TOKEN)
    if entry.cache == "none" or cached < (entry.cache_min_tokens or 0):
        cached = 0
    left = max(session.questions - asked, 0)

    def cost(cache_read: int, out: int) -> float | None:
        one = Usage(tokens - cache_read, cache_read, 0, out)
        usd = catalog.price(entry, one, at_ns)
        return None if usd is None else usd * left

    return Estimate(
        entry.id,
        left,
        tokens,
        cached,
        cost(0, ANSWER_TOKENS),
        cost(cached, ANSWER_TOKENS),
        cost(0, entry.max_tokens),
    )


def _shared_chars(a: str, b: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def _money(usd: float) -> str:
    return f"{usd:,.2f}" if usd >= 1 or not usd else f"{usd:.4f}"
