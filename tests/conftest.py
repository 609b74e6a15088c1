"""What every test shares: Hypothesis profiles, no way out to the network, the real data's place."""

from __future__ import annotations

import os
import signal
import socket
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

ROOT = Path(__file__).resolve().parents[1]
REAL_BARS = ROOT.parent / "shared" / "data" / "real" / "xauusd_m15_real.parquet"
NOWHERE = "http://127.0.0.1:9"
OUTSIDE = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("ANTHROPIC_") and not name.endswith("_API_KEY")
}
"""The environment as it was, without keys: for the one test whose subprocess fetches packages."""


def _is_loopback(host: object) -> bool:
    if host in ("localhost", "", None):
        return True
    try:
        return ip_address(str(host).split("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def no_way_out():
    """No key in the environment, no connection beyond this machine.

    A subprocess inherits the environment without keys, and with a proxy where nobody listens.
    """
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def checked(sock: socket.socket, address: object) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            pytest.fail(f"a test tried to reach {address[0]}: only loopback is allowed")

    def guarded_connect(sock, address):
        checked(sock, address)
        return connect(sock, address)

    def guarded_connect_ex(sock, address):
        checked(sock, address)
        return connect_ex(sock, address)

    def guarded_getaddrinfo(host, *args, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        if not _is_loopback(name):
            pytest.fail(f"a test tried to look up {name}: only loopback is allowed")
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("ANTHROPIC_") or name.endswith("_API_KEY"):
                patch.delenv(name)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patch.setenv(name, NOWHERE)
            patch.setenv(name.lower(), NOWHERE)
        patch.setenv("NO_PROXY", "127.0.0.1,localhost,::1")
        patch.setenv("no_proxy", "127.0.0.1,localhost,::1")
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_reaches_the_children():
    """A shell starts what it puts into the background deaf to Ctrl-C, and its children inherit it.

    What has a handler of Python's starts its children with the usual one.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_bars_path() -> Path:
    """The real 15-minute series of XAUUSD; the test is skipped where it is not to be had."""
    if not REAL_BARS.is_file():
        pytest.skip(f"no real data at {REAL_BARS}")
    return REAL_BARS


@pytest.fixture(scope="session")
def bars_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 6,000 synthetic bars, made once."""
    from tests.runs import made  # noqa: PLC0415 - only for tests of whole runs

    return made.series(tmp_path_factory.mktemp("bars") / "gold.parquet")
