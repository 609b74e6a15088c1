"""Faults that users and attackers found, each as they found it."""

from __future__ import annotations

import numpy as np
import pytest

from dream.bars import synth
from dream.engine.causality import checked_setups
from dream.errors import LeakError
from dream.runs import assemble
from dream.runs.spec import make_spec
from dream.strategies import vol_breakout
from dream.types import MISSING, Setups


def late_cheat(bars):
    """Looks eight bars ahead, but only in the last tenth of the series that it was written for."""
    n = len(bars)
    close = bars.px[:, 3]
    later = np.full(n, MISSING, dtype=np.int32)
    later[:-8] = close[8:]
    live = (later > close) & (np.arange(n) > 36_000)
    none = np.full(n, MISSING, dtype=np.int32)
    return Setups(live.astype(np.int8), close - 500, close + 500, none, {})


def test_a_strategy_that_begins_to_cheat_late_is_found():
    with pytest.raises(LeakError, match=r"bar 3[6-9][0-9][0-9][0-9]"):
        checked_setups({"late": late_cheat}, synth.make(40_000, 4), seed=0)


def test_an_empty_base_url_is_no_wish_for_the_real_endpoint(dream, bars_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0000")
    said = dream("run", "--model", "sonnet", "--bars", bars_path, "--base-url", "")
    assert said.code == 2
    assert "base URL" in said.err


def test_empty_bars_are_no_wish_for_synthetic_ones(dream):
    said = dream("run", "--bars", "")
    assert (said.code, said.out) == (2, "")


def test_an_edited_decider_does_not_go_on_with_another_ones_run(dream, bars_path):
    """Neither a finished run nor an unfinished one may mix two deciders."""
    module = dream.folder / "edited_decider.py"
    module.write_text("def decide(ask, shown):\n    return {'action': 'HOLD'}\n")
    typed = ("run", "--model", "edited_decider:decide", "--bars", bars_path, "--decisions", 5)
    assert dream(*typed, "--json").code == 0
    module.write_text("def decide(ask, shown):\n    return {'action': 'CLOSE'}\n# edited\n")
    import sys  # noqa: PLC0415

    del sys.modules["edited_decider"]
    said = dream(*typed)
    assert said.code == 2
    assert "decider changed" in said.err
    assert "--fresh" in said.err


def test_the_prompt_says_the_numbers_of_a_strategy(bars_path):
    spec = make_spec({"bars": str(bars_path)}, {"VolBreakout.range_atr": "0.4"})
    parts = assemble.assemble(spec)
    said = assemble._description(parts.strategies["VolBreakout"])
    assert "range_atr = 0.4" in said
    assert "break_atr = 0.15" in said
    assert "session_to = 07:00" in said
    assert "window_to = 14:00" in said
    assert "break_atr = 0.15" in assemble._description(vol_breakout)


def test_variables_are_named_after_their_options(dream, bars_path, monkeypatch):
    monkeypatch.setenv("DREAM_FROM", "yesterday")
    said = dream("run", "--bars", bars_path)
    assert said.code == 2
    assert "yesterday" in said.err
    monkeypatch.setenv("DREAM_FROM", "2024-01-01")
    monkeypatch.setenv("DREAM_JSON", "1")
    said = dream("run", "--bars", bars_path, "--decisions", 5)
    assert said.out.startswith('{"run_id"')


@pytest.mark.parametrize("option", ["--strategies", "--memory", "--model"])
def test_a_function_that_leaves_the_program_has_failed(dream, bars_path, option):
    (dream.folder / "leaver.py").write_text("import sys\ndef go(*a, **k):\n    sys.exit(0)\n")
    said = dream("run", "--bars", bars_path, "--decisions", 5, option, "leaver:go")
    assert said.code != 0
    assert "SystemExit" in said.err


def test_an_edited_function_handed_over_is_another_decider(tmp_path, bars_path, monkeypatch):
    import importlib  # noqa: PLC0415
    import sys  # noqa: PLC0415

    from dream.errors import InputError  # noqa: PLC0415
    from dream.runs import api  # noqa: PLC0415

    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "handed_over.py"
    spec = make_spec({"bars": str(bars_path), "decisions": 5})
    options = api.Options(folder=tmp_path / "runs")
    module.write_text("def decide(ask, shown):\n    return {'action': 'HOLD'}\n")
    api.run(spec, decider=importlib.import_module("handed_over").decide, options=options)
    module.write_text("def decide(ask, shown):\n    return {'action': 'CLOSE'}  # edited\n")
    del sys.modules["handed_over"]
    importlib.invalidate_caches()
    with pytest.raises(InputError, match="decider changed"):
        api.run(spec, decider=importlib.import_module("handed_over").decide, options=options)
