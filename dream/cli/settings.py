"""dream.toml: settings of one's own, below DREAM_* variables and flags."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILE = "dream.toml"
PREFIX = "DREAM"
"""DREAM_MODEL, DREAM_BARS, ... stand for the options of `dream run`."""


def defaults(folder: Path, commands: Mapping[str, Callable[..., None]]) -> dict[str, Any]:
    """The tables of dream.toml as defaults of the commands' options; none without the file.

    A table [run] with model = "sonnet" and spread = 0.25 is `dream run --model sonnet --spread
    0.25`.

    Raises:
        InputError: unreadable, or a table or key that does not exist.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    import tomllib

    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    out: dict[str, dict[str, Any]] = {}
    for command, table in tables.items():
        if command not in commands or not isinstance(table, dict):
            known = ", ".join(f"[{name}]" for name in commands)
            raise InputError(f"{path}: {command!r} is no table of it; there are: {known}")
        names = {name.strip("_").removeprefix("as_"): name for name in _options(commands[command])}
        out[command] = {}
        for key, value in table.items():
            option = key.replace("-", "_")
            if option not in names:
                known = ", ".join(names)
                raise InputError(f"{path}: [{command}] has no setting {key!r}; it has: {known}")
            out[command][names[option]] = value
    return out


def _options(command: Callable[..., None]) -> list[str]:
    """The command's options: an argument, such as a run's folder, is no setting."""
    parameters = signature(command).parameters.values()
    return [p.name for p in parameters if p.default is not p.empty]
