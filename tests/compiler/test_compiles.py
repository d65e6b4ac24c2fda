"""Whatever the tests and examples launch compiles for both architectures, and some of it assembles."""

from __future__ import annotations

import runpy
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep.compiler.assemble import assemble
from blockstep.errors import CompilationError
from blockstep.runtime import redirect
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.agreement.test_anchors import kernels
from tests.compiler.launched import Seen, Stop, compiling
from tests.compiler.lowered import TARGETS, compiled
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
EXAMPLES = Path(__file__).parents[2] / "examples"
ASSEMBLED = 8  # one of so many kernels is assembled, for one architecture
SEED = np.random.SeedSequence().entropy
PARTS = 8
F16, F32 = np.float16, np.float32


def judge(seen: Seen, share: int = ASSEMBLED) -> None:
    """All of it is PTX; one in `share`, told by its text, is machine code."""
    assert seen.codes
    for (name, target), codes in seen.codes.items():
        for code in codes:
            assert f".target {target}" in code.ptx and f".entry {code.module.name}" in code.ptx
            if zlib.crc32(f"{name} {code.module.text}".encode()) % share == 0:
                assert assemble(code.ptx, target).cubin


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_compiles(row: Row) -> None:
    with compiling(*TARGETS) as seen:
        row.run()
    judge(seen)


@pytest.fixture
def redirected() -> Iterator[None]:
    """`import triton` means blockstep."""
    redirect.install()
    yield
    redirect.uninstall()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_an_example_compiles(example: Path, redirected: None) -> None:
    with compiling(*TARGETS) as seen:
        runpy.run_path(str(example), run_name="__main__")
    judge(seen, 1)


def half(*shape: int) -> Any:
    return np.zeros(shape, F16)


def single(*shape: int) -> Any:
    return np.zeros(shape, F32)


def described(rows: int, columns: int, block: list[int]) -> Any:
    return TensorDescriptor.from_tensor(half(rows, columns), block)


N = 4096
SQUARE = (N, 1, N, 1, N, 1)
ANCHORS: dict[str, tuple[Any, ...]] = {
    "vector_add": (single(N), single(N), single(N), N, 1024),
    "softmax": (single(8, 1024), single(8, 1024), 1024, 1024, 1024, 1024),
    "layer_norm": (half(8, N), half(8, N), half(N), half(N), N, N, 1e-5, N),
    "swiglu": (half(N), half(N), half(N), N, 1024),
    "matmul": (half(64, N), half(N, N), half(64, N), 64, N, N, *SQUARE, 128, 128, 64, 8),
    "attention": (half(1, 256, 64), half(1, 256, 64), half(1, 256, 64), half(1, 256, 64),
                  0.3, 256, 64, 128, 64, True),
    "row_sum": (half(8, N), half(8), N, 1024),
    "matmul_desc": (described(256, 256, [128, 64]), described(256, 256, [128, 64]),
                    described(256, 256, [128, 128]), 256, 256, 256, 128, 128, 64, 8),
    "histogram": (np.zeros(N, np.int32), np.zeros(64, np.int32), N, 64, 1024),
    "dropout": (single(N), single(N), N, 0.5, 123, 1024),
    "sort": (single(1024), single(1024), 1024),
}  # fmt: skip


def test_every_anchor_has_arguments() -> None:
    found = {name for name, value in vars(kernels()).items() if hasattr(value, "params")}
    assert found == set(ANCHORS)


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ANCHORS)
def test_an_anchor_assembles(name: str, target: str, num_warps: int) -> None:
    made = compiled(getattr(kernels(), name), ANCHORS[name], target, num_warps)
    assert f".entry {made.module.name}" in made.ptx


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    """Some of the kernels that are compared with Triton on a device."""
    redirect.install()
    try:
        from tests.device.against import run

        run.ENGINE = "blockstep"  # whatever else may be installed
        every = list(run.cases())
    finally:
        redirect.uninstall()
    chosen = np.random.default_rng(SEED).permutation(len(every))[: 24 * PARTS]
    return [(run.launch, every[number]) for number in chosen]


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_compared_on_a_device_compiles(part: int, cases: list[Any]) -> None:
    print(f"seed {SEED}")
    refused = 0
    for number, (launch, case) in enumerate(cases[part::PARTS]):
        print(case.key)
        with compiling(TARGETS[number % 2], runs=False) as seen:
            try:
                with pytest.raises(Stop):
                    launch(case, 1)
            except CompilationError:  # the language refuses some pairs of types
                refused += 1
                continue
        judge(seen)
    assert refused < 4
