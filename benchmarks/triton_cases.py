"""Launches for `triton_ptx.py`: what a case is, and the anchor kernels of `kernels.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import kernels as anchors
import numpy as np

from blockstep.runtime.descriptor import TensorDescriptor

Grid = tuple[int, ...]
HOPPER = ("sm90",)
BOTH = ("sm90", "sm80")
WARPS = ((1, 1), (2, 2), (4, 3), (8, 4))
WIDE = ((4, 2), (4, 3), (8, 4))
_EXACT = 3  # inputs of products are whole numbers up to this


@dataclass(frozen=True)
class Case:
    """One launch, for several architectures, and numbers of warps and stages."""

    name: str
    kernel: Any
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    grid: Grid
    constants: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = BOTH
    options: tuple[tuple[int, int], ...] = WARPS


def floats(g: np.random.Generator, *shape: int, kind: Any = np.float32) -> Any:
    """Random numbers around 0."""
    return g.standard_normal(shape).astype(kind)


def halves(g: np.random.Generator, *shape: int) -> Any:
    """Random numbers around 0 in fp16."""
    return floats(g, *shape, kind=np.float16)


def whole(g: np.random.Generator, *shape: int) -> Any:
    """Small whole numbers in fp16: products and their sums are exact in any order."""
    return g.integers(-_EXACT, _EXACT + 1, shape).astype(np.float16)


def described(array: Any, *block: int) -> TensorDescriptor:
    """A host descriptor of a whole array."""
    return TensorDescriptor.from_tensor(array, list(block))


def like(array: Any) -> Any:
    return np.zeros_like(array)


def anchor_cases() -> Iterator[Case]:
    """`kernels.py`."""
    k, n = anchors, 5000
    block = {"BLOCK": 1024}
    out32 = np.zeros(n, np.float32)
    yield Case(
        "vector_add", k.vector_add, lambda g: (floats(g, n), floats(g, n), out32, n), (5,), block
    )
    yield Case(
        "softmax",
        k.softmax,
        lambda g: (like(x := floats(g, 8, 1000)), x, 1000, 1000, 1000),
        (8,),
        block,
    )
    yield Case(
        "layer_norm",
        k.layer_norm,
        lambda g: (
            x := floats(g, 8, 1000),
            like(x),
            floats(g, 1000),
            floats(g, 1000),
            1000,
            1000,
            1e-5,
        ),
        (8,),
        block,
    )
    for kind in (np.float32, np.float16):
        yield Case(
            f"swiglu {np.dtype(kind)}",
            k.swiglu,
            lambda g, t=kind: (floats(g, n, kind=t), floats(g, n, kind=t), np.zeros(n, t), n),
            (5,),
            block,
        )
    for m, c, d in ((256, 256, 192), (200, 136, 72)):
        for bm, bn, bk in ((128, 128, 64), (64, 64, 32)):
            blocks = {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}
            tiles = (-(-m // bm) * -(-c // bn),)
            for name, kind in (("fp16", halves), ("fp32", floats)):
                if (name, bm) == ("fp32", 128):
                    continue
                yield Case(
                    f"matmul {name} {m}x{c}x{d} {bm}x{bn}x{bk}",
                    k.matmul,
                    lambda g, m=m, c=c, d=d, kind=kind: (
                        a := kind(g, m, d),
                        kind(g, d, c),
                        np.zeros((m, c), a.dtype),
                        m,
                        c,
                        d,
                        d,
                        1,
                        c,
                        1,
                        c,
                        1,
                    ),
                    tiles,
                    blocks,
                    BOTH,
                    WIDE,
                )
    yield Case(
        "matmul_desc",
        k.matmul_desc,
        lambda g: (
            described(halves(g, 256, 192), 128, 64),
            described(halves(g, 256, 192), 128, 64),
            described(np.zeros((256, 256), np.float16), 128, 128),
            256,
            256,
            192,
        ),
        (4,),
        {"BM": 128, "BN": 128, "BK": 64, "GROUP": 8},
        BOTH,
        WIDE,
    )
    for causal in (True, False):
        yield Case(
            f"attention causal={causal}",
            k.attention,
            lambda g: (
                q := halves(g, 2, 128, 64),
                halves(g, 2, 128, 64),
                halves(g, 2, 128, 64),
                like(q),
                0.18,
                128,
            ),
            (2, 2),
            {"D": 64, "BM": 64, "BN": 64, "CAUSAL": causal},
            BOTH,
            WIDE,
        )
    yield Case(
        "row_sum",
        k.row_sum,
        lambda g: (floats(g, 8, 3000), np.zeros(8, np.float32), 3000),
        (8,),
        block,
    )
    yield Case(
        "histogram",
        k.histogram,
        lambda g: (g.integers(0, 256, n).astype(np.int32), np.zeros(256, np.int32), n),
        (5,),
        {"BINS": 256, **block},
    )
    yield Case("dropout", k.dropout, lambda g: (floats(g, n), out32, n, 0.3, 123), (5,), block)
    yield Case(
        "sort",
        k.sort,
        lambda g: (floats(g, 4, 256), np.zeros((4, 256), np.float32)),
        (4,),
        {"BLOCK": 256},
    )
