"""Kernels compiled, run lane by lane in NumPy, and assembled: what tests of lowering share."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.compiler.analysis import Hint
from blockstep.compiler.assemble import assemble
from blockstep.compiler.compile import place
from blockstep.compiler.emit import emit
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Module, Options, lower
from blockstep.runtime.arguments import bind
from tests.compiler.simt import simulate

RNG = np.random.default_rng(11)
TARGETS = ("sm_80", "sm_90a")
Array = np.ndarray[Any, Any]


def compiled(
    kernel: Any, arrays: list[Array], constants: tuple[Any, ...], options: Options
) -> Module:
    bound = bind(
        kernel.params, (*arrays, *constants), {}, kernel=kernel.__name__, passed_at=None, options=()
    )
    pointers = [p.name for a in bound.arguments for p in a.walk() if p.kind == "pointer"]
    made = build_bound(kernel, bound.arguments, options.num_warps)
    return lower(place(made, options, {name: Hint(16) for name in pointers}), options)


def check(
    kernel: Any, inputs: list[Array], expected: list[Array], *constants: Any, warps: int,
    assembled: bool = True,
) -> dict[str, int]:  # fmt: skip
    """Runs a kernel of `inputs` and outputs like `expected`; how often it did what."""
    outputs = [np.zeros_like(e) for e in expected]
    arrays = [*(i.copy() for i in inputs), *outputs]
    module = compiled(kernel, arrays, constants, Options(num_warps=warps))
    counts = simulate(module, arrays, warps)
    for found, right in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(found, right)
    for target in TARGETS if assembled else ():
        options = Options(target=target, num_warps=warps)
        assemble(emit(compiled(kernel, arrays, constants, options).text, target), target)
    return counts


def integers(
    shape: tuple[int, ...], dtype: Any = np.int32, low: int = -99, high: int = 99
) -> Array:
    return RNG.integers(low, high, shape).astype(dtype)
