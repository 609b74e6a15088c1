"""What docs/deciders.md says of deciders without a model is what happens."""

from __future__ import annotations

from tests.runs import made


def test_some_entries_of_random_are_refused_after_the_forced_close(bars_path, tmp_path):
    spec = made.spec(bars_path, model="random:1", memory="none", decisions=500)
    summary = made.run(spec, tmp_path).summary
    assert summary["refused"]["expired"] > 0
    assert summary["trades"] > 0
