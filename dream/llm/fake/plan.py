"""The plan of a rehearsal: which request meets which fault, drawn by seed or listed by hand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dream.llm.fake.faults import ERROR_TYPES, SLOW, Fault

ALWAYS: Final = "always"
FOR_EVER_S: Final = 3_600.0
"""How long a silence lasts that nothing else is said of: longer than any client waits."""
_ORDER: Final = {fault: place for place, fault in enumerate(get_args(Fault))}

Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Seconds = Annotated[float, Field(strict=True, ge=0, le=86_400)]
Rate = Annotated[float, Field(strict=True, ge=0, le=10**6)]
Number = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Times = Number | Literal["always"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class How(_Part):
    """How a fault strikes.

    Attributes:
        times: how many requests in a row of one decision; 0 or "always" for all of them.
        retry_after_s: header that comes with an error status, None for none.
        seconds: how long a silence or a trickle lasts.
    """

    times: Times = 1
    retry_after_s: Seconds | None = None
    seconds: Seconds | None = None


class At(How):
    """One fault put by hand.

    Attributes:
        decision: number of the decision in its run, from 0.
        request: number of the request in its run, from 0: one of the two is given.
        run: name of the run (/run/NAME in the base URL), None for every run.
        fault: which.
    """

    fault: Fault
    decision: Number | None = None
    request: Number | None = None
    run: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.decision is None) == (self.request is None):
            raise ValueError("give either decision or request")
        if self.request is not None and "times" in self.model_fields_set:
            raise ValueError("a single request is met once: leave times out, or give a decision")
        _check_fit(self.fault, self)
        return self


class Cache(_Part):
    """How prefixes are cached.

    Attributes:
        mode: `marked` (up to the breakpoints of the request), `automatic` (any common beginning, in
            steps of 64 tokens) or `none`.
        min_tokens: shortest prefix that is cached. life_s: since it was last used.
    """

    mode: Literal["marked", "automatic", "none"] = "marked"
    min_tokens: Number = 1_024
    life_s: Seconds = 300.0


class Prices(_Part):
    """USD per million tokens, instead of the catalogue's."""

    input: Rate
    output: Rate
    cache_read: Rate
    cache_write: Rate


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault that meets one request.

    Attributes:
        fault: which. retry_after_s: header of an error status. seconds: of a slow one.
    """

    fault: Fault
    retry_after_s: float | None = None
    seconds: float = FOR_EVER_S


class Plan(_Part):
    """What the server does to whom; the empty plan answers every request with a HOLD.

    Attributes:
        seed: of everything that is drawn.
        shares: fault to the share of decisions that meet it, 0 ... 1; one fault a decision.
        how: fault to how it strikes.
        at: faults put by hand; a decision named here is left out of the draw.
        answers: `hold`; `drawn` among BUY, HOLD and CLOSE; or texts, one a decision, HOLD after
            the last.
        latency_s: seconds before each answer, or the two ends that they are drawn between.
        thinking_tokens: billed with each answer.
        cache: how prefixes are cached. prices: instead of the catalogue's.
    """

    seed: Annotated[int, Field(strict=True)] = 0
    shares: dict[Fault, Share] = {}
    how: dict[Fault, How] = {}
    at: tuple[At, ...] = ()
    answers: Literal["hold", "drawn"] | tuple[str, ...] = "hold"
    latency_s: Seconds | tuple[Seconds, Seconds] = 0.0
    thinking_tokens: Number = 0
    cache: Cache = Cache()
    prices: Prices | None = None

    @field_validator("shares")
    @classmethod
    def _at_most_all(cls, shares: dict[Fault, float]) -> dict[Fault, float]:
        if sum(shares.values()) > 1.0 + 1e-9:
            raise ValueError("the shares are more than 1 together")
        return shares

    @field_validator("how")
    @classmethod
    def _that_fits(cls, how: dict[Fault, How]) -> dict[Fault, How]:
        for fault, one in how.items():
            _check_fit(fault, one)
        return how

    @field_validator("latency_s")
    @classmethod
    def _in_order(cls, ends: float | tuple[float, float]) -> float | tuple[float, float]:
        if isinstance(ends, tuple) and ends[0] > ends[1]:
            raise ValueError("the first of the two ends is the smaller one")
        return ends

    def strike(self, run: str, decision: int, nth: int, request: int) -> Strike | None:
        """The fault that meets a request, None where it is answered.

        Args:
            run: name of the run, empty where it has none.
            decision: of the run, from 0.
            nth: which request of this decision it is, from 0, whatever it asks.
            request: which request of the run it is, from 0.
        """
        here = [at for at in self.at if at.run in (None, run)]
        for at in here:
            if at.request == request:
                return _strike(at.fault, at)
        listed = [at for at in here if at.decision == decision]
        if not listed:
            fault = self._drawn(run, decision)
            how = self.how.get(fault, How()) if fault else How()
            return _strike(fault, how) if fault and _lasts(how, nth) else None
        for at in listed:
            if _lasts(at, nth):
                return _strike(at.fault, at)
            nth -= int(at.times)
        return None

    def _drawn(self, run: str, decision: int) -> Fault | None:
        u = draw(self.seed, "fault", run, decision)
        for fault in sorted(self.shares, key=_ORDER.__getitem__):
            u -= self.shares[fault]
            if u < 0:
                return fault
        return None


def draw(seed: int, *what: object) -> float:
    """A number in [0, 1) that depends on the seed and on what it is for, and on nothing else."""
    text = ":".join(map(str, (seed, *what)))
    return (
        int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big")
        / 2.0**48
    )


def _lasts(how: How, nth: int) -> bool:
    return how.times in (0, ALWAYS) or nth < int(how.times)


def _strike(fault: Fault, how: How) -> Strike:
    seconds = FOR_EVER_S if how.seconds is None else how.seconds
    return Strike(fault, how.retry_after_s, seconds)


def _check_fit(fault: str, how: How) -> None:
    if how.retry_after_s is not None and fault not in ERROR_TYPES:
        raise ValueError(f"retry_after_s belongs to an error status, not to {fault}")
    if how.seconds is not None and fault not in SLOW:
        raise ValueError(f"seconds belongs to silence or trickle, not to {fault}")
