"""The command line inside this process, in a folder of its own."""

from __future__ import annotations

from tests.cli.typed import dream

__all__ = ["dream"]
