"""PyTorch scripts that say `cuda` run on a machine without a GPU.

Inside the map the device `cuda` is another name of the CPU: factories, `.to`, `.cuda` and
`torch.device` give CPU tensors, and `torch.cuda` answers from the device profile in force. Tensors
keep saying what they are (`x.device` is `cpu`, `x.is_cuda` is False). Where torch sees a real GPU
nothing is changed.

The map is a TorchFunctionMode. Torch keeps modes per thread, so threads started while it is in
force enter it too; and torch takes a mode off while a function of its own runs, so Python code
that such a function calls back (backward passes, Python kernels of `torch.library`) puts it on
again.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from blockstep.runtime.torch_cuda import answers


class _Map:
    """The map of this process: the mode, and what it replaced."""

    def __init__(self) -> None:
        self.mode = _device_mode()
        self.replaced: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        self.replaced.append((owner, name, getattr(owner, name, _MISSING)))
        setattr(owner, name, value)

    def enter(self) -> None:
        import torch

        for owner, name, value in answers():
            self.replace(owner, name, value)
        engine: Any = torch.autograd
        self.replace(engine, "_engine_run_backward", self.inside(engine._engine_run_backward))
        self.replace(torch.library.Library, "impl", self._register(torch.library.Library.impl))
        self.replace(threading.Thread, "start", self._start(threading.Thread.start))
        self.mode.__enter__()

    def leave(self) -> None:
        self.mode.__exit__(None, None, None)
        for owner, name, value in reversed(self.replaced):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    def inside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, called with the mode on."""
        mode = type(self.mode)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with mode():
                return function(*args, **kwargs)

        return call

    def _register(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(impl)
        def register(library: Any, op_name: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
            wrapped = self.inside(fn) if inspect.isfunction(fn) else fn
            return impl(library, op_name, wrapped, *args, **kwargs)

        return register

    def _start(
        self, start: Callable[[threading.Thread], None]
    ) -> Callable[[threading.Thread], None]:
        @functools.wraps(start)
        def start_inside(thread: threading.Thread) -> None:
            thread.run = self.inside(thread.run)  # type: ignore[method-assign]
            start(thread)

        return start_inside


_MISSING = object()
_map: _Map | None = None


def is_cuda_device(value: Any) -> bool:
    """Whether `value` names a CUDA device: "cuda", "cuda:1", torch.device("cuda")."""
    name = value if isinstance(value, str) else getattr(value, "type", None)
    return isinstance(name, str) and name.split(":")[0] == "cuda"


def _device_mode() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    cpu = torch.device("cpu")
    tensor = torch.Tensor

    def mapped(value: Any) -> Any:
        return cpu if isinstance(value, str | torch.device) and is_cuda_device(value) else value

    def on_tensor(func: Any, args: tuple[Any, ...]) -> Any:
        """The result where a tensor method means the GPU by its very name, else NotImplemented."""
        if func is tensor.cuda or func is tensor.pin_memory:
            return args[0]
        return None if func is tensor.record_stream else NotImplemented

    class DeviceMode(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        """Replaces the device in the arguments of every torch function."""

        def __torch_function__(
            self,
            func: Any,
            types: Any,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            kwargs = dict(kwargs or {})
            result = on_tensor(func, args)
            if result is not NotImplemented:
                return result
            if func is torch.device:
                named = [*args, *kwargs.values()][:1]
                return cpu if named and _placed(named[0], cpu) is cpu else func(*args, **kwargs)
            if "device" in kwargs:
                kwargs["device"] = _placed(kwargs["device"], cpu)
            kwargs.pop("pin_memory", None)
            if func is tensor.to and len(args) > 1 and isinstance(args[1], int):
                args = (args[0], cpu, *args[2:])
            return func(*map(mapped, args), **kwargs)

    return DeviceMode()


def _placed(device: Any, cpu: Any) -> Any:
    """A device argument: an int is the index of a GPU."""
    return cpu if isinstance(device, int) or is_cuda_device(device) else device


def install() -> bool:
    """Put the map in force, unless torch has a GPU; whether it is in force."""
    global _map
    import torch

    if _map is None and not torch.cuda.is_available():
        _map = _Map()
        _map.enter()
    return _map is not None


def uninstall() -> None:
    """Take the map out of force."""
    global _map
    if _map is not None:
        _map.leave()
        _map = None


def installed() -> bool:
    """Whether the map is in force."""
    return _map is not None
