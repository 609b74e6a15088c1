"""What a user installs: the wheel, its metadata, and a command that starts quickly."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from email import message_from_string
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

import dream

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = {"anthropic", "numba", "polars", "pyarrow"}
"""What `dream --help` must not wait for."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """The wheel as the build backend makes it from a clean copy of what is committed."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("dream", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy)
    build = f"from hatchling.build import build_wheel; build_wheel({str(out)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True)
    (built,) = out.glob("*.whl")
    return ZipFile(built)


def from_dist_info(wheel: ZipFile, name: str) -> str:
    (path,) = (n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    return message_from_string(from_dist_info(wheel, "METADATA"))


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: ZipFile) -> None:
    # a pattern such as `bars/` in .gitignore would silently leave dream/bars out
    expected = {p.relative_to(ROOT).as_posix() for p in (ROOT / "dream").rglob("*.py")}
    packed = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert {n for n in packed if n.endswith(".py")} == expected
    assert "dream/py.typed" in packed
    assert {PurePosixPath(n).parts[0] for n in packed} == {"dream"}
    assert [n for n in packed if "test" in PurePosixPath(n).parts] == []
    assert "MIT License" in from_dist_info(wheel, "licenses/LICENSE")


def test_the_version_is_said_once(metadata: Message) -> None:
    assert metadata["Version"] == dream.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"


def test_the_script_is_the_command_line(wheel: ZipFile) -> None:
    entries = ConfigParser()
    entries.read_string(from_dist_info(wheel, "entry_points.txt"))
    assert dict(entries["console_scripts"]) == {"dream": "dream.cli:main"}


def test_help_works_and_waits_for_nothing_heavy() -> None:
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dream", "--help"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Usage" in result.stdout
    assert " run " in result.stdout
    # import time:  self [us] | cumulative | name
    timed = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in timed}
    assert {"dream", "typer"} <= loaded
    assert loaded & HEAVY == set()


def test_importing_dream_waits_for_nothing_heavy() -> None:
    program = "import sys, dream; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert "dream" in loaded
    assert set(loaded) & {*HEAVY, "numpy", "pydantic", "rich"} == set()
