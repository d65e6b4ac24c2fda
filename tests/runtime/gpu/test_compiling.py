"""From a bound launch to its code, without a device: launch options and what `asm` has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import target
from blockstep.runtime.arguments import bind
from blockstep.runtime.compiled import Code, MissingCode
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.compiling import compile_for_gpu
from blockstep.runtime.launch_options import check_options, split_options

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
