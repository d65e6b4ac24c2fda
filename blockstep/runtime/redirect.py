"""`import triton` gives blockstep, in this process, from `install()` to `uninstall()`.

A finder in front of `sys.meta_path` answers for every name under `triton`. A name in `ALIASES` is
another name of the *same module object* (`triton.language is blockstep.language`); submodules of
an aliased package follow it; names in `UNSUPPORTED` fail with the reason. Everything else under
`triton` does not exist. Package metadata says 3.6.0. When the process imports torch and has no
GPU, `blockstep.runtime.torch_device` lets scripts that say `cuda` run.

Nothing of a real Triton is touched on disk. Its modules, if loaded, are put aside and come back
with `uninstall()`; objects already taken from them stay what they were. A library that needs the
real Triton beside ours gets it in a child process.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

VERSION = "3.6.0"
COMPAT = "blockstep.runtime.compat"
PACKAGE = Path(__file__).parent / "compat" / "package.py"

ALIASES = {
    "triton.language": "blockstep.language",
    "triton.testing": "blockstep.testing",
    "triton.knobs": "blockstep.knobs",
    "triton.errors": "blockstep.errors",
    "triton.tools": "blockstep.tools",
    "triton._internal_testing": "blockstep._internal_testing",
    "triton._utils": f"{COMPAT}.utils",
    "triton._filecheck": f"{COMPAT}.filecheck",
    "triton._C": f"{COMPAT}.native",
    "triton._C.libtriton": f"{COMPAT}.libtriton",
    "triton.runtime": f"{COMPAT}.runtime",
    "triton.runtime.driver": f"{COMPAT}.driver",
    "triton.runtime.jit": f"{COMPAT}.jit",
    "triton.runtime.autotuner": "blockstep.runtime.autotune",
    "triton.runtime.cache": f"{COMPAT}.cache",
    "triton.runtime.errors": "blockstep.errors",
    "triton.runtime.interpreter": f"{COMPAT}.interpreter",
    "triton.runtime.build": f"{COMPAT}.build",
    "triton.runtime._allocation": f"{COMPAT}.allocation",
    "triton.runtime._async_compile": f"{COMPAT}.async_compile",
    "triton.compiler": f"{COMPAT}.compiler",
    "triton.compiler.compiler": f"{COMPAT}.compiler",
    "triton.compiler.errors": "blockstep.errors",
    "triton.backends": f"{COMPAT}.backend",
    "triton.backends.compiler": f"{COMPAT}.backend",
    "triton.backends.driver": f"{COMPAT}.driver",
    "triton.backends.nvidia": f"{COMPAT}.nvidia",
    "triton.backends.nvidia.compiler": f"{COMPAT}.nvidia",
    "triton.backends.nvidia.driver": f"{COMPAT}.nvidia",
    "triton.profiler": f"{COMPAT}.profiler",
    "triton.profiler.viewer": f"{COMPAT}.profiler",
}

UNSUPPORTED = {
    "triton.experimental": "it programs lanes and layouts by hand, outside the block language",
    "triton.compiler.code_generator": "there is no MLIR, so nothing generates it",
    "triton.backends.amd": "there is no AMD compiler",
    "triton.profiler.language": "there are no device counters",
}

EVERY_DISTRIBUTION = importlib.metadata.DistributionFinder.Context()

FOLLOWED = ("triton.language", "triton.tools")
"""Aliased packages whose other submodules are ours under the same name."""

ENTERED = {"triton.runtime": ("triton.runtime.driver",)}
"""Submodules that are loaded with their package, because an object of the package has their name.
"""


class AliasLoader(importlib.abc.Loader):
    """Gives a module that already has another name, and leaves it as it is."""

    def __init__(self, fullname: str, module: ModuleType) -> None:
        self.fullname = fullname
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        for child in ENTERED.get(self.fullname, ()):
            sys.modules[child] = importlib.import_module(ALIASES[child])


class TritonDistribution(importlib.metadata.Distribution):
    """Package metadata under the name `triton`."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: triton\nVersion: {VERSION}\nSummary: blockstep\n"
        return "triton\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Any:
        return PACKAGE.parent / path


class Redirect(importlib.metadata.DistributionFinder):
    """The finder for `triton` and its metadata; it also waits for torch."""

    def __init__(self, device_map: bool) -> None:
        self.device_map = device_map
        self.aside: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch" and self.device_map:
            return self._torch_spec(path)
        if fullname == "triton":
            return _package_spec()
        if not fullname.startswith("triton."):
            return None
        _refuse(fullname)
        module = resolve(fullname)
        if module is None:
            return None
        loader = AliasLoader(fullname, module)
        is_package = hasattr(module, "__path__")
        return importlib.machinery.ModuleSpec(
            fullname, loader, origin=module.__name__, is_package=is_package
        )

    def _torch_spec(self, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
        """Torch as the other finders find it, with the device map put in once it is loaded."""
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec("torch", path) for finder in others)), None)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _map_devices()

            loader.exec_module = exec_module
        return spec

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = EVERY_DISTRIBUTION
    ) -> Iterator[importlib.metadata.Distribution]:
        if context.name in (None, "triton"):
            yield TritonDistribution()

    def invalidate_caches(self) -> None: ...


def _package_spec() -> importlib.machinery.ModuleSpec | None:
    """The package `triton`, with no folder that submodules could be found in."""
    spec = importlib.util.spec_from_file_location("triton", PACKAGE, submodule_search_locations=[])
    if spec is not None:
        spec.submodule_search_locations = []
    return spec


def _map_devices() -> None:
    from blockstep.runtime import torch_device

    torch_device.install()


def _refuse(fullname: str) -> None:
    for name, reason in UNSUPPORTED.items():
        if fullname == name or fullname.startswith(f"{name}."):
            raise ModuleNotFoundError(
                f"unsupported: blockstep has no {fullname}: {reason}", name=fullname
            )


def resolve(fullname: str) -> ModuleType | None:
    """Our module of that name, or None if there is none."""
    if fullname in ALIASES:
        return importlib.import_module(ALIASES[fullname])
    for package in FOLLOWED:
        if fullname.startswith(f"{package}."):
            return _module(ALIASES[package] + fullname[len(package) :])
    return None


def _module(name: str) -> ModuleType | None:
    """The module called `name`, also where it is only an attribute of its parent; None if there is
    none."""
    if name in sys.modules:
        return sys.modules[name]
    parent, _, child = name.rpartition(".")
    above = _module(parent) if parent else None
    held = getattr(above, child, None)
    if isinstance(held, ModuleType):
        return held
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _loaded() -> list[str]:
    return [name for name in sys.modules if name == "triton" or name.startswith("triton.")]


_active: Redirect | None = None


def installed() -> bool:
    """Whether `triton` is blockstep in this process."""
    return _active is not None


def install(device_map: bool = True) -> None:
    """From here on `import triton` gives blockstep. `device_map=False` leaves torch's devices
    alone."""
    global _active
    if _active is not None:
        return
    finder = Redirect(device_map)
    finder.aside = {name: sys.modules.pop(name) for name in _loaded()}
    sys.meta_path.insert(0, finder)
    _active = finder
    if device_map and "torch" in sys.modules:
        _map_devices()


def uninstall() -> None:
    """`import triton` gives again what it gave before `install()`."""
    global _active
    if _active is None:
        return
    finder, _active = _active, None
    sys.meta_path.remove(finder)
    for name in _loaded():
        del sys.modules[name]
    sys.modules.update(finder.aside)
    torch_device = sys.modules.get("blockstep.runtime.torch_device")
    if torch_device is not None:
        torch_device.uninstall()
