"""Memory, block pointers, descriptors, atomics, control flow, and products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import triton.language as tl
from tests.device.against import programs
from tests.device.against.case import (
    FLOATS,
    INTEGERS,
    STORED,
    Case,
    Random,
    changed,
    given,
    numbers,
    out,
    spread,
)
from triton.tools.tensor_descriptor import TensorDescriptor

N = 256


def _index(random: Random) -> Any:
    return random.integers(0, N, N).astype("i4")


def _guarded(kind: str, *shape: int) -> Any:
    """Memory with something in it that a masked store must leave alone."""
    return changed(kind, shape, lambda r: spread(kind, int(np.prod(shape)))(r).reshape(shape))


def memory() -> Iterator[Case]:
    """Loads, stores, pointers."""
    p, mask = programs, given("i1", N, spread("i1", N))
    for kind in STORED:
        x, n = given(kind, N, spread(kind, N)), {"N": N}
        if not kind.startswith("fp8"):
            yield Case("memory", f"masked_load({kind})", p.masked_load, [x, mask, out(kind, N)], n)
        yield Case(
            "memory", f"masked_store({kind})", p.masked_store, [x, mask, _guarded(kind, N)], n
        )
        index = given("i32", N, _index)
        yield Case("memory", f"scattered({kind})", p.scattered, [x, index, out(kind, N)], n)
        if kind != "i1":
            yield Case("memory", f"pointers({kind})", p.pointer_arithmetic, [x, out(kind, N)], n)
        for other in ("i1", "i8", "u16", "i32", "fp16", "bf16", "fp32", "fp64"):
            if other != kind:
                yield Case(
                    "memory", f"stored({kind} as {other})", p.stored_as, [x, out(other, N)], n
                )


def control() -> Iterator[Case]:
    """Loops, branches, program ids, scalars, asserts that are off."""
    p = programs
    yield Case("control", "scalars", p.scalars, [out("i64", 4)], {}, scalars=(7, -20, 3, 2**33))
    yield Case("control", "program_ids", p.program_ids, [out("i32", 6 * 4 * 2 * 8)], {"BLOCK": 8},
               grid=(6, 4, 2))  # fmt: skip
    yield Case("control", "collatz", p.collatz, [given("i32", 64, numbers("i32", 1, 4000, 64)),
               out("i32", 64)], {}, scalars=(300,), grid=(64,))  # fmt: skip
    for kind in ("i32", "i64", "u32"):
        yield Case("control", f"backwards({kind})", p.backwards,
                   [given(kind, N, spread(kind, N)), out(kind, N)], {"N": N},
                   scalars=(2, 50))  # fmt: skip
    yield Case("control", "asserted", p.asserted, [given("i32", N, numbers("i32", 0, 9, N)), out("i32", N)],
               {"N": N})  # fmt: skip
    yield Case("control", "running_softmax", p.running_softmax,
               [given("fp32", (9, 100), lambda r: r.uniform(-8, 8, (9, 100)).astype("f4")),
                out("fp32", 9, 100)], {"N": 128}, scalars=(100,), grid=(9,),
               rule="ulps", limit=40)  # fmt: skip


def boxes() -> Iterator[Case]:
    """Block pointers at, beside and beyond the edges."""
    p, rows, columns, side = programs, 40, 56, 32
    places = ((0, 0), (8, 24), (16, 32), (32, 40), (-5, -3), (100, 0))
    for kind in ("fp32", "fp16", "bf16", "i32", "i8", "fp64"):
        x = given(kind, (rows, columns), _shaped(kind, rows, columns))
        for i, j in places:
            for padding in ("zero", "nan") if kind in FLOATS else ("zero",):
                constants = {
                    "M": rows,
                    "N": columns,
                    "B": side,
                    "CHECK": (0, 1),
                    "PADDING": padding,
                }
                yield Case("boxes", f"box_load({kind}, {i}, {j}, {padding})", p.box_load,
                           [x, out(kind, side, side)], constants, scalars=(i, j))  # fmt: skip
        for check in ((0,), (1,), ()):
            constants = {"M": rows, "N": columns, "B": side, "CHECK": check,
                         "PADDING": "zero" if check else ""}  # fmt: skip
            i, j = (20, 8) if check == (0,) else (4, 40) if check == (1,) else (8, 24)
            yield Case("boxes", f"box_load({kind}, check {check})", p.box_load,
                       [x, out(kind, side, side)], constants, scalars=(i, j))  # fmt: skip
        sizes = {"M": rows, "N": columns, "B": side}
        yield Case("boxes", f"box_turned({kind})", p.box_turned, [x, out(kind, side, side)], sizes,
                   scalars=(30, 12))  # fmt: skip
        sizes = {"M": 24, "N": columns, "B": side}
        y = given(kind, (24, columns), _shaped(kind, 24, columns))
        yield Case(
            "boxes", f"box_walk({kind})", p.box_walk, [y, _guarded(kind, 24, columns)], sizes
        )


def _shaped(kind: str, *shape: int) -> Any:
    return lambda random: spread(kind, int(np.prod(shape)))(random).reshape(shape)


def _described(which: int, block: list[int], padding: str = "zero") -> Any:
    def wrap(arrays: list[Any]) -> list[Any]:
        wrapped = list(arrays)
        wrapped[which] = TensorDescriptor.from_tensor(arrays[which], block, padding=padding)
        return wrapped

    return wrap


def descriptors() -> Iterator[Case]:
    """The tensor memory accelerator: padding, dropped stores, reductions."""
    p, rows, columns, block = programs, 40, 64, [16, 32]
    sizes = {"R": 16, "C": 32}
    places = ((0, 0), (32, 48), (-4, 8), (8, -16), (60, 0))
    for kind in ("fp32", "fp16", "bf16", "i32", "u8"):
        x = given(kind, (rows, columns), _shaped(kind, rows, columns))
        for i, j in places:
            for padding in ("zero", "nan") if kind in FLOATS else ("zero",):
                yield Case("descriptors", f"load({kind}, {i}, {j}, {padding})", p.described_load,
                           [x, out(kind, 16, 32)], sizes, scalars=(i, j),
                           wrap=_described(0, block, padding))  # fmt: skip
            tile = given(kind, (16, 32), _shaped(kind, 16, 32))
            yield Case("descriptors", f"store({kind}, {i}, {j})", p.described_store,
                       [tile, _guarded(kind, rows, columns)], sizes, scalars=(i, j),
                       wrap=_described(1, block))  # fmt: skip
            made = {"M": rows, "N": columns, **sizes, "PADDING": "zero"}
            yield Case("descriptors", f"made({kind}, {i}, {j})", p.made_load,
                       [x, out(kind, 16, 32)], made, scalars=(i, j))  # fmt: skip
    for how, kinds in (("add", ("u32", "i32", "u64", "fp32", "fp16", "bf16")),
                       ("min", ("u32", "i32", "u64", "i64", "fp16", "bf16")),
                       ("max", ("u32", "i32", "u64", "i64", "fp16", "bf16")),
                       ("and", ("u32", "i64")), ("or", ("i32", "u64")), ("xor", ("u32", "i64"))):  # fmt: skip
        for kind in kinds:
            tile = given(kind, (16, 32), numbers(kind, 0, 99, 16, 32))
            target = changed(kind, (rows, columns), numbers(kind, 0, 99, rows, columns))
            yield Case("descriptors", f"atomic_{how}({kind})", p.described_atomic, [tile, target],
                       {**sizes, "HOW": how}, scalars=(30, 40), wrap=_described(1, block))  # fmt: skip


def atomics() -> Iterator[Case]:
    """Apart: old and new values bit for bit. Together: old values in some order, the last value."""
    p, words = programs, ("i32", "u32", "i64", "u64")
    kinds: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (p.atomic_add, (*words, *FLOATS)), (p.atomic_add_relaxed, ("i32", "fp32")),
        (p.atomic_max, (*words, "fp32", "fp64")), (p.atomic_min, (*words, "fp32", "fp64")),
        (p.atomic_and, words), (p.atomic_or, words), (p.atomic_xor, words),
        (p.atomic_xchg, (*words, "fp32", "fp64")),
    )  # fmt: skip
    for fn, names in kinds:
        for kind in names:
            x, v = _guarded(kind, N), given(kind, N, spread(kind, N))
            yield Case("atomics", f"{fn.__name__}({kind})", p.atomics_apart, [x, v, out(kind, N)],
                       {"N": N, "FN": fn})  # fmt: skip
    for kind in ("i16", "u16", "fp16", "bf16", *words, "fp32", "fp64"):
        x = changed(kind, N, numbers(kind, 0, 1, N))
        expected, v = given(kind, N, numbers(kind, 0, 1, N)), given(kind, N, spread(kind, N))
        yield Case("atomics", f"atomic_cas({kind})", p.swaps_apart, [x, expected, v, out(kind, N)],
                   {"N": N})  # fmt: skip
    for fn in (p.atomic_add, p.atomic_or, p.atomic_xor):
        for kind in words if fn is not p.atomic_add else (*words, "fp32", "fp64"):
            x = changed(kind, 1, numbers(kind, 3, 3, 1))
            v = given(kind, 1024, numbers(kind, 1, 1, 1024))
            yield Case("contended", f"{fn.__name__}({kind})", p.atomics_together,
                       [x, v, out(kind, 1024)], {"N": N, "FN": fn}, grid=(4,), rule="sorted")  # fmt: skip
    for kind in (*words, "fp32", "fp16"):
        x, v = changed(kind, 8, numbers(kind, -3, 3, 8)), given(kind, N, numbers(kind, -3, 3, N))
        if kind[0] == "u":
            x, v = changed(kind, 8, numbers(kind, 0, 3, 8)), given(kind, N, numbers(kind, 0, 3, N))
        yield Case("contended", f"atomics_masked({kind})", p.atomics_masked,
                   [x, v, given("i1", N, spread("i1", N))], {"N": N})  # fmt: skip


__all__ = ["INTEGERS", "atomics", "boxes", "control", "descriptors", "memory", "tl"]
