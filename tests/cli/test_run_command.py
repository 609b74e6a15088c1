"""`dream run` as a user meets it: on a new machine, again, in pipes, as JSON, with settings."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest

from tests.runs import made

KEYS = {
    "run_id", "journal", "bars", "bars_from", "bars_to", "decider", "decisions",
    "decisions_by_status", "setups", "trades", "trades_by_strategy", "wins", "losses", "draws",
    "win_rate", "mean_r", "profit_factor", "start_equity", "final_equity", "gross_pnl", "costs",
    "max_drawdown", "ambiguous_bars", "final_equity_target_first", "final_equity_stop_first",
    "cost_usd", "digest",
}  # fmt: skip
COLOUR = "\x1b["


def strict(text):
    """One JSON object on one line, and nothing else."""
    assert text.endswith("\n")
    assert text.count("\n") == 1

    def no_constant(name):
        raise ValueError(name)

    return json.loads(text, parse_constant=no_constant)


@pytest.mark.slow
def test_a_bare_run_on_a_new_machine(tmp_path):
    """Its own process, an empty home, no network: what the first screen of the README promises."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    env = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    first = made.dream("run", cwd=work, env=env)
    assert (first.returncode, first.stderr) == (0, "")
    assert "The bars are synthetic and the decider is no model" in first.stdout
    assert "dream bars import" in first.stdout
    assert "2,000 (ok 2,000)" in first.stdout
    assert COLOUR not in first.stdout
    assert max(map(len, first.stdout.splitlines())) <= 100
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert [path.name.partition("-")[0] for path in kept] == ["synthetic"]
    assert [path.name for path in work.iterdir()] == ["runs"]
    stamps = {path: path.stat().st_mtime_ns for path in (*kept, *work.rglob("*.json*"))}

    second = made.dream("run", cwd=work, env=env)
    assert (second.returncode, second.stderr) == (0, "")
    note, _, rest = second.stdout.partition("\n\n")
    assert note == "This run was finished before; nothing was done. --fresh starts another."
    assert rest == first.stdout
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps

    fresh = made.dream("run", "--fresh", "--json", cwd=work, env=env)
    summary = strict(fresh.stdout)
    folders = sorted(path.name for path in (work / "runs").iterdir())
    assert folders == [summary["run_id"].removesuffix("-2"), summary["run_id"]]
    before = json.loads((work / "runs" / folders[0] / "summary.json").read_text())
    assert summary["digest"] == before["digest"]
    assert summary["decisions"] == 2_000


def test_json_has_every_figure_and_nothing_else_is_printed(dream, bars_path):
    said = dream("run", "--bars", bars_path, "--json", "--ask", "setup")
    assert (said.code, said.err) == (0, "")
    summary = strict(said.out)
    assert KEYS - set(summary) == set()
    assert summary["bars"] == str(bars_path)
    assert summary["decider"] == "rules"
    assert summary["journal"] == f"runs/{summary['run_id']}/journal.jsonl"
    assert summary["wins"] + summary["losses"] + summary["draws"] == summary["trades"] == 12
    assert sum(summary["trades_by_strategy"].values()) == 12
    assert summary["win_rate"] == summary["wins"] / 12
    net = summary["final_equity"] - summary["start_equity"]
    assert summary["gross_pnl"] - summary["costs"]["total"] == pytest.approx(net, abs=0.005)
    assert summary["final_equity_stop_first"] <= summary["final_equity_target_first"]
    trades = made.of_kind(made.only_run(dream.folder / "runs"), "trade")
    assert summary["ambiguous_bars"] == sum(t["ambiguous"] for t in trades)
    assert summary["mean_r"] == pytest.approx(sum(t["r"] for t in trades) / 12)
    won, lost = (abs(sum(t["pnl"] for t in trades if (t["pnl"] > 0) == up)) for up in (True, False))
    assert summary["profit_factor"] == pytest.approx(won / lost)


def test_json_where_nothing_was_traded(dream, bars_path):
    said = dream("run", "--bars", bars_path, "--json", "--model", "never", "--decisions", 5)
    summary = strict(said.out)
    nothing = ("win_rate", "mean_r", "profit_factor")
    assert [summary[key] for key in nothing] == [None] * 3
    assert (summary["trades"], summary["final_equity"]) == (0, summary["start_equity"])


