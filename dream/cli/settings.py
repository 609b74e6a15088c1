"""dream.toml and DREAM_* variables: settings of one's own, below the flags."""

from __future__ import annotations

import os
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

from dream.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dream.llm.catalog import Own

FILE: Final = "dream.toml"
PREFIX: Final = "DREAM"
"""DREAM_MODEL, DREAM_BARS, ... stand for the options of `dream run`."""
OF_MODELS: Final = ("models", "endpoints")
"""Tables of dream.toml that hold no options, see `own_models`."""
TYPED_ONLY: Final = {
    "fresh": "every equal command would start another run and pay for it again; type --fresh"
}
"""Settings that no file and no variable may give, and why."""
LEFT_ALONE: Final = "DREAM_TEST_"
"""Variables of the project's own tests; `dream run` says nothing of them."""
LONGEST: Final = 4096
"""Characters of one value: a path has at most so many, and nothing else needs as many."""

_FILE_BYTES: Final = 1 << 20
_SHOWN: Final = 80
"""Characters of a value or a name in a message."""
_WORDS: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    list: "a list of texts",
}


def defaults(folder: Path, commands: Mapping[str, Callable[..., None]]) -> dict[str, Any]:
    """The tables of dream.toml as defaults of the commands' options; none without the file.

    A table [run] with model = "sonnet" and spread = 0.25 is `dream run --model sonnet --spread
    0.25`. A value has the type of its option: nothing is taken for something else.

    Raises:
        InputError: unreadable, a table or key that does not exist, or a value of another type.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        return {}
    out: dict[str, dict[str, Any]] = {}
    for command, table in tables(path).items():
        if command in OF_MODELS:
            continue
        if command not in commands or not isinstance(table, dict):
            names = (*commands, *(f"{kind}.NAME" for kind in OF_MODELS))
            known = ", ".join(f"[{name}]" for name in names)
            raise InputError(f"{path}: {command!r} is no table of it; there are: {known}")
        out[command] = options_in(table, commands[command], f"{path}: [{command}]")
    return out


def options_in(
    table: Mapping[str, Any], command: Callable[..., None], where: str, *, listed: bool = False
) -> dict[str, Any]:
    """The settings of a table by the parameters of the command whose options they are.

    Args:
        table: as it was read.
        command: that has the options.
        where: names the table in messages.
        listed: every setting is a list of values.

    Raises:
        InputError: a key that does not exist, stands there twice or can only be typed, or a value
            of another type.
    """
    names, types = _options(command), _types(command)
    given: dict[str, Any] = {}
    for key, value in table.items():
        option = names.get(key.replace("-", "_"))
        if option is None:
            known = ", ".join(name for name in names if name not in TYPED_ONLY)
            raise InputError(f"{where} has no setting {key!r}; it has: {known}")
        if option in TYPED_ONLY:
            raise InputError(f"{where} {key} cannot be set here: {TYPED_ONLY[option]}")
        if option in given:
            raise InputError(f"{where} {key} is given twice; leave one of them out")
        if not listed:
            given[option] = _checked(value, types[option], f"{where} {key}")
            continue
        if type(value) is not list or not value:
            raise InputError(f"{where} {key}: expected a list of values, found {_as_toml(value)}")
        given[option] = [_checked(item, types[option], f"{where} {key}") for item in value]
    return given


def own_models(folder: Path) -> Own:
    """The models and endpoints of dream.toml; none without the file.

    Raises:
        InputError: unreadable, or a table, key or value that cannot be used.
    """
    from dream.llm.catalog import Own
    from dream.llm.own import own_models as checked

    path = folder / FILE
    found = tables(path) if os.path.lexists(path) else {}
    if not any(kind in found for kind in OF_MODELS):
        return Own()
    return checked(found.get("models", {}), found.get("endpoints", {}), str(path))


def keys_of(own: Own, environ: Mapping[str, str]) -> dict[str, str]:
    """The keys that the environment has of those that a model may need, by variable."""
    from dream.llm.catalog import CATALOG, ENDPOINTS

    rows = (*CATALOG.values(), *ENDPOINTS.values(), *own.models.values(), *own.endpoints.values())
    names = {row.key_env for row in rows if row.key_env is not None}
    return {name: environ[name] for name in sorted(names) if environ.get(name)}


def check_lengths(arguments: Iterable[str], environ: Mapping[str, str]) -> None:
    """Refuse what is longer than any setting, before a message shows the whole of it.

    Raises:
        InputError: an argument or a DREAM_* variable has more than LONGEST characters.
    """
    for argument in arguments:
        _check_length(argument, "an argument")
    for name, value in environ.items():
        if name.startswith(f"{PREFIX}_"):
            _check_length(value, f"the variable {name[:_SHOWN]}")


def check_variables(command: Callable[..., None], environ: Mapping[str, str]) -> None:
    """Refuse DREAM_* variables that the command would not take: a typing error sets nothing.

    An empty one is refused as well: typer takes it for none at all, so that `DREAM_BARS=$GOLD`
    would walk synthetic bars where GOLD is not set. Those that begin with DREAM_TEST_ are left
    alone.

    Raises:
        InputError: names the variable and what there is.
    """
    typed = {f"{PREFIX}_{name.upper()}": why for name, why in TYPED_ONLY.items()}
    variables = [f"{PREFIX}_{name.upper()}" for name in _options(command)]
    known = [name for name in variables if name not in typed]
    for name, value in sorted(environ.items()):
        if not name.startswith(f"{PREFIX}_") or name.startswith(LEFT_ALONE):
            continue
        if name in typed:
            raise InputError(f"the variable {name} cannot be used: {typed[name]}, and unset it")
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise InputError(
                f"the variable {name[:_SHOWN]} is no setting of dream run; {hint}"
                f"Unset it, or use one of: {', '.join(known)}"
            )
        if not value:
            raise InputError(
                f"the variable {name} is set and empty; give it a value, or unset it for the "
                f"default"
            )


def tables(path: Path) -> dict[str, Any]:
    """The tables of a file of settings.

    Raises:
        InputError: it cannot be read or is no TOML.
    """
    import tomllib

    from dream.files import read_bounded

    data = read_bounded(path, "the settings", _FILE_BYTES)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; expected TOML") from None
    except (RecursionError, ValueError):  # a number of more digits than Python reads
        raise InputError(
            f"{path}: cannot be read: it is nested too deeply, or a number in it is too long; "
            f"expected tables of settings such as [run]"
        ) from None


def _options(command: Callable[..., None]) -> dict[str, str]:
    """Name of a setting to the command's parameter: an argument, such as a run's folder, is none.

    The setting is called as its option is: `from` for from_, `json` for as_json.
    """
    parameters = signature(command).parameters.values()
    names = [p.name for p in parameters if p.default is not p.empty]
    return {name.strip("_").removeprefix("as_"): name for name in names}


def _types(command: Callable[..., None]) -> dict[str, type]:
    """Parameter to the type that its value has in TOML; a path is a text there."""
    out: dict[str, type] = {}
    for name, hint in get_type_hints(command).items():
        kind: Any = next((k for k in get_args(hint) if k is not type(None)), hint)
        kind = hint if get_origin(hint) is list else kind
        kind = get_origin(kind) or kind
        out[name] = kind if kind in _WORDS else str
    return out


def _checked(value: Any, kind: type, where: str) -> Any:
    """The value, if it has the type of its option; a whole number is a number, too."""
    of_texts = type(value) is list and all(type(item) is str for item in value)
    good = of_texts if kind is list else type(value) is kind
    if not good and not (kind is float and type(value) is int):
        shown = _as_toml(value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        raise InputError(f"{where}: expected {_WORDS[kind]}, found {shown}")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise InputError(f"{where}: expected a number of 64 bits, found one that is larger")
    texts: Any = value if kind is list else [value]
    for text in texts:
        if type(text) is str:
            _check_length(text, where)
            if "\0" in text:
                raise InputError(f"{where}: expected a text without the character 0")
    return value


def _as_toml(value: Any) -> str:
    """Roughly as it stands in the file."""
    if type(value) is bool:
        return str(value).lower()
    return repr(value) if isinstance(value, str | list | dict) else str(value)


def _check_length(text: str, what: str) -> None:
    if len(text) > LONGEST:
        raise InputError(
            f"{what} has {len(text):,} characters, beginning {text[:40]!r}; no setting has more "
            f"than {LONGEST:,}"
        )
