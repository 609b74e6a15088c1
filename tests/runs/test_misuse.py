"""What a caller of the library gets wrong is said in words, before a folder is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

import dream
from dream.errors import InputError, SpecInvalid
from tests.runs import made

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def spec(tmp_path: Path) -> dream.RunSpec:
    return made.spec(made.series(tmp_path / "bars.parquet"), decisions=5)


def refused(spec: Any, tmp_path: Path, **options: Any) -> str:
    folder = tmp_path / "runs"
    with pytest.raises(InputError) as problem:
        dream.run(spec, options=dream.Options(folder, **options))
    assert not folder.exists()
    return str(problem.value)


def test_a_dict_is_no_spec(tmp_path: Path) -> None:
    said = refused({"bars": "x.parquet"}, tmp_path)
    assert said == "spec: expected what make_spec returns, found dict"


def test_sync_is_each_or_batch(spec: dream.RunSpec, tmp_path: Path) -> None:
    said = refused(spec, tmp_path, sync=cast("Any", "none"))
    assert said == "sync: expected each or batch, found 'none'"


def test_a_model_needs_a_way_to_it(spec: dream.RunSpec, tmp_path: Path) -> None:
    said = refused(spec.model_copy(update={"model": "sonnet"}), tmp_path)
    assert "nothing says how it is reached; give Options(access=" in said


def test_folders_may_be_texts(spec: dream.RunSpec, tmp_path: Path) -> None:
    run = dream.run(spec, options=dream.Options(cast("Path", str(tmp_path / "runs"))))
    replayed = dream.replay(cast("Path", str(run.folder)))
    assert replayed.decisions == 5
    assert run.folder.parent == tmp_path / "runs"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("x", "options: expected dream.Options, found str"),
        ({}, "options: expected dream.Options, found dict"),
        (dream.Options(cast("Any", None)), "options.folder: expected a path, found NoneType"),
        (dream.Options(cast("Any", "a\0")), "options.folder: expected a path, found 'a\\x00'"),
        (dream.Options(cast("Any", b"a")), "options.folder: expected a path, found bytes"),
        (
            dream.Options(watch=cast("Any", None)),
            "options.watch: expected dream.runs.drive.Watch, found NoneType",
        ),
        (
            dream.Options(access=cast("Any", 5)),
            "options.access: expected dream.runs.access.Access, found int",
        ),
    ],
)
def test_options_of_another_kind(spec: dream.RunSpec, options: Any, told: str) -> None:
    with pytest.raises(InputError) as problem:
        dream.run(spec, options=options)
    assert str(problem.value) == told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"folder": None}, "folder: expected a path, found NoneType"),
        ({"folder": 5}, "folder: expected a path, found int"),
        ({"bars": 5}, "bars: expected a path, found int"),
        ({"watch": 5}, "watch: expected dream.runs.drive.Watch, found int"),
        ({"decider": dict}, "decider dict is a class: hand over an object of it, dict(...)"),
        ({"memory_recall_fn": []}, "memory_recall_fn: expected a function, found list"),
    ],
)
def test_a_replay_of_another_kind(
    spec: dream.RunSpec, tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    run = dream.run(spec, options=dream.Options(tmp_path / "runs"))
    with pytest.raises(InputError) as problem:
        dream.replay(**{"folder": run.folder, **given})
    assert str(problem.value) == told


@pytest.mark.parametrize(
    ("settings", "extra", "told"),
    [
        (None, None, "settings: expected a mapping of names, found NoneType"),
        ([1], None, "settings: expected a mapping of names, found list"),
        ({3: 1}, None, "settings: expected texts as names, found 3"),
        ({}, ["a"], "extra: expected a mapping of names, found list"),
        ({}, {3: "3"}, "extra: expected texts as names, found 3"),
        ({"params": [1]}, {"VolBreakout.range_atr": "1"}, "params: expected a mapping of names"),
        ({"params": {"VolBreakout": 1}}, {"VolBreakout.x": "1"}, "params.VolBreakout: expected"),
        ({"terms": [1]}, {"terms.leverage": "5"}, "terms: expected a mapping of names, found list"),
        ({"recall": [1]}, {"memory.k": "5"}, "recall: expected a mapping of names, found list"),
        ({"strategies": None}, {"VolBreakout.range_atr": "1"}, "there is no such setting"),
        ({"strategies": [1, 2]}, {"VolBreakout.range_atr": "1"}, "there is no such setting"),
        (
            {"params": {"VolBreakot": {"range_atr": 0.4}}},
            None,
            "params: 'VolBreakot' is no strategy of this run; there is: VolBreakout, Intraday",
        ),
        (
            {"params": {"VolBreakout": {}}, "strategies": ["PullbackEntry"]},
            None,
            "params: 'VolBreakout' is no strategy of this run; there is: PullbackEntry",
        ),
    ],
)
def test_settings_of_another_kind(settings: Any, extra: Any, told: str) -> None:
    if isinstance(settings, dict):
        settings = {"bars": "x.parquet", **settings}
    with pytest.raises(SpecInvalid) as problem:
        dream.make_spec(settings, extra)
    assert str(problem.value).startswith(told) or told in str(problem.value)


def test_objects_and_dotted_settings_go_together() -> None:
    given = {"bars": "x", "terms": dream.Terms(risk=0.01), "instrument": dream.Instrument()}
    spec = dream.make_spec(given, {"terms.leverage": "5", "instrument.lot_max": "50"})
    assert spec.terms == dream.Terms(risk=0.01, leverage=5.0)
    assert spec.instrument == dream.Instrument(lot_max=50.0)
