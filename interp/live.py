"""The arrays that are alive in this process: the last resort for an address that nobody announced.

A table of pointers (`x.data_ptr()`, `x.ctypes.data`) may name arrays that no launch and no patched
factory has seen. NumPy arrays are not tracked by the garbage collector, but what holds them is: they
are found among the referents of every tracked object and in the frames that are running.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockstep.interp.owners import torch_module


def live_arrays() -> Iterator[Any]:
    """Every NumPy array and torch tensor that can be reached, some of them more than once."""
    tracked = gc.get_objects()
    yield from _arrays_in(gc.get_referents(*tracked))
    torch = torch_module()
    if torch is not None:
        for thing in tracked:
            if not issubclass(type(thing), torch.Tensor):
                continue
            if thing.device.type == "cpu" and thing.layout is torch.strided:
                yield thing
    for frame in sys._current_frames().values():
        while frame is not None:
            yield from _arrays_in(list(frame.f_locals.values()))
            frame = frame.f_back  # type: ignore[assignment]


def _arrays_in(things: list[Any]) -> Iterator[Any]:
    """The arrays among `things`, and in tuples and dicts that the collector does not track (it
    drops those that hold nothing but untracked objects, such as arrays)."""
    for thing in things:
        if _is_array(thing):
            yield thing
        elif type(thing) in (tuple, dict) and not gc.is_tracked(thing):
            yield from _arrays_in(gc.get_referents(thing))


def _is_array(thing: Any) -> bool:
    return type(thing) is np.ndarray and thing.size > 0 and not thing.dtype.hasobject