def test_no_colour_in_pipes(dream, bars_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for extra in ([], ["--json"], ["-q"]):
        said = dream("run", "--bars", bars_path, "--decisions", 40, *extra)
        assert COLOUR not in said.out + said.err
    assert COLOUR not in dream("run", "--bars", "nosuch").err
    assert COLOUR not in dream("run", "--help").out


def test_a_word_of_rich_markup_in_a_name_is_only_a_word(dream, bars_path):
    runs = "[bold]runs[/bold]"
    said = dream("run", "--bars", bars_path, "--decisions", 5, "--runs", runs)
    assert said.code == 0
    assert f"{runs}/rules-hybrid" in said.out


def test_the_commands_of_the_summary_work(dream, bars_path):
    said = dream("run", "--bars", bars_path, "--decisions", 30, "--runs", "my runs")
    check, repeat = re.findall(r"^(?:Check|Repeat) +dream (\w+) '(.*)'$", said.out, re.MULTILINE)
    assert [check[0], repeat[0]] == ["verify", "replay"]
    assert dream(*check).code == 0
    assert "identical: 30 decisions" in dream(*repeat).out


def test_every_option_has_its_effect(dream, bars_path):
    """Each of them makes another run, and what it sets stands in the first line."""
    base = ("run", "--bars", bars_path, "--decisions", 20, "--json")
    options = [
        ((), {}),
        (("--decisions", 21), {"decisions": 21}),
        (("--from", "2024-01-03"), {"from": "2024-01-03"}),
        (("--to", "2024-03-20"), {"to": "2024-03-20"}),
        (("--model", "random:0.5"), {"model": "random:0.5"}),
        (("--memory", "similarity"), {"memory": "similarity"}),
        (("--ask", "every:2"), {"ask": "every:2"}),
        (("--manage",), {"manage": True}),
        (("--context", "day"), {"context": "day"}),
        (("--prompt", "mine:P"), {"prompt": "mine:P"}),
        (("--strategies", "PullbackEntry,VolBreakout"),
         {"strategies": ["PullbackEntry", "VolBreakout"]}),
        (("--autonomy", "filter"), {"terms.autonomy": "filter"}),
        (("--shorts",), {"terms.buy_only": False}),
        (("--equity", 500), {"terms.equity": 500.0}),
        (("--risk", 0.01), {"terms.risk": 0.01}),
        (("--spread", 0.5), {"terms.spread": 0.5}),
        (("--slippage", 0.1), {"terms.slippage": 0.1}),
        (("--commission", 2), {"terms.commission": 2.0}),
        (("--swap", -3), {"terms.swap": -3.0}),
        (("--intrabar", "nearer_first"), {"terms.intrabar": "nearer_first"}),
        (("--max-gap", 90), {"terms.max_gap_ns": 5_400_000_000_000}),
        (("--seed", 7), {"seed": 7}),
        (("--on-error", "hold"), {"on_error": "hold"}),
        (("--set", "VolBreakout.range_atr=0.4"), {"params": {"VolBreakout": {"range_atr": 0.4}}}),
        (("--set", "memory.k=3"), {"recall": {"k": 3.0}}),
        (("--set", "instrument.lot_step=0.01"), {"instrument.lot_step": 0.01}),
        (("--set", "terms.leverage=50"), {"terms.leverage": 50.0}),
        (("--set", "repeat=4"), {"repeat": 4}),
    ]  # fmt: skip
    ids = set()
    for args, expected in options:
        said = dream(*base, *args)
        assert said.code == 0, said.err
        run_id = json.loads(said.out)["run_id"]
        assert run_id not in ids, args
        ids.add(run_id)
        recorded = made.lines(dream.folder / "runs" / run_id)[0].record["spec"]
        for key, value in expected.items():
            head, _, tail = key.partition(".")
            assert (recorded[head][tail] if tail else recorded[head]) == value
    for harmless in (("--sync", "each"), ("-q",)):
        said = dream(*base, *harmless)
        assert json.loads(said.out)["run_id"] in ids


def test_bars_are_found_by_path_not_by_where_the_user_stands(dream, bars_path, monkeypatch):
    (dream.folder / "gold.parquet").write_bytes(bars_path.read_bytes())
    (dream.folder / "below").mkdir()
    first = dream("run", "--bars", "gold.parquet", "--decisions", 5, "--json")
    monkeypatch.chdir(dream.folder / "below")
    runs = ("--runs", dream.folder / "runs")
    again = dream("run", "--bars", "../gold.parquet", "--decisions", 5, *runs, "--json")
    assert json.loads(again.out)["run_id"] == json.loads(first.out)["run_id"]


def test_settings_in_a_file_below_the_environment_below_flags(dream, bars_path, monkeypatch):
    (dream.folder / "dream.toml").write_text(
        f'[run]\nbars = "{bars_path}"\ndecisions = 11\nseed = 5\nmemory = "none"\n'
    )
    monkeypatch.setenv("DREAM_DECISIONS", "12")
    monkeypatch.setenv("DREAM_SEED", "6")
    said = dream("run", "--seed", 7, "--json")
    assert said.code == 0, said.err
    spec = made.lines(made.only_run(dream.folder / "runs"))[0].record["spec"]
    assert (spec["memory"], spec["decisions"], spec["seed"]) == ("none", 12, 7)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[run]\nnosuch = 1\n", "no setting 'nosuch'"),
        ("[nosuch]\n", "'nosuch' is no table"),
        ("[run\n", "cannot be read"),
        ('[run]\ndecisions = "many"\n', "decisions"),
        ("[run]\nrisk = -1\n", "risk must be from 1e-06 to 1"),
    ],
)
def test_a_settings_file_that_is_wrong(dream, bars_path, text, word):
    (dream.folder / "dream.toml").write_text(text)
    said = dream("run", "--bars", bars_path)
    assert (said.code, said.out) == (2, "")
    assert word in said.err
    assert "Traceback" not in said.err
    assert not (dream.folder / "runs").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text(tmp_path, bars_path):
    """A folder may be called by bytes that are no UTF-8; it is used, and shown as can be."""
    args = ("run", "--bars", bars_path, "--decisions", 5, "--runs", os.fsdecode(b"r\xff"))
    said = made.dream(*args, cwd=tmp_path, env={"PYTHONIOENCODING": "utf-8:strict"})
    assert (said.returncode, said.stderr) == (0, "")
    assert "Journal  r\\udcff/rules-hybrid" in said.stdout
    made.only_run(tmp_path / os.fsdecode(b"r\xff"))
