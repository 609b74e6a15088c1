"""The summary of a finished run is shown as it was written, or derived again from the journal."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from tests.cli.typed import dream
from tests.runs import made

__all__ = ["dream"]


def edited(name, value):
    """Another value for a field, as an editor leaves it: nothing else is touched."""
    return lambda raw: re.sub(rb'("%b": )[^,\n]+' % name, rb"\g<1>" + value, raw)


def formatted(raw):
    return json.dumps(json.loads(raw), indent=2).encode()


def without(name):
    def edit(raw):
        data = json.loads(raw)
        del data[name]
        return json.dumps(data, indent=1).encode()

    return edit


WRONG = {
    "a rich result": edited(b"final_equity", b"1e9"),
    "not a number": edited(b"final_equity", b"NaN"),
    "a word": edited(b"net_pnl", b'"much"'),
    "deep nesting": edited(b"terms", b"[" * 100_000),
    "deep nesting alone": lambda _: b"[" * 1_000_000,
    "a field missing": without("wins"),
    "the check missing": without("check"),
    "another layout": formatted,
    "a flipped bit": lambda raw: raw[:900] + bytes([raw[900] ^ 1]) + raw[901:],
    "cut": lambda raw: raw[:-1],
    "added to": lambda raw: raw + b"\n",
    "of an earlier version": lambda raw: b"{" + raw.partition(b",")[2],
    "no end": lambda raw: raw + b" " * 20_000_000,
}


@pytest.fixture(scope="module")
def finished(bars_path, tmp_path_factory):
    place = tmp_path_factory.mktemp("finished")
    return made.run(made.spec(bars_path, model="random:0.3"), place)


@pytest.fixture
def again(finished, bars_path, tmp_path):
    """A copy of the run's folder, and the call that asks for it again."""
    folder = shutil.copytree(finished.folder, tmp_path / "runs" / finished.id)
    spec = made.spec(bars_path, model="random:0.3")
    return folder / "summary.json", lambda: made.run(spec, tmp_path / "runs")


def same(run, first):
    """Whether all is as it was first, but for where it lies and how long it took."""
    own = {"wall_s": 0, "journal": str(run.folder / made.JOURNAL)}
    return run.already_done and {**run.summary, "wall_s": 0} == first.summary | own


@pytest.mark.parametrize("edit", WRONG.values(), ids=WRONG)
def test_nothing_edited_or_damaged_is_believed(again, finished, edit):
    path, ask = again
    raw = path.read_bytes()
    wrong = edit(raw)
    assert wrong != raw
    path.write_bytes(wrong)
    assert same(ask(), finished)
    assert path.read_bytes() != wrong
    stamp = path.stat().st_mtime_ns
    assert same(ask(), finished)
    assert path.stat().st_mtime_ns == stamp, "the one that was written is believed"


def test_a_good_one_is_read_and_tells_where_the_run_is_now(again, finished):
    path, ask = again
    stamp = path.stat().st_mtime_ns
    run = ask()
    assert run.summary["wall_s"] == finished.summary["wall_s"]
    assert run.summary["journal"] == str(path.with_name(made.JOURNAL))
    assert path.stat().st_mtime_ns == stamp


def test_that_of_another_run_is_not_believed(again, finished, bars_path, tmp_path):
    path, ask = again
    other = made.run(made.spec(bars_path, model="random:0.4"), tmp_path / "other")
    shutil.copy(other.folder / "summary.json", path)
    assert same(ask(), finished)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: p.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_waited_for(again, finished, make):
    path, ask = again
    path.unlink()
    make(path)
    run = ask()
    assert same(run, finished)
    if not path.is_file():
        (note,) = run.notes
        assert "could not be kept" in note
        assert "the run is finished and this is its result" in note
        assert "go on" not in note, "there is nothing to go on with"


def test_the_command_line_prints_the_derived_figures(dream, bars_path):
    args = ("run", "--bars", bars_path, "--decisions", 30, "--model", "random:0.3")
    first = dream(*args)
    path = made.only_run(dream.folder / "runs") / "summary.json"
    path.write_bytes(edited(b"final_equity", b"1000000000.0")(path.read_bytes()))
    said = dream(*args)
    assert (said.code, said.err) == (0, "")
    assert "1,000,000,000" not in said.out
    again = said.out.partition("\n\n")[2]
    # What a derivation takes is its own.
    assert [re.sub(r"[\d.]+ s$", "", line) for line in again.splitlines()] == [
        re.sub(r"[\d.]+ s$", "", line) for line in first.out.splitlines()
    ]
