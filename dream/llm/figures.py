"""Numbers as a prompt shows them: what is unknown is called so, and none has an exponent."""

from __future__ import annotations

from typing import Final

_FIXED: Final = tuple(f"z.{n}f" for n in range(12))
"""Formats by decimals: made once, for a prompt has hundreds of numbers."""


def share(part: float) -> str:
    """A share of 1 in percent."""
    return f"{plain(part * 100)} %" if _finite(part) else "unknown"


def plain(value: float) -> str:
    """Up to eight decimals, as many as are needed."""
    text = f"{value:z.8f}" if _finite(value) else "unknown"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money(value: float) -> str:
    """Two decimals, or more where a price list has them."""
    return f"{value:z.2f}" if round(value, 2) == value else plain(value)


def signed(value: float, decimals: int) -> str:
    """With its sign."""
    return f"{value:+z.{decimals}f}" if _finite(value) else "unknown"


def number(value: float | None, decimals: int) -> str:
    """Never an exponent, never NaN, never minus zero."""
    if value is None or value - value != 0.0:
        return "unknown"
    return value.__format__(_FIXED[decimals])


def _finite(value: float) -> bool:
    return value - value == 0.0
