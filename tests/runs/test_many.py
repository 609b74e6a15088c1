"""Jobs beside each other: each ends by itself, and none begins once all are to stop."""

from __future__ import annotations

from dream.runs.api import Options
from dream.runs.drive import Watch
from dream.runs.many import Job, run_all, threads
from tests.runs import made


def test_none_begins_once_all_are_to_stop(bars_path, tmp_path):
    told = []

    def job(n):
        watch = Watch(lambda tally, _ask: told.append(tally.decisions), lambda: len(told) >= 3)
        spec = made.spec(bars_path, model="never", memory="none", decisions=2, seed=n)
        return Job(str(n), spec, Options(tmp_path, watch=watch))

    outcomes = {o.job.name: o for o in run_all([job(n) for n in range(6)], threads(1))}
    assert len(outcomes) == 6
    assert outcomes["0"].run is not None
    assert all(outcomes[str(n)].stopped for n in range(1, 6))
    assert len(told) == 3
    assert len(list(tmp_path.iterdir())) == 2, "the others have no folder"
