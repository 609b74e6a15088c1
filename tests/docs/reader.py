"""A reader in an empty folder who types what a page says, block by block, from top to bottom."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from dream.bars import synth
from tests.messages_server import MessagesServer
from tests.runs import made

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docs.pages import Block

KEY = "ANTHROPIC_API_KEY=... "
ASKED = 40
"""The most questions that a command with a model asks here, whatever the page says."""

NOT_RUN = {
    "python3 -m venv": "installs from a package index; tests/test_packaging.py installs a wheel",
    ".venv/bin/pytest": "is this test itself",
}
"""Beginnings of lines that are not typed here, and why."""


def answer(body: dict) -> str:
    """A model that takes what is live and waits otherwise, in sentences of a usual length."""
    live = re.search(r"^(\w+): LIVE long", body["messages"][0]["content"], re.MULTILINE)
    said = {
        "reasoning": "The close is where the rule wants it and the regime agrees with the side. "
        "The recalled trades of this kind mostly won, so the target is left to the board.",
        "action": "BUY" if live else "HOLD",
        "strategy": live[1] if live else None,
        "confidence": 0.6,
        "stop": None,
        "target": None,
    }
    return json.dumps(said)


class Reader:
    """Follows one page. `said` has what each block printed, by the block's line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: dict[int, str] = {}
        self.typed: list[str] = []
        self.skipped: list[str] = []
        self.requests: list[dict] = []
        csv = ["timestamp,open,high,low,close,volume"]
        bars = synth.make(made.BARS, made.SEED)
        opens = (bars.t_close_ns - bars.bar_ns).astype("datetime64[ns]").astype("datetime64[s]")
        rows = zip(opens.tolist(), bars.px.tolist(), bars.volume.tolist(), strict=True)
        for at, prices, volume in rows:
            text = ",".join(f"{ticks / 100:.2f}" for ticks in prices)
            csv.append(f"{at.isoformat()}Z,{text},{volume:g}")
        (folder / "gold.csv").write_text("\n".join(csv) + "\n", encoding="utf-8")

    def follow(self, blocks: list[Block]) -> None:
        """Every block of the page; the first that does not work fails the test."""
        for block in blocks:
            if block.language == "sh":
                self.said[block.line] = "".join(map(self._type, block.text.splitlines()))
            elif block.language in ("python", "toml") and block.file:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                script = self.folder / f"line_{block.line}.py"
                script.write_text(block.text, encoding="utf-8")
                keyed = "ANTHROPIC_API_KEY" in block.text
                self.said[block.line] = self._start([sys.executable, str(script)], keyed=keyed)
            else:
                assert block.language in ("text", "toml"), (
                    f"line {block.line}: say what the block is"
                )

    def _type(self, line: str) -> str:
        if any(line.startswith(beginning) for beginning in NOT_RUN):
            self.skipped.append(line)
            return ""
        keyed = line.startswith(KEY)
        words = shlex.split(line.removeprefix(KEY).removeprefix(".venv/bin/"))
        assert words[0] == "dream", line
        self.typed.append(line)
        if words[-1] == "RUN":
            words[-1] = str(self.newest_run())
        if keyed:
            place = words.index("--decisions") + 1
            words[place] = str(min(int(words[place]), ASKED))
        return self._start(made.command(*words[1:]), keyed=keyed)

    def newest_run(self) -> Path:
        """The folder of the run that was started last."""
        return max((self.folder / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)

    def _start(self, command: list[str], *, keyed: bool) -> str:
        env = made.environment(XDG_CACHE_HOME=str(self.folder / "cache"))
        if not keyed:
            return self._finish(command, env)
        with MessagesServer(answer=answer) as server:
            more = {"ANTHROPIC_API_KEY": "a-key-of-nobody", "DREAM_BASE_URL": server.url}
            out = self._finish(command, env | more)
            assert server.seen, "the model was not asked"
            self.requests += [request.body for request in server.seen]
        return out

    def _finish(self, command: list[str], env: dict[str, str]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout
