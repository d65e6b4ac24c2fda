"""The short way's key against the long way's binding: equal keys must mean equal specialisation."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.frontend.cache import key_of
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.host_arrays import InPlace
from blockstep.runtime.gpu.signature import Slow, reader
from blockstep.runtime.gpu.watch import Watch
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.runtime.gpu.arrays import CupyArray, Tensor, install_cupy, install_torch
from tests.runtime.gpu.recording import recording


def plain(a):
    pass


def wide(a: tl.int64):  # type: ignore[valid-type]
    pass


def real(a: tl.float32):  # type: ignore[valid-type]
    pass


def constant(a: tl.constexpr):
    pass


KERNELS: dict[str, Any] = {
    "plain": triton.jit(plain),
    "wide": triton.jit(wide),
    "real": triton.jit(real),
    "constant": triton.jit(constant),
    "unspecialised": triton.jit(plain, do_not_specialize=["a"]),
    "unaligned": triton.jit(plain, do_not_specialize_on_alignment=["a"]),
}
NUMBERS = (
    0, 1, -1, 15, 16, 17, 48, True, False, 1.0, 0.0, -0.0, 16.0, None, 1 << 31, (1 << 31) - 1,
    -(1 << 31), -(1 << 31) - 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 16, float("inf"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    install_cupy(monkeypatch, 0)


def values() -> list[Any]:
    api, _ = recording()
    found: list[Any] = [*NUMBERS]
    for dtype in (np.float32, np.float16):
        for kind in (Tensor, CupyArray):
            found.append(kind(api, np.zeros(8, dtype)))
        shifted = Tensor(api, np.zeros(8, dtype))
        shifted._address += 4
        found.append(shifted)
    tensor = found[-1]
    for lengths in ((2, 4), (2, 2), (16, 4), (16, 32)):
        base = Tensor(api, np.zeros(8, np.float32))
        found.append(TensorDescriptor(base, list(lengths), [16, 1], [2, 4]))
    found += [(1, 2), (1, 16), (2, 2), (2, 3), (tensor, 3), (tensor, 3.0), (), (None,), ((2,), 3)]
    return found


def long_key(function: Any, value: Any) -> Any:
    """What the long way compiles for, or the error that it ends in."""
    try:
        bound = bind(function.params, (value,), {}, devices=InPlace())
    except (TypeError, OverflowError) as error:
        return type(error)
    aligned = tuple(part.aligned for a in bound.arguments for part in a.walk())
    return key_of(bound.arguments), aligned


@pytest.mark.parametrize("name", KERNELS)
def test_equal_keys_mean_equal_specialisation(name: str) -> None:
    function = KERNELS[name]
    read, seen = reader(function.params), []
    for value in values():
        try:
            key, (got,), given = read(value)
        except (Slow, TypeError, AttributeError):
            continue
        assert given == (value,)
        if isinstance(value, Tensor) and name != "constant":
            assert got == value.data_ptr()
        seen.append((key, long_key(function, value), value))
    assert len(seen) > 5
    for (one, left, a), (two, right, b) in itertools.combinations(seen, 2):
        assert one != two or left == right, (a, b)


@pytest.mark.parametrize("name", KERNELS)
def test_common_arguments_of_one_kind_have_one_key(name: str) -> None:
    read = reader(KERNELS[name].params)
    if name not in ("constant", "real"):
        assert read(17)[0] == read(-33)[0]
        assert read(32)[0] == read(-48)[0]
        assert (read(17)[0] == read(16)[0]) is (name not in ("plain", "wide"))
    if name not in ("constant", "wide"):
        assert read(0.5)[0] == read(2.5)[0]


@pytest.mark.parametrize(
    "value", [np.float32(1), np.int64(3), "text", [1], object()], ids=lambda x: type(x).__name__
)
def test_what_is_rare_goes_the_long_way(value: Any) -> None:
    with pytest.raises((Slow, AttributeError)):
        reader(KERNELS["plain"].params)(value)


def test_python_binds_the_arguments() -> None:
    def kernel(x, n=3, BLOCK: tl.constexpr = 8):
        pass

    read = reader(triton.jit(kernel).params)
    assert read(2)[1:] == read(n=3, x=2, BLOCK=8)[1:] == ((2, 3, 8), (2, 3, 8))
    assert read(2)[0] == read(2, BLOCK=8)[0] != read(2, num_warps=8)[0]
    for args, kwargs in (((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 1})):
        with pytest.raises(TypeError):
            read(*args, **kwargs)


def test_parameters_may_have_any_name() -> None:
    def kernel(_, __k0, t, Tensor, constant, _read, options):
        pass

    read = reader(triton.jit(kernel).params)
    assert read(2, 3, 4, 5, 6, 7, 8, num_warps=2)[1] == (2, 3, 4, 5, 6, 7, 8)


SIZE = tl.constexpr(4)


@triton.jit
def inner(x):
    return x * SIZE


def outer(x):
    tl.store(x, inner(tl.load(x)))


def test_a_watch_sees_what_inner_functions_read(monkeypatch: pytest.MonkeyPatch) -> None:
    function = triton.jit(outer)
    watch = Watch(function, {})
    assert watch.holds()
    monkeypatch.setitem(outer.__globals__, "SIZE", tl.constexpr(5))
    assert not watch.holds()
    monkeypatch.undo()
    assert watch.holds()
    monkeypatch.setitem(outer.__globals__, "inner", triton.jit(outer))
    assert not watch.holds()


def test_a_watch_sees_captured_values_and_attributes() -> None:
    class Config:
        SIZE = 4

    captured = 3

    def kernel(x):
        tl.store(x, captured + Config.SIZE)

    watch = Watch(triton.jit(kernel), {})
    assert watch.holds()
    Config.SIZE = 5
    assert not watch.holds()
    Config.SIZE = 4
    captured = 4
    assert not watch.holds()


def test_a_watch_passes_over_what_has_no_source() -> None:
    space: dict[str, Any] = {"triton": triton}
    exec("def lost(x): pass", space)
    lost = triton.jit(space["lost"])

    def kernel(x, USE: tl.constexpr):
        if USE:
            lost(x)

    assert Watch(triton.jit(kernel), {"USE": False}).holds()


def test_a_watch_sees_a_new_text() -> None:
    function = triton.jit(outer)
    watch = Watch(function, {})
    function._unsafe_update_src(function.src.replace("inner(tl.load(x))", "1"))
    assert not watch.holds()


def test_nothing_of_torch_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    assert reader(KERNELS["plain"].params)(16)[1] == (16,)
