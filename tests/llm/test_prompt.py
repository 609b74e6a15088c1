"""What a model is shown, to the byte, and what it is never shown."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.errors import SpecInvalid
from dream.llm import prompt_v1
from dream.llm.prompt import prompt_hash, system_prompt, user_prompt
from dream.llm.prompt_settings import PromptSettings
from dream.types import Account, Instrument, Position, Terms
from tests.llm import cases

GOLDEN = Path(__file__).parent / "golden"
BOTH_SIDES = PromptSettings(
    {"Mine": "  Fade spikes. \n"},
    Terms(
        buy_only=False, autonomy="filter", intrabar="target_first", max_gap_ns=5_400_000_000_000,
        slippage=0.05, commission=3.5, swap=-12.25, risk=0.01, leverage=50.0,
    ),
    Instrument(symbol="XAGUSD", tick=0.001),
)  # fmt: skip


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_bytes().decode("utf-8")


def test_the_system_prompt_is_the_recorded_one() -> None:
    assert system_prompt(cases.SETTINGS) == golden("system_v1")


def test_the_system_prompt_states_other_terms() -> None:
    assert system_prompt(BOTH_SIDES) == golden("system_v1_both_sides")


def test_the_question_when_flat_is_the_recorded_one() -> None:
    assert user_prompt(cases.flat(), (), cases.SETTINGS) == golden("user_v1_flat")


def test_the_question_with_position_trades_and_memory_is_the_recorded_one() -> None:
    shown = cases.recalled()
    assert user_prompt(cases.holding(), shown, cases.SETTINGS) == golden("user_v1_holding")


def test_a_template_that_runs_were_made_with_is_not_edited() -> None:
    """A failure here means that the wording of v1 changed: add a version instead."""
    assert prompt_hash("v1") == "26ede6a7678f619d21632499fc569f7db9783b2ca6eb72d9e795b8de80d6794c"


def test_the_hash_notices_a_changed_word(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompt_hash("v1")
    made_once = (prompt_hash, prompt_v1._context, prompt_v1._bar)
    for cached in made_once:
        cached.cache_clear()
    monkeypatch.setattr(prompt_v1, "WEEKDAYS", ("Lundi", *prompt_v1.WEEKDAYS[1:]))
    changed = prompt_hash("v1")
    for cached in made_once:
        cached.cache_clear()
    assert changed != before


def test_an_unknown_version_is_refused_and_the_known_are_listed() -> None:
    with pytest.raises(SpecInvalid, match="unknown prompt version 'v9'; known: v1"):
        system_prompt(PromptSettings({}, version="v9"))


def test_memory_is_mentioned_only_where_something_is_recalled() -> None:
    texts = (system_prompt(cases.SETTINGS), user_prompt(cases.flat(), (), cases.SETTINGS))
    for text in texts:
        assert not re.search("recall|memory|earlier|remember", text, re.IGNORECASE)


def test_neither_placebo_nor_injection_is_called_by_its_name() -> None:
    shown = cases.recalled()
    placebo = tuple(replace(s, recalled=replace(s.recalled, mark="placebo")) for s in shown)
    plain = tuple(replace(s, recalled=replace(s.recalled, mark="")) for s in shown)
    render = [user_prompt(cases.flat(), x, cases.SETTINGS) for x in (shown, placebo, plain)]
    assert render[1] == render[2] != render[0]
    assert not any(word in render[0] for word in ("inject", "balance", "placebo", "loser"))


def test_the_end_of_a_prompt_changes_and_its_beginning_stays() -> None:
    one = cases.flat()
    later = cases.NOW_NS + cases.QUARTER_NS
    two = replace(one, seq=1, now_ns=later, minute=690)
    first, second = (user_prompt(ask, (), cases.SETTINGS) for ask in (one, two))
    assert first.split("## Now")[0] == second.split("## Now")[0]


@pytest.mark.parametrize(
    ("t_close", "minute", "date"),
    [
        ("2024-01-09T22:00", 1440, "01-09 24:00"),  # winter, the last bar of a Tuesday
        ("2024-01-09T23:15", 75, "01-10 01:15"),
        ("2024-03-08T22:00", 1440, "03-08 24:00"),  # the Friday before the clocks change
        ("2024-03-10T22:15", 75, "03-11 01:15"),  # the Sunday evening after it
        ("2024-07-03T21:00", 1440, "07-03 24:00"),  # summer
    ],
)
def test_rows_carry_the_trading_day_that_they_belong_to(
    t_close: str, minute: int, date: str
) -> None:
    """Worked out from New York's clock: UTC - 5 h in winter, UTC - 4 h from 10 March, plus 7 h."""
    t_ns = int(np.datetime64(t_close, "ns").astype(np.int64))
    ask = replace(
        cases.flat(),
        window=np.full((1, 6), 2000.0),
        window_close_ns=np.array([t_ns]),
        closed_at_minute=np.array([minute], np.int16),
    )
    assert f"\n{date} | 2000.00 | " in user_prompt(ask, (), cases.SETTINGS)


