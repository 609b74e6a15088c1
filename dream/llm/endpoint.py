"""Where a model is reached and with which key: both are checked before anything is sent.

No message here shows a part of what was given that could be a password or a key.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from dream.errors import InputError, ModelUnavailable

_HOST: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_LONGEST_KEY: Final = 4_096
"""In characters; servers refuse headers far shorter than this."""


def host_of(base_url: str) -> str:
    """Scheme, host and port of an endpoint, as messages call it; a path is not shown.

    Raises:
        InputError: it is no address that can be used; says what is wrong with it.
    """
    wrong = _wrong_with(base_url)
    if wrong is not None:
        raise InputError(
            f"the base URL must be an http or https address, such as https://api.anthropic.com; "
            f"the one given {wrong}"
        )
    parts = urlsplit(base_url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def _wrong_with(base_url: str) -> str | None:
    """What is wrong with an address, None if nothing is."""
    # First, because urlsplit drops line ends without a word.
    if not _plain(base_url):
        return "has a blank, a line end or a character outside ASCII"
    try:
        parts = urlsplit(base_url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return "has a bracket without its partner or a port that is no number up to 65535"
    found: tuple[tuple[bool, str], ...] = (
        (not base_url, "is empty"),
        (scheme not in ("http", "https"), "does not begin with http:// or https://"),
        ("@" in parts.netloc, "has a user or a password in it, which is not sent: leave it out"),
        ("?" in base_url or "#" in base_url, "has a query or a fragment (? or #): leave it out"),
        (not host, "names no host"),
        (not _is_host(host), "has a host that is neither a name nor an address"),
        (port == 0, "has port 0"),
    )
    return next((what for wrong, what in found if wrong), None)


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and _HOST.fullmatch(host) is not None
    try:
        return ip_address(host).version == 6 and "%" not in host
    except ValueError:
        return False


def check_key(key: str | None, key_env: str, host: str) -> str:
    """The key, if it can be one.

    Args:
        key: as it was given.
        key_env: name of the variable that it came from.
        host: that it is for.

    Raises:
        ModelUnavailable: there is none, or it cannot be sent.
    """
    if not key:
        raise ModelUnavailable(
            f"no key for {host}: set {key_env}, or use a decider that needs none (--model rules)"
        )
    if not _plain(key):
        raise ModelUnavailable(
            f"the key in {key_env} has a character that no key has (a blank, a line end or a "
            f"letter outside ASCII): set it again"
        )
    if len(key) > _LONGEST_KEY:
        raise ModelUnavailable(
            f"the key in {key_env} has {len(key)} characters, more than any key: set it again"
        )
    return key


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
