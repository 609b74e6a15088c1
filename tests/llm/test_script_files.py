"""Script files and what a user's decider may return: an answer, or one message and no traceback."""

from __future__ import annotations

import json
import math
import os
import re
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dream.errors import InputError, LeakError
from dream.llm import scripted
from dream.llm.scripted import MAX_RAW, Scripted, load_script
from dream.types import Decision
from tests.llm import cases
from tests.runs import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = Path(__file__).resolve().parents[2] / "docs" / "deciders.md"
HOLD = b'{"action":"HOLD"}\n'


def answered(answers: Any, seq: int = 0) -> Decision:
    decider = Scripted(answers, "mine:decide")
    question = decider.question(cases.flat(seq), ())
    return decider.answer(question, decider.send(question))


class TestFile:
    def test_the_example_of_the_docs_runs_as_it_says(self, bars_path: Path, tmp_path: Path) -> None:
        text = DOCS.read_text(encoding="utf-8")
        script = tmp_path / "answers.jsonl"
        script.write_text(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0], encoding="utf-8")
        command = re.findall(r"^dream (run --model scripted.*)$", text, re.MULTILINE)[0]
        runs = tmp_path / "runs"
        said = made.dream(*command.split(), "--bars", bars_path, "--runs", runs, cwd=tmp_path)
        assert said.returncode == 0, said.stderr
        decisions = made.of_kind(made.only_run(runs), "decision")
        assert [d["action"] for d in decisions[:3]] == ["HOLD", "BUY", "CLOSE"]
        words = ["ok", "ok", "ok", "parse_error", "truncated", "model_refusal", "api_error"]
        assert [d["status"] for d in decisions] == words
        assert decisions[0]["confidence"] == 0.9
        assert decisions[3]["error"] == "not JSON: 'I would rather wait.'"

    @pytest.mark.parametrize("status", ["parse_error", "truncated", "model_refusal", "api_error"])
    def test_a_line_scripts_a_status(self, tmp_path: Path, status: str) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(HOLD + json.dumps({"status": status}).encode())
        answers = load_script(file)
        assert answered(answers, 0) == Decision()
        assert answered(answers, 1).status == status

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"status":"ok"}', "there is no status 'ok' to script"),
            ('{"status":["truncated"]}', "there is no status"),
            ('{"status":"truncated","action":"HOLD"}', "status: Extra inputs"),
            ("x" * 300_000, "longer than 65536 characters"),
        ],
    )
    def test_a_line_that_is_none_is_named(self, tmp_path: Path, line: str, message: str) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(HOLD + line.encode() + b"\n" + HOLD)
        with pytest.raises(InputError, match=f"script.jsonl: line 2: {message}"):
            load_script(file)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="expected a regular file, found a pipe"):
            load_script(tmp_path / "pipe")

    @pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
    def test_a_device_is_refused(self, path: str) -> None:
        if not Path(path).exists():
            pytest.skip("no such device on this system")
        with pytest.raises(InputError, match="expected a regular file, found a pipe or a device"):
            load_script(path)

    @pytest.mark.parametrize(("name", "what"), [("", "a folder"), ("no\0name", "cannot be read")])
    def test_what_is_no_file_is_refused(self, tmp_path: Path, name: str, what: str) -> None:
        with pytest.raises(InputError, match=what):
            load_script(f"{tmp_path}/{name}")

    def test_a_script_without_measure_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(HOLD * 10)
        monkeypatch.setattr(scripted, "MAX_SCRIPT", len(HOLD) * 10)
        assert len(load_script(file)) == 10
        file.write_bytes(HOLD * 10 + b" ")
        with pytest.raises(InputError, match=r"longer than 180 bytes; split it"):
            load_script(file)

    def test_equal_lines_share_their_memory(self, tmp_path: Path) -> None:
        file = tmp_path / "script.jsonl"
        file.write_bytes(HOLD * 200_000)
        tracemalloc.start()
        try:
            answers = load_script(file)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(answers) == 200_000
        assert most < 8_000_000, "a text of its own for each line would be 14 MB"


def raises(error: BaseException) -> Callable[..., Any]:
    def decide(_ask: object, _shown: object) -> Any:
        raise error

    return decide


