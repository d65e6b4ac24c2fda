"""Which stream a launch goes to: the current one of the library whose arrays are passed.

torch and CuPy are asked if the program has loaded them; neither is ever imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from blockstep.interp.owners import is_torch_tensor

DEFAULT = 0  # the legacy default stream


def torch_with_cuda() -> Any:
    """torch, if the program has loaded it and its CUDA is a real one: not the device map's."""
    torch: Any = sys.modules.get("torch")
    device_map: Any = sys.modules.get("blockstep.runtime.torch_device")
    if not hasattr(torch, "cuda") or (device_map is not None and device_map.installed()):
        return None
    return torch


def torch_stream() -> Callable[[int], int] | None:
    """torch's answer by device, if torch has a CUDA that is in use."""
    torch = torch_with_cuda()
    if torch is None or not torch.cuda.is_initialized():
        return None
    found: Callable[[int], int] = torch._C._cuda_getCurrentRawStream
    return found


def cupy_stream() -> Callable[[int], int] | None:
    """CuPy's answer by device, if CuPy is loaded."""
    cupy: Any = sys.modules.get("cupy")
    if not hasattr(cupy, "cuda"):
        return None
    return lambda ordinal: int(cupy.cuda.get_current_stream().ptr)  # of the current device


def is_cupy(x: Any) -> bool:
    """Whether `x` is an array of CuPy."""
    cupy: Any = sys.modules.get("cupy")
    return hasattr(cupy, "ndarray") and isinstance(x, cupy.ndarray)


def current_stream(ordinal: int, arrays: Iterable[Any]) -> int:
    """The stream for a launch on these arrays.

    CuPy's current stream where CuPy arrays are passed and no tensors of torch; what an object's
    `__cuda_array_interface__` names where only such objects are; else torch's, CuPy's, or the
    default stream."""
    given = list(arrays)
    ask = torch_stream()
    if ask is not None and any(map(is_torch_tensor, given)):
        return ask(ordinal)
    cupy = cupy_stream()
    if cupy is not None and any(map(is_cupy, given)):
        return cupy(ordinal)
    told = [getattr(x, "__cuda_array_interface__", {}).get("stream") for x in given]
    named = [stream for stream in told if stream]
    if named:
        return int(named[0])
    ask = ask or cupy
    return ask(ordinal) if ask is not None else DEFAULT
