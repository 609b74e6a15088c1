"""dream bars resample and import --append as commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dream.bars import content_hash, store, synth
from dream.cli import main
from tests.bars.files import good_rows, names, write_csv

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["bars", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_quarters_become_hours(run: Any, tmp_path: Path) -> None:
    bars = synth.make(400, 3)
    source, out = tmp_path / "m15.parquet", tmp_path / "h1.parquet"
    store.write(bars, source, source_clock="eet-eu", provenance=({"source": "x.csv"},))
    code, text, err = run("resample", source, "--to", "H1", "-o", out, "--json")
    assert (code, err) == (0, "")
    record = json.loads(text)
    made = store.read(out)
    assert record["content_hash"] == content_hash(made)
    assert (record["bars_read"], record["bars"]) == (400, len(made))
    assert len(made) == 100 - (record["left_out_at_the_end"] > 0)
    assert made.px[0].tolist() == [
        bars.px[0, 0], bars.px[:4, 1].max(), bars.px[:4, 2].min(), bars.px[3, 3],
    ]  # fmt: skip
    assert made.volume[0] == bars.volume[:4].sum()
    assert store.source_clock(out) == "eet-eu"
    assert store.provenance(out) == ({"source": "x.csv"},)
    assert not record["atr_m5"]
    code, text, _ = run("resample", source, "--to", "H1", "-o", out, "--force")
    assert code == 0
    assert f"{len(made):,} of H1, made of 400" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("SOURCE", "--to", "M30", "-o", "SOURCE"), "is the source itself"),
        (("SOURCE", "--to", "M5", "-o", "OUT"), "expected shorter bars"),
        (("SOURCE", "--to", "W1", "-o", "OUT"), "W1"),
        (("NONE", "--to", "H1", "-o", "OUT"), "No such file"),
    ],
)
def test_what_cannot_be_resampled(
    run: Any, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows())
    places = {"SOURCE": source, "OUT": tmp_path / "o.parquet", "NONE": tmp_path / "none"}
    code, out, err = run("resample", *(places.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert said in err
    assert names(tmp_path) == ["b.csv"]


def test_a_newer_export_is_appended(run: Any, tmp_path: Path) -> None:
    rows, out = good_rows(40), tmp_path / "o.parquet"
    first = write_csv(tmp_path / "a.csv", rows[:24])
    later = write_csv(tmp_path / "b.csv", rows[16:])
    assert run("import", first, "-o", out)[0] == 0
    code, text, err = run("import", later, "-o", out, "--append", "--json")
    assert (code, err) == (0, "")
    record = json.loads(text)
    assert (record["added"], record["overlapped"]) == (16, 8)
    whole = write_csv(tmp_path / "whole.csv", rows)
    assert content_hash(store.read(out)) == content_hash(store.read(whole))
    assert [origin["source"] for origin in store.provenance(out)] == ["a.csv", "b.csv"]


def test_an_overlap_that_differs_changes_nothing(run: Any, tmp_path: Path) -> None:
    rows, out = good_rows(40), tmp_path / "o.parquet"
    assert run("import", write_csv(tmp_path / "a.csv", rows[:24]), "-o", out)[0] == 0
    before = out.read_bytes()
    rows[20]["close"] += 0.05
    later = write_csv(tmp_path / "b.csv", rows[16:])
    code, text, err = run("import", later, "-o", out, "--append")
    assert (code, text) == (2, "")
    assert "2024-01-08T06:00:00Z" in err
    assert "2021.1" in err
    assert out.read_bytes() == before


def test_the_info_of_an_import_says_where_it_came_from(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    assert run("import", write_csv(tmp_path / "gold\x1b[2J.csv", good_rows()), "-o", out)[0] == 0
    code, text, _ = run("info", out)
    assert code == 0
    assert "from export   gold?[2J.csv (plain text, clock utc), 20 rows" in text
    assert "\x1b" not in text
    assert np.count_nonzero(store.read(out).spread) == 20


def test_a_terminal_that_is_not_utf8_gets_a_chart_too(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "a.csv", good_rows())
    there = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    command = [sys.executable, "-m", "dream", "bars", "info", str(source)]
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2024-01" in done.stdout
    assert "#" in done.stdout
