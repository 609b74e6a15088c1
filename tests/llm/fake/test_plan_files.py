"""Plans and answers as files: what is wrong with one is told by file, line and key."""

from __future__ import annotations

import pytest

from dream.errors import InputError
from dream.llm.fake import Plan, load_answers, load_plan


def written(tmp_path, text, name="plan.toml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_an_empty_file_is_the_empty_plan(tmp_path):
    assert load_plan(written(tmp_path, "")) == Plan()


def test_answers_lie_beside_the_plan(tmp_path):
    written(tmp_path, '{"action": "HOLD"}\n"words"\n', "said.jsonl")
    plan = load_plan(written(tmp_path, 'answers = "said.jsonl"'))
    assert plan.answers == ('{"action": "HOLD"}', "words")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("sed = 1", 1, "sed: there is no such key"),
        ("\nseed = 'x'", 2, "seed: .* found 'x'"),
        ("seed = 1\n[shares]\n'429' = 0.1\n'430' = 0.1", 4, "shares.430: Input should be"),
        ("[shares]\ncut = 0.1\nreset = 1.5", 3, r"shares\.reset: .*less than or equal to 1"),
        ("[shares]\ncut = 0.7\nreset = 0.7", 1, "shares: the shares are more than 1 together"),
        ("[how.cut]\nretry_after_s = 3", 1, "how: retry_after_s belongs to an error status"),
        ("[how.silence]\nseconds = -1", 2, r"how\.silence\.seconds: "),
        (
            "[[at]]\ndecision = 1\nfault = 'cut'\n\n[[at]]\ndecision = 2\nfault = 'cat'\n",
            7,
            r"at\.1\.fault: .* found 'cat'",
        ),
        ("[[at]]\nfault = 'cut'\n", 1, r"at\.0: give either decision or request"),
        ("[cache]\nmode = 'some'", 2, r"cache\.mode: .* found 'some'"),
        ("cache.mode = 'some'", 1, r"cache\.mode"),
        ("seed = 1\nlatency_s = -1", 2, "latency_s: .* found -1"),
        ("[prices]\ninput = 1", 1, "prices.output: Field required"),
    ],
)
def test_a_wrong_plan(tmp_path, text, line, said):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=rf"plan .*plan\.toml, line {line}: .*{said}") as caught:
        load_plan(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("text", ["x = [", b"\xff", "a" * 2_000_000, "x = " + "[" * 5_000])
def test_what_is_not_toml(tmp_path, text):
    with pytest.raises(InputError, match=r"plan\.toml"):
        load_plan(written(tmp_path, text))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(written(tmp_path, 'answers = "none.jsonl"'))


@pytest.mark.parametrize("line", ["3", "null", "[]", "{", "", "NaN", '{"action": "HOLD"'])
def test_a_wrong_answer(tmp_path, line):
    path = written(tmp_path, f'"fine"\n{line}\n"fine"\n', "a.jsonl")
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: expected a JSON object"):
        load_answers(path)
