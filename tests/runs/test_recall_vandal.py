"""A recall function that paints over everything it is handed leaves the run's journal as it was."""

from __future__ import annotations

from dataclasses import fields

from dream.memory.recall import hybrid
from dream.types import Episode, Features, RecallQuery
from tests.runs import made

ARM = hybrid()


def painted(thing, kind, keep=()):
    for field in fields(kind):
        if field.name not in keep:
            object.__setattr__(thing, field.name, None)


def test_a_run_with_a_vandal_is_the_run_without_him(bars_path, tmp_path):
    vandal = False

    def recall(query, past):
        found = ARM(query, past)
        if vandal:
            for row in range(len(past)):
                episode = past[row]
                painted(episode.features, Features)
                painted(episode, Episode)
            painted(query.features, Features)
            painted(query, RecallQuery)
            for item in kept:
                item.components.clear()
                object.__setattr__(item, "score", 1e9)
            kept[:] = found
        return found

    kept = []
    spec = made.spec(bars_path, decisions=2_000, memory="hybrid")
    clean = made.run(spec, tmp_path / "clean", memory_recall_fn=recall)
    vandal = True
    painted_over = made.run(spec, tmp_path / "painted", memory_recall_fn=recall)
    assert kept, "something was recalled and could be painted over"
    # what a function closes over is part of the first line
    assert made.bodies(painted_over.folder)[1:] == made.bodies(clean.folder)[1:]
