"""The commands: what they print, what they leave behind, how they fail."""

from __future__ import annotations

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
    assert one_object(text) == {
        "source": str(source), "file": str(out), "rows_read": 20, "rows_kept": 20,
        "rows_dropped": 0, "rows_rounded": 1, "bar_minutes": 15, "from": "2024-01-08T01:00:00Z",
        "to": "2024-01-08T06:00:00Z", "columns_unused": [],
    }  # fmt: skip
    code, text, _ = run(
        "info", out, "--from", "2024-01-08T02:00Z", "--to", "2024-01-08T03:00Z", "--json"
    )
    assert (code, one_object(text)["bars"]) == (0, 4)
    code, text, _ = run("import", source, "--clock", "utc", "-o", out, "--round", "--force")
    assert code == 0
    assert "20 read, 20 kept, 0 dropped" in text
    assert "1 row to the tick of 0.01" in text


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
        (["import", "SOURCE", "-o", "OUT"], "Missing option '--clock'"),
        (["import", "SOURCE", "--clock", "utc"], "Missing option"),
        (["import", "SOURCE", "-o", "OUT", "--clock", "eet"], "'eet' is not known; accepted: utc"),
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
    places = {"SOURCE": source, "OUT": tmp_path / "o.parquet", "KEPT": tmp_path / "kept"}
    for name, path in places.items():
        arguments = [a.replace(name, str(path)) for a in arguments]
    for extra in ([], ["--json"]):
        code, out, err = run(*arguments, *extra)
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
    assert names(tmp_path) == ["b.csv", "kept"]
    assert (tmp_path / "kept").read_bytes() == b"kept"


@pytest.mark.parametrize("command", ["info", "import", "synth"])
def test_every_command_has_an_example(run: Any, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example: dream bars {command} " in out
    assert "--json" in out


def test_the_examples_run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "gold.csv", good_rows())
    for command in ("import", "info", "synth"):
        _, out, _ = run(command, "--help")
        example = next(x for x in out.splitlines() if "Example: " in x)
        code, _, err = run(*example.split("dream bars ")[1].split())
        assert (code, err) == (0, "")
    assert names(tmp_path) == ["gold.csv", "gold.parquet", "made-up.parquet"]
