"""A small disk that is full at every point: it says so, and once there is room all goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import timedelta
from itertools import count

import pytest

from dream.bars import store
from dream.bars.check import PRICES
from tests.bars.files import START, Row, good_rows, write_csv
from tests.crash.mounts import UNSHARE, needs_mounts
from tests.runs import made
from tests.runs.journal_samples import write_run

CHILD = """
import json, os, pathlib, subprocess, sys
from dream.bars.checks.faults import Policy
from dream.bars.reading import Reading
from dream.bars.ingest import ingest
from dream.errors import DreamError
from dream.runs.journal import Journal
from dream.runs.spending import Spend
from dream.types import Instrument
from tests.runs import made
from tests.runs.journal_samples import closing, put, small_run

what, place, pages, source = sys.argv[1:]
disk, page = pathlib.Path(place), 4096
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)

def whole_run():
    spec = made.spec(pathlib.Path(source), model="random:0.3")
    made.run(spec, disk, options={"sync": "each"})

def torn_tail():
    with Journal.open(disk / "run") as journal:
        put(journal, small_run())
        journal.emit(closing(journal))

def money():
    spend = Spend.open(disk)
    try:
        for seq in range(60):
            spend.before(seq, 0, 0, 0.5)
            spend.after(seq, 0, 0, 0.25)
    finally:
        spend.close()

def bars():
    kept = {name: "keep" for name in ("weekend", "clock", "level", "invented")}  # quick to make
    reading = Reading(Instrument(), "utc", Policy(kept))
    ingest(pathlib.Path(source), disk / "bars", reading, force=True)

def tried():
    try:
        globals()[what]()
    except DreamError as error:
        return f"{type(error).__name__}: {error}"
    return "done"

if what == "torn_tail":
    with Journal.open(disk / "run") as journal:
        put(journal, small_run()[:5])
    with (disk / "run" / "journal.jsonl").open("ab") as file:
        file.write(b"x" * 5000)
free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
ballast = disk / "ballast"
ballast.write_bytes(bytes(free - int(pages) * page))
first = tried()
left = [p.name for p in disk.rglob("*.part")]
ballast.unlink()
second = tried()
files = {p.name: p.read_bytes().hex() for p in disk.rglob("*") if p.is_file()}
print(json.dumps([first, left, second, files]))
"""


pytestmark = [pytest.mark.slow, needs_mounts]


def filling(what, tmp_path, source, step=1):
    """Rounds with more pages of room each, until nothing fails: what was said, and the files."""
    for pages in count(step=step):
        done = subprocess.run(
            [*UNSHARE, sys.executable, "-c", CHILD, what, tmp_path, str(pages), source],
            cwd=made.ROOT, env=made.environment(), capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        first, left, second, files = json.loads(done.stdout)
        assert (left, second) == ([], "done")
        yield first, {name: bytes.fromhex(raw) for name, raw in files.items()}
        if first == "done":
            return


def bodies(raw, tmp_path):
    (tmp_path / made.JOURNAL).write_bytes(raw)
    return made.bodies(tmp_path)


def test_a_run_from_its_first_line_to_its_summary(bars_path, tmp_path):
    whole = made.run(made.spec(bars_path, model="random:0.3"), tmp_path / "whole")
    rounds = list(filling("whole_run", tmp_path, bars_path))
    for first, files in rounds:
        assert bodies(files[made.JOURNAL], tmp_path) == made.bodies(whole.folder)
        kept = json.loads(files["summary.json"])
        assert (kept["digest"], kept["final_equity"]) == (
            whole.digest, whole.summary["final_equity"],
        )  # fmt: skip
        assert first == "done" or first.startswith("JournalUnwritable: ")
        assert first == "done" or "No space left on device" in first
    where = ["summary.json" if "summary.json" in first else "journal" for first, _ in rounds[:-1]]
    assert where == ["journal"] * (len(rounds) - 2) + ["summary.json"]
    assert len(rounds) > 5


def test_a_torn_tail_that_cannot_be_set_aside(tmp_path):
    whole = write_run(tmp_path / "whole")
    rounds = list(filling("torn_tail", tmp_path, ""))
    for first, files in rounds:
        assert files[made.JOURNAL] == whole
        assert files["journal.torn"].endswith(b"x" * 5000)
        assert first == "done" or "No space left on device" in first
    assert "journal.torn: cannot be written" in rounds[0][0]
    assert len(rounds) > 2


def test_money_spent(tmp_path):
    rounds = list(filling("money", tmp_path, ""))
    for first, files in rounds:
        assert first == "done" or "spend.jsonl: cannot be written: No space" in first
        lines = [json.loads(line) for line in files["spend.jsonl"].splitlines()]
        assert sum("ceiling_usd" in line for line in lines) >= 60
        assert [line["seq"] for line in lines[-120::2]] == list(range(60))
    assert len(rounds) > 2


def test_an_import(tmp_path):
    first, draw = good_rows(1)[0], random.Random(7)
    rows: list[Row] = []
    for k in range(6_000):
        away = draw.randrange(10_000) / 100  # or they would pack into a page
        prices = {name: round(first[name] + away, 2) for name in PRICES}
        rows.append(first | prices | {"timestamp": START + timedelta(minutes=15 * k)})
    source = write_csv(tmp_path.parent / f"{tmp_path.name}.csv", rows)
    rounds = list(filling("bars", tmp_path, source, step=3))
    for said, files in rounds:
        assert said == "done" or said.startswith("InputError: cannot write ")
        assert said == "done" or "No space left on device; nothing was written" in said
        (tmp_path / "again").write_bytes(files["bars"])
        assert len(store.read(tmp_path / "again")) == 6_000
    assert len(rounds) > 2
