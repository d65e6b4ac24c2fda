"""`triton.tools`: microscaling formats and ragged arrays; the rest says what it needs."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import blockstep
from blockstep.tools import disasm, mxfp


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_every_e2m1_code_has_a_value_that_gives_it_back(torch: Any) -> None:
    codes = mxfp.MXFP4Tensor(size=16)
    codes.data = torch.arange(16, dtype=torch.uint8)
    values = codes.to(torch.float32)
    assert values.tolist()[:8] == list(mxfp.E2M1_MAGNITUDES)
    assert values.tolist()[9:] == [-m for m in mxfp.E2M1_MAGNITUDES[1:]]
    assert torch.equal(mxfp.MXFP4Tensor(data=values).data, codes.data)


def test_e2m1_rounds_to_even_and_saturates(torch: Any) -> None:
    given = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, float("inf"), -0.26]
    values = mxfp.MXFP4Tensor(data=torch.tensor(given)).to(torch.float32)
    assert values.tolist() == [0, 1, 1, 2, 2, 4, 4, 6, 6, -0.5]


@pytest.mark.parametrize("dim", [0, 1])
def test_packing_and_unpacking(torch: Any, dim: int) -> None:
    tensor = mxfp.MXFP4Tensor(size=(5, 7)).random()
    packed = tensor.to_packed_tensor(dim)
    assert packed.shape[dim] == (tensor.data.shape[dim] + 1) // 2
    assert torch.equal(tensor.unpack_packed_tensor(packed, dim, (5, 7)), tensor.data)


def test_e8m0_takes_the_power_of_two_below(torch: Any) -> None:
    scales = mxfp.MXScaleTensor(data=torch.tensor([1.0, 3.9, 2.0**-127, 0.0, float("nan")]))
    assert scales.data.tolist() == [127, 128, 0, 255, 255]
    assert scales.to(torch.float32).tolist()[:3] == [1.0, 2.0, 2.0**-127]
    assert torch.isnan(scales.to(torch.float32)[3])
    random = mxfp.MXScaleTensor(size=(64,)).random(low=0.25, high=4.0).to(torch.float32)
    assert random.min() >= 0.25 and random.max() <= 4.0


def test_a_ragged_store_stays_in_its_batch(torch: Any) -> None:
    ragged: Any = importlib.import_module("blockstep.tools.ragged_tma")
    tl: Any = blockstep.language

    def copy(source, target, offset, size, ROWS: tl.constexpr):
        block = ragged.load_ragged(source, offset, size, [0, 0])
        ragged.store_ragged(target, offset, size, [0, 0], block + 1)

    given = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    out = torch.zeros(8, 8)
    source = ragged.create_ragged_descriptor(given, [4, 8])
    target = ragged.create_ragged_descriptor(out, [4, 8])
    with blockstep.check() as report:
        blockstep.jit(copy)[(1,)](source, target, 2, 3, 4)
    assert torch.equal(out[2:5], given[2:5] + 1)
    assert out[:2].sum() == out[5:].sum() == 0
    assert [f.kind for f in report.findings if f.severity == "error"] == []


def test_what_needs_a_compiler_says_so() -> None:
    with pytest.raises(AttributeError, match="unsupported: blockstep has no triton.tools.disasm"):
        _ = disasm.get_sass