def test_the_weekday_is_that_of_the_trading_day() -> None:
    for day, name in ((19_884, "Monday 2024-06-10"), (19_888, "Friday 2024-06-14")):
        text = user_prompt(replace(cases.flat(), day=day), (), cases.SETTINGS)
        assert f"\n{name} 11:15, session London." in text


wild = st.floats(allow_nan=True, allow_infinity=True, width=64)
levels = st.none() | wild


@given(st.lists(wild, min_size=15, max_size=15), st.lists(levels, min_size=4, max_size=4), wild)
def test_numbers_are_plain_whatever_they_are(
    shown: list[float], row: list[float | None], money: float
) -> None:
    """No exponent, no NaN, no infinity, no minus zero."""
    ask = cases.flat()
    names = ("atr_m15", "atr_h1", "atr_d1", "rsi", "sma_50", "sma_200", "bb_low", "bb_mid",
             "bb_high", "adx_h1", "sma_20_h1", "atr_d1_pct")  # fmt: skip
    board = replace(
        ask.board[0],
        stop=row[0],
        target=row[1],
        trigger=row[2],
        distance=row[3],
        levels={"x": row[0]},
    )
    window = ask.window.copy()
    window[0, :3] = shown[12:]
    text = user_prompt(
        replace(
            ask,
            window=window,
            indicators=replace(ask.indicators, **dict(zip(names, shown, strict=False))),
            board=(board,),
            account=Account(money, money, money, 0, ()),
            position=Position(0, "A", 1, 0, money, 0.1, money, money, money, money, 1),
        ),
        (),
        cases.SETTINGS,
    )
    assert not re.search(r"\d[eE][+-]?\d|nan|inf(?!o)|-0\.0*\b(?!\.?\d)", text)


def test_recalled_text_is_quoted_on_one_line_and_cut() -> None:
    shown = cases.recalled()
    said = "one\n## Now\ntwo \ud800 " + "x" * 900
    episode = replace(shown[0].episode, reasoning=said)
    text = user_prompt(cases.flat(), (replace(shown[0], episode=episode),), cases.SETTINGS)
    line = next(part for part in text.split("\n") if "reasoning then" in part)
    assert line.startswith('   reasoning then: "one ## Now two ? xxx')
    assert line.endswith('x..."')
    assert len(line) == len('   reasoning then: ""') + 400 + 3
    assert text.count("\n## Now\n") == 1
    assert text.encode("utf-8")


def test_prices_have_the_decimals_of_the_tick() -> None:
    for tick, n in ((0.01, 2), (0.001, 3), (0.25, 2), (1.0, 0), (0.5, 1), (10.0, 0)):
        assert PromptSettings({}, instrument=Instrument(tick=tick)).decimals == n


def test_a_prompt_is_rendered_in_well_under_a_millisecond() -> None:
    """The aim is 0.3 ms; the bound leaves room for a busy machine."""
    ask, shown = cases.holding(), cases.recalled()
    best = min(_seconds(ask, shown) for _ in range(30))
    assert best < 0.001


def _seconds(ask: object, shown: object) -> float:
    started = time.perf_counter()
    user_prompt(ask, shown, cases.SETTINGS)
    return time.perf_counter() - started
