"""A transport and a patient client on it, for tests against the loopback server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dream.llm.anthropic import AnthropicTransport
from dream.llm.catalog import resolve
from dream.llm.client import Client, MessageRequest
from dream.llm.parse import answer_schema

if TYPE_CHECKING:
    from dream.types import Reply

KEY = "sk-ant-loopback-0123456789"
SONNET = resolve("sonnet")
SCHEMA = answer_schema(["VolBreakout"], allow_sell=False)
REQUEST = MessageRequest(0, 0, SONNET, "You trade é.", "## Now\nWhat?", SCHEMA)
NOON_NS = 1_795_867_200_000_000_000


class Line:
    """Waits are noted and not waited."""

    def __init__(self, url: str, **options: Any) -> None:
        limit_s = options.pop("limit_s", 5.0)
        self.transport = AnthropicTransport(
            key=options.pop("key", KEY),
            key_env="ANTHROPIC_API_KEY",
            base_url=url,
            limit_s=limit_s,
        )
        self.waits: list[float] = []
        self.client = Client(
            self.transport, sleep=self.waits.append, now_ns=lambda: NOON_NS, **options
        )

    def __enter__(self) -> Line:  # noqa: PYI034 - Self buys nothing in a test
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()

    def send(self, request: MessageRequest = REQUEST) -> Reply:
        return self.client.send(request)
