"""What compiling depends on besides the kernel: the tools that are installed, and our own code.

The invariant of `fingerprint` is that it differs wherever the same kernel could be compiled to
something else, so it belongs into every key of the disk cache. It imports none of the tools: a warm
start must not pay for a compiler that it does not use.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Iterator

import blockstep
from blockstep import ir, knobs, language, target
from blockstep.errors import UnsupportedError

REMEDY = "pip install 'blockstep[compile]'"
TOOLS = ("llvmlite", "cuda-bindings", "nvidia-nvjitlink", "nvidia-nvvm", "nvidia-cuda-nvcc")
PTXAS = "TRITON_PTXAS_PATH"
TOOLKIT = ("CUDA_PATH", "CUDA_HOME")


def missing(what: str) -> UnsupportedError:
    """The error for a tool that is not installed. It is not a bug in the kernel."""
    return UnsupportedError(
        f"unsupported: compiling needs {what}, which is not installed here\nhelp: {REMEDY}"
    )


def fingerprint() -> dict[str, str]:
    """What the compiled form of any kernel depends on, by name: parts of a key of the cache."""
    chosen = (knobs.nvidia.libdevice_path, os.environ.get(PTXAS) or shutil.which("ptxas"))
    return {
        **_versions(),
        "blockstep": f"{blockstep.__version__} {_own_code()}",
        "files": " ".join(stamp(path) for path in chosen if path is not None),
        "toolkit": " ".join(os.environ.get(name, "") for name in TOOLKIT),
    }


def ptxas_path() -> str:
    """The program ptxas: the one that `TRITON_PTXAS_PATH` names, else that of the installed wheel
    or toolkit, else the one on the path.

    Raises UnsupportedError, with the remedy, if there is none."""
    found = os.environ.get(PTXAS) or _installed_ptxas() or shutil.which("ptxas")
    if found is None:
        raise missing("ptxas, NVIDIA's assembler of whole programs,")
    return found


@functools.cache
def _installed_ptxas() -> str | None:
    from cuda.pathfinder import find_nvidia_binary_utility  # not for a warm start

    found: str | None = find_nvidia_binary_utility("ptxas")
    return found


@functools.cache
def _versions() -> dict[str, str]:
    return {name: _version(name) for name in TOOLS}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"  # it may still come from a toolkit, whose place is in the fingerprint


@functools.cache
def _own_code() -> str:
    """A digest of the files that decide what a kernel is compiled to: names, sizes and times, so
    that editing the compiler empties its cache."""
    digest = hashlib.sha256(stamp(target.__file__).encode())
    for folder in (os.path.dirname(__file__), *ir.__path__, *language.__path__):
        for path in sorted(_sources(folder)):
            digest.update(f"{stamp(path)}\n".encode())
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path


def stamp(path: str) -> str:
    """What tells one version of a file from another: its path, size and time of change."""
    facts = os.stat(path)
    return f"{path} {facts.st_size} {facts.st_mtime_ns}"
