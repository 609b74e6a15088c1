"""One number for many runs, to compare the compiled engine with its interpreted self."""

from __future__ import annotations

import hashlib

import numba
import numpy as np

from dream.engine import layout
from tests.engine.driving import drive_scene, rule_run
from tests.gen import rule_scene, scene


def digest() -> str:
    """A hash over every trade, order and equity of 80 asked runs and 4 rule runs, bit by bit."""
    if numba.config.DISABLE_JIT:
        _records_with_attributes()
    found = hashlib.sha256()
    drawn = [rule_scene(seed) for seed in range(40, 44)]
    runs = [rule_run(s.bars, s.setups, s.terms) for s in drawn]
    runs += [drive_scene(scene(seed)) for seed in range(80)]
    assert sum(len(run.trades) for run in runs) > 150
    for run in runs:
        found.update(repr((run.trades, run.orders)).encode())
        found.update(run.equity.tobytes())
    return found.hexdigest()


def _records_with_attributes() -> None:
    """Outside compiled code only numpy.record has its fields as attributes."""
    for name in ("STATE", "EVENT", "CONFIG"):
        setattr(layout, name, np.dtype((np.record, getattr(layout, name))))
