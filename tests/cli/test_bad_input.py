"""Bad input: one clear message, the right exit code, no traceback, nothing written or lost."""

from __future__ import annotations

import json
import os
import stat

import numpy as np
import polars as pl
import pytest

from dream.bars import store
from tests.runs import made


@pytest.fixture
def refused(dream):
    """A command that must fail: checks its manners and returns what it said."""

    def call(*args, code=2, leaves=()):
        before = snapshot(dream.folder)
        said = dream(*args)
        assert said.code == code, said
        assert said.out == ""
        assert "Traceback" not in said.err
        assert said.err.startswith("dream: ")
        assert said.err.count("\n") == 1, "one paragraph"
        assert snapshot(dream.folder) == before
        return said.err

    return call


def snapshot(folder):
    """All files below a folder and what is in them, but the user's cache."""
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def good_rows(n=40):
    """Columns of a plain file: 15-minute bars of gold."""
    start = int(np.datetime64("2024-01-02T01:00", "s").astype(np.int64)) * 10**9
    close = 2_000.0 + np.arange(n) * 0.25
    return {
        "timestamp": [start + i * 900 * 10**9 for i in range(n)],
        "open": close - 0.25,
        "high": close + 0.5,
        "low": close - 0.5,
        "close": close,
    }


def as_csv(path, rows):
    frame = pl.DataFrame(rows).with_columns(
        pl.from_epoch("timestamp", time_unit="ns").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    frame.write_csv(path)
    return path


def changed(**cells):
    """The good rows with single cells replaced: column=(row, value)."""
    rows = {name: list(values) for name, values in good_rows().items()}
    for name, (row, value) in cells.items():
        rows[name][row] = value
    return rows


def without(name):
    return {key: value for key, value in good_rows().items() if key != name}


T = good_rows()["timestamp"]
WRONG_ROWS = {
    "nan": (changed(close=(7, float("nan"))), "line 9"),
    "null": (changed(close=(7, None)), "line 9"),
    "infinite": (changed(high=(7, float("inf"))), "line 9"),
    "negative": (changed(low=(7, -1.0)), "line 9"),
    "zero": (changed(low=(7, 0.0)), "line 9"),
    "high below the close": (changed(high=(7, 1_990.0)), "line 9"),
    "low above the open": (changed(low=(7, 2_100.0), high=(7, 2_200.0)), "line 9"),
    "the same stamp twice": (changed(timestamp=(7, T[6])), "line 9"),
    "out of order": (changed(timestamp=(7, T[5])), "line 9"),
    "off the grid of ticks": (
        changed(open=(7, 2_001.503)),
        "line 9: open 2001.503; --tick 0.001 fits",
    ),
    "off the grid of bars": (changed(timestamp=(7, T[7] + 60 * 10**9)), "off the grid"),
    "no close": (without("close"), "no column close"),
}


@pytest.mark.parametrize("case", WRONG_ROWS)
def test_wrong_rows(refused, dream, case):
    rows, message = WRONG_ROWS[case]
    path = as_csv(dream.folder / "gold.csv", rows)
    said = refused("run", "--bars", path)
    assert str(path) in said
    assert message in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"PAR1", "is damaged"),
        (b"PAR1" + b"\0" * 500 + b"PAR1", "is damaged"),
        (b"hello\n", "line 1: "),
        (b"timestamp,open,high,low,close\n", "no rows"),
        (b"\xff\xfe\x00\x01" * 100, "gold"),
        (b"timestamp,open,high,low,close\n2024-01-02T01:00:00Z,1,1,1\n", "gold"),
        (b"timestamp,open,high,low,close\n2024-01-02T01:00:00Z,1,1,1,1\n", "1 row does not tell"),
        (b"timestamp,open,high,low,close\nnever,1,1,1,1\nnever,1,1,1,1\n", "line 2"),
    ],
)  # fmt: skip
def test_files_that_are_no_bars(refused, dream, content, message):
    (dream.folder / "gold").write_bytes(content)
    assert message in refused("run", "--bars", "gold")


def test_bars_that_cannot_be_read(refused, dream, bars_path):
    assert "No such file" in refused("run", "--bars", "missing.parquet")
    (dream.folder / "folder").mkdir()
    assert "found a folder" in refused("run", "--bars", "folder")
    whole = bars_path.read_bytes()
    (dream.folder / "half.parquet").write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in refused("run", "--bars", "half.parquet")
    if os.geteuid() != 0:
        closed = dream.folder / "closed.parquet"
        closed.write_bytes(whole)
        closed.chmod(0)
        assert "Permission denied" in refused("run", "--bars", closed)
        closed.chmod(stat.S_IRUSR | stat.S_IWUSR)


