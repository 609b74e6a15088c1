"""A key is in no output of a run, whatever goes wrong: files, terminal, errors and their causes."""

from __future__ import annotations

import base64
import traceback
from urllib.parse import quote

import pytest

from dream.errors import DreamError
from dream.runs import api
from dream.runs.access import Access
from tests.cli.typed import dream
from tests.messages_server import MessagesServer
from tests.runs import made

__all__ = ["dream"]

KEY = "sk-ant-/+loop%back=" + "j8" * 12
SAID = (
    f"text:{KEY}", f"text:Bearer {quote(KEY, safe='')}", "text:" + KEY.encode().hex(),
    "text:" + base64.b64encode(f"Bearer {KEY}".encode()).decode(),
)  # fmt: skip
PASSING = (
    "echo:429", "echo:500", "headers:529", "badjson", "notmessage", "cut", "reset", "body:" + KEY,
    *SAID, "refusal", "maxtok",
)  # fmt: skip
LASTING = ("echo:400", "echo:401", "echo:403", "echo:404", "headers:401", "redirect", "wrongmodel",
           "longname", "packed:rot13")  # fmt: skip


def forms():
    """The key as it may be written down: any of these in an output is a leak."""
    raw = KEY.encode()
    yield from (KEY, KEY[7:], quote(KEY, safe=""), quote(KEY), raw.hex())
    for before in range(3):
        text = base64.b64encode(b"x" * before + raw).decode()
        yield text[4:-4]
        yield text[4:-4].translate(str.maketrans("+/", "-_"))


def leaks(text: str) -> list[str]:
    return [form for form in forms() if form in text]


def test_the_search_finds_what_it_looks_for():
    for text in (f"a {KEY} b", base64.b64encode(f"Bearer {KEY}".encode()).decode(), quote(KEY)):
        assert leaks(text)
    assert not leaks("sk-ant-another-key")


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def outputs(folder) -> str:
    return "".join(
        f"{path}\n{path.read_text(errors='replace')}"
        for path in folder.rglob("*")
        if path.is_file()
    )


def asked(dream, server, bars_path, *args):
    where = ("--bars", bars_path, "--base-url", server.url, "--memory", "none")
    return dream("run", "--model", "sonnet", "--on-error", "hold", *where, *args)


def test_no_output_of_a_run_that_survives_its_faults_has_the_key(dream, bars_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _s: None)
    plan = [step for fault in PASSING for step in ([fault] * 6 if ":" not in fault else [fault])]
    with MessagesServer(["ok", *plan, "ok"]) as server:
        run = asked(dream, server, bars_path, "--decisions", 12)
        again = asked(dream, server, bars_path, "--decisions", 12, "--json")
        assert len(server.seen) > 30
    assert (run.code, again.code) == (0, 0)
    statuses = {d["status"] for d in made.of_kind(made.only_run(dream.folder / "runs"), "decision")}
    assert statuses >= {"ok", "parse_error", "api_error"}
    texts = (run, again, dream("models", "--json"))
    assert not leaks("".join(said.out + said.err for said in texts) + outputs(dream.folder))


def test_no_output_of_a_run_that_stops_has_the_key(dream, bars_path):
    with MessagesServer(["ok", "echo:401"]) as server:
        said = asked(dream, server, bars_path, "--decisions", 3)
    assert said.code == 5
    assert "bad key Bearer [key]" in said.err
    assert not leaks(said.out + said.err + outputs(dream.folder))


@pytest.mark.parametrize("fault", [*PASSING, *LASTING], ids=lambda f: f.replace(KEY, "KEY")[:24])
def test_no_check_of_a_model_tells_the_key(dream, fault):
    with MessagesServer([fault]) as server:
        said = dream("models", "check", "sonnet", "--base-url", server.url)
    assert said.code == 5
    assert not leaks(said.out + said.err)


@pytest.mark.parametrize("fault", ["headers:401", "body:" + KEY])
def test_no_error_has_it_in_itself_or_in_what_it_came_from(bars_path, tmp_path, fault):
    access = Access({"ANTHROPIC_API_KEY": KEY}, None, lambda _s: None, lambda: 0)
    assert not leaks(repr(access))
    with MessagesServer([fault]) as server:
        access = Access({"ANTHROPIC_API_KEY": KEY}, server.url, lambda _s: None, lambda: 0)
        options = api.Options(folder=tmp_path, access=access)
        with pytest.raises(DreamError) as caught:
            api.run(made.spec(bars_path, model="sonnet"), options=options)
    error: BaseException | None = caught.value
    assert not leaks("".join(traceback.format_exception(error)))
    while error is not None:
        assert not leaks(repr(error.args) + repr(getattr(error, "__notes__", "")))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
