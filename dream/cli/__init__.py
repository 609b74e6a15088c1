"""The command line: arguments, environment and clock enter here and nowhere else."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says what went wrong (see dream.errors)."""
    from dream.cli.app import show_error, start
    from dream.errors import DreamError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # a folder may have any bytes as a name
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        start(arguments)
    except DreamError as error:
        show_error(str(error))
        return error.exit_code
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stdout = None  # the reader has gone; nothing more can be said
        return 0
    except OSError as error:  # such as a full disk behind standard output
        show_error(f"the system refused: {error}")
        return 1
    return 0