def test_too_few_bars(refused, dream, bars_path):
    few = store.read(bars_path).prefix(3_000)
    store.write(few, dream.folder / "few.parquet", source_clock="utc")
    said = refused("run", "--bars", "few.parquet")
    assert "3000 bars are too few" in said
    assert "34 completed trading days" in said
    as_csv(dream.folder / "fewer.csv", good_rows())
    assert "40 bars are too few" in refused("run", "--bars", "fewer.csv")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("--strategies Nosuch", ["unknown strategy 'Nosuch'", "VolBreakout", "PullbackEntry"]),
        ("--strategies VolBreakout,VolBreakout", ["'VolBreakout' is named twice"]),
        ("--strategies ,", ["unknown strategy ''"]),
        ("--strategies nosuch:mine", ["cannot import nosuch", "ModuleNotFoundError"]),
        ("--strategies json:nosuch", ["json has no such name ('nosuch')"]),
        ("--strategies json:decoder", ["a module, not a function"]),
        ("--model nosuch", ["unknown model 'nosuch'", "sonnet", "rules"]),
        ("--model random:1.5", ["probability from 0 to 1"]),
        ("--model random:", ["probability from 0 to 1"]),
        ("--model scripted:", ["needs a file"]),
        ("--model scripted:nosuch.jsonl", ["nosuch.jsonl: cannot be read"]),
        ("--model nosuch:mine", ["cannot import nosuch"]),
        ("--ask nosuch", ["expected bar, setup or every:N", "'nosuch'"]),
        ("--ask every:0", ["every:N with a whole N of at least 1"]),
        ("--memory nosuch", ["unknown recall function 'nosuch'", "hybrid"]),
        ("--memory nosuch:mine", ["cannot import nosuch"]),
        ("--decisions 0", ["decisions", "greater than or equal to 1", "found 0"]),
        ("--decisions -1", ["decisions", "greater than or equal to 1", "found -1"]),
        ("--seed -1", ["seed", "greater than or equal to 0"]),
        ("--risk -1", ["risk must be from 1e-06 to 1", "found -1"]),
        ("--risk 25", ["risk must be", "a share of equity", "found 25"]),
        ("--equity nan", ["equity", "finite"]),
        ("--equity 0", ["equity must be from 0.01 to 1e+12, found 0"]),
        ("--spread -0.1", ["spread must be from 0 to 1e+09, found -0.1"]),
        ("--swap inf", ["swap", "finite"]),
        ("--max-gap -1", ["max_gap must be from 0 to 5,270,400 minutes", "found -1"]),
        ("--max-gap nan", ["max_gap must be from 0", "found nan"]),
        ("--max-gap inf", ["max_gap must be from 0", "found inf"]),
        ("--intrabar worst", ["stop_first", "target_first", "'worst'"]),
        ("--autonomy total", ["free", "filter", "'total'"]),
        ("--on-error ignore", ["stop", "hold", "'ignore'"]),
        ("--sync never", ["--sync takes each or batch, found 'never'"]),
        ("--from yesterday", ["yesterday"]),
        ("--from 2024-02-30", ["2024-02-30"]),
        ("--from 2031-01-01", ["no bar lies in the range", "2024-01-01"]),
        ("--from 2024-03-01 --to 2024-02-01", ["no bar lies in the range"]),
        ("--set nosuch=1", ["--set nosuch", "no such setting", "seed"]),
        ("--set VolBreakout.nosuch=1", ["VolBreakout has no parameter 'nosuch'", "range_atr"]),
        ("--set VolBreakout.range_atr=nan", ["VolBreakout.range_atr", "finite", "nan"]),
        ("--set VolBreakout.range_atr=wide", ["VolBreakout.range_atr", "'wide'"]),
        ("--set Nosuch.range_atr=1", ["Nosuch.range_atr", "of this run: VolBreakout, Intra"]),
        ("--set terms.leverage=-1", ["leverage must be from 0.001 to 1e+06", "found -1"]),
        ("--set terms.nosuch=1", ["terms.nosuch", "terms.leverage"]),
        ("--set instrument.tick=0.03", ["tick must divide 1", "0.03"]),
        ("--set instrument.tick=0.001", ["tick 0.01", "tick 0.001"]),
        ("--set instrument.symbol=EURUSD", ["XAUUSD", "EURUSD"]),
        ("--set memory.nosuch=1", ["memory.nosuch: no such parameter"]),
        ("--set memory.k=0", ["memory.k must be a whole number from 1 to 100, found 0"]),
        ("--set memory.k=2.5", ["memory.k must be a whole number", "2.5"]),
        ("--set memory.min_negative_ratio=2", ["min_negative_ratio", "2"]),
        ("--memory none --set memory.k=3", ["memory none"]),
        ("--set seed", ["--set takes key=value, found 'seed'"]),
        ("--set =1", ["--set takes key=value, found '=1'"]),
        ("--set repeat=1 --set repeat=2", ["--set repeat is given twice"]),
        ("--model sonnet", ["no key for https://api.anthropic.com", "ANTHROPIC_API_KEY"]),
        ("--model sonnet --base-url ftp://x", ["http or https address"]),
        ("--model sonnet --prompt v999", ["v999", "v1"]),
    ],
)  # fmt: skip
def test_settings(refused, bars_path, monkeypatch, args, words):
    if "--base-url" in args or "prompt" in args:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nobody")
    code = 5 if args == "--model sonnet" else 2
    said = refused("run", "--bars", bars_path, *args.split(), code=code)
    assert [word for word in words if word not in said] == [], said
    assert len(said) < 900, "one clear message"


