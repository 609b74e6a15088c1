from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dream.reports.metrics import Summary, summarise
from dream.reports.summary import print_summary
from dream.types import Usage
from tests.reports.sample import FACTS, TABLE, trade

EXPECTED = """\
8f3c2a91d0
sonnet, memory hybrid
2025-03-03 00:15 to 2025-03-04 21:45 UTC, 6 bars
first question 2025-03-03 10:00, all decisions made

Final equity   10,060.00 USD (+60.00, +0.60%)     Max drawdown   0.25%
Trades         4: 2 won, 1 lost, 1 drawn          Sharpe, daily  67.84
Win rate       50.0% (95% Wilson 15.0% to 85.0%)  Mean R         +0.60
Profit factor  3.40                               Mean USD       +15.00

Strategy        set-ups   trades   won   net USD
────────────────────────────────────────────────
VolBreakout           5        3     1    +25.00
PullbackEntry         4        1     1    +35.00

Decisions  40 (ok 39, parse_error 1), 9 set-ups appeared
Answers    BUY 6, HOLD 33
Refused    2 (day_limit 1, min_lot 1); the largest needed 12,501 USD at its time
Costs      22.00 USD (spread 19.00, slippage 2.00, swap 1.00), +82.00 before costs
Terms      risk 0.25%, spread floor 0.3, slippage 0.05, commission 0, swap 0
Ambiguous  1 exit bar: 10,060.00 USD if stops came first, 10,135.00 if targets
Memory     asked 40 times, 120 episodes shown, 7 of them put in for balance
Spent      0.1234 USD (0.18 with failed attempts), 41 replies, 1 min 02 s
Tokens     8,000 in, 30,000 from cache (75%), 2,000 to cache, 1,234 out, 0 of it thinking

Journal  runs/8f3c2a91d0/journal.jsonl
Check    dream verify runs/8f3c2a91d0
Repeat   dream replay runs/8f3c2a91d0
"""


def printed(summary: Summary, width: int = 80, **console: bool) -> str:
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=width, **console))
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_summary_as_a_trader_sees_it() -> None:
    assert printed(summarise(TABLE, FACTS), width=90) == EXPECTED


def test_a_pipe_gets_no_colour_codes_and_a_terminal_does() -> None:
    summary = summarise(TABLE, FACTS)
    assert "\x1b" not in printed(summary)
    assert "\x1b[" in printed(summary, force_terminal=True)


def test_it_fits_a_screen() -> None:
    strategies = ["VolBreakout", "IntradayMomentum", "PullbackEntry"]
    trades = tuple(trade(s, 12_345.67, 1.5, target_first=99_999.0) for s in strategies * 300)
    statuses = {"ok": 1_500, "parse_error": 300, "truncated": 50, "model_refusal": 50}
    busy = replace(
        TABLE,
        decider="anthropic/claude-sonnet-4-5-20250929 with a very long name of its own",
        decisions=2_000,
        decisions_by_status={**statuses, "api_error": 100},
        setups=dict.fromkeys(strategies, 1_000),
        refused={"min_lot": 39, "margin": 8, "max_gap": 11, "bracket": 4, "day_limit": 1_234},
        trades=trades,
        final_equity=11_121_103.0,
    )
    lines = printed(summarise(busy, FACTS)).splitlines()
    assert len(lines) <= 37
    assert max(map(len, lines)) <= 80


def test_a_run_that_is_not_comparable_says_so() -> None:
    warning = "Not comparable: 7.5% of the decisions are not the agent's own (limit 5%)."
    spoilt = replace(TABLE, decisions_by_status={"ok": 37, "api_error": 3})
    assert warning in printed(summarise(spoilt, FACTS))
    assert "Not comparable" not in printed(summarise(TABLE, FACTS))


def test_paths_and_commands_are_never_cut_and_can_be_pasted_into_a_shell() -> None:
    folder = "/data/" + "long folder/" * 12 + "it's/8f3c2a91d0"
    text = printed(summarise(TABLE, replace(FACTS, journal=f"{folder}/journal.jsonl")), width=40)
    assert f"Journal  {folder}/journal.jsonl\n" in text
    quoted = folder.replace("'", "'\"'\"'")
    assert f"dream verify '{quoted}'\n" in text
    assert f"dream replay '{quoted}'\n" in text


def test_names_are_not_markup() -> None:
    odd = replace(TABLE, decider="[red]mine[/red]", setups={"[b]mine[/b]": 3})
    text = printed(summarise(odd, FACTS), force_terminal=True)
    assert "[red]mine[/red]" in text
    assert "[b]mine[/b]" in text


def test_a_run_in_which_nothing_happened() -> None:
    empty = replace(
        TABLE,
        decisions=0,
        decisions_by_status={},
        actions={},
        setups={},
        refused={},
        needs_equity=None,
        trades=(),
        final_equity=10_000.0,
        recall_calls=0,
        recalled=0,
        injected=0,
        cost_usd=None,
        replies=0,
        ended="end_of_data",
    )
    text = words(printed(summarise(empty, FACTS)))
    assert "to the end of the data" in text
    assert "10,000.00 USD (+0.00, +0.00%)" in text
    assert "Win rate - Mean R -" in text
    assert "Profit factor - (no trades) Mean USD -" in text
    assert "Decisions 0 (nobody was asked), 0 set-ups appeared Answers none Refused none" in text
    assert "no exit bar reached both stop and target Memory not asked" in text
    assert "0.00 USD, no model was asked" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (60, "1 min 00 s"),
        (3_599.6, "1 h 00 min"),
        (7_500, "2 h 05 min"),
    ],
)
def test_wall_time_is_said_as_people_say_it(seconds: float, text: str) -> None:
    assert f"replies, {text}\n" in printed(summarise(TABLE, replace(FACTS, wall_s=seconds)))


def test_an_unknown_price_is_not_nothing() -> None:
    text = printed(summarise(replace(TABLE, cost_usd=None), FACTS))
    assert "price not known, 41 replies" in text


def test_an_amount_that_rounds_to_nothing_has_no_minus() -> None:
    tiny = replace(TABLE, trades=(trade("VolBreakout", -0.001, -0.0001),))
    text = printed(summarise(tiny, FACTS))
    assert "-0.00" not in text


@given(st.integers(60, 120), st.integers(0, 10**7))
def test_a_narrow_screen_wraps_figures_and_loses_none(width: int, trades: int) -> None:
    summary = summarise(TABLE, FACTS)
    summary["trades"] = trades
    text = printed(summary, width)
    assert "…" not in text
    assert f"{trades:,}:" in text
    assert "10,060.00" in text


def test_tokens_are_shown_as_far_as_a_server_counted_them() -> None:
    some = replace(TABLE, tokens=Usage(input_tokens=1_500, output_tokens=90))
    text = printed(summarise(some, FACTS))
    assert "\nTokens     1,500 in, 90 out\n" in text
    assert "\nTokens" not in printed(summarise(replace(TABLE, tokens=Usage()), FACTS))


def test_a_cache_that_did_nothing_is_told_below_the_figures() -> None:
    told = printed(summarise(TABLE, replace(FACTS, cache_note="it caches none below 1,024")))
    assert "\nCache: it caches none below 1,024.\n" in told
