"""Whole runs for tests: a made-up series, the library and the command line, and journals as text.

Journals are read here without the code that writes them: a line is JSON, and what it says is all
of it but `meta`, `chain` and `crc`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dream.bars import store, synth
from dream.runs import api
from dream.runs.spec import RunSpec, make_spec

ROOT = Path(__file__).resolve().parents[2]
BARS, SEED = 6_000, 2
"""Twelve set-ups of all three strategies in 2,886 questions, of which the first is at bar 3,114."""
JOURNAL = "journal.jsonl"
DERIVED = ("decision", "order", "trade")


def series(path: Path, bars: int = BARS, seed: int = SEED) -> Path:
    """A file of synthetic bars."""
    store.write(synth.make(bars, seed), path, source_clock="utc")
    return path


def spec(bars: Path, **settings: Any) -> RunSpec:
    """A spec of 60 decisions unless said otherwise; `set_` has dotted pairs."""
    extra = settings.pop("set_", {})
    return make_spec({"bars": str(bars), "decisions": 60, **settings}, extra)


def run(what: RunSpec, folder: Path, **given: Any) -> api.Run:
    """Run it below a folder; `options` are fields of api.Options."""
    options = api.Options(folder=folder, **given.pop("options", {}))
    return api.run(what, options=options, **given)


@dataclass(frozen=True)
class Line:
    """What a line says, as bytes and as a dict; and its wall-clock facts."""

    body: bytes
    record: dict[str, Any]
    meta: dict[str, Any] | None

    @property
    def kind(self) -> str:
        return self.record["kind"]


def as_line(data: dict[str, Any]) -> bytes:
    """JSON as journals write it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


def lines(folder: Path) -> list[Line]:
    """The lines of a journal; writing one again gives its very bytes, so nothing is read over."""
    out = []
    for raw in (folder / JOURNAL).read_bytes().splitlines(keepends=True):
        data = json.loads(raw)
        assert as_line(data) + b"\n" == raw, "the line is not what it says"
        meta = data.pop("meta", None)
        del data["chain"], data["crc"]
        out.append(Line(as_line(data), data, meta))
    return out


def bodies(folder: Path) -> list[bytes]:
    """What the lines of a journal say, outside `meta`."""
    return [line.body for line in lines(folder)]


def of_kind(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    """The records of some kinds."""
    return [line.record for line in lines(folder) if line.kind in kinds]


def only_run(folder: Path) -> Path:
    """The one run below a folder."""
    (found,) = folder.iterdir()
    return found


def environment(**more: str) -> dict[str, str]:
    """What a command of its own is started with: this checkout, no colours asked for."""
    env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")}
    paths = [str(ROOT), *filter(None, [env.get("PYTHONPATH")])]
    return env | {"PYTHONPATH": os.pathsep.join(paths)} | more


def command(*args: object) -> list[str]:
    """The command line of a process of its own."""
    return [sys.executable, "-m", "dream", *map(str, args)]


def dream(
    *args: object, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`dream ...` as a process of its own, through pipes."""
    return subprocess.run(
        command(*args),
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