@pytest.mark.parametrize(
    "args", ["run --nosuch", "run --decisions many", "nosuch", "run extra", "replay", "verify"]
)
def test_words_that_the_command_line_does_not_know(dream, args):
    said = dream(*args.split())
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err
    assert "Usage:" in said.err
    assert list(dream.folder.iterdir()) == []


FAULTS = """
from dream import Decision, Recalled

def raises(*args, **kwargs):
    raise KeyError("the author's mistake")

def none(*args, **kwargs):
    return None

def buys_nothing(ask, shown):
    return {"action": "BUY"}

def unknown(ask, shown):
    return {"action": "PANIC"}

def many(query, past):
    return [Recalled(0, past[0].id, 1.0)] * 6 if len(past) else []

def twice(query, past):
    return [Recalled(0, past[0].id, 1.0)] * 2 if len(past) else []

def nan(query, past):
    return [Recalled(0, past[0].id, float("nan"))] if len(past) else []
"""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("--model mine:raises", ["mine:raises, question 0: failed: KeyError", "mine.py, line 5"]),
        ("--model mine:none", ["question 0: expected a Decision, a mapping or a text"]),
        ("--model mine:buys_nothing", ["question 0", "needs the name of a strategy"]),
        ("--model mine:unknown", ["question 0", "PANIC"]),
        ("--memory mine:raises", ["mine:raises", "failed: KeyError", "mine.py, line 5"]),
        ("--memory mine:none", ["expected a list of at most 5 Recalled, found a NoneType"]),
        ("--memory mine:many", ["at most 5 Recalled, found 6"]),
        ("--memory mine:twice", ["row 0 is returned twice"]),
        ("--memory mine:nan", ["expected finite scores"]),
        ("--strategies mine:raises", ["strategy mine:raises failed: KeyError", "mine.py, line 5"]),
        ("--strategies mine:none", ["returned NoneType, expected dream.types.Setups"]),
    ],
)  # fmt: skip
def test_the_users_own_functions(dream, bars_path, args, words):
    """Their faults are told as any other; what was decided before stays."""
    (dream.folder / "mine.py").write_text(FAULTS)
    said = dream("run", "--bars", bars_path, "--ask", "every:4", *args.split())
    assert (said.code, said.out) == (2, "")
    assert [word for word in words if word not in said.err] == [], said.err
    assert said.err.startswith("dream: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err


def test_a_script_that_ends_too_early_loses_nothing(dream, bars_path):
    script = dream.folder / "script.jsonl"
    script.write_text('{"action":"HOLD"}\n' * 7)
    args = ("run", "--bars", bars_path, "--model", "scripted:script.jsonl", "--decisions")
    said = dream(*args, 9)
    assert said.code == 2
    assert "question 7: the script is used up; it has 7 answers" in said.err
    assert len(made.of_kind(made.only_run(dream.folder / "runs"), "decision")) == 7
    assert dream(*args, 7).code == 0


def test_a_runs_folder_that_cannot_be_made(refused, dream, bars_path):
    (dream.folder / "file").write_text("mine")
    for runs in ("file", "file/below", "file/below/it"):
        said = refused("run", "--bars", bars_path, "--runs", runs)
        assert f"--runs {runs}: " in said
        assert "file is a file; expected a folder" in said
    assert (dream.folder / "file").read_text() == "mine"


def test_a_cache_that_cannot_be_made(refused, dream, monkeypatch):
    (dream.folder / "file").write_text("mine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(dream.folder / "file"))
    said = refused("run")
    assert "cannot make" in said
    assert "--bars" in said


@pytest.mark.parametrize("command", ["replay", "verify"])
def test_a_run_that_is_not_there(refused, dream, command):
    assert "expected the folder of a run" in refused(command, "runs/nosuch")
    (dream.folder / "empty").mkdir()
    assert "expected the folder of a run" in refused(command, "empty")


def test_bars_that_moved_are_found_again(dream, refused, bars_path):
    first = dream.folder / "first.parquet"
    first.write_bytes(bars_path.read_bytes())
    said = dream("run", "--bars", "first.parquet", "--decisions", 20, "--json")
    digest = json.loads(said.out)["digest"]
    run = made.only_run(dream.folder / "runs")
    first.rename(dream.folder / "second.parquet")
    assert "first.parquet" in refused("replay", run)
    made.series(dream.folder / "third.parquet", seed=5)
    assert "bars changed since the run began" in refused("replay", run, "--bars", "third.parquet")
    said = dream("replay", run / "journal.jsonl", "--bars", "second.parquet", "--json")
    assert (said.code, json.loads(said.out)["digest"]) == (0, digest)
