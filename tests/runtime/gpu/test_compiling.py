"""From a bound launch to its code, without a device: launch options and what `asm` has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import target
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.compiled import Code, MissingCode
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.compiling import compile_for_gpu
from blockstep.runtime.launch_options import check_options, split_options
from blockstep.tools.tensor_descriptor import TensorDescriptor

X = np.zeros(128, np.float32)


@triton.jit
def powers(x, N: tl.constexpr):
    at = x + tl.arange(0, N)
    value = tl.load(at)
    tl.store(at, tl.exp2(value) + tl.sqrt(value) + tl.rsqrt(value) + tl.log(tl.floor(value)))


def made(device: str = "h200", **asked: Any) -> Binary:
    options, _ = split_options(asked, powers)
    check_options(options)
    with target.using(target.find(device)):
        return compile_for_gpu(powers, bind(powers.params, (X, 128), {}, kernel="powers"), options)


def test_every_stage_can_be_read() -> None:
    asm = Code(made().asm)
    assert "exp2" in asm["ir"] and "layout" not in asm["ir"]
    assert asm["placed"].count("exp2") == 1 and asm["placed"] != asm["ir"]
    assert "define ptx_kernel" in asm["llir"]
    assert ".entry powers" in asm["ptx"]


@pytest.mark.parametrize("kind", ["ttir", "ttgir"])
def test_a_stage_of_another_compiler_is_named_missing(kind: str) -> None:
    with pytest.raises(
        MissingCode, match=f"there is no '{kind}'(?s:.)*help: asm has 'ir', 'placed'"
    ):
        Code(made().asm)[kind]


def test_denormals_are_kept_if_the_launch_says_so() -> None:
    flushed, kept = made().asm["ptx"], made(enable_reflect_ftz=False).asm["ptx"]
    assert isinstance(kept, str) and isinstance(flushed, str)
    for name in ("ex2.approx", "sqrt.approx", "rsqrt.approx", "cvt.rmi"):
        assert f"{name}.ftz.f32" in flushed
        assert f"{name}.f32" in kept
    assert ".ftz" not in kept  # nor in what libdevice is asked for


def test_registers_are_bounded_if_the_launch_says_so() -> None:
    assert ".maxnreg 42" in made(maxnreg=42).asm["ptx"]
    assert ".maxnreg" not in made().asm["ptx"]


def test_another_architecture_is_compiled_by_the_driver() -> None:
    found = made(arch="sm80")
    assert ".target sm_80" in found.asm["ptx"]
    assert isinstance(found.image, str)
    assert ".target sm_90a" in made("a100", arch="sm_90").asm["ptx"]


def test_an_override_is_what_launches_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton.knobs.runtime, "override_arch", "sm80")
    assert ".target sm_80" in made().asm["ptx"]


@pytest.mark.parametrize(
    ("asked", "kind", "text"),
    [
        ({"num_warps": 3}, AssertionError, "num_warps must be a power of 2, not 3"),
        ({"num_ctas": 2, "arch": "sm80"}, ValueError, r"num_ctas > 1 requires NVIDIA SM90\+ \(Hopper\)"),
        ({"arch": "hopper"}, TypeError, "arch is 'hopper', no name of an architecture"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_refused(asked: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        made(**asked)


@triton.jit
def boxes(x, out):
    at = tl.program_id(0) * 64
    out.store([at, 0], x.load([at, 0]))


def bound_boxes(columns: int) -> Bound:
    arrays = [np.zeros((128, 256), np.float16)[:, :columns] for _ in range(2)]
    told = [TensorDescriptor(a, list(a.shape), [256, 1], [64, 64]) for a in arrays]
    return bind(boxes.params, told, {}, kernel="boxes")


@pytest.mark.parametrize(("columns", "wide"), [(64, True), (60, False)])
def test_a_guard_that_ends_at_a_whole_length_lets_accesses_be_wide(
    columns: int, wide: bool
) -> None:
    options, _ = split_options({}, boxes)
    with target.using(target.find("h200")):
        ptx = compile_for_gpu(boxes, bound_boxes(columns), options).asm["ptx"]
    assert ("st.global.v4.b32" in ptx) == wide
    assert ("st.global.b16" in ptx) == (not wide)


def test_lengths_that_the_code_depends_on_are_told() -> None:
    whole, ragged = (bound_boxes(n).arguments[0].aligned for n in (64, 60))
    assert (whole, ragged) == ((True, True, True), (True, True, False))
