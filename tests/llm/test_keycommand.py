"""A key from a command: run without a shell, once, bounded, and never shown."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

from dream.errors import ModelUnavailable
from dream.llm.keycommand import first_line, key_of
from dream.llm.own import own_models

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-live-0123456789abcdef"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", code)


def test_the_first_line_is_the_key_and_the_command_is_run_once(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = python(f"open({str(ran)!r}, 'a').write('x'); print({SECRET!r}); print('user: me')")
    table = {"id": "m", "endpoint": "ollama", "answer": "text", "key_command": list(command)}
    entry = own_models({"mine": table}, {}).models["mine"]
    assert [key_of(entry, {}) for _ in range(3)] == [SECRET] * 3
    assert ran.read_text() == "x"
    assert SECRET not in repr(entry.key_name)


def test_there_is_no_shell(tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = python("import sys; print(sys.argv[1])")
    assert first_line((*command, f"$HOME; touch {made}")) == f"$HOME; touch {made}"
    assert not made.exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("no-such-program-here",), "cannot be started: No such file"),
        (("a\0b",), "cannot be started: it is no command"),
        (python("print()"), "printed no key"),
        (python(""), "printed no key"),
        (python(f"import sys; sys.stderr.write({SECRET!r}); sys.exit(3)"), "ended with code 3"),
        (python(f"print({SECRET!r}); raise SystemExit(1)"), "ended with code 1"),
        (python(f"print({SECRET!r} * 10_000)"), "printed more than 65536 bytes"),
        (python("import time; time.sleep(60)"), "did not end within 0.8 s"),
        (python("import os, time; os.close(1); time.sleep(60)"), "did not end within 0.8 s"),
        (python("while True: print('x' * 1000)"), "did not end within 0.8 s"),
    ],
)  # fmt: skip
def test_what_gives_no_key_is_one_line_and_soon(command: tuple[str, ...], said: str) -> None:
    started = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        first_line(command, limit_s=0.8)
    assert time.monotonic() - started < 10.0
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in repr(error.args)
        error = error.__context__


def test_a_child_that_holds_the_pipe_does_not_hold_the_key(tmp_path):
    left = tmp_path / "left"
    script = f"(sleep 3; touch {left}) & echo the-key-of-nobody"
    began = time.monotonic()
    assert first_line(("sh", "-c", script), 20.0) == "the-key-of-nobody"
    assert time.monotonic() - began < 2.0
    time.sleep(3.5)
    assert not left.exists(), "what the command left behind was ended with it"
