"""The short way end to end: whatever the form of a call, the driver sees what it would see of the
long way, and what the short way cannot do goes the long way with nothing done."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.language.function import SHORT
from blockstep.runtime.gpu import Param
from blockstep.runtime.gpu.failures import GPUError
from tests.runtime.gpu.arrays import Tensor, install_torch
from tests.runtime.gpu.test_machine import Setting, fresh, pair


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    install_torch(monkeypatch, lambda ordinal: 5)
    made = Setting(monkeypatch)
    made.body = None
    return made


def seen(setting: Setting) -> Any:
    """The last launch, as the driver saw it."""
    told = setting.api.launches[-1]
    return told.grid, told.threads, told.shared, told.stream, told.values, told.attributes


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((16, 4), {}), ((16,), {"BLOCK": 4}), ((), {"BLOCK": 4, "n": 16}), ((), {"n": 17, "BLOCK": 4}),
    ((16, 8), {}), ((16, 4), {"num_warps": 8}), ((16,), {"num_warps": 8, "BLOCK": 4}),
    ((-3, 4), {}), ((1, 4), {}), ((16, 4), {"launch_pdl": True}), ((16, True), {}), ((0, 4), {}),
    ((16,), {"BLOCK": 4, "num_warps": 2}),
]  # fmt: skip


def test_calls_of_all_forms_in_any_order_arrive_as_on_the_long_way(setting: Setting) -> None:
    x, out = pair(setting.api)
    long, short = fresh(), fresh()
    grids = [(3,), (2, 3), (2, 3, 4), lambda meta: (abs(meta["n"]) + meta["BLOCK"],)]
    for first, second in itertools.permutations(CALLS, 2):
        for (args, kwargs), grid in zip((first, second, first), grids, strict=False):
            long.device_caches.pop(SHORT, None)
            long.device_caches.pop("shortcut", None)
            long[grid](x, out, *args, **kwargs)
            wanted = seen(setting)
            assert short[grid](x, out, *args, **kwargs) is not None
            assert seen(setting) == wanted


def test_a_call_of_another_form_is_short_at_once(setting: Setting) -> None:
    kernel = fresh()
    x, out = pair(setting.api)
    first = kernel[(1,)](x, out, 16, BLOCK=4)
    setting.api.calls.clear()
    for _ in range(2):
        for args, kwargs in CALLS[:3]:
            assert kernel[(1,)](x, out, *args, **kwargs) is first
            assert kernel.run(x, out, *args, grid=(1,), warmup=False, **kwargs) is first
    assert setting.api.calls == ["cuLaunchKernel"] * 12


def test_a_parameter_that_is_an_option_too(setting: Setting) -> None:
    def kernel_function(x, num_warps: tl.constexpr):
        pass

    kernel = triton.jit(kernel_function)
    x, _ = pair(setting.api)
    for _ in range(2):
        kernel[(1,)](x, 8)
        kernel[(1,)](x, num_warps=8)
    assert [launch.threads for launch in setting.api.launches] == [128, 256] * 2


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((16,), {}, "BLOCK"), ((16, 4, 5), {}, "positional"), ((16, 4), {"n": 1}, "twice"),
        ((16,), {"BLOCKS": 4}, "BLOCKS"), ((16,), {"BLOCK": 4, "num_warps": 3}, "power of 2"),
    ],
)  # fmt: skip
def test_a_call_that_does_not_bind_is_refused_as_ever(
    setting: Setting, args: Any, kwargs: Any, words: str
) -> None:
    x, out = pair(setting.api)
    told = []
    for launches in (0, 2):
        kernel = fresh()
        for _ in range(launches):
            kernel[(1,)](x, out, 16, BLOCK=4)
        with pytest.raises((TypeError, AssertionError, KeyError), match=words) as caught:
            kernel[(1,)](x, out, *args, **kwargs)
        assert caught.value.__context__ is None
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]


def test_hooks_see_the_call_as_it_was_made(setting: Setting) -> None:
    kernel = fresh()
    x, out = pair(setting.api)
    go = kernel[(1,)]
    go(x, out, 16, BLOCK=4)
    go = kernel[(1,)]
    told: list[Any] = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: told.append((args[2:], kwargs)))
    go(x, out, 16, BLOCK=4)
    go(x, out, n=16, BLOCK=4)
    assert told == [((16,), {"BLOCK": 4}), ((), {"n": 16, "BLOCK": 4})]


def test_nothing_is_written_again_for_launches_that_stay_long(setting: Setting) -> None:
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 16, BLOCK=4)
    short = kernel.device_caches[SHORT]
    kernel.add_pre_run_hook(lambda *args, **kwargs: None)
    for _ in range(2):
        kernel[(1,)](x, out, 16, BLOCK=4)
    assert kernel.device_caches[SHORT] is short
    kernel[(1,)](x, out, 17, BLOCK=4)
    assert kernel.device_caches[SHORT] is not short
    kernel.pre_run_hooks.clear()
    setting.api.calls.clear()
    for n in (16, 17):
        kernel[(1,)](x, out, n, BLOCK=4)
    assert setting.api.calls == ["cuLaunchKernel"] * 2


def test_a_refusal_of_the_driver_is_raised_and_the_next_launch_goes_on(setting: Setting) -> None:
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 16, BLOCK=4)
    setting.api.failures["cuLaunchKernel"] = ["CUDA_ERROR_INVALID_VALUE"]
    with pytest.raises(GPUError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel[(7,)](x, out, 32, BLOCK=4)
    kernel[(2,)](x, out, 48, BLOCK=4)
    assert [launch.values[2] for launch in setting.api.launches] == [16, 48]


def test_a_thread_without_a_context_gets_one(setting: Setting) -> None:
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 16, BLOCK=4)
    setting.api.stack.clear()
    kernel[(2,)](x, out, 32, BLOCK=4)
    assert seen(setting)[0] == (2, 1, 1) and seen(setting)[4][2] == 32


def test_numbers_that_have_to_be_rounded_arrive(setting: Setting) -> None:
    def kernel_function(x, a, b):
        pass

    setting.parameters = (Param("pointer", "x"), Param("f32", "a"), Param("bf16", "b"))
    kernel = triton.jit(kernel_function)
    x, _ = pair(setting.api)
    for _ in range(2):
        kernel[(3,)](x, 1e300, 1.0)
        assert seen(setting)[4] == (x.data_ptr(), float("inf"), 0x3F80)
        assert seen(setting)[0] == (3, 1, 1) and seen(setting)[3] == 5


frame = seen0 = seen1 = handle = v0 = tl.constexpr(1)


def unlucky(x, n):
    tl.store(x, frame + seen0 + seen1 + handle + v0 + n)


@pytest.mark.parametrize("name", ["frame", "seen0", "seen1", "handle", "v0"])
def test_outer_names_may_be_those_of_generated_code(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kernel = triton.jit(unlucky)
    x, _ = pair(setting.api)
    kernel[(1,)](x, 16)
    setting.api.calls.clear()
    kernel[(1,)](x, 16)
    assert setting.api.calls == ["cuLaunchKernel"]
    monkeypatch.setitem(unlucky.__globals__, name, tl.constexpr(2))
    for _ in range(2):
        kernel[(1,)](x, 16)
    monkeypatch.delitem(unlucky.__globals__, name)
    kernel[(1,)](x, 16)
    assert len(setting.compiled) == 3


def test_threads_do_not_mix_their_launches(setting: Setting) -> None:
    kernel = fresh()
    arrays = [pair(setting.api) for _ in range(4)]
    for x, out in arrays:
        kernel[(1,)](x, out, 16, BLOCK=4)
    setting.api.launches.clear()

    def go(i: int) -> None:
        for k in range(100):
            kernel[(i + 1,)](*arrays[i], 16 * (4 * k + i), BLOCK=4)

    threads = [threading.Thread(target=go, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(setting.api.launches) == 400
    for launch in setting.api.launches:
        i = launch.grid[0] - 1
        x, out = arrays[i]
        assert launch.values[:2] == (x.data_ptr(), out.data_ptr())
        assert launch.values[2] // 16 % 4 == i


def test_a_tensor_of_another_type_or_device_is_not_taken_for_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = Setting(monkeypatch, 2)
    setting.body = None
    install_torch(monkeypatch, lambda ordinal: 40 + ordinal)
    kernel, api = fresh(), setting.api
    here = pair(api)
    narrow = Tensor(api, np.zeros(8, np.float16)), Tensor(api, np.zeros(8, np.float16))
    api.stack.append(0xC0001)
    there = pair(api)
    api.stack.pop()
    for x, out in (here, there, narrow) * 2:
        kernel[(1,)](x, out, 16, BLOCK=4)
    assert [launch.stream for launch in api.launches] == [40, 41, 40] * 2
    assert len(setting.compiled) == 3
