"""Memory of arrays in a wider format, beside the caller's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.memory import Storage, View
from blockstep.interp.owners import memory_of
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.runtime.whatif.widening import NotWidened


def as_double(array: Any, kind: ty.dtype) -> Any:
    """The values of an array of some format as float64, exactly."""
    if not kind.is_floating():
        return np.asarray(array).astype(np.float64)
    with np.errstate(all="ignore"):
        array = np.ascontiguousarray(array)
        return np.asarray(numerics.converter(kind.codegen_name(), "float64", None)(array))


@dataclass(slots=True, eq=False)
class Wide:
    """The arguments of a launch with some of its memory in wider formats. `arguments` by parameter
    name; what is not widened is the caller's own memory."""

    arguments: dict[str, Any]
    storages: dict[int, Storage] = field(default_factory=dict)

    def values(self, name: str) -> Any:
        """The elements of an array argument as float64."""
        return values_of(self.arguments[name])


def values_of(view: View) -> Any:
    """The elements of a view as float64, copied, in its shape."""
    assert view.storage is not None
    strides = [s * view.itemsize for s in view.strides]
    offset = view.base - view.storage.base
    array = np.ndarray(view.shape, view.dtype.numpy, view.storage.data.data, offset, strides)
    return as_double(array.copy(), view.dtype)


def wide(arguments: Mapping[str, Any], kinds: Mapping[str, ty.dtype]) -> Wide:
    """Arguments with the memory behind the named ones in the formats that are given: all arguments
    of one storage have one. Raises NotWidened."""
    made = Wide(dict(arguments))
    for name, kind in kinds.items():
        view = arguments[name]
        storage = view.storage
        twin = made.storages.get(id(storage))
        if twin is None:
            twin = made.storages[id(storage)] = _twin(storage, view, kind)
        offset, rest = divmod(view.base - storage.base, view.itemsize)
        if rest:
            raise NotWidened(f"`{name}` does not start at an element of its memory")
        base = twin.base + offset * kind.itemsize
        made.arguments[name] = View(
            twin, name, kind, base, view.shape, view.strides, writeable=view.writeable
        )
    return made


def _twin(storage: Storage, view: View, kind: ty.dtype) -> Storage:
    values = as_double(storage.typed(view.dtype.numpy), view.dtype)
    return Storage(memory_of(values.astype(kind.numpy)), storage.name)


def sharing(arguments: Mapping[str, Any], written: Iterable[str]) -> dict[str, ty.dtype]:
    """The float arrays whose memory is written, with all that share memory with them. Raises
    NotWidened where memory is read in two formats."""
    storages = {id(arguments[n].storage) for n in written if isinstance(arguments[n], View)}
    found = {
        name: view.dtype for name, view in arguments.items()
        if isinstance(view, View) and view.storage is not None and id(view.storage) in storages
    }  # fmt: skip
    for storage in storages:
        kinds = {k for n, k in found.items() if id(arguments[n].storage) == storage}
        if len(kinds) > 1 and any(k.is_floating() for k in kinds):
            raise NotWidened("an array is read in two formats")
    return {n: k for n, k in found.items() if k.is_floating()}


__all__ = ["Wide", "as_double", "sharing", "values_of", "wide"]