class Loud(str):
    """A text that does not behave."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("no")


class Mute(Exception):  # noqa: N818 - a name
    def __str__(self) -> str:
        raise RuntimeError("no")


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


async def later(_ask: object, _shown: object) -> Decision:
    return Decision()


def failing() -> Iterator[Decision]:
    yield Decision()
    raise OSError("the feed is gone")


BAD: dict[str, tuple[Any, str]] = {
    "nan": (Decision("BUY", "A", stop=math.nan), "NaN is not a number"),
    "infinity": ({"action": "HOLD", "target": -math.inf}, "-Infinity is not a number"),
    "confidence": ({"action": "HOLD", "confidence": 7}, "confidence: .* less than or equal to 1"),
    "boolean": (Decision(confidence=True), "confidence: .* valid number"),
    "action": ({"action": "SHORT"}, "action: .*'SHORT'"),
    "list as action": (Decision(["BUY"]), "action: "),  # type: ignore[arg-type]
    "field": ({"action": "HOLD", "size": 1}, "size: Extra inputs"),
    "tuple": (("BUY", "A"), "found tuple"),
    "none": (None, "found NoneType"),
    "bytes": (b"HOLD", "found bytes"),
    "class": (Decision, "found type"),
    "long text": ("x" * 10_000_000, "a text of 10000000 characters"),
    "long reasoning": (Decision(reasoning="x" * 10_000_000), "characters, at most 65536"),
    "deep": ({"action": "HOLD", "reasoning": deep(100_000)}, "cannot be written|failed: Recur"),
    "deep decision": (Decision(reasoning=deep(100_000)), "failed: RecursionError"),
    "itself": ({"action": "HOLD", "reasoning": (x := {}) | {"x": x}}, "reasoning: "),
    "status": (Decision(status="fine"), "there is no status 'fine'"),  # type: ignore[arg-type]
    "no status": (Decision(status=[]), r"there is no status \[\]"),  # type: ignore[arg-type]
    "object": ({"action": "HOLD", "stop": object()}, "cannot be written as JSON: Object of type"),
    "key": ({("a",): 1}, "cannot be written as JSON: keys must be"),
}


class TestAnswers:
    @pytest.mark.parametrize("name", BAD)
    @pytest.mark.parametrize("given", ["function", "list", "iterator"])
    def test_what_is_no_answer_is_one_message(self, name: str, given: str) -> None:
        answer, message = BAD[name]
        answers = {
            "function": lambda _ask, _shown: answer,
            "list": [answer],
            "iterator": iter([answer]),
        }[given]
        where = "^decider mine:decide, question 0: "
        with pytest.raises(InputError, match=f"{where}.*({message})") as caught:
            answered(answers)
        assert len(str(caught.value)) < 800

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (ZeroDivisionError("by nothing"), "ZeroDivisionError: by nothing"),
            (SystemExit(3), "SystemExit: 3"),
            (StopIteration(), "StopIteration: "),
            (KeyError("x" * 10_000), "KeyError: 'xxx"),
            (Mute(), r"Mute: \(it cannot be shown\)"),
            (InputError("no such feed"), "no such feed"),
        ],
    )
    def test_what_a_function_raises_is_told_with_its_place(
        self, error: BaseException, said: str
    ) -> None:
        with pytest.raises(InputError, match=f"^decider mine:decide, question 4: .*{said}") as e:
            answered(raises(error), 4)
        assert len(str(e.value)) < 700
        if not isinstance(error, InputError):
            assert re.search(r"test_script_files\.py, line \d+\)$", str(e.value))
            assert e.value.__cause__ is error

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), LeakError("seen")])
    def test_an_interrupt_and_a_leak_are_what_they_are(self, error: BaseException) -> None:
        with pytest.raises(type(error)):
            answered(raises(error))

    def test_a_generator_that_raises_is_told_at_its_question(self) -> None:
        decider = Scripted(failing(), "mine")
        question = decider.question(cases.flat(0), ())
        decider.send(question)
        with pytest.raises(InputError, match="mine, question 1: failed: OSError: the feed is gone"):
            decider.send(decider.question(cases.flat(1), ()))

    def test_a_coroutine_is_no_answer_and_leaves_no_warning(self) -> None:
        with pytest.raises(InputError, match="found coroutine"):
            answered(later)

    def test_a_text_that_misbehaves_is_the_text_that_it_is(self) -> None:
        assert answered([Loud('{"action":"CLOSE"}')]) == Decision("CLOSE")

    def test_the_longest_text_is_taken(self) -> None:
        assert answered(["x" * MAX_RAW]).status == "parse_error"

    def test_a_mapping_scripts_a_status_too(self) -> None:
        assert answered(lambda _ask, _shown: {"status": "truncated"}) == Decision(
            status="truncated"
        )

    @pytest.mark.parametrize("answers", [5, None, object(), b"HOLD"])
    def test_what_is_no_script_is_refused_at_the_start(self, answers: Any) -> None:
        with pytest.raises(InputError, match="a script is a list"):
            Scripted(answers)

    def test_nothing_of_the_question_is_written_and_the_run_goes_on(
        self, bars_path: Path, tmp_path: Path
    ) -> None:
        calls: list[int] = []

        def decide(ask: Any, _shown: object) -> Any:
            calls.append(ask.seq)
            return Decision() if ask.seq != 3 or len(calls) > 4 else {"confidence": 7}

        what = made.spec(bars_path, decisions=6)
        with pytest.raises(InputError, match=r"decide@\w+, question 3: .*action: Field required"):
            made.run(what, tmp_path, decider=decide)
        kinds = [line.kind for line in made.lines(made.only_run(tmp_path))]
        assert kinds == ["opened", *["reply", "decision"] * 3]
        assert made.run(what, tmp_path, decider=decide).summary["decisions"] == 6
        assert calls == [0, 1, 2, 3, 3, 4, 5]
