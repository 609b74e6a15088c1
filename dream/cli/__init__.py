"""The command line: arguments, environment and clock enter here and nowhere else."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED, READER_GONE = 130, 141
"""128 + SIGINT and 128 + SIGPIPE: what a shell says of a program that the signal ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says what went wrong (see dream.errors)."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # outside the command: while code is loaded, or an error is shown
        _write_error(b"dream: interrupted\n")
        return INTERRUPTED
    finally:
        if argv is None:  # the program: what is left is Python's own end, nothing to interrupt
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _main(arguments: list[str]) -> int:
    from dream.cli.app import show_error, start
    from dream.errors import DreamError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # a folder may have any bytes as a name
    try:
        start(arguments)
    except DreamError as error:
        show_error(str(error))
        return error.exit_code
    except SystemExit as done:
        # typer and rich make an exit with code 1 of a pipe that was closed
        if isinstance(done.__context__, BrokenPipeError):
            return _reader_gone()
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:  # such as a full disk behind standard output
        show_error(f"the system refused: {error}")
        return 1
    return 0


def _reader_gone() -> int:
    """End quietly: what still waits in a buffer goes nowhere, or Python would complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return READER_GONE


def _write_error(text: bytes) -> None:
    try:
        os.write(2, text)
    except OSError:
        return
