"""`dream grid` and `--repeats`: many runs in one process, as a whole."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from dream.runs import api
from dream.runs.spending import spent_usd
from dream.runs.stores import JOURNAL
from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made
from tests.runs.asked import KEY, PRICE_USD, waits

__all__ = ["dream", "waits"]

GRID = """
[run]
bars = "{bars}"
decisions = 6
base_url = "{url}"

[grid]
model = ["sonnet", "haiku"]
memory = ["none", "hybrid"]
windows = [{{}}, {{ from = "2024-01-10" }}]
repeats = 2
"""


@pytest.fixture
def key(monkeypatch, waits):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def folders(dream):
    return sorted((dream.folder / "runs").iterdir())


def written(dream, bars_path, url="http://127.0.0.1:9", text=GRID):
    (dream.folder / "g.toml").write_text(text.format(bars=bars_path, url=url))
    return "g.toml"


def test_every_combination_once_and_nothing_twice(dream, bars_path, key):
    with MessagesServer() as server:
        file = written(dream, bars_path, server.url)
        said = dream("grid", file, "--json")
        assert said.code == 0, said.err
        assert len(server.seen) == 16 * 6
        found = json.loads(said.out)
        again = dream("grid", file)
        assert again.code == 0
        assert len(server.seen) == 16 * 6, "a finished grid asks nothing"
    assert again.err.count("finished before") == 16
    assert found["unfinished"] == []
    names = {run["name"] for run in found["runs"]}
    assert len(names) == 16
    assert {"model=sonnet", "memory=none", "from=2024-01-10", "repeat=1"} <= set(
        " ".join(names).split()
    )
    specs = [made.lines(folder)[0].record["spec"] for folder in folders(dream)]
    told = {(s["model"], s["memory"], s["from"], s["repeat"]) for s in specs}
    assert told == {
        (model, memory, start, repeat)
        for model in ("claude-sonnet-5-5", "claude-haiku-5-5")
        for memory in ("none", "hybrid")
        for start in (None, "2024-01-10")
        for repeat in (0, 1)
    }
    assert found["spent_usd"] == pytest.approx(sum(spent_usd(f) for f in folders(dream)))
    for folder in folders(dream)[:3]:
        assert api.replay(folder).complete


def test_beside_each_other_is_as_one_by_one(dream, bars_path, key):
    with MessagesServer() as server:
        base = ("run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url)
        said = dream(*base, "--decisions", 5, "--repeats", 3, "--json")
        beside = [run["summary"]["digest"] for run in json.loads(said.out)["runs"]]
        alone = [
            json.loads(
                dream(
                    *base, "--decisions", 5, "--set", f"repeat={n}", "--json", "--runs", "alone"
                ).out
            )["digest"]
            for n in range(3)
        ]
    assert beside == alone
    assert len({f.name for f in folders(dream)}) == 3


@pytest.mark.parametrize("kind", ["429:1", "529"])
def test_a_busy_server_is_asked_less(dream, bars_path, key, kind):
    """Every third request is refused; all runs end all the same."""
    plan = [step for _ in range(40) for step in ("ok", "ok", kind)]
    with MessagesServer(plan) as server:
        said = dream(
            "run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url,
            "--decisions", 5, "--repeats", 4, "--json",
        )  # fmt: skip
    assert said.code == 0, said.err
    assert [run["summary"]["decisions"] for run in json.loads(said.out)["runs"]] == [5] * 4


def test_one_budget_for_all_also_when_it_goes_on(dream, bars_path, key):
    with MessagesServer() as server:
        base = (
            "run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url,
            "--decisions", 30, "--repeats", 4,
        )  # fmt: skip
        said = dream(*base, "--budget", 0.15)
        first = len(server.seen)
        assert said.code == 5
        assert 0.10 < first * PRICE_USD <= 0.15
        assert "of 0.15 USD are spent" in said.err
        assert dream(*base, "--budget", 0.15).code == 5
        assert len(server.seen) <= first + 2, "what was spent before counts"
        assert dream(*base).code == 0
        assert len(server.seen) == 120
    assert sum(spent_usd(f) for f in folders(dream)) == pytest.approx(120 * PRICE_USD)


def test_finished_runs_count_from_the_first_call_on(dream, bars_path, key):
    """Under an alias too: the folder is named by the exact id."""
    with MessagesServer() as server:
        base = ("run", "--model", "sonnet", "--bars", bars_path, "--base-url", server.url)
        assert dream(*base, "--decisions", 40).code == 0
        spent = 40 * PRICE_USD
        said = dream(*base, "--decisions", 40, "--repeats", 2, "--budget", spent + 0.06)
        assert said.code == 5
        assert spent < sum(spent_usd(f) for f in folders(dream)) <= spent + 0.06
        asked = len(server.seen)
        assert dream(*base, "--decisions", 40, "--repeats", 2, "--budget", spent).code == 5
        assert len(server.seen) == asked


def test_the_same_model_under_two_names_is_refused(dream, bars_path):
    text = '[run]\nbars = "{bars}"\n[grid]\nmodel = ["sonnet", "claude-sonnet-5-5"]\n'
    said = dream("grid", written(dream, bars_path, text=text))
    assert said.code == 2
    assert "are the same run" in said.err


def test_a_rehearsal_tells_the_runs_apart(dream, bars_path, key):
    with MessagesServer() as server:
        url = f"{server.url}/run/{{run}}"
        said = dream(
            "run", "--model", "sonnet", "--bars", bars_path, "--base-url", url,
            "--decisions", 3, "--repeats", 2,
        )  # fmt: skip
        assert said.code == 0, said.err
        paths = {seen.path for seen in server.seen}
    assert paths == {f"/run/{folder.name}/v1/messages" for folder in folders(dream)}


def test_one_that_fails_does_not_stop_the_others(dream, bars_path):
    text = """
