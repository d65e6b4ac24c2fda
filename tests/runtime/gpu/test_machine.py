"""Launches on the gpu machine from `kernel[grid](...)` on, with a driver on paper and a compiler
whose kernels are Python functions."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import knobs
from blockstep.errors import UnsupportedError
from blockstep.findings import Span
from blockstep.runtime import session
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu import FAULTS, Binary, Box, Param, Site, driver, selection
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.binary import Kind
from blockstep.runtime.gpu.failures import GPUError, MixedDevices
from blockstep.runtime.gpu.faults import KernelAssertion
from blockstep.runtime.gpu.host_arrays import refuse_host_tensors
from tests.runtime.gpu.arrays import CupyArray, OnDevice, Tensor, at, install_cupy, install_torch
from tests.runtime.gpu.recording import Launch, Recording, recording


def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


class Setting:
    """A machine on paper in the place of the process's, and what was compiled for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, devices: int = 1) -> None:
        self.api: Recording
        self.api, opened = recording(devices)
        self.compiled: list[dict[str, Any]] = []
        self.rest: dict[str, Any] = {}
        self.parameters: tuple[Param, ...] | None = None
        self.body: Any = self.copy
        machine = gpu.Machine(opened)
        monkeypatch.setattr(gpu, "machine", lambda: machine)
        monkeypatch.setattr(driver, "present", lambda: True)
        monkeypatch.setattr(selection, "compiler", lambda: self.compile)
        self.machine = machine

    def compile(self, function: Any, bound: Any, options: Any) -> Binary:
        kinds: dict[str, Kind] = {"pointer": "pointer", "scalar": "i32"}
        parameters = self.parameters or tuple(
            Param(kinds[a.kind], a.name) for a in bound.arguments if a.kind in kinds
        )
        aligned = {a.name: a.divisible for a in bound.arguments}
        self.compiled.append({**options, "aligned": aligned})
        made = Binary("ptx", function.__name__, 0, options["num_warps"], 1, parameters, **self.rest)
        return self.api.kernel(made, self.body)

    @staticmethod
    def copy(launch: Launch) -> None:
        x, out, n = launch.values[:3]
        at(out, n)[:] = at(x, n)


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


def fresh() -> Any:
    return triton.jit(copy_kernel)


def test_device_arrays_are_used_in_place(setting: Setting) -> None:
    kernel, api = fresh(), setting.api
    x, out = OnDevice(api, np.arange(6.0, dtype=np.float32)), OnDevice(api, np.zeros(6, np.float32))
    api.calls.clear()
    kernel[(2, 3)](x, out, 6, BLOCK=4, num_warps=8)
    assert out.tolist() == [0, 1, 2, 3, 4, 5]
    assert (api.launches[0].grid, api.launches[0].threads) == ((2, 3, 1), 256)
    assert not {c for c in api.calls if "Memcpy" in c or "Alloc" in c or "Synchronize" in c}


