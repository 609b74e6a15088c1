"""Help: every command has a working example, and asking for help loads nothing heavy."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dream.cli.app import app
from tests.runs import made


def commands():
    """Every command as the words to type."""
    out = [[command.name or command.callback.__name__] for command in app.registered_commands]
    for group in app.registered_groups:
        inner = group.typer_instance.registered_commands
        out += [[group.name, command.name or command.callback.__name__] for command in inner]
        if group.typer_instance.registered_callback is not None:
            out.append([group.name])
    return out


ALL = commands()
NAMES = [" ".join(words) for words in ALL]


def test_the_commands_that_there_are():
    assert {"run", "replay", "verify", "models", "bars info", "bars import", "bars synth"} <= set(
        NAMES
    )


@pytest.mark.parametrize("words", ALL, ids=NAMES)
def test_every_command_has_an_example(dream, words):
    said = dream(*words, "--help")
    assert (said.code, said.err) == (0, "")
    text = " ".join(said.out.split())
    example = re.search(r"Example: (dream .*?) (?:Arguments|Options|Commands):?", text)
    assert example, said.out
    typed = shlex.split(example[1])
    assert typed[: len(words) + 1] == ["dream", *words]
    offered = set(re.findall(r"(?<!\S)-{1,2}[a-z][\w-]*", said.out))
    used = {word for word in typed if word.startswith("-")}
    assert used - offered == set(), "the example uses options that there are"


@pytest.mark.parametrize("words", [[], ["bars"]], ids=["dream", "dream bars"])
def test_every_command_is_listed_with_what_it_does(dream, words):
    said = dream(*words, "--help")
    assert said.code == 0
    for command in ALL:
        if command[:-1] == words:
            assert re.search(rf"^ +{command[-1]} +\S.*\S$", said.out, re.MULTILINE), command


def test_without_a_command_help_is_shown(dream):
    assert "Usage:" in dream().out + dream().err


def test_the_version(dream):
    import dream as package  # noqa: PLC0415 - the fixture has the same name

    assert dream("--version").out == f"{package.__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["bars", "import", "--help"]])
def test_help_loads_nothing_heavy(words):
    """pydantic is not among them: typer itself loads it for a command's options, where it is."""
    code = (
        "import sys; from dream.cli import main; main(sys.argv[1:]); "
        "heavy = {'numba', 'polars', 'pyarrow', 'anthropic', 'numpy', 'genai_prices', 'rich'}; "
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=made.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["models"], ["models", "--json"]])
def test_output_that_cannot_be_written(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            made.command(*words), env=made.environment(), stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("dream: the system refused: ")
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_exit_codes_are_listed(dream):
    """Every one that an error has, and those of a shell."""
    from dream import errors  # noqa: PLC0415 - only here

    codes = {e.exit_code for e in vars(errors).values() if isinstance(e, type)} | {0, 130, 141}
    listed = re.findall(r"^ +([0-9]+) {2,}\w", dream("--help").out, re.MULTILINE)
    assert sorted(map(int, listed)) == sorted(codes)