[run]
bars = "{bars}"
decisions = 5
[grid]
memory = ["none", "hybrid"]
windows = [{{}}, {{ from = "2024-03-25" }}]
"""
    said = dream("grid", written(dream, bars_path, text=text), "--json")
    assert said.code == 2
    found = json.loads(said.out)
    assert [run["name"] for run in found["runs"]] == ["memory=none", "memory=hybrid"]
    assert len(found["unfinished"]) == 2
    assert all("too few" in run["why"] for run in found["unfinished"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid]\nmodels = ['a']", "[grid] has no setting 'models'"),
        ("[grid]\nmodel = 'sonnet'", "[grid] model: expected a list of values, found 'sonnet'"),
        ("[grid]\nmodel = []", "[grid] model: expected a list of values"),
        ("[grid]\nmodel = [3]", "[grid] model: expected a text in quotes, found 3"),
        ("[grid]\nrepeats = 0", "[grid] repeats: expected a whole number from 1"),
        ("[grid]\nrepeats = true", "[grid] repeats: expected a whole number from 1"),
        ("[grid]\nruns = ['a']", "[grid] runs: it is one for the whole grid"),
        ("[grid]\nbudget = [1.0]", "[grid] budget: it is one for the whole grid"),
        ("[grid]\nfresh = [true]", "[grid] fresh cannot be set here"),
        ("[grid]\nwindows = [1]", "[grid] windows: expected tables with from and to"),
        ("[grid]\nwindows = [{ until = '2024' }]", "[grid] windows: expected tables"),
        ("[grid]\nseed = [1, 1]", "are the same run; leave one out"),
        ("[grid]\nmemory = ['no']", "the only run: unknown recall function 'no'"),
        (
            f"[grid]\nrepeats = 200\nseed = {list(range(60))}",
            "12,000 combinations",
        ),
        ("[run]\nbudget = 0.03", "[run] budget: it is one for the whole grid"),
        ("[run]\nruns = 'x'", "[run] runs: it is one for the whole grid"),
        ("[runs]\nmodel = 'rules'", "'runs' is no table of it; there are: [run], [grid]"),
        ("[run", "cannot be read"),
    ],
)
def test_bad_files(dream, bars_path, text, message):
    head = "" if text.startswith("[run") else f'[run]\nbars = "{bars_path}"\ndecisions = 3\n'
    (dream.folder / "g.toml").write_text(head + text)
    said = dream("grid", "g.toml")
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (dream.folder / "runs").exists()


def test_a_template_that_ends_the_world_ends_its_run_alone(dream, bars_path, key):
    (dream.folder / "bad.py").write_text(
        "from dream.llm.prompt import Template\n"
        "def user(ask, shown, settings):\n    raise KeyboardInterrupt\n"
        "T = Template(lambda settings: 'x', user)\n"
    )
    text = '[run]\nbars = "{bars}"\ndecisions = 3\nmodel = "sonnet"\nbase_url = "{url}"\n'
    text += '[grid]\nprompt = ["bad:T", "v1"]\n'
    with MessagesServer() as server:
        said = dream("grid", written(dream, bars_path, server.url, text), "--json")
    assert said.code == 2
    found = json.loads(said.out)
    assert [run["name"] for run in found["runs"]] == ["prompt=v1"]
    assert "KeyboardInterrupt" in found["unfinished"][0]["why"]


def test_no_file(dream):
    said = dream("grid", "nothing.toml")
    assert said.code == 2
    assert "nothing.toml" in said.err


def test_repeats_number_themselves(dream, bars_path):
    said = dream("run", "--bars", bars_path, "--repeats", 2, "--set", "repeat=1")
    assert said.code == 2
    assert "--repeats numbers the runs itself" in said.err


def test_ctrl_c_stops_all_and_the_same_command_goes_on(tmp_path, bars_path):
    with MessagesServer(["timeout:0.05"]) as server:
        environment = made.environment(ANTHROPIC_API_KEY=KEY)
        command = [
            sys.executable, "-m", "dream", "run", "--model", "sonnet", "--bars", str(bars_path),
            "--base-url", server.url, "--decisions", "25", "--repeats", "3",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        )
        while len(server.seen) < 12:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert "nothing is lost" in err
        assert err.count("can be gone on with") == 3
        asked = len(server.seen)
        assert asked < 70
        answered = sum(
            line.kind == "reply"
            for folder in (tmp_path / "runs").iterdir()
            for line in made.lines(folder)
        )
        assert answered == asked, "every answer that was paid for is kept"
        done = subprocess.run(
            command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert len(server.seen) == 75
    assert all((folder / JOURNAL).exists() for folder in (tmp_path / "runs").iterdir())
