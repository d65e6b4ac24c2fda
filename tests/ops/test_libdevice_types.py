"""Every name of the device library, for every type that it takes, in a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.language.extra import libdevice
from blockstep.language.extra.cuda import libdevice as of_cuda
from blockstep.language.ops.libdevice import LIBDEVICE
from tests.ops.kernels import note, noted

TYPES = {
    "int1": np.bool_, "int32": np.int32, "int64": np.int64, "uint32": np.uint32,
    "uint64": np.uint64, "float32": np.float32, "float64": np.float64,
}  # fmt: skip


@triton.jit
def call(xs, FN: tl.constexpr):
    i = tl.arange(0, 4)
    if len(xs) == 1:
        note(FN(tl.load(xs[0] + i)).type)
    elif len(xs) == 2:
        note(FN(tl.load(xs[0] + i), tl.load(xs[1] + i)).type)
    elif len(xs) == 3:
        note(FN(tl.load(xs[0] + i), tl.load(xs[1] + i), tl.load(xs[2] + i)).type)
    else:
        a, b = tl.load(xs[0] + i), tl.load(xs[1] + i)
        note(FN(a, b, tl.load(xs[2] + i), tl.load(xs[3] + i)).type)


def result(name: str, *kinds: Any) -> Any:
    """The type of what `name` gives for blocks of these types."""
    noted()
    call[(1,)](tuple(np.ones(4, kind) for kind in kinds), FN=getattr(libdevice, name))
    return noted()[0]


@pytest.mark.parametrize("name", LIBDEVICE)
def test_a_name_takes_each_of_its_types(name: str) -> None:
    for overload in LIBDEVICE[name].overloads:
        found = result(name, *[TYPES[kind] for kind in overload.operands])
        assert found == tl.block_type(getattr(tl, overload.result), [4]), overload


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("exp", (np.float16,)),
        ("exp", (np.int32,)),
        ("popc", (np.float32,)),
        ("pow", (np.float32, np.float64)),
        ("mul24", (np.int64, np.int64)),
    ],
)
def test_other_types_are_refused_with_what_is_taken(name: str, kinds: Any) -> None:
    with pytest.raises(triton.CompilationError, match="float32|int32"):
        result(name, *kinds)


def test_both_modules_have_the_same_functions() -> None:
    assert {getattr(libdevice, n) for n in LIBDEVICE} == {getattr(of_cuda, n) for n in LIBDEVICE}


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(AttributeError, match="exq"):
        result("exq", np.float32)
