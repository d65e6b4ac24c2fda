"""The Triton that is installed (BLOCKSTEP_TRITON names its interpreter) compiles, and we run it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.runtime.arguments import bind
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.foreign import VARIABLE, NoTriton, RefusedByTriton, Triton
from blockstep.runtime.launch import grid_size
from blockstep.runtime.launch_options import OPTIONS, split_options
from blockstep.runtime.ptx.running import run_binary

OFFSET = tl.constexpr(7)


@pytest.fixture(scope="module")
def triton() -> Triton:
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(f"{VARIABLE} names no interpreter that has Triton")
    made = Triton(python)
    try:
        assert made.version
    except NoTriton as none:
        pytest.skip(str(none))
    return made


def run(triton: Triton, kernel: Any, args: tuple[Any, ...], grid: Any, **kwargs: Any) -> None:
    """Triton's code on the ptx machine, on the arguments' own memory; nothing may be found."""
    options, named = split_options(kwargs, kernel)
    bound = bind(kernel.params, args, named, kernel=kernel.__name__, options=OPTIONS)
    binary = triton.compile(kernel, bound, options)
    ran = run_binary(binary, bound, grid_size(grid, bound))
    assert not ran.report.faults


@blockstep.jit
def double(x):
    return x * 2 + OFFSET


@blockstep.jit
def kernel(x, out, n, BLOCK: tl.constexpr, apply: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, apply(tl.load(x + offsets, offsets < n)), offsets < n)


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize("num_warps", [1, 8])
def test_a_kernel_and_the_function_that_it_is_given(
    triton: Triton, arch: str, num_warps: int
) -> None:
    x, out = np.arange(300, dtype=np.int32), np.zeros(300, np.int32)
    run(triton, kernel, (x, out, 290, 128, double), (3,), arch=arch, num_warps=num_warps)
    assert np.array_equal(out, np.where(x < 290, x * 2 + 7, 0))


def test_a_kernel_of_exec_inside_a_function(triton: Triton) -> None:
    text = "@jit\ndef made(x):\n    i = tl.arange(0, SIZE)\n    tl.store(x + i, i * WIDE)\n"
    space: dict[str, Any] = {"jit": blockstep.jit, "tl": tl, "__name__": "anywhere"}
    space |= {"SIZE": tl.constexpr(32), "WIDE": tl.constexpr(3)}
    exec(text, space)
    x = np.zeros(32, np.int32)
    run(triton, space["made"], (x,), (1,))
    assert np.array_equal(x, 3 * np.arange(32))


@blockstep.jit
def tuples(pair, out, scale):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(pair[0] + i) * pair[1] + scale)


def test_tuples_are_passed_flat(triton: Triton) -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    run(triton, tuples, ((x, 5), out, 0.5), (1,))
    assert np.array_equal(out, x * 5 + 0.5)


@blockstep.jit
def copies(a, b, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    b.store([row, 16], a.load([row, 0]))


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
def test_descriptors_are_tensor_maps_or_taken_apart(triton: Triton, arch: str) -> None:
    x = np.arange(40 * 48, dtype=np.float16).reshape(40, 48)
    out = np.zeros((40, 40), np.float16)
    given = [TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, out)]
    run(triton, copies, (*given, 16), (3,), arch=arch)
    wanted = np.zeros_like(out)
    wanted[:, 16:] = x[:, :24]
    assert np.array_equal(out, wanted)


@blockstep.jit(noinline=True)
def kept(flag, k, h, p):
    tl.store(p, h)
    return k + flag, h + 1


@blockstep.jit
def calling(out, p, n, flag: tl.int1, k: tl.int8, h: tl.float16):  # type: ignore[valid-type]
    for j in range(n):
        number, half = kept(flag, k, h, p + j)
        tl.store(out + j, number + half)


def test_small_integers_reach_a_function_that_is_kept(triton: Triton) -> None:
    out, p = np.zeros(4, np.float32), np.zeros(4, np.float16)
    run(triton, calling, (out, p, 3, True, -3, 0.5), (1,))
    assert out.tolist() == [-0.5, -0.5, -0.5, 0]
    assert p.tolist() == [0.5, 0.5, 0.5, 0]


@blockstep.jit
def unknown(x):
    tl.store(x, WHERE)  # noqa: F821


def test_what_triton_refuses_is_told_in_its_words(triton: Triton) -> None:
    with pytest.raises(RefusedByTriton, match="WHERE is not defined"):
        run(triton, unknown, (np.zeros(1, np.float32),), (1,))
