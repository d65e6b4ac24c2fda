"""The short way's key against the long way's binding: equal keys must mean equal specialisation,
whatever the forms of the calls."""

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
from blockstep.runtime.gpu.signature import Form, Slow, form_of, reader
from blockstep.runtime.gpu.watch import Watch
from blockstep.runtime.launch_options import split_options
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


def read(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Key, values and arguments by name of a call."""
    return reader(function.params, form_of(args, kwargs))(args, kwargs)


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
    seen = []
    for value in values():
        try:
            key, (got,), given = read(function, value)
            assert read(function, a=value)[0] == key
        except (Slow, TypeError, AttributeError):
            continue
        assert given["a"] is value
        if isinstance(value, Tensor) and name != "constant":
            assert got == value.data_ptr()
        seen.append((key, long_key(function, value), value))
    assert len(seen) > 5
    for (one, left, a), (two, right, b) in itertools.combinations(seen, 2):
        assert one != two or left == right, (a, b)


@pytest.mark.parametrize("name", KERNELS)
def test_common_arguments_of_one_kind_have_one_key(name: str) -> None:
    def key(value: Any) -> Any:
        return read(KERNELS[name], value)[0]

    if name not in ("constant", "real"):
        assert key(17) == key(-33)
        assert key(32) == key(-48)
        assert (key(17) == key(16)) is (name not in ("plain", "wide"))
    if name not in ("constant", "wide"):
        assert key(0.5) == key(2.5)


@pytest.mark.parametrize(
    "value", [np.float32(1), np.int64(3), "text", [1], object()], ids=lambda x: type(x).__name__
)
def test_what_is_rare_goes_the_long_way(value: Any) -> None:
    with pytest.raises((Slow, AttributeError)):
        read(KERNELS["plain"], value)


def test_arguments_are_bound_as_python_does() -> None:
    def kernel(x, n=3, BLOCK: tl.constexpr = 8):
        pass

    function = triton.jit(kernel)
    told = (2, 3, 8), {"x": 2, "n": 3, "BLOCK": 8}
    assert read(function, 2)[1:] == read(function, n=3, x=2, BLOCK=8)[1:] == told
    keys = [read(function, 2), read(function, 2, BLOCK=8), read(function, BLOCK=8, x=2)]
    assert len({key for key, _, _ in keys}) == 1
    assert keys[0][0] != read(function, 2, num_warps=8)[0]
    for form in (Form(0, ()), Form(4, ()), Form(1, ("x",)), Form(0, ("n", "BLOCK"))):
        with pytest.raises(Slow):
            reader(function.params, form)
    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"n": 1})):
        with pytest.raises(KeyError):
            reader(function.params, Form(1, ()))(args, kwargs)
    with pytest.raises(KeyError):
        reader(function.params, Form(1, ("n",)))((1,), {"BLOCK": 1})


def test_a_parameter_that_is_an_option_too_is_one_only_by_name() -> None:
    def kernel(x, num_warps: tl.constexpr, num_stages: tl.constexpr = 2):
        pass

    function, seen = triton.jit(kernel), []
    for args, kwargs in (
        ((1, 8), {}), ((1,), {"num_warps": 8}), ((), {"x": 1, "num_warps": 8}),
        ((1, 8), {"num_stages": 2}), ((1,), {"num_stages": 2, "num_warps": 8}),
        ((1, 8), {"maxnreg": 8}), ((1, 8), {"maxnreg": 16}), ((1, 8), {"debug": True}),
        ((1, 8), {"maxnreg": 8, "num_ctas": 1}), ((1, 8), {"num_ctas": 1, "maxnreg": 8}),
        ((1, 8), {"num_ctas": True}), ((1, 8), {"debug": 1}),
    ):  # fmt: skip
        options, _ = split_options(kwargs, function)
        seen.append((read(function, *args, **kwargs)[0], repr(options)))
    for (one, left), (two, right) in itertools.combinations(seen, 2):
        assert one != two or left == right
    assert seen[1][0] == seen[2][0] and seen[8][0] == seen[9][0]


def test_parameters_may_have_any_name() -> None:
    def kernel(_, a0, t, Tensor, constant, args, options):
        pass

    told = read(triton.jit(kernel), 2, 3, 4, 5, args=7, constant=6, options=8, num_warps=2)
    assert told[1] == (2, 3, 4, 5, 6, 7, 8)


SIZE = tl.constexpr(4)


@triton.jit
def inner(x):
    return x * SIZE


def outer(x):
    tl.store(x, inner(tl.load(x)))


class Agreeing(Watch):
    """A watch whose written condition is held against `holds` whenever it is asked."""

    def __init__(self, function: Any, constants: Any) -> None:
        super().__init__(function, constants)
        where = function.__globals__
        space: dict[str, Any] = {}
        text = self.condition(where, ("triton",), space)
        made: dict[str, Any] = {}
        exec(f"def make({', '.join(space)}):\n return lambda: {text}", where, made)
        self.written = made["make"](**space)

    def holds(self) -> bool:
        told = super().holds()
        try:
            assert self.written() is told
        except (NameError, KeyError):
            assert not told
        return told


def test_a_watch_sees_what_inner_functions_read(monkeypatch: pytest.MonkeyPatch) -> None:
    function = triton.jit(outer)
    watch = Agreeing(function, {})
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

    watch = Agreeing(triton.jit(kernel), {})
    assert watch.holds()
    Config.SIZE = 5
    assert not watch.holds()
    Config.SIZE = 4
    captured = 4
    assert not watch.holds()


LATER: Any = None


def test_a_watch_sees_a_name_that_comes_or_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x):
        for i in range(4):
            tl.store(x + i, LATER)

    watch = Agreeing(triton.jit(kernel), {})
    assert watch.holds()
    monkeypatch.setitem(kernel.__globals__, "range", range)
    assert not watch.holds()
    monkeypatch.undo()
    assert watch.holds()
    monkeypatch.delitem(kernel.__globals__, "LATER")
    assert not watch.holds()


def test_a_watch_passes_over_what_has_no_source() -> None:
    space: dict[str, Any] = {"triton": triton}
    exec("def lost(x): pass", space)
    lost = triton.jit(space["lost"])

    def kernel(x, USE: tl.constexpr):
        if USE:
            lost(x)

    assert Agreeing(triton.jit(kernel), {"USE": False}).holds()


def test_a_watch_sees_a_new_text() -> None:
    function = triton.jit(outer)
    watch = Agreeing(function, {})
    function._unsafe_update_src(function.src.replace("inner(tl.load(x))", "1"))
    assert not watch.holds()


def test_what_was_written_before_torch_was_loaded_gives_the_same_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor, form = Tensor(recording()[0], np.zeros(8, np.float16)), Form(1, ())
    wanted = read(KERNELS["plain"], tensor)
    with monkeypatch.context() as before:
        before.delitem(sys.modules, "torch")
        early = reader(KERNELS["plain"].params, form)
    assert early((tensor,), {}) == wanted


def test_nothing_of_torch_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    assert read(KERNELS["plain"], 16)[1] == (16,)


def test_a_descriptor_that_was_changed_is_read_anew() -> None:
    """What a descriptor keeps of the last launch counts for the same parts alone."""
    api, _ = recording()
    function, base = KERNELS["plain"], Tensor(api, np.zeros(64, np.float32))
    made = TensorDescriptor(base, [2, 16], [16, 1], [2, 4])

    def seen() -> Any:
        key, (got,), _ = read(function, made)
        fresh = TensorDescriptor(made.base, list(made.shape), list(made.strides), made.block_shape,
                                 made.padding, made.round_f32_to_tf32)  # fmt: skip
        assert (key, (got,)) == read(function, fresh)[:2]
        return key, got

    found = [seen(), seen()]
    assert found[0] == found[1]
    made.shape[0] = 4  # type: ignore[index]
    found.append(seen())
    made.block_shape = [4, 4]
    found.append(seen())
    made.padding = "nan"
    found.append(seen())
    made.strides[0] = 32  # type: ignore[index]
    found.append(seen())
    base._address += 16
    found.append(seen())
    made.base = Tensor(api, np.zeros(64, np.float32))
    found.append(seen())
    assert len({repr(one) for one in found}) == 7
