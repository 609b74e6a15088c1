"""How models are reached: keys, clocks, limits, and who is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from dream.errors import SpecInvalid
from dream.llm import catalog
from dream.llm.keycommand import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from dream.llm.anthropic import AnthropicTransport
    from dream.llm.client import Attempts, Client, Transport
    from dream.llm.limiter import Limiters
    from dream.llm.local.transport import LocalTransport
    from dream.runs.budget import Budget
    from dream.runs.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Access:
    """How models are reached. Never written anywhere.

    Attributes:
        keys: environment variable to key. base_url: endpoint instead of the catalogue's.
        sleep, now_ns: the edge's clock.
        on_wait: told of every wait before another attempt: seconds, attempt, reason.
        budget: limit on the money of all that is asked with it; None for no limit.
        limit_s: an attempt that takes longer has failed.
        on_estimate: told once, before the first call, what the calls will cost.
        limiters: shared by runs that ask at the same time; None for one run.
        own: models and endpoints of the user's own.
        on_note: told what the user should know while it runs, in one line.
        local_threads: of the processor that the model `local` may use.
    """

    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    base_url: str | None = None
    sleep: Callable[[float], None] | None = None
    now_ns: Callable[[], int] | None = None
    on_wait: Callable[[float, int, str], None] = lambda _seconds, _attempt, _reason: None
    budget: Budget | None = None
    limit_s: float = 120.0
    on_estimate: Callable[[Estimate], None] | None = None
    limiters: Limiters | None = None
    own: catalog.Own = catalog.NONE_OWN
    on_note: Callable[[str], None] = lambda _line: None
    local_threads: int = 1

    def is_whole(self) -> bool:
        """Whether there is a clock, without which no model is asked."""
        return self.sleep is not None and self.now_ns is not None

    def host(self, entry: catalog.Entry) -> str | None:
        """Where a model is asked, as messages show it; None for the one that runs here."""
        if self._runs_here(entry):
            return None
        from dream.llm.endpoint import host_of  # noqa: PLC0415 - only for models

        return host_of(entry.base_url if self.base_url is None else self.base_url)

    def endpoint_id(self, entry: catalog.Entry) -> str | None:
        """Hash of the whole address, path included, which may choose who answers; 16 hex digits."""
        if self._runs_here(entry):
            return None
        url = entry.base_url if self.base_url is None else self.base_url
        return sha256(url.rstrip("/").encode()).hexdigest()[:16]

    def client(
        self,
        entry: catalog.Entry,
        attempts: Attempts,
        held: ExitStack,
        *,
        on_error: Literal["stop", "hold"],
    ) -> Client:
        """What has questions to a model answered.

        Args:
            entry: the model.
            attempts: told of every attempt.
            held: closes its connections.
            on_error: what becomes of a call that keeps failing.

        Raises:
            ModelUnavailable: there is no key. SpecInvalid: a budget that cannot be kept.
        """
        from dream.llm.client import Client, Patience  # noqa: PLC0415 - only for models

        assert self.sleep is not None, "see is_whole"
        assert self.now_ns is not None, "see is_whole"
        if self.budget is not None and catalog.ceiling(entry, 1, self.now_ns()) is None:
            raise SpecInvalid(
                f"--budget cannot be kept with {entry.id}: its price is not known. Give one in "
                f"dream.toml ([models.NAME] price), or leave the budget out"
            )
        transport = self.transport(entry)
        held.callback(transport.close)
        return Client(
            self._limited(transport, entry),
            sleep=self.sleep,
            now_ns=self.now_ns,
            on_error=on_error,
            attempts=attempts,
            patience=Patience(on_wait=self.on_wait),
        )

    def transport(self, entry: catalog.Entry) -> AnthropicTransport | LocalTransport:
        """What makes one attempt at a call; to be closed.

        Raises:
            ModelUnavailable: there is no key, or the model of this machine is not installed.
        """
        return self._local() if self._runs_here(entry) else self._remote(entry)

    def _runs_here(self, entry: catalog.Entry) -> bool:
        """Whether dream runs the model itself; at an endpoint of the user's it is as others are."""
        return entry.alias == catalog.LOCAL and self.base_url is None

    def _local(self) -> LocalTransport:
        from dream.llm.local.place import default_folder  # noqa: PLC0415 - only for this model
        from dream.llm.local.transport import LocalTransport  # noqa: PLC0415

        return LocalTransport(default_folder(), threads=self.local_threads)

    def _remote(self, entry: catalog.Entry) -> AnthropicTransport:
        from dream.llm.anthropic import AnthropicTransport  # noqa: PLC0415 - only for models

        return AnthropicTransport(
            key=key_of(entry, self.keys),
            key_env=entry.key_name,
            base_url=entry.base_url if self.base_url is None else self.base_url,
            limit_s=self.limit_s,
            key_header=entry.key_header,
        )

    def _limited(self, transport: Transport, entry: catalog.Entry) -> Transport:
        """The transport with a share of its model's slots, where runs ask at the same time."""
        if self.limiters is None:
            return transport
        from dream.llm.limiter import Limited  # noqa: PLC0415 - only for models

        return Limited(transport, self.limiters.of(self.host(entry) or catalog.LOCAL, entry.id))
