"""The deciders without a model: rules, never, chance, script."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dream.errors import InputError, SpecInvalid
from dream.llm.scripted import Never, Random, Rules, Scripted, load_script
from dream.types import Decision, Snapshot
from tests.llm import cases

if TYPE_CHECKING:
    from pathlib import Path

    from dream.types import AskingDecider

ASK = cases.flat()


def ask(decider: AskingDecider, seq: int) -> Decision:
    """One question through the three steps, as a run takes them."""
    question = decider.question(cases.flat(seq), ())
    said = decider.answer(question, decider.send(question))
    assert isinstance(said, Decision)
    return said


def board(**live: tuple[int, int, int]) -> Snapshot:
    """Strategy to (live, entries today, entries a day), in that order on the board."""
    rows = tuple(
        replace(cases.BOARD[0], strategy=n, live=side, entries_today=used, entries_per_day=limit)
        for n, (side, used, limit) in live.items()
    )
    return replace(ASK, board=rows)


class TestRules:
    def test_takes_the_first_live_setup_in_board_order(self) -> None:
        said = Rules().decide(board(A=(0, 0, 1), B=(1, 0, 1), C=(1, 0, 1)), ())
        assert said == Decision("BUY", "B")

    def test_sells_a_short_setup(self) -> None:
        assert Rules().decide(board(A=(-1, 0, 0)), ()) == Decision("SELL", "A")

    def test_passes_over_one_that_is_used_up(self) -> None:
        assert Rules().decide(board(A=(1, 1, 1), B=(1, 2, 3)), ()) == Decision("BUY", "B")

    def test_no_limit_is_never_used_up(self) -> None:
        assert Rules().decide(board(A=(1, 9, 0)), ()) == Decision("BUY", "A")

    def test_holds_without_a_live_setup_and_in_a_position(self) -> None:
        assert Rules().decide(board(A=(0, 0, 1)), ()) == Decision()
        assert Rules().decide(cases.holding(), ()) == Decision()


def test_never_holds_though_a_setup_is_live() -> None:
    assert ASK.board[0].live == 1
    assert Never().decide(ASK, ()) == Decision()


class TestRandom:
    def test_levels_are_half_and_one_atr_away(self) -> None:
        said = Random(1.0, 0).decide(ASK, ())
        assert said.action == "BUY"
        assert said.stop == pytest.approx(2309.85 - 14.2)
        assert said.target == pytest.approx(2309.85 + 28.4)
        assert (said.confidence, said.status) == (None, "ok")

    def test_the_same_question_always_gets_the_same_draw(self) -> None:
        forward = [Random(0.5, 3).decide(cases.flat(n), ()) for n in range(50)]
        backward = [Random(0.5, 3).decide(cases.flat(n), ()) for n in reversed(range(50))]
        assert forward == backward[::-1]
        assert forward != [Random(0.5, 4).decide(cases.flat(n), ()) for n in range(50)]

    def test_enters_as_often_as_it_should_and_draws_each_strategy_alike(self) -> None:
        n, p = 4_000, 0.25
        said = [Random(p, 11).decide(cases.flat(k), ()) for k in range(n)]
        entries = [s.strategy for s in said if s.action == "BUY"]
        assert abs(len(entries) - n * p) < 4 * (n * p * (1 - p)) ** 0.5
        # PullbackEntry is used up today, so two strategies share the entries
        half = entries.count("VolBreakout")
        assert set(entries) == {"VolBreakout", "IntradayMomentum"}
        assert abs(half - len(entries) / 2) < 4 * (len(entries) / 4) ** 0.5

    def test_the_draws_of_neighbouring_questions_are_unrelated(self) -> None:
        hit = np.array(
            [Random(0.5, 1).decide(cases.flat(k), ()).action == "BUY" for k in range(2000)]
        )
        together = np.mean(hit[1:] == hit[:-1])
        assert abs(together - 0.5) < 4 * 0.5 / 2000**0.5

    def test_holds_in_a_position_and_with_nothing_left(self) -> None:
        assert Random(1.0, 0).decide(cases.holding(), ()) == Decision()
        assert Random(1.0, 0).decide(board(A=(1, 1, 1)), ()) == Decision()
        assert Random(1.0, 0).decide(replace(ASK, board=()), ()) == Decision()

    def test_probability_nought_never_enters(self) -> None:
        assert all(Random(0.0, 5).decide(cases.flat(k), ()).action == "HOLD" for k in range(300))

    @pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf")])
    def test_what_is_no_probability_is_refused(self, p: float) -> None:
        with pytest.raises(SpecInvalid, match="from 0 to 1"):
            Random(p, 0)


def test_each_is_named_as_on_the_command_line() -> None:
    deciders = (Rules(), Never(), Random(0.05, 7), Random(1.0, 0))
    assert [d.name for d in deciders] == ["rules", "never", "random:0.05", "random:1"]


class TestScripted:
    def test_a_list_answers_by_the_number_of_the_question(self) -> None:
        decider = Scripted([Decision("BUY", "A"), {"action": "CLOSE"}, '{"action":"HOLD"}'])
        assert ask(decider, 1) == Decision("CLOSE")
        assert ask(decider, 0) == Decision("BUY", "A")
        assert ask(decider, 2) == Decision("HOLD")

    def test_a_decision_arrives_as_it_was_scripted(self) -> None:
        whole = Decision("SELL", "A", 0.25, 2000.5, 1990.125, "é 📉\nx")
        assert ask(Scripted([whole]), 0) == whole

    def test_an_iterator_is_drawn_once_per_question(self) -> None:
        decider = Scripted(Decision("BUY", f"S{n}") for n in count())
        assert [ask(decider, n).strategy for n in range(4)] == ["S0", "S1", "S2", "S3"]

    def test_after_a_resume_earlier_items_are_drawn_and_skipped(self) -> None:
        drawn: list[int] = []

        def items() -> Any:
            for n in count():
                drawn.append(n)
                yield Decision("BUY", f"S{n}")

        assert ask(Scripted(items()), 5).strategy == "S5"
        assert drawn == [0, 1, 2, 3, 4, 5]

    def test_an_iterator_never_hands_an_answer_out_twice(self) -> None:
        decider = Scripted(iter([Decision(), Decision(), Decision()]))
        ask(decider, 1)
        with pytest.raises(InputError, match="question 1: the answers come from an iterator"):
            ask(decider, 1)
        with pytest.raises(InputError, match="already given 2"):
            ask(decider, 0)

    def test_a_function_sees_the_snapshot_and_what_was_recalled(self) -> None:
        shown = cases.recalled()

        def decide(snapshot: Snapshot, recalled: Any) -> dict[str, Any]:
            return {"action": "HOLD", "reasoning": f"{snapshot.close} {len(recalled)}"}

        decider = Scripted(decide)
        question = decider.question(ASK, shown)
        assert decider.answer(question, decider.send(question)).reasoning == "2309.85 2"

    def test_raw_text_scripts_an_unreadable_answer(self) -> None:
        said = ask(Scripted(["well, I would buy"]), 0)
        assert said == Decision(status="parse_error", error="not JSON: 'well, I would buy'")

    @pytest.mark.parametrize("status", ["parse_error", "truncated", "model_refusal", "api_error"])
    def test_a_status_is_scripted_by_a_decision(self, status: Any) -> None:
        said = ask(Scripted([Decision(status=status)]), 0)
        assert said == Decision(status=status, error=said.error)
        assert (said.error is not None) == (status == "parse_error")

    @pytest.mark.parametrize(
        ("answers", "message"),
        [
            ([], "question 3: the script has no answers"),
            ([Decision()] * 3, "question 3: the script is used up; it has 3 answers.*0 to 2"),
            (iter([Decision()]), "question 3: the script is used up; it has 1 answers"),
        ],
    )
    def test_a_script_that_ends_says_so(self, answers: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            ask(Scripted(answers), 3)

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (None, "found NoneType"),
            (3, "found int"),
            ({"action": "BYU"}, "the scripted answer is none: action"),
            (Decision("BUY"), "BUY needs the name of a strategy"),
            (Decision("BUY", "A", stop=float("nan")), "NaN is not a number"),
            ({"action": "BUY", "strategy": "A", "stop": np.int64(3)}, "cannot be written as JSON"),
        ],
    )
    def test_an_answer_that_is_none_names_the_question(self, answer: Any, message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            ask(Scripted([answer]), 0)
        assert "question 0" in str(caught.value)

    @pytest.mark.parametrize("answers", ['{"action":"HOLD"}', {"action": "HOLD"}])
    def test_a_single_answer_is_not_taken_for_a_list(self, answers: Any) -> None:
        with pytest.raises(InputError, match="put it in a list"):
            Scripted(answers)

    def test_it_is_free_and_has_no_prompt(self) -> None:
        decider = Scripted([Decision()], name="mine")
        question = decider.question(ASK, ())
        assert (decider.name, decider.paid, decider.system) == ("mine", False, None)
        assert (question.user, question.purpose, question.seq) == (None, "decision", 0)

    def test_the_digest_is_the_same_for_the_same_snapshot_only(self) -> None:
        decider = Scripted([])

        def digest(snapshot: Snapshot, shown: Any = ()) -> str:
            return decider.question(snapshot, shown).sha256

        assert digest(cases.flat()) == digest(cases.flat())
        assert len(digest(ASK)) == 64
        window = ASK.window.copy()
        window[3, 3] += 0.01
        others = [
            cases.flat(1),
            cases.holding(0),
            replace(ASK, window=window),
            replace(ASK, indicators=replace(ASK.indicators, rsi=61.28)),
            replace(ASK, board=ASK.board[:2]),
            replace(ASK, account=replace(ASK.account, cash=9_999.0)),
        ]
        seen = {digest(ASK), digest(ASK, cases.recalled()), *map(digest, others)}
        assert len(seen) == len(others) + 2


class TestScriptFile:
    def test_lines_are_answers_or_raw_text(self, tmp_path: Path) -> None:
        file = tmp_path / "script.jsonl"
        lines = [
            '{"action":"BUY","strategy":"A","stop":1.5}',
            '"no idea \\ud800"',
            '{"action":"HOLD"}',
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        decider = Scripted(load_script(file))
        assert ask(decider, 0) == Decision("BUY", "A", stop=1.5)
        assert ask(decider, 1) == Decision(status="parse_error", error="not JSON: 'no idea ?'")
        assert ask(decider, 2) == Decision("HOLD")
        with pytest.raises(InputError, match="it has 3 answers"):
            ask(decider, 3)

    def test_windows_line_ends_and_a_missing_last_one_do_not_matter(self, tmp_path: Path) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(b'{"action":"HOLD"}\r\n{"action":"CLOSE"}')
        assert ask(Scripted(load_script(str(file))), 1) == Decision("CLOSE")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "it is empty"),
            (b"\n", "line 1: not JSON"),
            (b'{"action":"HOLD"}\n\n{"action":"HOLD"}\n', "line 2: not JSON"),
            (b'{"action":"HOLD"}\n{"action":"BYU"}\n', "line 2: action"),
            (b'{"action":"HOLD"}\n{"action":"BUY"}\n', "line 2: strategy"),
            (b'{"action":"HOLD","action":"HOLD"}\n', "line 1: the key 'action' is there twice"),
            (b'[{"action":"HOLD"}]\n', "line 1: expected one JSON object, found a list"),
            (b'{"action":"HOLD"}\n\xff\n', "not UTF-8 at byte 18"),
            (json.dumps("x" * 70_000).encode(), "line 1: 70002 characters, at most 65536"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path: Path, content: bytes, message: str) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_script(file)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be read: No such file"):
            load_script(tmp_path / "nowhere.jsonl")
