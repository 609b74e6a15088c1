"""The Python examples of docs/journal.md run on journals with trades and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs.pages import ROOT, blocks
from tests.runs import made

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "journal.md"


@dataclass(frozen=True)
class Kept:
    """The folder of a run and the trades that its journal has."""

    folder: Path
    trades: list[dict[str, Any]]


@pytest.fixture(scope="module", params=["rules", "never"])
def kept(request, bars_path, tmp_path_factory):
    spec = made.spec(bars_path, model=request.param, memory="none", decisions=2_000)
    folder = tmp_path_factory.mktemp(request.param)
    made.run(spec, folder)
    run = made.only_run(folder)
    trades = made.of_kind(run, "trade")
    assert bool(trades) == (request.param == "rules")
    return Kept(run, trades)


def example(word):
    (block,) = (b for b in blocks(PAGE) if b.language == "python" and word in b.text)
    return block.text


def test_polars_reads_the_trades_and_the_absence_of_any(kept, monkeypatch):
    monkeypatch.chdir(kept.folder)
    names: dict[str, Any] = {}
    exec(example("import polars"), names)
    fields = ("seq", "strategy", "pnl", "r")
    assert names["trades"].columns == list(fields)
    assert names["trades"].rows() == [tuple(t[name] for name in fields) for t in kept.trades]


def test_dream_reads_them_too(kept, tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "RUN").symlink_to(kept.folder)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example("read_records"), names)
    assert [trade.pnl for trade in names["trades"]] == [t["pnl"] for t in kept.trades]


def test_the_standard_library_checks_the_chain(kept, monkeypatch):
    monkeypatch.chdir(kept.folder)
    exec(example("hashlib"), {})
