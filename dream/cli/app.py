"""The commands and how an error is shown."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from dream.cli import bars, cost, grid, models, replays, run, settings
from dream.cli.words import shown
from dream.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Generator

EPILOG: Final = """\
\b
Exit codes:
  0    done
  1    the system refused, such as a full disk behind the output
  2    wrong input
  3    something could see the future
  4    the journal cannot be used or written
  5    a model could not be asked
  6    the recall function was never called
  130  interrupted; the same dream run goes on
  141  the reader of the output has gone, as with | head

Settings of dream run: flags win over DREAM_* variables (DREAM_MODEL, DREAM_SPREAD, ...; an
unknown one is refused, DREAM_TEST_* is left alone), and those over the table [run] of dream.toml
in the working folder. --fresh can only be typed.
"""


class Commands(TyperGroup):
    """The group of all commands; Ctrl-C ends each of them in one line, of which typer has none."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options, for which typer loads a lot."""
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _one_line():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        show_error("interrupted")
        raise typer.Exit(130) from None


app = typer.Typer(
    name="dream",
    cls=Commands,
    help="Walk an LLM trading agent through gold's M15 history, bar by bar, without the future.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", context_settings={"auto_envvar_prefix": settings.PREFIX})(run.run)
app.command("grid")(grid.grid)
app.command("replay")(replays.replay)
app.command("verify")(replays.verify)
app.command("cost")(cost.cost)
app.add_typer(models.app, name="models")
app.add_typer(bars.app, name="bars")


def start(arguments: list[str]) -> None:
    """Run one command with the defaults of the working folder's dream.toml; ends in SystemExit."""
    settings.check_lengths(arguments, os.environ)
    try:
        here = Path.cwd()
    except OSError as error:
        raise InputError(f"the working folder cannot be used: {error.strerror}") from None
    known = {"run": run.run}
    app(arguments, default_map=settings.defaults(here, known), standalone_mode=True)


def show_error(message: str) -> None:
    """Print an error on standard error: one paragraph, no control characters, no endless words."""
    with suppress(OSError):  # whoever closed standard error does not want to know
        typer.echo(f"dream: {shown(message)}", err=True)


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