def test_the_second_launch_is_one_call_and_the_current_streams(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = iter([11, 22, 33])
    install_torch(monkeypatch, lambda ordinal: next(streams))
    kernel, api = fresh(), setting.api
    x, out = Tensor(api, np.arange(5.0, dtype=np.float32)), Tensor(api, np.zeros(5, np.float32))
    first = kernel[(1,)](x, out, 5, BLOCK=8)
    api.calls.clear()
    assert kernel[lambda meta: (meta["n"] // meta["BLOCK"] + 1,)](x, out, 5, BLOCK=8) is first
    assert kernel[(4,)](x, out, n=5, BLOCK=8) is first
    assert api.calls == ["cuLaunchKernel", "cuLaunchKernel"]
    assert [launch.stream for launch in api.launches] == [11, 22, 33]
    assert [launch.grid[0] for launch in api.launches] == [1, 1, 4]
    assert len(setting.compiled) == 1


def pair(api: Recording, kind: Any = Tensor, n: int = 32) -> tuple[Any, Any]:
    return kind(api, np.arange(n, dtype=np.float32)), kind(api, np.zeros(n, np.float32))


@pytest.mark.parametrize(
    "change",
    [
        {"n": 17}, {"n": 1}, {"BLOCK": 16}, {"num_warps": 2}, {"debug": True},
        {"n": 1 << 40}, {"BLOCK": True},
    ],
    ids=str,
)  # fmt: skip
def test_what_the_code_depends_on_is_compiled_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    setting.body = None
    setting.parameters = (Param("pointer", "x"), Param("pointer", "out"))
    call = {"n": 16, "BLOCK": 1}
    for keywords in (call, {**call, **change}, call, {**call, **change}):
        kernel[(1,)](x, out, **keywords)
    assert len(setting.compiled) == 2
    assert len(setting.api.launches) == 4


def test_numbers_of_one_kind_share_code_and_arrive(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    for n in (16, 32, -48):
        setting.body = None
        kernel[(1,)](x, out, n, BLOCK=4)
    assert [launch.values[2] for launch in setting.api.launches] == [16, 32, -48]
    assert len(setting.compiled) == 1


def test_options_of_the_launch_reach_the_driver(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    x, out = pair(setting.api)
    kernel = fresh()
    for _ in range(2):
        kernel[(1,)](x, out, 4, BLOCK=4, launch_pdl=True)
        kernel[(1,)](x, out, 4, BLOCK=4)
        kernel[(1,)](x, out, 4, BLOCK=4, launch_cooperative_grid=True)
    kinds = [("PROGRAMMATIC_STREAM_SERIALIZATION",), (), ("COOPERATIVE",)]
    assert [launch.attributes for launch in setting.api.launches] == kinds * 2


def test_arrays_that_overlap_on_the_device_stay_where_they_are(setting: Setting) -> None:
    whole = OnDevice(setting.api, np.arange(16, dtype=np.float32))
    parts = []
    for start, stop in ((0, 10), (6, 16)):
        part = OnDevice.__new__(OnDevice)
        told = whole.__cuda_array_interface__
        address = told["data"][0] + 4 * start
        part.__cuda_array_interface__ = {**told, "data": (address, False), "shape": (stop - start,)}
        parts.append(part)
    setting.body = None
    fresh()[(1,)](*parts, 4, BLOCK=4)
    x, out, _ = setting.api.launches[0].values
    assert (x, out - x) == (whole._address, 24)
    assert "cuMemAlloc" not in setting.api.calls


def test_alignment_is_compiled_in(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    shifted = Tensor(setting.api, np.arange(4, dtype=np.float32))
    shifted._address += 4
    shifted._size -= 4
    setting.body = None
    for array in (x, shifted, x, shifted):
        kernel[(1,)](array, out, 3, BLOCK=4)
    assert [told["aligned"]["x"] for told in setting.compiled] == [True, False]
    assert [launch.values[0] % 16 for launch in setting.api.launches] == [0, 4, 0, 4]


def test_do_not_specialize_compiles_once(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = triton.jit(copy_kernel, do_not_specialize=["n"])
    x, out = pair(setting.api)
    for n in (1, 16, 17):
        kernel[(1,)](x, out, n, BLOCK=4)
    assert len(setting.compiled) == 1
    assert not setting.compiled[0]["aligned"]["n"]
    assert [launch.values[2] for launch in setting.api.launches] == [1, 16, 17]


FACTOR = tl.constexpr(2)


@triton.jit
def scale(x):
    return x * FACTOR


def uses_a_constant(x, out, n, BLOCK: tl.constexpr):
    tl.store(out, scale(tl.load(x)))


def test_a_constant_that_changed_is_seen(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = triton.jit(uses_a_constant)
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    kernel[(1,)](x, out, 4, BLOCK=4)
    monkeypatch.setitem(uses_a_constant.__globals__, "FACTOR", tl.constexpr(3))
    kernel[(1,)](x, out, 4, BLOCK=4)
    assert len(setting.compiled) == 2


def test_hooks_are_told_of_every_launch(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    told: list[Any] = []
    knobs.runtime.launch_enter_hook.add(told.append)
    try:
        kernel[(1,)](x, out, 4, BLOCK=4)
    finally:
        knobs.runtime.launch_enter_hook.remove(told.append)
    assert [entry.get()["name"] for entry in told] == ["copy_kernel"]
    assert len(setting.api.launches) == 2


def test_a_judged_launch_stays_on_the_host(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    wanted = np.zeros(4, np.float32)
    with triton.check() as report:
        kernel[(1,)](np.arange(4, dtype=np.float32), wanted, 4, BLOCK=4)
    assert [record.machine for record in report.launches] == ["grid"]
    assert wanted.tolist() == [0, 1, 2, 3]
    with triton.machine("gpu"), triton.check(), pytest.raises(UnsupportedError, match="judges"):
        kernel[(1,)](x, out, 4, BLOCK=4)


def test_host_arrays_are_interpreted_unless_the_gpu_is_chosen(setting: Setting) -> None:
    kernel = fresh()
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernel[(1,)](x, out, 4, BLOCK=4)
    assert (out.tolist(), setting.api.launches) == ([0, 1, 2, 3], [])


@pytest.mark.parametrize("written", [None, frozenset({"out"}), frozenset({"x"})], ids=str)
def test_host_arrays_are_copied_there_and_back(setting: Setting, written: Any) -> None:
    setting.rest["writes"] = written
    kernel, api = fresh(), setting.api
    whole = np.arange(100, dtype=np.float32)
    x, out = whole[10:14], np.zeros(4, np.float32)
    before = set(api.memory)
    api.calls.clear()
    with triton.machine("gpu"):
        kernel[(1,)](x, out, 4, BLOCK=4)
    assert out.tolist() == ([0] * 4 if written == {"x"} else [10, 11, 12, 13])
    assert api.calls.count("cuMemcpyDtoH") == (2 if written is None else 1)
    assert api.launches[0].values[0] % 256 == x.ctypes.data % 256
    assert set(api.memory) == before
    assert api.calls.index("cuStreamSynchronize") > api.calls.index("cuLaunchKernel")


def test_overlapping_host_arrays_still_overlap(setting: Setting) -> None:
    whole = np.zeros(8, np.float32)
    kernel = fresh()
    with triton.machine("gpu"):
        kernel[(1,)](whole[:4], whole[2:], 4, BLOCK=4)
    x, out, _ = setting.api.launches[0].values
    assert out - x == 8


def test_a_read_only_host_array_is_not_copied_back(setting: Setting) -> None:
    x = np.arange(4, dtype=np.float32)
    x.flags.writeable = False
    with triton.machine("gpu"):
        fresh()[(1,)](x, np.zeros(4, np.float32), 4, BLOCK=4)
    assert setting.api.calls.count("cuMemcpyDtoH") == 1


def test_host_and_device_arrays_mix(setting: Setting) -> None:
    api, out = setting.api, np.zeros(4, np.float32)
    x = OnDevice(api, np.arange(4, dtype=np.float32))
    fresh()[(1,)](x, out, 4, BLOCK=4)
    assert out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("pinned", [False, True])
def test_a_tensor_of_the_host_does_not_mix_unless_it_is_pinned(pinned: bool) -> None:
    arrays = np.zeros(4, np.float32), np.zeros(4, np.float32)
    bound = bind(fresh().params, (*arrays, 4, 4), {}, kernel="copy_kernel")
    refuse_host_tensors(bound)  # arrays of NumPy mix
    cpu = SimpleNamespace(type="cpu")
    bound.arguments[1].value = SimpleNamespace(device=cpu, is_pinned=lambda: pinned)
    if pinned:
        refuse_host_tensors(bound)
        return
    said = (
        r"Pointer argument \(at 1\) cannot be accessed from Triton \(cpu tensor\?\): `out` lies in"
    )
    with pytest.raises(ValueError, match=said):
        refuse_host_tensors(bound)


def test_a_launch_with_host_arrays_is_not_captured(setting: Setting) -> None:
    setting.api.is_capturing = True
    x = np.zeros(4, np.float32)
    with triton.machine("gpu"), pytest.raises(GPUError, match="`x`, an array of the host"):
        fresh()[(1,)](x, x, 4, BLOCK=4)
    assert setting.api.launches == []


def test_a_captured_launch_neither_waits_nor_allocates(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 5)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    setting.api.is_capturing = True
    setting.api.calls.clear()
    kernel[(1,)](x, out, 4, BLOCK=4)
    assert setting.api.calls == ["cuLaunchKernel"]


def test_arrays_on_two_devices_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(monkeypatch, 2)
    api = setting.api
    x = OnDevice(api, np.zeros(4, np.float32))
    api.stack.append(0xC0001)
    out = OnDevice(api, np.zeros(4, np.float32))
    api.stack.pop()
    with pytest.raises(MixedDevices) as caught:
        fresh()[(1,)](x, out, 4, BLOCK=4)
    assert "`x` is on cuda:0 and `out` on cuda:1" in str(caught.value)
    assert "out.to('cuda:0')" in str(caught.value)


def test_the_arrays_device_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(monkeypatch, 2)
    install_torch(monkeypatch, lambda ordinal: 100 + ordinal)
    setting.api.stack[:] = [0xC0001]
    x, out = pair(setting.api)
    setting.api.stack[:] = [0xC0000]
    kernel = fresh()
    for _ in range(2):
        kernel[(1,)](x, out, 4, BLOCK=4)
    assert [launch.stream for launch in setting.api.launches] == [101, 101]
    assert setting.api.stack == [0xC0000]


def test_cupy_arrays_go_to_cupys_stream(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    install_cupy(monkeypatch, 77)
    kernel = fresh()
    x, out = pair(setting.api, CupyArray)
    for _ in range(2):
        kernel[(1,)](x, out, 4, BLOCK=4)
    assert [launch.stream for launch in setting.api.launches] == [77, 77]
    assert setting.api.calls.count("cuPointerGetAttribute") == 2


def test_the_interface_names_the_stream(setting: Setting) -> None:
    x = OnDevice(setting.api, np.arange(4, dtype=np.float32), stream=9)
    fresh()[(1,)](x, OnDevice(setting.api, np.zeros(4, np.float32)), 4, BLOCK=4)
    assert setting.api.launches[0].stream == 9


def test_the_compiled_kernel_tells_what_the_driver_says(setting: Setting) -> None:
    x, out = pair(setting.api, OnDevice)
    kernel = fresh()
    handle = kernel.warmup(x, out, 4, BLOCK=4, grid=(1,))
    assert setting.api.launches == []
    assert (handle.n_regs, handle.n_spills, handle.asm["ptx"]) == (32, 0, "ptx")


def test_a_bad_grid_is_refused_on_the_short_way_too(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    for grid in ((0,), (1.5,), (1, 1, 1, 1)):
        with pytest.raises(TypeError, match="grid"):
            kernel[grid](x, out, 4, BLOCK=4)
    with pytest.raises(KeyError, match="SIZE"):
        kernel[lambda meta: (meta["SIZE"],)](x, out, 4, BLOCK=4)
    assert len(setting.api.launches) == 1


@pytest.mark.parametrize("grid", [(1 << 31,), (1, 65536), (1, 1, 65536), (1 << 40, 1, 1)])
def test_a_grid_past_the_limits_is_refused_both_ways(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, grid: Any
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    for _ in range(2):
        with pytest.raises(triton.OutOfResources, match="grid"):
            kernel[grid](x, out, 4, BLOCK=4)
        kernel[(100_000, 1)](x, out, 4, BLOCK=4)
    assert len(setting.api.launches) == 2


def test_a_failed_assertion_is_told_by_the_next_launch(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    setting.parameters = tuple(
        Param("pointer", n) if n != "n" else Param("i32", n) for n in ("x", "out", "n", FAULTS)
    )
    setting.rest["sites"] = (Site(Span("k.py", 7, 5), "n is odd"),)

    def body(launch: Launch) -> None:
        if launch.values[2] % 2:
            at(launch.values[3], 6, np.int32)[:] = [1, 0, 3, 2, 0, 17]

    setting.body = body
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    kernel[(1,)](x, out, 5, BLOCK=4)
    with pytest.raises(KernelAssertion) as caught:
        kernel[(1,)](x, out, 4, BLOCK=4)
    text = str(caught.value)
    assert text.splitlines() == [
        "n is odd",
        "  --> k.py:7:5 in copy_kernel",
        "   = program instance (3, 2, 0), element 17",
    ]
    setting.machine.synchronize()
    kernel[(1,)](x, out, 5, BLOCK=4)
    with pytest.raises(AssertionError, match="n is odd"):
        setting.machine.synchronize()
    with triton.machine("gpu"), pytest.raises(KernelAssertion):
        kernel[(1,)](np.zeros(4, np.float32), np.zeros(4, np.float32), 5, BLOCK=4)


def test_a_tensor_map_is_made_once_and_sees_the_launchs_numbers(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    asked: list[Any] = []

    def encode(*told: Any) -> Any:
        asked.append((told[2], [int(n) for n in told[3]], [int(n) for n in told[4]]))
        return (setting.api.CUresult.CUDA_SUCCESS, setting.api.CUtensorMap())

    setting.api.answers["cuTensorMapEncodeTiled"] = encode
    box = Box("x", "fp32", ("n", 64), (64, 1), (16, 32), swizzle=128)
    setting.parameters = (Param("tensor_map", "x", box), Param("pointer", "out"))
    setting.body = None
    kernel = fresh()
    x, out = pair(setting.api)
    for n in (16, 32, 16):
        kernel[(1,)](x, out, n, BLOCK=4)
    assert asked == [(x.data_ptr(), [64, 16], [256]), (x.data_ptr(), [64, 32], [256])]
    assert len(setting.api.launches) == 3


def test_a_descriptor_and_a_tuple_give_their_parts(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    from blockstep.tools.tensor_descriptor import TensorDescriptor

    install_torch(monkeypatch, lambda ordinal: 0)

    def kernel_function(d, pair):
        pass

    names = ("d", "d.shape[1]", "d.strides[0]", "pair[1]", "pair[0]")
    kinds: tuple[Kind, ...] = ("pointer", "i32", "i64", "i32", "pointer")
    setting.parameters = tuple(Param(*told) for told in zip(kinds, names, strict=True))
    setting.body = None
    kernel = triton.jit(kernel_function)
    x, out = pair(setting.api, n=64)
    for n in (5, 6):
        told = TensorDescriptor(x, [4, 8], [16, 1], [2, 4])
        kernel[(1,)](told, (out, n))
    assert [launch.values for launch in setting.api.launches] == [
        (x.data_ptr(), 8, 16, 5, out.data_ptr()), (x.data_ptr(), 8, 16, 6, out.data_ptr()),
    ]  # fmt: skip
    assert setting.api.calls.count("cuCtxGetCurrent") < 8


def test_without_a_compiler_device_arrays_are_interpreted(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "compiler", lambda: None)
    with triton.machine("gpu"), pytest.raises(UnsupportedError, match="needs the compiler"):
        fresh()[(1,)](np.zeros(4), np.zeros(4), 4, BLOCK=4)


def test_a_run_that_was_replaced_is_called(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    monkeypatch.setattr(type(kernel), "run", lambda self, *args, **kwargs: "replaced")
    assert kernel[(1,)](x, out, 4, BLOCK=4) == "replaced"


def test_a_context_that_was_left_loads_the_kernel_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    kernel = fresh()
    x, out = pair(setting.api)
    kernel[(1,)](x, out, 4, BLOCK=4)
    setting.api.stack.append(0xA0000)
    kernel[(1,)](x, out, 4, BLOCK=4)
    assert len(setting.api.launches) == 2
    assert setting.api.calls.count("cuModuleLoadDataEx") == 2


def test_a_debugger_keeps_launches_on_the_host(setting: Setting) -> None:
    current = session.current()
    before = sys.gettrace()
    sys.settrace(lambda *event: None)
    try:
        assert not selection.may_want(current)
    finally:
        sys.settrace(before)


def test_triton_interpret_keeps_launches_on_the_host(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    assert selection.may_want(session.current())
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert not selection.may_want(session.current())


def test_the_profile_of_the_device_is_its_own(setting: Setting) -> None:
    told = selection.target_of(setting.machine.driver.device(0))
    assert (told.name, told.title, told.capability) == ("h200", "NVIDIA H200", (9, 0))
    assert (told.multiprocessors, told.shared_per_block) == (132, 232448)
