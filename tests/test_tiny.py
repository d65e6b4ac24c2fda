"""The smoke test: one kernel is right, one bug is found, one breakpoint-free second."""

import numpy as np

import blockstep
import blockstep.language as tl


@blockstep.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask) + tl.load(y_ptr + offs, mask), mask)


@blockstep.jit
def add_without_mask(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1.0)


def test_a_kernel_adds() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    out = np.full(1000, np.nan, np.float32)
    with blockstep.check() as report:
        add[(8,)](x, y, out, 1000, BLOCK=128)
    assert np.array_equal(out, x + y)
    assert report.findings == []


def test_a_missing_mask_is_found_at_its_line() -> None:
    x, out = np.zeros(1000, np.float32), np.zeros(1024, np.float32)
    with blockstep.check() as report:
        add_without_mask[(8,)](x, out, BLOCK=128)
    (finding,) = report.errors
    assert finding.kind == "out-of-bounds"
    assert finding.program == (7, 0, 0)
    assert "tl.load(x_ptr + offs)" in open(finding.span.file).readlines()[finding.span.line - 1]
