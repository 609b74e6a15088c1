"""Turn a spec into the things that a run is made of, and hash what lies behind the names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dream.bars import clocks, store
from dream.errors import BarsInvalid, SpecInvalid
from dream.memory.episodes import Memory
from dream.runs import plugins
from dream.runs.drive import Loop, Record, Watch, is_asking

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.llm.client import Attempts
    from dream.runs.spec import RunSpec
    from dream.types import AskingDecider, Bars, Decider, RecallFn, Strategy

COMPUTED = ("rules", "never", "random:P")
"""Deciders that need no model and are computed again on replay."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a model is reached. Never written anywhere.

    Attributes:
        keys: environment variable name to key. base_url: another endpoint than the catalogue's.
        attempts: told before and after every paid attempt; None when nothing may be sent.
    """

    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    base_url: str | None = None
    attempts: Attempts | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """A spec made real. hashes: content behind every name that a result depends on."""

    spec: RunSpec
    bars: Bars
    strategies: dict[str, Strategy]
    recall: RecallFn | None
    decider: Decider | AskingDecider
    hashes: dict[str, str]

    def loop(self, record: Record, run_id: str, watch: Watch) -> Loop:
        """A run that is ready to be driven."""
        from dream.engine.session import Session  # noqa: PLC0415 - numba
        from dream.strategies import asks  # noqa: PLC0415 - numba

        spec = self.spec
        session = Session(
            self.bars,
            self.strategies,
            spec.terms,
            asks=asks.policy(spec.ask, spec.manage),
            limit=spec.decisions,
            seed=spec.seed,
        )
        if session.first >= len(self.bars):
            raise BarsInvalid(
                f"{spec.bars}: {len(self.bars)} bars are too few; the first decision needs 34 "
                f"completed trading days (about 3,130 M15 bars). Use a longer series."
            )
        return Loop(
            session, Memory(), self.recall, self.decider, record, run_id,
            k=int(spec.recall.get("k", 5)), seed=spec.seed, watch=watch,
        )  # fmt: skip
