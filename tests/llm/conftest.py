"""What the tests against the loopback server share."""

from __future__ import annotations

import pytest


@pytest.fixture
def straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxies: each would load the certificates again; the ban on real hosts stands."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
