"""`python -m benchmarks.caching [BARS]`: what a question's input costs with the prompt cached.

Whole runs are driven, asked at every bar, by a model that enters whenever it may and says why in
three sentences, so that memory, where there is one, soon has five episodes to show. The blocks of
every request are counted by the cache of the rehearsal server (docs/fake.md): `automatic`, by the
longest common beginning with an earlier request, as servers do that cache by themselves, and
`marked`, by what stands before a mark. Neither gives anything below 1,024 tokens. A token is taken
for 4 bytes, and a decision for 3 s.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from dream.bars import store, synth
from dream.llm import catalog
from dream.llm.fake.plan import Cache
from dream.llm.fake.tokens import PrefixCache, blocks_of
from dream.runs import api, assemble
from dream.runs.spec import make_spec
from dream.types import Reply, Usage

if TYPE_CHECKING:
    from dream.llm.client import MessageRequest

DECISIONS, PACE_S, MOST = 1_000, 3.0, 0.25
Mode = Literal["automatic", "marked"]
REASONING = (
    "Price broke out of the morning's range on rising volume and holds above the average of the "
    "last fifty closes. The trend of the higher period points the same way and volatility is "
    "normal. The stop lies below the last low, and the target is one and a half times as far."
)
PRICED_NS = 1_796_000_000_000_000_000
"""2026-11-30: the instant whose prices count."""


@dataclass
class Counting:
    """A model that answers at once, enters whenever it may, and counts as its cache does."""

    cache: PrefixCache
    now_s: float = 0.0
    usages: list[Usage] = field(default_factory=list[Usage])

    def send(self, request: MessageRequest, /) -> Reply:
        """The answer, with the tokens of the request by class."""
        self.now_s += PACE_S
        counted = self.cache.count(request.entry.id, blocks_of(request.body()), self.now_s)
        usage = Usage(counted.uncached, counted.read, counted.written, 60, 0)
        self.usages.append(usage)
        cost = catalog.price(request.entry, usage, PRICED_NS)
        return Reply(_answer(request.user), "end_turn", request.entry.id, usage, cost)


def _answer(user: str) -> str:
    close = re.search(r"newest bar closed at ([\d.]+)\.", user)
    free = re.search(r"^(\w+): .*entries today 0 of 1", user, re.MULTILINE)
    answer: dict[str, Any] = {"reasoning": REASONING, "action": "HOLD", "strategy": None}
    answer |= {"confidence": 0.6, "stop": None, "target": None}
    if close and free and "## Position\nnone" in user:
        stop, target = float(close[1]) - 8.0, float(close[1]) + 12.0
        answer |= {"action": "BUY", "strategy": free[1], "stop": stop, "target": target}
    return json.dumps(answer)


def measured(
    bars: Path, context: str, memory: str, mode: Mode, decisions: int = DECISIONS
) -> list[Usage]:
    """Tokens of every question of a run with the entry of `sonnet`."""
    spec = make_spec(
        {"bars": str(bars), "model": "sonnet", "decisions": decisions, "memory": memory,
         "context": context, "terms": {"equity": 100_000.0}}
    )  # fmt: skip
    entry = catalog.resolve("sonnet")
    spec = spec.model_copy(update={"model": entry.id})
    model = Counting(PrefixCache(Cache(mode=mode)))
    parts = assemble.assemble(spec)
    decider: Any = assemble._model_decider(parts, entry, model)  # noqa: SLF001 - no HTTP
    if mode == "automatic":
        decider._entry = replace(entry, cache="automatic")  # noqa: SLF001 - as such servers are asked
    with tempfile.TemporaryDirectory() as folder:
        api.run(spec, decider=decider, options=api.Options(Path(folder)))
    return model.usages


def input_usd(usages: list[Usage], *, cached: bool) -> float:
    """What the input of a question cost, as counted or with nothing cached."""
    entry = catalog.resolve("sonnet")
    whole = 0.0
    for u in usages:
        read, written = u.cache_read_tokens or 0, u.cache_write_tokens or 0
        counted = Usage(u.input_tokens, read, written, 0)
        plain = Usage((u.input_tokens or 0) + read + written, output_tokens=0)
        cost = catalog.price(entry, counted if cached else plain, PRICED_NS)
        assert cost is not None, "sonnet has a price"
        whole += cost
    return whole / len(usages)


def line(context: str, memory: str, name: str, usages: list[Usage]) -> tuple[str, float]:
    """A row of the table, and the share of the uncached cost."""
    n = len(usages)
    classes = [
        sum(getattr(u, f"{kind}_tokens") or 0 for u in usages) / n
        for kind in ("input", "cache_read", "cache_write")
    ]
    cost, plain = (input_usd(usages, cached=c) for c in (True, False))
    cells = "".join(f"{x:>12,.0f}" for x in (*classes, sum(classes)))
    share = cost / plain
    return (
        f"{context:<8}{memory:<8}{name:<11}{cells}{cost:>12.6f}{plain:>12.6f}{share:>8.1%}",
        share,
    )


def main() -> None:
    """Print tokens by class and the cost of a question's input, for both contexts."""
    with tempfile.TemporaryDirectory() as folder:
        bars = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "made.parquet"
        if len(sys.argv) == 1:
            store.write(synth.make(8_000, 1), bars, source_clock="utc")
        kinds = ("input", "read", "written", "all", "USD", "uncached", "share")
        print(f"tokens a question, {DECISIONS:,} questions at most, prices of sonnet")
        widths = (12, 12, 12, 12, 12, 12, 8)
        heads = "".join(f"{kind:>{w}}" for kind, w in zip(kinds, widths, strict=True))
        print(f"{'context':<8}{'memory':<8}{'cache':<11}{heads}", flush=True)
        for memory in ("none", "hybrid"):
            for context in ("window", "day"):
                for mode in get_args(Mode):
                    usages = measured(bars, context, memory, mode)
                    row, share = line(context, memory, mode, usages)
                    asked = context == "day"
                    met = f"  asked {MOST:.0%}: {'yes' if share <= MOST else 'NO'}" if asked else ""
                    print(f"{row}{met}", flush=True)


if __name__ == "__main__":
    main()
