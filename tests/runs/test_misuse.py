"""What a caller of the library gets wrong is said in words, before a folder is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

import dream
from dream.errors import InputError
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
