"""What of a model's entry changes a request, and so what is asked: it is part of a run."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Answer: TypeAlias = Literal["schema", "tool", "text"]
Cache: TypeAlias = Literal["marked", "automatic", "none"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
Thinking: TypeAlias = Literal["adaptive", "disabled", "between_tools"]

MAX_TOKENS: Final = 21_333
"""Above it the SDK refuses a call that is not streamed."""


class Profile(BaseModel):
    """The settings of `catalog.Entry` of these names; two runs with equal ones ask the same."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str = Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")
    answer: Answer
    fallback: Answer | None = None
    max_tokens: int = Field(default=2048, ge=1, le=MAX_TOKENS)
    effort: Effort | None = None
    thinking: Thinking | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    seed: int | None = Field(default=None, ge=0, lt=2**31)
    cache: Cache = "marked"
