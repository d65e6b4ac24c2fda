"""`simulating()`: every launch inside is compiled, run lane by lane in NumPy, and must leave the bytes
that the interpreting machine leaves.

Memory is that of the launch, storage by storage, so that pointers are what the kernel makes of them.
Programs run one after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blockstep.compiler.compile import compile_function
from blockstep.compiler.faults import FAULTS
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Module, Options
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.gpu.compiling import hints_of, options_of
from blockstep.runtime.launch import grid_size
from blockstep.runtime.launch_options import OPTIONS, split_options
from tests.compiler.launched import Launch
from tests.compiler.simt import Array
from tests.compiler.whole_cta import WholeCta
from tests.ops.kernels import bits

_ALIGNED = 256


@dataclass(slots=True)
class _Memory:
    """Copies of a launch's storages in one array of bytes."""

    bound: Bound
    places: dict[int, int] = field(default_factory=dict)  # base of a storage -> where its copy is
    size: int = _ALIGNED
    bytes: Array = field(init=False)

    def __post_init__(self) -> None:
        for storage in self.storages:
            self.places[storage.base] = self.size + storage.base % _ALIGNED
            self.size += -(-(storage.nbytes + _ALIGNED) // _ALIGNED) * _ALIGNED
        self.bytes = np.zeros(self.size + _ALIGNED, np.uint8)  # at the end: the fault record
        for storage in self.storages:
            self.copy_of(storage)[:] = storage.data

    @property
    def storages(self) -> list[Any]:
        views = [p.view for a in self.bound.arguments for p in a.walk() if p.view is not None]
        return list({v.storage.base: v.storage for v in views if v.storage is not None}.values())

    def copy_of(self, storage: Any) -> Array:
        start = self.places[storage.base]
        return self.bytes[start : start + storage.nbytes]

    def address(self, view: Any) -> int:
        if view.storage is None:
            return 0
        return int(self.places[view.storage.base] + view.base - view.storage.base)


def _values(bound: Bound, memory: _Memory) -> dict[str, Any]:
    """What a launch passes, by the names of the compiled kernel's parameters."""
    found: dict[str, Any] = {FAULTS: memory.size}
    for part in (p for a in bound.arguments for p in a.walk()):
        found[part.name] = memory.address(part.view) if part.view is not None else part.value
        if part.kind == "descriptor":
            for axis, (n, step) in enumerate(
                zip(part.value.shape, part.value.strides, strict=True)
            ):
                found[f"{part.name}.shape[{axis}]"] = int(n)
                found[f"{part.name}.strides[{axis}]"] = int(step)
    return found


def run(module: Module, options: Options, one: Launch, memory: _Memory) -> None:
    """All program instances, one after the other."""
    known = _values(one.bound, memory)
    values = [known[parameter.name] for parameter in module.parameters]
    size = (*grid_size(one.grid, one.bound), 1, 1)[:3]
    for z, y, x in itertools.product(*map(range, reversed(size))):
        cta = WholeCta(
            module.text, 32 * options.num_warps, module.shared, memory.bytes,
            place=(x, y, z), size=size,
        )  # fmt: skip
        cta.run(values)


@dataclass(slots=True)
class Simulated:
    """How many launches were compared, and the kernels with instructions that no CTA here has."""

    compared: int = 0
    passed_over: set[str] = field(default_factory=set)


@contextmanager
def simulating(*chosen: Options, ulps: int = 0) -> Iterator[Simulated]:
    """For each of `chosen`, the target and number of warps of a compilation. Floats may differ by
    `ulps`: those of approximate instructions."""
    seen = Simulated()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        told, named = split_options(kwargs, function)
        bound = bind(
            function.params, args, named, kernel=function.__name__, passed_at=None, options=OPTIONS
        )
        base = options_of(told, function)
        one = Launch(function, bound, base, grid)
        outcomes = []
        for choice in chosen:
            options = replace(
                base, target=choice.target, num_warps=choice.num_warps, exact=choice.exact
            )
            made = build_bound(function, bound.arguments, options.num_warps)
            module = compile_function(made, options, hints_of(bound)).module
            if "@__nv_" in module.text or "mma" in module.text:
                seen.passed_over.add(function.__name__)
                continue
            memory = _Memory(bound)
            run(module, options, one, memory)
            outcomes.append(memory)
        found = before(function, args, kwargs, grid=grid, warmup=warmup)
        for memory in outcomes:
            _compare(memory, ulps)
            seen.compared += 1
        return found

    with launching(launch):
        yield seen


def _compare(memory: _Memory, ulps: int) -> None:
    """Every view, as the interpreting machine left it."""
    for view in (p.view for a in memory.bound.arguments for p in a.walk() if p.view is not None):
        if view.storage is None:
            continue
        kind = view.dtype.numpy
        whole = view.storage.nbytes // kind.itemsize * kind.itemsize
        mine = memory.copy_of(view.storage)[:whole].view(kind)
        right = np.array(view.storage.data[:whole]).view(kind)
        if ulps and kind.kind == "f":
            np.testing.assert_array_max_ulp(mine, right, ulps)
        else:
            np.testing.assert_array_equal(bits(mine), bits(right))
