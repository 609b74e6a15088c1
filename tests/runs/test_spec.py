"""A spec: every setting is checked, names its run, and comes back from a journal as it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import SpecInvalid
from dream.llm import prompt
from dream.runs.spec import DEFAULT_STRATEGIES, RunSpec, make_spec
from dream.types import Instrument, Terms

BASE = {"bars": "gold.parquet"}


def test_what_a_bare_spec_says():
    spec = make_spec(BASE)
    assert (spec.model, spec.memory, spec.ask, spec.decisions) == ("rules", "hybrid", "bar", 2000)
    assert spec.strategies == ("VolBreakout", "IntradayMomentum", "PullbackEntry")
    assert (spec.terms, spec.instrument) == (Terms(), Instrument())


CHANGES = {
    "bars": "other.parquet", "from": "2024-01-01", "to": "2025-01-01", "model": "never",
    "decisions": 7, "strategies": ["VolBreakout"], "params": {"VolBreakout": {"range_atr": 0.4}},
    "ask": "setup", "manage": True, "context": "day", "memory": "none", "recall": {"k": 3},
    "prompt": "v2", "on_error": "hold", "seed": 1, "repeat": 1,
    "profile": {"id": "a", "answer": "text"},
    "instrument": {"lot_step": 0.01}, "terms": {"spread": 0.5},
}  # fmt: skip


def test_every_setting_is_part_of_the_name(monkeypatch):
    """A field that is added must be added here: it must make another run."""
    monkeypatch.setitem(prompt.TEMPLATES, "v2", prompt.TEMPLATES["v1"])
    fields = {field.alias or name for name, field in RunSpec.model_fields.items()}
    assert fields == set(CHANGES)
    specs = [make_spec(BASE), *(make_spec(BASE | {key: v}) for key, v in CHANGES.items())]
    assert len({spec.run_id() for spec in specs}) == len(specs)


@pytest.mark.parametrize("part", ["terms", "instrument"])
def test_every_part_of_a_group_is_part_of_the_name(part):
    """One step away from the default, in whatever type it has."""
    ids = {make_spec(BASE).run_id()}
    other = {"symbol": "XAGUSD", "intrabar": "target_first", "buy_only": False,
             "autonomy": "filter", "max_gap_ns": 5, "tick": 0.001, "lot_step": 0.01}  # fmt: skip
    fields = dataclasses.fields({"terms": Terms, "instrument": Instrument}[part])
    for field in fields:
        value = other.get(field.name, 0.87)
        ids.add(make_spec(BASE, {f"{part}.{field.name}": str(value)}).run_id())
    assert len(ids) == len(fields) + 1


def test_the_same_settings_have_the_same_name_however_they_were_given():
    one = make_spec(
        BASE | {"terms": {"risk": 0.01}, "seed": 3, "params": {"VolBreakout": {"x": 1}}}
    )
    other = make_spec(
        {"seed": "3"} | BASE, {"VolBreakout.x": "1.0", "terms.risk": "0.010"}
    )  # fmt: skip
    assert one == other
    assert one.run_id() == other.run_id()
    assert make_spec(BASE | {"terms": {"swap": -0.0}}).terms.swap == 0.0


def test_the_name_does_not_change_between_versions():
    """A run is found again by its name: the hash of a given spec is fixed."""
    spec = make_spec(BASE)
    text = json.dumps(spec.as_json(), sort_keys=True, separators=(",", ":"))
    assert text == (
        '{"ask":"bar","bars":"gold.parquet","decisions":2000,"from":null,"instrument":'
        '{"contract":100.0,"lot_max":100.0,"lot_min":0.001,"lot_step":0.001,"symbol":"XAUUSD",'
        '"tick":0.01},"manage":false,"memory":"hybrid","model":"rules","on_error":"stop",'
        '"params":{},"prompt":"v1","recall":{},"repeat":0,"seed":0,"strategies":["VolBreakout",'
        '"IntradayMomentum","PullbackEntry"],"terms":{"autonomy":"free","buy_only":true,'
        '"commission":0.0,"equity":10000.0,"intrabar":"stop_first","leverage":20.0,'
        '"max_gap_ns":null,"risk":0.0025,"slippage":0.0,"spread":0.3,"swap":0.0},"to":null}'
    )
    assert spec.run_id() == f"rules-hybrid-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def finite(low, high):
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@given(
    st.fixed_dictionaries(
        {"bars": st.text(min_size=1)},
        optional={
            "model": st.text(),
            "memory": st.text(),
            "decisions": st.integers(1, 10**12),
            "seed": st.integers(0, 10**30),
            "params": st.dictionaries(
                st.sampled_from(DEFAULT_STRATEGIES),
                st.dictionaries(st.text(), finite(-1e300, 1e300), max_size=2),
                max_size=2,
            ),
            "recall": st.dictionaries(st.text(), finite(-1e9, 1e9), max_size=2),
            "terms": st.fixed_dictionaries(
                {"risk": finite(1e-6, 1.0), "swap": finite(-1e6, 1e6)},
                optional={"max_gap_ns": st.none() | st.integers(0, 3 * 10**17)},
            ),
        },
    )
)
def test_a_spec_comes_back_from_json(settings):
    spec = make_spec(settings)
    text = json.dumps(spec.as_json(), allow_nan=False)
    again = RunSpec.model_validate(json.loads(text))
    assert again == spec
    assert again.run_id() == spec.run_id()
    assert re.fullmatch(r"[A-Za-z0-9._-]+-[0-9a-f]{12}", spec.run_id())
    assert len(spec.run_id()) < 100


@pytest.mark.parametrize(
    ("model", "memory", "prefix"),
    [
        ("scripted:/a/b/my script.jsonl", "none", "my_script.jsonl-none-"),
        ("my.module:decide", "pkg.mod:recall", "my.module_decide-pkg.mod_recall-"),
        ("../..", "..", "x-x-"),
        ("a/../..\x00\n", "\u202e", "x-x-"),
        ("x" * 400, "none", "x" * 32 + "-none-"),
    ],
)
def test_a_name_is_safe_as_a_folder(model, memory, prefix):
    run_id = make_spec(BASE | {"model": model, "memory": memory}).run_id()
    assert run_id.startswith(prefix)
    assert re.fullmatch(r"[0-9a-f]{12}", run_id.removeprefix(prefix))


def test_parameters_of_a_strategy_in_a_package():
    names = ["my.package.mine:fast", "VolBreakout"]
    spec = make_spec(BASE | {"strategies": names}, {"my.package.mine:fast.half": "3"})
    assert spec.params == {"my.package.mine:fast": {"half": 3.0}}
    with pytest.raises(SpecInvalid, match=r"PullbackEntry\.range_atr: there is no such setting"):
        make_spec(BASE | {"strategies": names}, {"PullbackEntry.range_atr": "1"})


@pytest.mark.parametrize(
    "key",
    ["", ".", "terms", "terms.", "instrument.", "memory.", "params", "strategies", "recall",
     "VolBreakout", "VolBreakout..x.", "bars.x", "model_config", "from_"],
)  # fmt: skip
def test_a_key_that_is_none(key):
    if key == "VolBreakout..x.":
        spec = make_spec(BASE, {key: "1"})
        assert spec.params == {"VolBreakout": {".x.": 1.0}}, "refused when strategies are bound"
        return
    with pytest.raises(SpecInvalid, match="there is no such setting") as caught:
        make_spec(BASE, {key: "1"})
    known = str(caught.value).partition("known here: ")[2].partition(". Also")[0].split(", ")
    for name in known:
        if name and "<" not in name and "." not in name:
            words = {"ask": "bar", "on_error": "stop", "prompt": "v1", "context": "day"}
            make_spec(BASE, {name: words.get(name, "1")})


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "", "one", "0x10", "1,5"])
@pytest.mark.parametrize("key", ["terms.risk", "terms.swap", "instrument.tick", "memory.k",
                                 "VolBreakout.range_atr", "seed", "decisions"])  # fmt: skip
def test_a_number_that_is_none(key, value):
    with pytest.raises(SpecInvalid, match=re.escape(key.split(".")[-1])):
        make_spec(BASE, {key: value})


def test_a_spec_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        make_spec(BASE).seed = 1
