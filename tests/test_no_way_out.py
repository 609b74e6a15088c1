"""The switch that keeps every test on this machine works."""

from __future__ import annotations

import os
import socket

import anthropic
import pytest

REFUSED = pytest.fail.Exception
NOT_HERE = "192.0.2.1"
"""An address that is reserved for examples."""


def test_no_key_is_in_the_environment() -> None:
    assert not [n for n in os.environ if n.startswith("ANTHROPIC_") or n.endswith("_API_KEY")]


def test_no_connection_leaves_this_machine() -> None:
    with socket.socket() as s, pytest.raises(REFUSED, match="only loopback"):
        s.connect((NOT_HERE, 443))
    with socket.socket() as s, pytest.raises(REFUSED, match="only loopback"):
        s.connect_ex((NOT_HERE, 443))


def test_no_name_is_looked_up() -> None:
    with pytest.raises(REFUSED, match="only loopback"):
        socket.create_connection(("api.anthropic.com", 443))


def test_the_real_client_gets_nowhere_even_with_a_key() -> None:
    client = anthropic.Anthropic(api_key="made-up", max_retries=0, timeout=2)
    with pytest.raises((REFUSED, anthropic.APIConnectionError)), client:
        client.models.list()


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=5) as s:
            assert s.getpeername() == server.getsockname()
        with socket.create_connection(("localhost", server.getsockname()[1]), timeout=5) as s:
            assert s.getpeername()[1] == server.getsockname()[1]
