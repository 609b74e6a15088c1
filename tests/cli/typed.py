"""A command typed in an empty folder: what it printed, and its exit code."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dream.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Said:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str


class Typed:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def __call__(self, *args: object) -> Said:
        importlib.invalidate_caches()
        self._capture.readouterr()
        code = main([str(a) for a in args])
        out, err = self._capture.readouterr()
        return Said(code, out, err)


@pytest.fixture
def dream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Typed]:
    """`dream("run", "--model", "rules")` in an empty folder, whose modules it can name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    before = set(sys.modules)
    yield Typed(tmp_path, capfd)
    for name in set(sys.modules) - before:
        home = getattr(sys.modules[name], "__file__", None)
        if home is not None and Path(home).is_relative_to(tmp_path):
            del sys.modules[name]
