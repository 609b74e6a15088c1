"""Disks of a test's own: small ones in memory and read-only ones, where the system allows them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

UNSHARE = ("unshare", "-rm")


def _allowed() -> bool:
    if sys.platform != "linux" or shutil.which(UNSHARE[0]) is None:
        return False
    mount = [*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return not subprocess.run(mount, check=False, capture_output=True).returncode


needs_mounts = pytest.mark.skipif(not _allowed(), reason="needs mounts of one's own")
