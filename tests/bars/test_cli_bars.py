"""The commands: what they print, what they leave behind, how they fail."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from dream.bars import content_hash, store, synth
from dream.cli import main
from tests.bars.files import good_rows, names, write_csv, write_parquet

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


def one_object(text: str) -> dict[str, Any]:
    assert text.count("\n") == 1
    record = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(record, dict)
    return record


def test_synth_then_info(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "made.parquet"
    code, out, err = run("synth", "-o", path, "--bars", 500, "--seed", 3, "--json")
    assert (code, err) == (0, "")
    made = one_object(out)
    assert made["content_hash"] == content_hash(synth.make(500, 3))
    code, out, err = run("info", path, "--json")
    assert (code, err) == (0, "")
    seen = one_object(out)
    assert {k: seen[k] for k in ("bars", "from", "to", "content_hash")} == {
        k: made[k] for k in ("bars", "from", "to", "content_hash")
    }
    assert (seen["symbol"], seen["tick"], seen["source_clock"]) == ("XAUUSD", 0.01, "utc")
    assert set(seen["spread"]) == {"q05", "q50", "q95", "max"}
    code, out, err = run("info", path)
    assert (code, err) == (0, "")
    assert f"content hash  {made['content_hash']}" in out
    assert "500 of 15 minutes" in out


def test_synth_from_a_date(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("synth", "-o", tmp_path / "b.parquet", "--bars", 100, "--from", "2024-07-01")
    assert code == 0
    assert "2024-07-01T00:00:00Z to 2024-07-02T02:00:00Z" in out


def test_import_then_info_of_a_range(run: Any, tmp_path: Path) -> None:
    rows = good_rows()
    rows[4]["close"] = 2005.104
    source, out = write_csv(tmp_path / "b.csv", rows, "%Y-%m-%d %H:%M:%S"), tmp_path / "o.parquet"
    code, text, err = run("import", source, "--clock", "utc", "-o", out, "--round", "--json")
    assert (code, err) == (0, "")
    record = one_object(text)
    expected = {
        "source": str(source), "file": str(out), "format": "plain text", "rows_read": 20,
        "rows_kept": 20, "rows_dropped": {}, "rounded": 1, "bar_minutes": 15,
        "from": "2024-01-08T01:00:00Z", "to": "2024-01-08T06:00:00Z", "unused": [], "refused": [],
        "symbol": "XAUUSD", "tick": 0.01, "point": None,
    }  # fmt: skip
    assert {name: record[name] for name in expected} == expected
    assert record["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert record["clock"]["declared"] == "utc"
    assert [(f["kind"], f["action"], f["count"], f["places"]) for f in record["found"]] == [
        ("off_tick", "round", 1, ["line 6: close 2005.104"])
    ]
    code, text, _ = run(
        "info", out, "--from", "2024-01-08T02:00Z", "--to", "2024-01-08T03:00Z", "--json"
    )
    assert (code, one_object(text)["bars"]) == (0, 4)
    code, text, _ = run("import", source, "--clock", "utc", "-o", out, "--round", "--force")
    assert code == 0
    assert "20 read, 20 kept" in text
    assert "XAUUSD, tick 0.01, 1 row rounded" in text
    assert "line 6: close 2005.104" in " ".join(text.split())


def test_check_says_what_an_import_would_find_and_writes_nothing(run: Any, tmp_path: Path) -> None:
    rows = good_rows()
    source = write_csv(tmp_path / "b.csv", rows)
    code, text, err = run("check", source, "--json")
    assert (code, err, one_object(text)["refused"]) == (0, "", [])
    rows[4] |= {"close": 2005.104, "low": 2009.0}
    source = write_csv(tmp_path / "b.csv", rows)
    code, text, err = run("check", source)
    assert (code, err) == (2, "An import is refused: impossible; mend the file, or see --on.\n")
    assert "impossible" in text
    assert "line 6: open" in text
    code, text, _ = run("check", source, "--json")
    assert (code, one_object(text)["refused"]) == (2, ["impossible"])
    code, text, err = run("check", source, "--on", "impossible=drop")
    assert (code, err) == (0, "")
    assert "20 read, 19 kept" in text
    assert names(tmp_path) == ["b.csv"]


def test_append_adds_what_is_new(run: Any, tmp_path: Path) -> None:
    rows, out = good_rows(30), tmp_path / "o.parquet"
    code, _, _ = run("import", write_csv(tmp_path / "a.csv", rows[:20]), "-o", out)
    assert code == 0
    late = write_csv(tmp_path / "b.csv", rows[10:])
    code, text, err = run("import", late, "-o", out, "--append", "--json")
    assert (code, err) == (0, "")
    assert (one_object(text)["added"], one_object(text)["overlapped"]) == (10, 10)
    assert content_hash(store.read(out)) == content_hash(
        store.read(write_csv(tmp_path / "c.csv", rows))
    )


def test_import_of_another_instrument(run: Any, tmp_path: Path) -> None:
    source, out = write_parquet(tmp_path / "b.parquet", good_rows()), tmp_path / "o.parquet"
    code, _, err = run(
        "import", source, "--clock", "utc", "-o", out, "--symbol", "XAUEUR", "--tick", "0.05"
    )
    assert (code, err) == (0, "")
    assert store.read(out).instrument.symbol == "XAUEUR"
    assert store.read(out).px[0, 0] == 40_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "none.parquet"], "cannot read none.parquet: No such file"),
        (["info", "SOURCE", "--from", "soon"], "'soon' is not a date"),
        (["info", "SOURCE", "--from", "2030-01-01"], "no bar lies in the range"),
        (["import", "WALL", "-o", "OUT"], "its times carry no zone; say whose they are with --c"),
        (["check", "WALL"], "its times carry no zone; say whose they are with --clock"),
        (["import", "SOURCE", "--clock", "utc"], "Missing option"),
        (["import", "SOURCE", "-o", "OUT", "--clock", "eet"], "no time zone is named 'eet'"),
        (["import", "SOURCE", "-o", "OUT", "--on", "hole"], "--on takes FAULT=ACTION"),
        (["import", "SOURCE", "-o", "OUT", "--on", "holes=drop"], "no such fault; there are: unre"),
        (["import", "SOURCE", "-o", "OUT", "--on", "hole=drop"], "expected keep or refuse"),
        (["import", "SOURCE", "-o", "OUT", "--column", "when=1"], "--column takes ROLE=NAME"),
        (["import", "SOURCE", "-o", "OUT", "--column", "open=9"], "no column of this name"),
        (["import", "SOURCE", "-o", "OUT", "--point", "0"], "--point 0"),
        (["import", "SOURCE", "-o", "OUT", "--price-divisor", "0"], "expected 1 to 1,000,000"),
        (["import", "SOURCE", "-o", "none.parquet", "--append"], "cannot read none.parquet"),
        (["import", "SOURCE", "-o", "OUT", "--reference", "none.parquet"], "cannot read none.par"),
        (
            ["import", "SOURCE", "-o", "OUT", "--clock", "utc", "--tick", "0"],
            "tick must be from 1e-08",
        ),
        (["import", "SOURCE", "-o", "OUT", "--clock", "utc", "--tick", "0.3"], "must divide 1"),
        (["import", "SOURCE", "-o", "OUT", "--clock", "utc", "--tick", "0.7"], "must divide 1"),
        (["import", "SOURCE", "-o", "OUT", "--clock", "utc", "--tick", "1e-320"], "tick must be"),
        (["import", "SOURCE", "-o", "SOURCE", "--clock", "utc", "--force"], "the source itself"),
        (["import", "SOURCE", "-o", "KEPT", "--clock", "utc"], "exists; nothing was written"),
        (["synth", "-o", "OUT", "--bars", "0"], "bars is 0"),
        (["synth", "-o", "OUT", "--seed", "-1"], "seed is -1"),
        (["synth", "-o", "OUT/x.parquet", "--bars", "10"], "No such file"),
        (["synth", "-o", "KEPT", "--bars", "10"], "exists; nothing was written"),
    ],
)
def test_failures_say_why_and_leave_nothing(
    run: Any, tmp_path: Path, arguments: list[str], said: str
) -> None:
    source = write_csv(tmp_path / "b.csv", good_rows())
    (tmp_path / "kept").write_bytes(b"kept")
    wall = write_csv(tmp_path / "w.csv", good_rows(), "%Y-%m-%d %H:%M:%S")
    places = {
        "SOURCE": source,
        "WALL": wall,
        "OUT": tmp_path / "o.parquet",
        "KEPT": tmp_path / "kept",
    }
    for name, path in places.items():
        arguments = [a.replace(name, str(path)) for a in arguments]
    for extra in ([], ["--json"]):
        code, out, err = run(*arguments, *extra)
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
    assert names(tmp_path) == ["b.csv", "kept", "w.csv"]
    assert (tmp_path / "kept").read_bytes() == b"kept"


@pytest.mark.parametrize("command", ["info", "import", "check", "synth"])
def test_every_command_has_an_example(run: Any, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example: dream bars {command} " in out
    assert "--json" in out


def test_the_examples_run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "XAUUSD_M15.csv", good_rows(), "%Y-%m-%d %H:%M")
    for command in ("import", "check", "info", "synth"):
        _, out, _ = run(command, "--help")
        example = out.partition("Example: dream bars ")[2].partition("\n\n")[0]
        code, _, err = run(*example.split())
        assert (code, err) == (0, "")
    assert names(tmp_path) == ["XAUUSD_M15.csv", "gold.parquet", "made-up.parquet"]
    assert store.source_clock("gold.parquet") == "eet-eu"
    assert store.read("gold.parquet").t_close_ns[0] == 1_704_669_300 * 10**9
