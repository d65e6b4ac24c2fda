"""`numpy.empty`, `torch.empty` and their kin, patched so that never-written memory is known.

What a patched factory makes is registered and filled with a pattern that marks it as unwritten
(`blockstep.interp.unwritten` has the rule). Storages above `LARGEST` bytes are left lazy: they are
registered, nothing is filled, and all their bytes count as written, so that an array of 2**33 bytes
costs no memory.

Invariant: a factory returns what it would have returned, with the same arguments, signature and
errors; only the garbage in it is ours. Install and uninstall nest: the last uninstall puts the
originals back.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np

from blockstep.findings import Span
from blockstep.interp.memory import host_bytes
from blockstep.interp.owners import is_torch_tensor, memory_of, torch_module
from blockstep.interp.registry import registry
from blockstep.interp.unwritten import fill
from blockstep.runtime.import_watch import ImportWatch

LARGEST = 256 << 20  # bytes

_NUMPY = ("empty", "empty_like")
_TORCH = ("empty", "empty_like", "empty_strided", "empty_permuted")
_TENSOR = ("new_empty", "new_empty_strided")


class Factories:
    """The patches of the process. `with factories:` installs them for a while."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._originals: dict[tuple[Any, str], Any] = {}
        self._factories: dict[tuple[str, str], Any] = {}
        self._watch = ImportWatch("torch", self.refresh)

    def install(self) -> None:
        """Patch what is there now, and torch as soon as the program imports it."""
        with self._lock:
            self._users += 1
            self._watch.start()
            self.refresh()

    def refresh(self) -> None:
        """Patch what can be patched now and is not yet."""
        with self._lock:
            if not self._users:
                return
            self._patch_all(np, "numpy", _NUMPY)
            torch = torch_module()
            if torch is not None and hasattr(torch, "empty_strided"):
                _settle()
                self._patch_all(torch, "torch", _TORCH)
                self._patch_all(torch.Tensor, "torch.Tensor", _TENSOR)

    def uninstall(self) -> None:
        """Undo one `install`; what was made stays known."""
        with self._lock:
            if not self._users:
                return
            self._users -= 1
            if self._users:
                return
            self._watch.stop()
            for (holder, name), original in self._originals.items():
                if original is None:
                    delattr(holder, name)
                else:
                    setattr(holder, name, original)
            self._originals.clear()

    @property
    def installed(self) -> bool:
        """Whether the patches are in place."""
        return self._users > 0

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.uninstall()

    def _patch_all(self, holder: Any, path: str, names: tuple[str, ...]) -> None:
        for name in names:
            original = getattr(holder, name, None)
            if original is None or (holder, name) in self._originals:
                continue
            self._originals[holder, name] = vars(holder).get(
                name
            )  # None: inherited, so there is nothing to put back
            setattr(holder, name, self._factory(original, path, name))

    def _factory(self, original: Any, path: str, name: str) -> Any:
        """The patched `original`; one for ever, since torch keeps it by identity."""
        known = self._factories.get((path, name))
        if known is None or known.__wrapped__ is not original:
            known = self._factories[path, name] = _marking(original, f"{path}.{name}")
            if path == "torch":
                _stand_in(known, original)
        return known


def _settle() -> None:
    """Let torch note the originals first: `with torch.device(...)` knows them by identity."""
    known = getattr(importlib.import_module("torch.utils._device"), "_device_constructors", None)
    if callable(known):
        known()


def _stand_in(factory: Any, original: Any) -> None:
    """Let `torch.jit.script` compile calls of `factory` as it compiles those of `original`."""
    builtins = importlib.import_module("torch.jit._builtins")
    table = builtins._get_builtin_table()
    if id(original) in table:
        table[id(factory)] = table[id(original)]


def _marking(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`original`, whose result is filled and registered."""

    @functools.wraps(original)
    def factory(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if kwargs.get("out") is None:
            mark(made, name, depth=2)
        return made

    return factory


def mark(array: Any, made_by: str = "", depth: int = 1) -> None:
    """Fill a fresh array with the pattern and register it as unwritten, if it is plain memory."""
    if not _is_plain(array):
        return
    memory = memory_of(array)
    record = registry.register(array)
    if record is None or (record.base, record.nbytes) != (memory.base, memory.nbytes):
        return
    if memory.nbytes <= LARGEST:
        fill(host_bytes(memory.base, memory.nbytes, memory.owner))
        record.forget_writes()
    frame = sys._getframe(depth)
    record.made_by = made_by
    record.made_at = Span(
        frame.f_code.co_filename, frame.f_lineno, 0, frame.f_lineno, 0, frame.f_code.co_name
    )


def _is_plain(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return not array.dtype.hasobject and array.base is None and array.flags.owndata
    if not is_torch_tensor(array) or array.is_quantized:
        return False
    torch = torch_module()
    exact = type(array) in (
        torch.Tensor,
        torch.nn.Parameter,
    )  # no FakeTensor, no wrapper without memory
    return exact and array.layout == torch.strided and array.device.type == "cpu"


factories = Factories()
install = factories.install
uninstall = factories.uninstall
