"""The examples of docs/plugging.md are run as they stand, and do what the page says of them."""

from __future__ import annotations

import re

import pytest

from dream.errors import LeakError
from tests.docs.pages import PLUGGING, blocks
from tests.docs.reader import Reader
from tests.runs import made


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    found = Reader(tmp_path_factory.mktemp("plugging"))
    made.dream("bars", "import", "gold.csv", "--clock", "utc", "-o", "gold.parquet",
               cwd=found.folder).check_returncode()  # fmt: skip
    found.follow(blocks(PLUGGING))
    return found


def runs(reader, word):
    return [
        folder
        for folder in (reader.folder / "runs").iterdir()
        if word in (folder / made.JOURNAL).read_text(encoding="ascii")
    ]


def test_every_command_was_typed(reader):
    lines = [line for b in blocks(PLUGGING) if b.language == "sh" for line in b.text.splitlines()]
    assert reader.typed == lines
    assert len(lines) == 5


def test_the_strategy_trades_and_its_parameter_moves_its_stop(reader):
    away = {}
    for folder in runs(reader, "mine:above_yesterday"):
        opened, *_ = made.lines(folder)
        params = opened.record["spec"]["params"].get("mine:above_yesterday", {})
        orders = made.of_kind(folder, "order")
        mine = [o for o in orders if o["strategy"] == "above_yesterday" and o["price"]]
        assert mine
        bought = {o["seq"]: o for o in mine}
        for line in made.of_kind(folder, "decision"):
            if order := bought.get(line["seq"]):
                away.setdefault(params.get("stop_usd"), set()).add(order["stop"])
    assert set(away) == {None, 6.0}


def test_the_decider_and_both_recall_functions_were_used(reader):
    (decider,) = runs(reader, '"model":"careful:decide"')
    assert {line["status"] for line in made.of_kind(decider, "decision")} == {"ok"}
    for name in ("session:newest_of_session", "loud:half_losses"):
        (folder,) = runs(reader, f'"memory":"{name}"')
        recalled = [line["recalled"] for line in made.of_kind(folder, "decision")]
        assert any(recalled), name


def test_a_positional_parameter_and_any_named_one_cannot_be_set(reader):
    (reader.folder / "loose.py").write_text(
        "from mine import above_yesterday\n"
        "def positional(bars, stop_usd=4.0):\n"
        "    return above_yesterday(bars, stop_usd=stop_usd)\n"
        "def any_name(bars, **params):\n"
        "    return above_yesterday(bars, **params)\n",
        encoding="utf-8",
    )
    for name in ("loose:positional", "loose:any_name"):
        done = made.dream(
            "run", "--bars", "gold.parquet", "--strategies", name, "--decisions", 5,
            "--set", f"{name}.stop_usd=6", cwd=reader.folder,
        )  # fmt: skip
        assert done.returncode == 2
        assert f"strategy {name} has no parameter 'stop_usd'" in done.stderr


def test_the_strategy_with_its_day_not_shifted_is_found(reader):
    """What the page promises of the gate: the same rule with today's high is a leak."""
    text = (reader.folder / "mine.py").read_text(encoding="utf-8")
    cheat = text.replace("highs[today - 1]", "highs[today]")
    assert cheat != text
    (reader.folder / "cheat.py").write_text(cheat, encoding="utf-8")
    done = made.dream("run", "--bars", "gold.parquet", "--strategies", "cheat:above_yesterday",
                      cwd=reader.folder)  # fmt: skip
    assert done.returncode == LeakError.exit_code
    assert re.search("above_yesterday sees the future: .* at bar", done.stderr)
