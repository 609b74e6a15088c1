"""Runs with models of one's own: what is sent is part of the run, where it goes is not."""

from __future__ import annotations

import json
import sys

import pytest

from dream.errors import SpecInvalid
from dream.runs import api
from dream.runs.access import Access
from dream.runs.assemble import resolve_model
from tests.cli.typed import dream
from tests.messages_server import HOLD, MessagesServer
from tests.runs import made

__all__ = ["dream"]

KEY = "gpu-" + "h4" * 20
ENTRY = 'id = "llama3.2:3b"\nendpoint = "gpu"\nanswer = "text"\n'
WORDS = f"text:<think>Up or down?</think>\nI would wait.\n```json\n{HOLD}\n```"


@pytest.fixture
def ask(dream, bars_path, monkeypatch):
    """`dream run --model mine` with an entry in dream.toml, at a server on loopback."""
    monkeypatch.setenv("GPU_KEY", KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def run(server, entry=ENTRY, model="mine", decisions=3, key='key_env = "GPU_KEY"'):
        text = f'[endpoints.gpu]\nbase_url = "{server.url}"\n{key}\n[models.mine]\n{entry}'
        (dream.folder / "dream.toml").write_text(text)
        said = dream(
            "run", "--model", model, "--bars", bars_path, "--decisions", decisions, "--json"
        )
        assert "Traceback" not in said.err
        files = [p for p in dream.folder.rglob("*") if p.is_file() and p.name != "dream.toml"]
        for text in (said.out, said.err, *(path.read_text(errors="replace") for path in files)):
            assert KEY not in text
        return said

    run.folder = dream.folder
    run.runs = dream.folder / "runs"
    return run


def test_it_is_asked_as_the_entry_says_and_replays_without_it(ask):
    entry = ENTRY + "temperature = 0\nseed = 7\nmax_tokens = 99\n"
    with MessagesServer([WORDS]) as server:
        said = ask(server, entry)
        assert said.code == 0, said.err
        for seen in server.seen:
            assert seen.headers["authorization"] == f"Bearer {KEY}"
            assert "output_config" not in seen.body
            assert "tools" not in seen.body
            sent = {
                name: seen.body[name] for name in ("model", "temperature", "seed", "max_tokens")
            }
            assert sent == {
                "model": "llama3.2:3b", "temperature": 0.0, "seed": 7, "max_tokens": 99,
            }  # fmt: skip
    summary = json.loads(said.out)
    assert summary["decisions_by_status"]["ok"] == 3
    folder = made.only_run(ask.runs)
    assert folder.name.startswith("mine-")
    spec = made.lines(folder)[0].record["spec"]
    assert spec["model"] == "mine"
    assert spec["profile"] == {
        "id": "llama3.2:3b", "answer": "text", "fallback": None, "max_tokens": 99, "effort": None,
        "thinking": None, "temperature": 0.0, "seed": 7, "cache": "automatic",
    }  # fmt: skip
    assert made.of_kind(folder, "reply")[0]["raw"].startswith("<think>")
    (ask.folder / "dream.toml").unlink()
    assert api.replay(folder).digest == summary["digest"]


def test_what_changes_a_request_makes_another_run_and_nothing_else_does(ask):
    """Price, key and address may change; then it is the same run, finished, and nobody is asked."""
    with MessagesServer([WORDS]) as server:
        assert ask(server).code == 0
        price = 'price = { input = 1, output = 2 }\ncutoff = "2025-01"\n'
        assert ask(server, ENTRY + price, key="").code == 0
        assert len(server.seen) == 3
    with MessagesServer([WORDS]) as elsewhere:
        said = ask(elsewhere)
        assert "the run was begun with answers from" in said.err
        assert elsewhere.seen == []
        for n, change in enumerate(("max_tokens = 9\n", 'effort = "low"\n', "temperature = 1\n")):
            assert ask(elsewhere, ENTRY + change).code == 0
            assert len(list(ask.runs.iterdir())) == n + 2


def test_prices_by_hand_are_what_a_reply_costs(ask):
    entry = ENTRY + "price = { input = 1, output = 2, cache_read = 0.1, cache_write = 3 }\n"
    with MessagesServer([WORDS]) as server:
        said = ask(server, entry)
    per_call = (500 * 1 + 1_000 * 0.1 + 100 * 3 + 150 * 2) / 1e6
    assert json.loads(said.out)["cost_usd"] == pytest.approx(3 * per_call)


def test_a_key_command_is_asked_for_the_key(ask, monkeypatch):
    monkeypatch.delenv("GPU_KEY")
    command = json.dumps([sys.executable, "-S", "-c", f"print('{KEY}')"])
    with MessagesServer([WORDS]) as server:
        said = ask(server, key=f"key_command = {command}")
        assert said.code == 0, said.err
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_of_ones_own_has_its_settings_in_the_spec_too(ask):
    with MessagesServer([WORDS]) as server:
        at = f'[endpoints.ollama]\nbase_url = "{server.url}"\n'
        said = ask(server, ENTRY + at, model="ollama/qwen3:8b")
        assert said.code == 0, said.err
        assert {seen.body["model"] for seen in server.seen} == {"qwen3:8b"}
    folder = made.only_run(ask.runs)
    assert folder.name.startswith("qwen3_8b-")
    spec = made.lines(folder)[0].record["spec"]
    assert (spec["model"], spec["profile"]["id"]) == ("ollama/qwen3:8b", "qwen3:8b")
    (ask.folder / "dream.toml").unlink()
    assert api.replay(folder).complete


def test_a_wrong_entry_is_refused_before_anything_is_made(ask):
    with MessagesServer() as server:
        said = ask(server, ENTRY + "max_token = 9\n")
        assert (said.code, server.seen) == (2, [])
    assert "[models.mine] has no setting 'max_token'" in said.err
    assert not ask.runs.exists()


def test_a_row_of_the_catalogue_has_no_profile_in_its_spec(bars_path):
    for name, id_ in {"sonnet": "claude-sonnet-5-5", "deepseek": "deepseek-flash"}.items():
        assert resolve_model(name) == (id_, None)
    assert "profile" not in made.spec(bars_path, model="claude-sonnet-5-5").as_json()


def test_a_profile_that_is_not_the_models_is_refused(bars_path, tmp_path):
    profile = {"id": "claude-sonnet-5-5", "answer": "text"}
    for model in ("claude-sonnet-5-5", "ollama/x", "rules"):
        spec = made.spec(bars_path, model=model, profile=profile)
        with pytest.raises(SpecInvalid, match="profile: what is sent to"):
            made.run(spec, tmp_path, options={"access": Access()})
    with pytest.raises(SpecInvalid, match="no such setting"):
        made.spec(bars_path, set_={"profile": "x"})


FORM = "answered as text: the endpoint refuses schema ("


@pytest.fixture
def ask_vllm(ask):
    def run(server, **options):
        at = f'[endpoints.vllm]\nbase_url = "{server.url}"\n'
        return ask(server, ENTRY + at, model="vllm/llama", **options)

    run.runs = ask.runs
    return run


def test_a_refused_form_is_answered_in_the_other_one_and_the_journal_says_so(ask_vllm):
    with MessagesServer(["400", WORDS]) as server:
        said = ask_vllm(server)
        assert said.code == 0, said.err
        forms = ["output_config" in seen.body for seen in server.seen]
    assert forms == [True, False, False, False], "one refusal, and never again"
    assert f"note: {FORM}" in said.err
    folder = made.only_run(ask_vllm.runs)
    first, *later = made.of_kind(folder, "reply")
    assert first["error"].startswith(FORM)
    assert "answered 400" in first["error"]
    assert (first["turn"], [reply["error"] for reply in later]) == (0, [None, None])
    again = api.replay(folder)
    assert (again.complete, again.digest) == (True, json.loads(said.out)["digest"])


def test_a_run_goes_on_in_the_form_in_which_it_was_begun(ask_vllm):
    with MessagesServer(["422", WORDS, WORDS, "401"]) as server:
        assert ask_vllm(server, decisions=5).code == 5
    with MessagesServer([WORDS]) as server:
        said = ask_vllm(server, decisions=5)
        assert said.code == 0, said.err
        assert ["output_config" in seen.body for seen in server.seen] == [False] * 3
    assert len(made.of_kind(made.only_run(ask_vllm.runs), "decision")) == 5


def test_after_the_first_answer_a_refusal_stops_the_run(ask_vllm):
    with MessagesServer(["ok", "400", "ok"]) as server:
        said = ask_vllm(server)
        assert said.code == 5
        assert len(server.seen) == 2
    assert "check that it is meant for this model" in said.err


def test_where_the_other_form_is_refused_too_it_was_not_the_form(ask_vllm):
    with MessagesServer(["400"]) as server:
        said = ask_vllm(server)
        assert (said.code, len(server.seen)) == (5, 2)
    assert "answered 400" in said.err
    assert made.of_kind(made.only_run(ask_vllm.runs), "reply") == []


def test_an_unreadable_answer_in_the_other_form_is_repaired_in_it(ask_vllm):
    with MessagesServer(["400", "text:Up!", WORDS]) as server:
        said = ask_vllm(server, decisions=2)
        assert said.code == 0, said.err
        assert ["output_config" in seen.body for seen in server.seen] == [True] + [False] * 3
    folder = made.only_run(ask_vllm.runs)
    replies = made.of_kind(folder, "reply")
    assert [reply["purpose"] for reply in replies] == ["decision", "repair", "decision"]
    assert api.replay(folder).complete
