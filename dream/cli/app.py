"""The commands and how an error is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dream.cli import bars, models, replays, run, settings

app = typer.Typer(
    name="dream",
    help="Walk an LLM trading agent through gold's M15 history, bar by bar, without the future.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", context_settings={"auto_envvar_prefix": settings.PREFIX})(run.run)
app.command("replay")(replays.replay)
app.command("verify")(replays.verify)
app.command("models")(models.models)
app.add_typer(bars.app, name="bars")


def start(arguments: list[str]) -> None:
    """Run one command with the defaults of the working folder's dream.toml; ends in SystemExit."""
    known = {"run": run.run}
    app(arguments, default_map=settings.defaults(Path.cwd(), known), standalone_mode=True)


def show_error(message: str) -> None:
    """Print an error on standard error, one paragraph, without control characters."""
    clean = "".join(c if c.isprintable() or c == "\n" else "?" for c in message)
    sys.stderr.write(f"dream: {clean}\n")


def _version(wanted: bool) -> None:
    if wanted:
        from dream import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Walk an LLM trading agent through gold's M15 history, bar by bar, without the future."""
