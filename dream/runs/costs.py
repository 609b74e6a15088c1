"""What a run has cost, by kind of token: read from its journal and its spend.jsonl."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from dream.errors import SpecInvalid
from dream.llm import catalog
from dream.reports.metrics import cached_share
from dream.runs.lines import LineReader, chained, load, parse
from dream.runs.records import OpenedRecord, ReplyRecord, TokenUsage
from dream.runs.spending import Spending, spending
from dream.runs.stores import JOURNAL, open_for_reading
from dream.types import Usage

if TYPE_CHECKING:
    from pathlib import Path

CLASSES: Final = ("input", "cache_read", "cache_write", "output")
"""Kinds of token that have a price of their own; thinking is part of the output."""


@dataclass(slots=True)
class RunCost:
    """The paid calls of one run.

    Attributes:
        run_id, model: as the journal has them.
        replies: that came. reused: of them, taken from another run's journal.
        uncounted: replies without the server's count of tokens.
        tokens: by CLASSES, and `thinking`, which is part of `output`.
        usd: by CLASSES, and `thinking`, which is part of `output`; only of replies whose price is
            known. usd_unsplit: of those of them whose tokens are not, or whose model is not in the
            catalogue any more.
        cost_usd: of all replies, None where the price of one is not known.
        attempts: at calls, also those that failed. unsure: of them, those that may have cost
            something that nobody knows, at most unsure_usd.
        open, open_usd: attempts in flight, or interrupted in it, and their most.
        spent_usd: all attempts, the unsure and the open ones at their most.
    """

    run_id: str
    model: str
    replies: int = 0
    reused: int = 0
    uncounted: int = 0
    tokens: Counter[str] = field(default_factory=Counter[str])
    usd: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys((*CLASSES, "thinking"), 0.0)
    )
    usd_unsplit: float = 0.0
    cost_usd: float | None = 0.0
    attempts: int = 0
    unsure: int = 0
    unsure_usd: float = 0.0
    open: int = 0
    open_usd: float = 0.0
    spent_usd: float = 0.0

    @property
    def known_usd(self) -> float:
        """What all attempts with a known cost have cost, also those whose answer was not taken."""
        return self.spent_usd - self.unsure_usd - self.open_usd

    @property
    def cached_share(self) -> float | None:
        """Share of the input tokens that was read from a cache, None of none."""
        t = self.tokens
        return cached_share(Usage(t["input"], t["cache_read"], t["cache_write"]))


def cost_of(folder: Path, own: catalog.Own = catalog.NONE_OWN) -> RunCost:
    """The costs of a run so far, finished or not.

    Args:
        folder: of the run.
        own: models of the user's own, for their prices.

    Raises:
        InputError: there is no journal.
        JournalCorrupt, SchemaUnknown: with the place.
    """
    path = folder / JOURNAL
    found = RunCost(folder.name, "")
    entry: catalog.Entry | None = None
    with open_for_reading(path) as file:
        for sealed in chained(LineReader(file, path)):
            data = load(sealed.whole, sealed.place)
            if data["kind"] == "opened":
                opened = parse(sealed.body, sealed.place)
                assert isinstance(opened, OpenedRecord)
                found.model, entry = str(opened.spec.get("model")), _entry(opened, own)
            elif data["kind"] == "reply":
                reply = parse(sealed.body, sealed.place)
                assert isinstance(reply, ReplyRecord)
                _add(found, entry, reply, data.get("meta") or {})
    _add_attempts(found, spending(folder))
    return found


def _entry(opened: OpenedRecord, own: catalog.Own) -> catalog.Entry | None:
    try:
        return catalog.resolve(str(opened.spec.get("model")), own)
    except SpecInvalid:
        return None


def _add(
    to: RunCost, entry: catalog.Entry | None, reply: ReplyRecord, meta: dict[str, Any]
) -> None:
    to.replies += 1
    if "reused" in meta:
        to.reused += 1
        return
    cost = reply.cost_usd
    to.cost_usd = None if to.cost_usd is None or cost is None else to.cost_usd + cost
    usage = reply.usage
    counts = _counts(usage)
    to.tokens.update(counts)
    if usage is not None:
        to.tokens["thinking"] += usage.thinking_tokens or 0
    known = usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
    to.uncounted += not known
    if not cost:
        return
    at_ns = _instant(meta.get("answered"))
    parts: dict[str, float] = {}
    if entry is not None and known and at_ns is not None:
        whole = counts["input"] + counts["cache_read"] + counts["cache_write"]
        rates = catalog.rates(entry, whole, at_ns)
        if rates is not None:
            parts = {name: getattr(rates, name) * counts[name] for name in CLASSES}
    split = sum(parts.values())
    if not split:
        to.usd_unsplit += cost
        return
    for name, usd in parts.items():  # scaled, for the price list may have changed since
        to.usd[name] += usd * cost / split
    if counts["output"] and usage is not None:
        thought = (usage.thinking_tokens or 0) / counts["output"]
        to.usd["thinking"] += parts["output"] * cost / split * thought


def _instant(text: object) -> int | None:
    try:
        at = datetime.fromisoformat(str(text))
        return round(at.replace(tzinfo=at.tzinfo or UTC).timestamp()) * 10**9
    except (ValueError, OverflowError):
        return None


def _counts(usage: TokenUsage | None) -> dict[str, int]:
    if usage is None:
        return dict.fromkeys(CLASSES, 0)
    return {
        "input": usage.input_tokens or 0,
        "cache_read": usage.cache_read_tokens or 0,
        "cache_write": usage.cache_write_tokens or 0,
        "output": usage.output_tokens or 0,
    }


def _add_attempts(to: RunCost, spent: Spending) -> None:
    # Where spend.jsonl is missing, the replies tell what was spent at least.
    to.attempts, to.spent_usd = spent.attempts, max(spent.total(), to.cost_usd or 0.0)
    to.unsure, to.unsure_usd = spent.unsure, spent.unsure_usd
    to.open, to.open_usd = spent.open, spent.open_usd
