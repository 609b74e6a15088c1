"""A closed trade of a run as an episode of its memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dream.types import Episode

if TYPE_CHECKING:
    from dream.types import Decision, Features, Trade


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose episodes these are.

    Attributes:
        run_id: name of the run. settings: hash of all that was set, but for the decider
            and where files lie.
    """

    run_id: str
    settings: str

    def episode(self, trade: Trade) -> str:
        """Id of a trade: 16 hex digits, equal in equal runs wherever their files lie.

        The bars are in it by what was traded on them: later ones cannot change it.
        """
        facts = (trade.seq, trade.entry.t_ns, trade.entry.price, trade.entry.lots)
        ended = (trade.exit.t_ns, trade.exit.price)
        provenance = repr((self.settings, *facts, *ended))
        return hashlib.blake2b(provenance.encode(), digest_size=8).hexdigest()


def episode(
    identity: Identity,
    model: str,
    trade: Trade,
    opened_ns: int,
    features: Features,
    decision: Decision,
) -> Episode:
    """A closed trade as memory keeps it; the id is a hash of its provenance."""
    return Episode(
        id=identity.episode(trade),
        run_id=identity.run_id,
        model=model,
        seq=trade.seq,
        opened_ns=opened_ns,
        known_ns=trade.known_ns,
        features=features,
        strategy=trade.strategy,
        side=trade.side,
        entry=trade.entry.price,
        exit=trade.exit.price,
        pnl=trade.pnl,
        r=trade.r,
        mae=trade.mae,
        mfe=trade.mfe,
        exit_reason=trade.exit.why,
        confidence=decision.confidence,
        reasoning=decision.reasoning,
    )
