"""An import that is asked to end leaves nothing behind."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.bars.files import names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("command", ["check", "import"])
def test_a_request_to_end_removes_what_was_unpacked(tmp_path: Path, command: str) -> None:
    """In the middle of unpacking or reading: no folder, no output, and the code of the signal."""
    source, temporary = tmp_path / "b.csv.gz", tmp_path / "temporary"
    temporary.mkdir()
    row = b"2024-01-08 01:%02d,2000.25,2003.50,1999.00,2002.75,%d\n"
    rows = b"".join(row % (k % 60, k) for k in range(2_000_000))
    source.write_bytes(gzip.compress(b"timestamp,open,high,low,close,volume\n" + rows, 1))
    out = ["-o", str(tmp_path / "o.parquet")] if command == "import" else []
    asked = [sys.executable, "-m", "dream", "bars", command, str(source), "--clock", "utc", *out]
    process = subprocess.Popen(
        asked, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not names(temporary) and time.monotonic() < until:
        time.sleep(0.005)
    assert process.poll() is None, "it has ended before it could be asked to"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + signal.SIGTERM, b"")
    assert names(temporary) == []
    assert names(tmp_path) == ["b.csv.gz", "temporary"]
