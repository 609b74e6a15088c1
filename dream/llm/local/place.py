"""Where `local` is installed, and whether what lies there is whole."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from dream.errors import InputError, ModelUnavailable
from dream.files import open_regular, read_bounded
from dream.llm.local import pins

if TYPE_CHECKING:
    from pathlib import Path

LIST: Final = "installed.json"
"""Names every file that was installed; written last, so that without it nothing is there."""
_LIST_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Installed:
    """One file: its path inside the folder, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


def default_folder() -> Path:
    """The folder of `local` among the user's data; nothing in it belongs to an environment."""
    from platformdirs import user_data_path  # noqa: PLC0415 - only where it is needed

    return user_data_path("dream") / "local"


def write_list(folder: Path, files: list[Installed]) -> None:
    """Write down what was installed."""
    rows = [asdict(file) for file in files]
    content = {"model": pins.MODEL, "packages": _packages(), "files": rows}
    (folder / LIST).write_text(json.dumps(content, indent=1), encoding="utf-8")


def check_there(folder: Path) -> list[Installed]:
    """What is installed, if every file is there in its size; nothing of it is read.

    Raises:
        ModelUnavailable: not installed, of another version, or damaged; says how to mend it.
    """
    if not folder.is_dir():
        raise ModelUnavailable(
            f"the model local is not installed; {pins.COMMAND} fetches it ({pins.DOWNLOAD_MB} MB)"
        )
    files = _listed(folder)
    for file in files:
        try:
            size = (folder / file.path).stat().st_size
        except OSError:
            raise _damaged(folder, f"{file.path} is missing") from None
        if size != file.size:
            raise _damaged(folder, f"{file.path} has {size} bytes, not {file.size}")
    return files


def check_whole(folder: Path) -> None:
    """Read every installed file: what is loaded is what was installed, to the byte.

    Raises:
        ModelUnavailable: as check_there, or a file has other content.
    """
    for file in check_there(folder):
        expected = pins.WEIGHTS_SHA256 if file.path == pins.WEIGHTS_FILE else file.sha256
        try:
            found = sha256_of(folder / file.path)
        except InputError as error:
            raise _damaged(folder, str(error)) from None
        if found != expected:
            raise _damaged(folder, f"{file.path} has other content than was installed")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size.

    Raises:
        InputError: it cannot be read.
    """
    digest = hashlib.sha256()
    with open_regular(path, "file") as file:
        try:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def _packages() -> dict[str, str]:
    return {package.name: package.version for package in pins.PACKAGES}


def _listed(folder: Path) -> list[Installed]:
    try:
        content: Any = json.loads(read_bounded(folder / LIST, "list", _LIST_BYTES))
        model, packages = content.get("model"), content["packages"]
        rows = content["files"]
        files = [Installed(str(r["path"]), int(r["size"]), str(r["sha256"])) for r in rows]
    except (InputError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise _damaged(folder, f"{LIST} is missing or cannot be read") from None
    if model != pins.MODEL or packages != _packages():
        raise ModelUnavailable(
            f"the model local in {folder} was installed by another version of dream; "
            f"{pins.COMMAND} replaces it"
        )
    if not any(file.path == pins.WEIGHTS_FILE for file in files):
        raise _damaged(folder, f"{LIST} does not name the weights")
    return files


def _damaged(folder: Path, what: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model local in {folder} is damaged: {what}; {pins.COMMAND} installs it again"
    )
