from __future__ import annotations

import os
from pathlib import Path

import pytest

from dream.errors import BarsInvalid, InputError
from dream.files import open_regular, read_bounded


def test_the_bytes_of_a_file_up_to_its_bound(tmp_path):
    path = tmp_path / "script"
    path.write_bytes(b"\x00abc\r\n")
    assert read_bounded(path, "script", 6) == b"\x00abc\r\n"
    with pytest.raises(InputError, match=r"script .*: longer than 5 bytes"):
        read_bounded(path, "script", 5)
    with open_regular(str(path), "script") as file:
        assert file.read(2) == b"\x00a"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BarsInvalid, match="found a pipe or a device"):
        open_regular(pipe, "bars", error=BarsInvalid)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_without_end_is_refused():
    with pytest.raises(InputError, match="found a pipe or a device"):
        read_bounded("/dev/zero", "script", 10)


def test_a_folder_a_missing_file_and_an_impossible_name(tmp_path):
    with pytest.raises(InputError, match="found a folder"):
        open_regular(tmp_path, "bars")
    with pytest.raises(InputError, match=r"bars .*missing: cannot be read: No such file"):
        open_regular(tmp_path / "missing", "bars")
    with pytest.raises(InputError, match="null"):
        open_regular("a\0b", "bars")
