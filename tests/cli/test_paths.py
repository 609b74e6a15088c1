"""Paths that are given: names that are no text, files where folders should be, and the reverse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.runs import made

ODD = os.fsdecode(b"odd\xff")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize(
    "words",
    [
        "bars info ODD", "bars import ODD --clock utc -o o.parquet",
        "bars import GOOD --clock utc -o ODD", "bars import GOOD --clock utc -o ODD/o.parquet",
        "bars synth --bars 10 -o ODD", "bars synth --bars 10 -o ODD/o.parquet",
        "run --decisions 2 --bars ODD", "replay RUN --bars ODD",
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["a file", "a folder", "nothing"])
def test_bars_under_a_name_that_is_no_text(dream, bars_path, words, what):
    """Refused in words; before, an import ended in a traceback and a run said `damaged`."""
    run = dream.folder / "kept"
    dream("run", "--bars", bars_path, "--decisions", 2, "--runs", run)
    good = dream.folder / "good.csv"
    good.write_text(
        "timestamp,open,high,low,close\n2024-01-02T01:00Z,1,1,1,1\n2024-01-02T01:15Z,1,1,1,1\n"
    )
    if what == "a file":
        (dream.folder / ODD).write_bytes(bars_path.read_bytes())
    elif what == "a folder":
        (dream.folder / ODD).mkdir()
    before = sorted(map(str, dream.folder.rglob("*")))
    typed = words.replace("ODD", ODD).replace("GOOD", str(good))
    said = dream(*typed.replace("RUN", str(made.only_run(run))).split())
    assert (said.code, said.out) == (2, "")
    assert "is not UTF-8" in said.err
    assert "odd" in said.err
    assert "rename" in said.err
    assert sorted(map(str, dream.folder.rglob("*"))) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_other_paths_may_have_any_name(tmp_path, bars_path):
    """Run folders, scripts, and the folder that the user stands in while bars have a full path."""
    work = tmp_path / ODD
    work.mkdir()
    (work / f"{ODD}.jsonl").write_text('{"action":"HOLD"}\n' * 2)
    args = ("run", "--bars", bars_path, "--decisions", 2, "--runs", ODD)
    plain = {"PYTHONIOENCODING": "utf-8:strict"}
    said = made.dream(*args, "--model", f"scripted:{ODD}.jsonl", cwd=work, env=plain)
    assert (said.returncode, said.stderr) == (0, "")
    run = made.only_run(work / ODD)
    for command in ("verify", "replay"):
        said = made.dream(command, run, cwd=work, env=plain)
        assert (said.returncode, said.stderr) == (0, "")
    (work / "gold.parquet").write_bytes(bars_path.read_bytes())
    said = made.dream("run", "--bars", "gold.parquet", cwd=work, env=plain)
    assert said.returncode == 2
    assert "is not UTF-8" in said.stderr


@pytest.mark.parametrize("command", ["replay", "verify"])
def test_a_file_is_no_run(dream, bars_path, command):
    (dream.folder / "file").write_text("mine")
    for path in ("file", bars_path):
        said = dream(command, path)
        assert (said.code, said.out) == (2, "")
        assert f"{path} is a file; expected the folder of a run" in said.err
    assert (dream.folder / "file").read_text() == "mine"


def anybody_can_import() -> bool:
    """Whether another user gets to the interpreter: an environment may lie in a private folder."""
    home = Path(sys.prefix).resolve()
    return all(folder.stat().st_mode & 0o001 for folder in (home, *home.parents))


@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0 and not anybody_can_import(),
    reason="typed by the superuser, in an environment that nobody else can read",
)
def test_a_folder_in_which_nothing_can_be_written():
    """The superuser may write everywhere, so that the command is typed by nobody."""
    code = (
        "import os, sys; from dream.cli import app, main; import dream.runs.spec\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "sys.exit(main(['run', '--runs', sys.argv[1]]))"
    )
    with TemporaryDirectory() as name:
        work = Path(name)
        work.chmod(0o555)
        for runs in ("runs", "runs/of/mine"):
            done = subprocess.run(
                [sys.executable, "-c", code, runs], cwd=work, env=made.environment(),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            said = f"dream: --runs {runs}: cannot be made, because nothing can be written in {work}"
            assert done.stderr.startswith(said)
            assert done.stderr.count("\n") == 1
        work.chmod(0o755)
        assert list(work.iterdir()) == []


def test_a_working_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
    code += "from dream.cli import main; sys.exit(main(['run']))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=made.environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dream: the working folder cannot be used: ")
    assert done.stderr.count("\n") == 1
