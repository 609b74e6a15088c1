"""From the options of `dream run`, typed or from a file, to what is run and how it is reached."""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dream.cli.settings import keys_of
from dream.cli.words import bar_file, runs_folder
from dream.errors import InputError, SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.llm.catalog import Own
    from dream.runs.access import Access
    from dream.runs.spec import RunSpec

SYNTHETIC_BARS, SYNTHETIC_SEED = 50_802, 1
LONGEST_CALL_S = 3_600.0
_SYNTHETIC = "<synthetic>"

_OPTIONS = {"terms.buy_only": "--shorts", "terms.max_gap_ns": "--max-gap"}
"""Options that are called otherwise than what they set."""


def spec_of(given: Mapping[str, Any], own: Own) -> RunSpec:
    """The run that options describe, its model under its exact id.

    Args:
        given: every parameter of the command `dream run`, by its name.
        own: models of dream.toml.

    Raises:
        InputError: one of them is wrong.
    """
    from dream.runs.handed import named
    from dream.runs.spec import gap_ns, make_spec

    gap = given["max_gap"]
    terms = {
        "equity": given["equity"], "risk": given["risk"], "spread": given["spread"],
        "slippage": given["slippage"], "commission": given["commission"], "swap": given["swap"],
        "intrabar": given["intrabar"], "buy_only": not given["shorts"],
        "autonomy": given["autonomy"], "max_gap_ns": None if gap is None else gap_ns(gap),
    }  # fmt: skip
    settings: dict[str, Any] = {
        "model": given["model"], "decisions": given["decisions"], "from": given["from_"],
        "to": given["to"], "memory": given["memory"], "ask": given["ask"],
        "manage": given["manage"], "seed": given["seed"], "on_error": given["on_error"],
        "context": given["context"], "prompt": given["prompt"], "terms": terms,
        "bars": _SYNTHETIC if given["bars"] is None else given["bars"],
        "strategies": [name.strip() for name in given["strategies"].split(",")],
    }  # fmt: skip
    optioned = {*settings, *(f"terms.{name}" for name in terms)} - {"terms"}
    spec = make_spec(settings, _pairs(given["set_"] or [], optioned))
    runs_folder(given["runs"])
    if spec.bars == _SYNTHETIC:
        spec = spec.model_copy(update={"bars": str(_synthetic_bars())})
    else:
        bar_file(Path(spec.bars).absolute())  # the folder's name is part of it
    return named(spec, None, None, own)


def access_of(given: Mapping[str, Any], own: Own) -> Access:
    """How a model is reached, by the same options; nobody hears of anything yet.

    Raises:
        SpecInvalid: the budget or the timeout cannot be.
    """
    from dream.runs.access import Access
    from dream.runs.budget import Budget

    timeout = given["timeout"]
    if not 0 < timeout <= LONGEST_CALL_S:
        raise SpecInvalid(
            f"--timeout takes seconds above 0, at most {LONGEST_CALL_S:g}, found {timeout:g}"
        )
    return Access(
        keys_of(own, os.environ),
        given["base_url"],
        time.sleep,
        time.time_ns,
        budget=None if given["budget"] is None else Budget(given["budget"]),
        limit_s=timeout,
        own=own,
        local_threads=given["local_threads"],
    )


def import_from_here() -> None:
    """Let `module:function` name modules of the working folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _pairs(texts: list[str], own: set[str]) -> dict[str, str]:
    """The pairs of --set, DREAM_SET or dream.toml; none of what an option of its own sets.

    Such a pair would win over the option, be it typed or not, and nothing would say so.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SpecInvalid(f"--set takes key=value, found {text!r}")
        if key in own:
            option = "--" + key.removeprefix("terms.").replace("_", "-")
            raise SpecInvalid(f"--set {key}: use {_OPTIONS.get(key, option)}")
        if key in pairs:
            raise SpecInvalid(f"--set {key} is given twice")
        pairs[key] = value
    return pairs


@cache
def _synthetic_bars() -> Path:
    """The bars of a bare run, made on its first time and kept in the user's cache."""
    from platformdirs import user_cache_path

    from dream.bars import store, synth

    name = f"synthetic-{synth.VERSION}-{SYNTHETIC_BARS}-{SYNTHETIC_SEED}.parquet"
    path = user_cache_path("dream") / name
    try:
        store.read(path)
    except InputError:  # not there yet, damaged, or of another layout: it can be made again
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make {path.parent} for the synthetic bars: {error.strerror}; name a "
                f"folder that can be written in XDG_CACHE_HOME, or give bars with --bars"
            ) from None
        made = synth.make(SYNTHETIC_BARS, SYNTHETIC_SEED)
        store.write(made, path, source_clock="utc", force=True)
    return path
