"""docs/grid.md: its file makes the runs that it counts, and its Python runs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from inspect import signature

from dream.cli.grid import _WHOLE, _combinations, grid
from tests.docs.pages import ROOT, blocks, table
from tests.runs import made

PAGE = ROOT / "docs" / "grid.md"
FILE = next(block for block in blocks(PAGE) if block.file == "compare.toml")


def test_the_file_makes_as_many_runs_as_it_says():
    found = list(_combinations(tomllib.loads(FILE.text)["grid"], "the page"))
    assert len(found) == len({name for name, _ in found}) == 3 * 2 * 2 * 2 * 3
    assert "This is 3 x 2 x 2 x 2 x 3 = 72 runs." in PAGE.read_text(encoding="utf-8")


def test_the_options_of_the_whole_are_named():
    said = (
        PAGE.read_text(encoding="utf-8").partition("but those of the whole (")[2].partition(")")[0]
    )
    named = {word.strip("`\n ").replace("-", "_") for word in said.split(",")}
    assert named == {name.removeprefix("as_") for name in _WHOLE}


def test_every_option_of_the_command_is_in_the_table():
    rows = {row[0].split()[0] for row in table(PAGE, "## The command", "option")}
    taken = [name for name in signature(grid).parameters if name not in ("file", "quiet")]
    options = {"--" + name.removeprefix("as_").replace("_", "-") for name in taken}
    assert rows == options | {"-q"}


def test_its_python_runs(tmp_path, bars_path):
    (block,) = (block for block in blocks(PAGE) if block.language == "python")
    (tmp_path / "gold.parquet").write_bytes(bars_path.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=tmp_path, env=made.environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = sorted(line.split()[0] for line in done.stdout.splitlines())
    assert names == ["never", "rules"]
