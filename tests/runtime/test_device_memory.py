"""Arrays on a device, with a driver whose device is a NumPy array."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blockstep.language import types
from blockstep.runtime.arrays import Binding, view_of
from blockstep.runtime.device_memory import CudaDriver, DeviceArrays, changed_runs

DEVICE = 0x7F0000000000


class Device:
    """A `Driver` whose memory is an array at address `DEVICE`."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.arange(nbytes, dtype=np.uint8)
        self.log: list[tuple[Any, ...]] = []

    def read(self, address: int, into: Any) -> None:
        self.log.append(("read", address - DEVICE, into.size))
        into[:] = self.memory[address - DEVICE :][: into.size]

    def write(self, address: int, data: Any) -> None:
        self.log.append(("write", address - DEVICE, data.size))
        self.memory[address - DEVICE :][: data.size] = data

    def wait(self, address: int, stream: int | None) -> None:
        self.log.append(("wait", stream))


class OnDevice:
    def __init__(self, offset: int, shape: Any, strides: Any = None, stream: Any = None) -> None:
        self.__cuda_array_interface__ = {
            "data": (DEVICE + offset, False),
            "shape": shape,
            "strides": strides,
            "typestr": "<f4",
            "version": 3,
            "stream": stream,
        }


def binding(device: Device) -> Binding:
    return Binding(devices=DeviceArrays(device))


def test_a_device_array_is_copied_in_and_keeps_its_address() -> None:
    device = Device(256)
    view = view_of(OnDevice(16, (4,), stream=7), "x", binding(device))
    assert (view.base, view.dtype, view.shape) == (DEVICE + 16, types.float32, (4,))
    assert view.storage is not None
    assert view.storage.data.tolist() == list(range(16, 32))
    assert device.log == [("wait", 7), ("read", 16, 16)]


def test_only_what_changed_goes_back() -> None:
    device = Device(20000)
    bound = binding(device)
    view = view_of(OnDevice(0, (5000,)), "x", bound)
    assert view.storage is not None
    view.storage.data[8:12] = 99
    view.storage.data[10000] = 99
    device.log.clear()
    assert bound.devices.copy_back() == 5
    assert device.log == [("write", 8, 4), ("write", 10000, 1)]
    assert device.memory[8:12].tolist() == [99] * 4
    assert bound.devices.copy_back() == 0


def test_two_arguments_share_one_copy() -> None:
    device = Device(256)
    bound = binding(device)
    a = view_of(OnDevice(0, (32,)), "a", bound)
    b = view_of(OnDevice(64, (8,)), "b", bound)
    assert a.storage is b.storage
    assert [entry for entry in device.log if entry[0] == "read"] == [("read", 0, 128)]


def test_arguments_that_overlap_are_one_storage() -> None:
    device = Device(256)
    bound = binding(device)
    a = view_of(OnDevice(0, (16,)), "a", bound)
    b = view_of(OnDevice(32, (16,)), "b", bound)
    assert a.storage is b.storage
    assert a.storage is not None
    assert a.storage.data.tolist() == list(range(96))
    a.storage.data[90] = 0
    bound.devices.copy_back()
    assert device.memory[90] == 0


def test_a_strided_device_array() -> None:
    view = view_of(OnDevice(0, (2, 3), (32, 8)), "x", binding(Device(256)))
    assert view.strides == (8, 2)
    assert view.extent() == (DEVICE, DEVICE + 32 + 16 + 4)


def test_runs_of_changes_that_are_near_go_together() -> None:
    before, after = np.zeros(20000, np.uint8), np.zeros(20000, np.uint8)
    assert changed_runs(before, after) == []
    after[[3, 100, 19999]] = 1
    assert changed_runs(before, after) == [(3, 101), (19999, 20000)]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
def _on_device_1(ordinal: int, which: int, address: int) -> int:
    ctypes.c_int.from_address(ordinal).value = 1
    return 0


class Api:
    """The part of `cuda.bindings.driver` that is used, without a device."""

    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
    CUresult = SimpleNamespace(CUDA_ERROR_NOT_FOUND=500)

    def __init__(self, status: int = 0, context: int = 0) -> None:
        self.status, self.context, self.log = status, context, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> tuple[Any, ...]:
            self.log.append(name)
            if name == "cuCtxSetCurrent":
                self.context = args[0]
            answers = {
                "cuCtxGetCurrent": self.context,
                "cuDeviceGet": 1,
            }
            answers["cuDevicePrimaryCtxRetain"] = 77
            if name == "cuGetProcAddress":
                return self.status, ctypes.cast(_on_device_1, ctypes.c_void_p).value, None
            return (self.status, answers[name]) if name in answers else (self.status,)

        return call


def test_the_context_of_the_memory_is_entered_once() -> None:
    api = Api()
    driver = CudaDriver(api)
    into = np.zeros(4, np.uint8)
    driver.wait(DEVICE, None)
    driver.read(DEVICE, into)
    driver.write(DEVICE, into)
    assert api.context == 77
    assert api.log.count("cuCtxSetCurrent") == 1
    assert [name for name in api.log if name.startswith(("cuMem", "cuCtxSync"))] == [
        "cuCtxSynchronize",
        "cuMemcpyDtoH",
        "cuMemcpyHtoD",
    ]


def test_a_stream_is_waited_for_alone() -> None:
    api = Api(context=5)
    CudaDriver(api).wait(DEVICE, 2)
    assert "cuStreamSynchronize" in api.log
    assert "cuCtxSynchronize" not in api.log


def test_a_driver_that_fails_says_so() -> None:
    with pytest.raises(RuntimeError, match="CUDA driver"):
        CudaDriver(Api(status=100))


def test_what_a_kernel_leaves_on_the_device_is_read_and_put_back() -> None:
    device = Device(256)
    bound = binding(device)
    view = view_of(OnDevice(16, (4,)), "x", bound)
    device.memory[16:32] = 9  # as a kernel would
    bound.devices.copy_again()
    assert view.storage is not None
    assert view.storage.data.tolist() == [9] * 16
    bound.devices.put_back()
    assert device.memory[16:32].tolist() == list(range(16, 32))
