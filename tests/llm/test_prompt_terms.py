"""Nothing in a prompt is false under other terms, instruments or bars than the usual ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dream.llm.prompt import system_prompt, user_prompt
from dream.llm.prompt_settings import PromptSettings
from dream.types import Instrument, Terms
from tests.llm import cases


def system(instrument: Instrument | None = None, **terms: Any) -> str:
    return system_prompt(PromptSettings({}, Terms(**terms), instrument or Instrument()))


def spreads(spread: float, floor: float, instrument: Instrument | None = None) -> set[str]:
    """What the spread column shows of 20 bars with one spread."""
    window = cases.flat().window.copy()
    window[:, 5] = spread
    settings = PromptSettings({}, Terms(spread=floor), instrument or Instrument())
    text = user_prompt(replace(cases.flat(), window=window), (), settings)
    table = text.split("newest last\n")[2].split("\n\n")[0].split("\n")
    assert table[0].endswith("| volume | spread")
    assert len(table) == 21
    return {line.rpartition(" | ")[2] for line in table[1:]}


@pytest.mark.parametrize(
    ("spread", "floor", "shown"),
    [
        (0.0, 0.30, "0.30"),  # unknown in the data, charged at the floor
        (0.12, 0.30, "0.30"),
        (0.45, 0.30, "0.45"),
        (0.0, 0.0, "0.00"),
        (0.12, 0.0, "0.12"),
        (0.0, 0.305, "0.31"),  # the engine counts whole ticks, halves up
    ],
)
def test_the_spread_column_shows_what_a_bar_charges(
    spread: float, floor: float, shown: str
) -> None:
    assert spreads(spread, floor) == {shown}


def test_the_floor_in_the_rules_is_the_one_that_is_charged() -> None:
    assert "but at least 0.31. A long" in system(spread=0.305)
    assert "but at least 0.00. A long" in system(spread=0.0)
    silver = Instrument(symbol="XAGUSD", tick=0.001)
    assert "but at least 0.305. A long" in system(silver, spread=0.305)
    assert spreads(0.0, 0.305, silver) == {"0.305"}


@pytest.mark.parametrize(
    ("terms", "said", "unsaid"),
    [
        ({}, "Only long positions are allowed. BUY opens one", "SELL|short"),
        ({"buy_only": False}, "BUY opens a long position and SELL a short one", "Only long"),
        ({"buy_only": False}, "action: BUY, SELL, HOLD or CLOSE", "zzz"),
        ({"buy_only": False}, "watched at the ask", "zzz"),
        ({"autonomy": "filter"}, "only under a strategy that is live on the board", "any question"),
        ({"autonomy": "free"}, "You may enter at any question", "only under a strategy"),
        ({"max_gap_ns": 0}, "more than 0 minutes after this close", "zzz"),
        ({"max_gap_ns": 20_000_000_000}, "more than 0.33333333 minutes after", "zzz"),
        ({"max_gap_ns": 5_400_000_000_000}, "more than 90 minutes after", " h later"),
        ({}, "already reached its stop or target.\n", "minutes after this close"),
        ({"leverage": 0.5}, "at a leverage of 0.5.", "leverage of 0."),
        ({"leverage": 2.5}, "at a leverage of 2.5.", "zzz"),
        ({"risk": 0.00001}, "risks 0.001 % of the cash", "zzz"),
        ({"risk": 1.0}, "risks 100 % of the cash", "zzz"),
        ({"commission": 0.005}, "Commission is 0.005 USD per lot", "zzz"),
        ({"commission": 3.5}, "Commission is 3.50 USD per lot", "zzz"),
        ({"swap": -12.25}, "Swap is -12.25 USD per lot and calendar day", "zzz"),
        ({"slippage": 0.05}, "a slippage of 0.05; target fills are not", "zzz"),
        ({"intrabar": "target_first"}, "the target counts as reached first", "stop counts"),
        ({"intrabar": "nearer_first"}, "nearer to the bar's open counts", "stop counts"),
    ],
)
def test_the_rules_are_those_of_the_run(terms: dict[str, Any], said: str, unsaid: str) -> None:
    text = system(**terms)
    assert said in text
    if unsaid == "leverage of 0.":
        assert "leverage of 0.\n" not in text
        return
    assert not any(word in text for word in unsaid.split("|"))


@pytest.mark.parametrize(
    ("symbol", "currency"),
    [
        ("XAUUSD", "USD"),
        ("XAUEUR", "EUR"),
        ("GOLD", "quote currency"),
        ("GOLDMX", "quote currency"),
        ("USD", "quote currency"),
        ("XAUUSD.r", "quote currency"),
    ],
)
def test_money_has_a_unit_and_no_wrong_one(symbol: str, currency: str) -> None:
    settings = PromptSettings({}, instrument=Instrument(symbol=symbol))
    assert f"money is in {currency}." in system_prompt(settings)
    text = user_prompt(cases.holding(), cases.recalled(), settings)
    assert f"unrealised +6.34 {currency} (+0.26 R)" in text
    assert f"won 31.10 {currency} (+1.24 R)" in text
    assert f"in {currency}: equity 9994.00" in text
    assert ("USD" in text) == (currency == "USD")


def test_sizes_are_those_of_the_instrument() -> None:
    text = system(Instrument(contract=50.0, lot_step=0.01, lot_min=0.1, lot_max=20.0))
    assert "One lot is 50 units." in text
    assert "at most 20 lots, in steps of 0.01." in text
    assert "less than 0.1 lots" in text


def test_the_length_of_a_bar_is_said_and_gaps_do_not_matter() -> None:
    ask = cases.flat()
    assert "## Bars of 15 minutes, newest last" in user_prompt(ask, (), cases.SETTINGS)
    closes = ask.window_close_ns.copy()
    closes[:10] -= 3_600_000_000_000
    gap = replace(ask, window_close_ns=closes)
    assert "## Bars of 15 minutes, newest last" in user_prompt(gap, (), cases.SETTINGS)
    finer = replace(ask, window_close_ns=ask.now_ns - 300_000_000_000 * np.arange(19, -1, -1))
    assert "## Bars of 5 minutes, newest last" in user_prompt(finer, (), cases.SETTINGS)
    assert "15-minute" not in system()
