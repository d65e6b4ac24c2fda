"""A CUDA driver on paper: it records calls, keeps device memory as NumPy bytes, and runs Python
functions as kernels, so that what reaches a kernel can be looked at without a GPU.

Enumerations and structures are those of `cuda.bindings.driver`, so a misspelt name fails here.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cuda.bindings.driver as real

from blockstep.runtime.gpu.binary import SIZES, Binary, Param
from blockstep.runtime.gpu.driver import Driver

CODES = {
    "pointer": "Q", "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "f16": "e", "bf16": "H", "f32": "f", "f64": "d", "tensor_map": "128s",
}  # fmt: skip
PRIMARY = 0xC0000
OK = (real.CUresult.CUDA_SUCCESS,)
LIMITS = {
    "COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0, "MULTIPROCESSOR_COUNT": 132,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
    "MAX_THREADS_PER_BLOCK": 1024, "MAX_REGISTERS_PER_BLOCK": 65536, "L2_CACHE_SIZE": 60 << 20,
    "CLOCK_RATE": 1_980_000, "MEMORY_CLOCK_RATE": 3_201_000, "GLOBAL_MEMORY_BUS_WIDTH": 6144,
    "MAX_GRID_DIM_X": (1 << 31) - 1, "MAX_GRID_DIM_Y": 65535, "MAX_GRID_DIM_Z": 65535,
}  # fmt: skip


@dataclass
class Launch:
    """One launch as the driver saw it; `values` are the parameters, read from their addresses."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared: int
    stream: int
    values: tuple[Any, ...]
    attributes: tuple[str, ...] = ()
    cluster: tuple[int, int, int] = (1, 1, 1)


@dataclass
class Kernel:
    """What the driver knows of a kernel; `body(launch)` runs where it is launched."""

    parameters: tuple[Param, ...]
    body: Callable[[Launch], None] | None = None
    attributes: dict[str, int] = field(default_factory=dict)


class Refused(Exception):
    """A call fails with the status that is named."""


class Recording:
    """The functions of `cuda.bindings.driver` that the gpu machine calls."""

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.calls: list[str] = []
        self.launches: list[Launch] = []
        self.kernels: dict[str, Kernel] = {}
        self.functions: dict[int, tuple[str, int]] = {}  # handle -> name, context
        self.set_attributes: list[tuple[str, str, int]] = []
        self.stack: list[int] = [PRIMARY]
        self.memory: dict[int, tuple[int, int, Any]] = {}  # address -> device, size, buffer
        self.failures: dict[str, list[str]] = {}  # of a call: statuses to come
        self.answers: dict[str, Any] = {}  # functions that stand in for ours
        self.errors: list[Exception] = []  # of kernels that were launched through C
        pointer = ctypes.c_void_p
        kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, pointer)
        self.launch_ex = kind(self._launch_ex)
        asking = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
        self.pointer_device = asking(self._pointer_device)
        self.clock = 0.0
        self.is_capturing = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("CU", "cuuint")):
            return getattr(real, name)
        if name in self.answers:
            return self.answers[name]
        if name.startswith("cu"):
            return lambda *args: self._call(name, args)
        raise AttributeError(name)

    def kernel(self, binary: Binary, body: Any = None, **attributes: int) -> Binary:
        """Let `body` be what the entry point of `binary` does."""
        self.kernels[binary.name] = Kernel(binary.parameters, body, attributes)
        return binary

    def _call(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.calls.append(name)
        statuses = self.failures.get(name)
        if statuses:
            status = statuses.pop(0)
            if status != "CUDA_SUCCESS":
                return (getattr(real.CUresult, status), None)
        try:
            result = getattr(self, f"do_{name}")(*args)
        except Refused as refused:
            return (getattr(real.CUresult, str(refused)), None)
        if name == "cuGetProcAddress":
            return (*OK, *result)
        return OK if result is None else (*OK, result)

    def do_cuInit(self, flags: int) -> None: ...

    def do_cuDeviceGetCount(self) -> int:
        return self.devices

    def do_cuDeviceGet(self, ordinal: int) -> int:
        return ordinal

    def do_cuDeviceGetName(self, length: int, device: int) -> bytes:
        return b"NVIDIA H200".ljust(length, b"\0")

    def do_cuDeviceTotalMem(self, device: int) -> int:
        return 141 << 30

    def do_cuDeviceGetAttribute(self, which: Any, device: int) -> int:
        return LIMITS[which.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def do_cuCtxGetCurrent(self) -> int:
        return self.stack[-1] if self.stack else 0

    def do_cuCtxGetDevice(self) -> int:
        return self.stack[-1] & 0xFF

    def do_cuDevicePrimaryCtxRetain(self, device: int) -> int:
        return PRIMARY + device

    def do_cuCtxPushCurrent(self, context: int) -> None:
        self.stack.append(int(context))

    def do_cuCtxPopCurrent(self) -> int:
        return self.stack.pop()

    def do_cuModuleLoadDataEx(self, image: bytes, n: int, names: Any, values: Any) -> int:
        assert n == len(names) == len(values)
        return 0xD000

    def do_cuModuleGetFunction(self, module: int, name: bytes) -> int:
        handle = 0xF000 + len(self.functions)
        self.functions[handle] = name.decode(), self.do_cuCtxGetCurrent()
        return handle

    def do_cuFuncGetAttribute(self, which: Any, function: int) -> int:
        known = {"NUM_REGS": 32, "MAX_THREADS_PER_BLOCK": 1024}
        known |= self.kernels[self.functions[function][0]].attributes
        return known.get(which.name.removeprefix("CU_FUNC_ATTRIBUTE_"), 0)

    def do_cuFuncSetAttribute(self, function: int, which: Any, value: int) -> None:
        name = which.name.removeprefix("CU_FUNC_ATTRIBUTE_")
        self.set_attributes.append((self.functions[function][0], name, value))

    def do_cuLaunchKernel(
        self, function: int, x: int, y: int, z: int, threads: int, ty: int, tz: int, shared: int,
        stream: int, addresses: int, extra: int,
    ) -> None:  # fmt: skip
        assert (ty, tz, extra) == (1, 1, 0)
        self._launch(function, (x, y, z), threads, shared, int(stream), addresses, (), (1, 1, 1))

    def do_cuLaunchKernelEx(self, config: Any, function: int, addresses: int, extra: int) -> None:
        attributes = {a.id.name.removeprefix("CU_LAUNCH_ATTRIBUTE_"): a for a in config.attrs}
        cluster = attributes.get("CLUSTER_DIMENSION")
        dims = cluster.value.clusterDim if cluster is not None else None
        self._launch(
            function, (config.gridDimX, config.gridDimY, config.gridDimZ), config.blockDimX,
            config.sharedMemBytes, int(config.hStream), addresses, tuple(attributes),
            (1, 1, 1) if dims is None else (dims.x, dims.y, dims.z),
        )  # fmt: skip

    def do_cuGetProcAddress(self, name: bytes, version: int, flags: int) -> Any:
        """A function of C, which tells of its calls as those of the bindings are told."""
        made = {b"cuLaunchKernelEx": self.launch_ex, b"cuPointerGetAttribute": self.pointer_device}
        address = ctypes.cast(made[name], ctypes.c_void_p).value
        return address, real.CUdriverProcAddressQueryResult.CU_GET_PROC_ADDRESS_SUCCESS

    def _launch_ex(self, start: int, function: int, addresses: int, extra: int) -> int:
        config = real.CUlaunchConfig(_ptr=start)
        assert (config.blockDimY, config.blockDimZ, config.numAttrs) == (1, 1, 0) and not extra
        grid = config.gridDimX, config.gridDimY, config.gridDimZ
        told = config.blockDimX, 1, 1, config.sharedMemBytes, config.hStream, addresses or 0, 0
        try:
            return int(self._call("cuLaunchKernel", (function, *grid, *told))[0])
        except (AssertionError, TypeError, ValueError, LookupError, AttributeError) as error:
            self.errors.append(error)  # it cannot pass through C
            return int(real.CUresult.CUDA_ERROR_UNKNOWN)

    def _launch(
        self, function: int, grid: Any, threads: int, shared: int, stream: int, addresses: int,
        attributes: tuple[str, ...], cluster: Any,
    ) -> None:  # fmt: skip
        name, context = self.functions[function]
        if not self.stack or context != self.stack[-1]:
            raise Refused(
                "CUDA_ERROR_INVALID_HANDLE" if self.stack else "CUDA_ERROR_INVALID_CONTEXT"
            )
        kernel = self.kernels[name]
        where = (ctypes.c_void_p * len(kernel.parameters)).from_address(addresses or 1)
        values = tuple(
            struct.unpack("<" + CODES[p.kind], ctypes.string_at(where[i] or 0, SIZES[p.kind]))[0]
            for i, p in enumerate(kernel.parameters)
        )
        launch = Launch(name, grid, threads, shared, stream, values, attributes, cluster)
        self.launches.append(launch)
        if kernel.body is not None:
            kernel.body(launch)

    def do_cuMemAlloc(self, nbytes: int) -> int:
        buffer = ctypes.create_string_buffer(nbytes + 256)
        address = -(-ctypes.addressof(buffer) // 256) * 256
        self.memory[address] = self.do_cuCtxGetDevice(), nbytes, buffer
        return address

    def do_cuMemFree(self, address: int) -> None:
        del self.memory[int(address)]

    def do_cuMemcpyHtoDAsync(self, address: int, source: int, nbytes: int, stream: int) -> None:
        ctypes.memmove(int(address), source, nbytes)

    def do_cuMemcpyDtoH(self, target: int, address: int, nbytes: int) -> None:
        ctypes.memmove(target, int(address), nbytes)

    def do_cuMemsetD8Async(self, address: int, value: int, nbytes: int, stream: int) -> None:
        ctypes.memset(int(address), value, nbytes)

    def do_cuMemHostAlloc(self, nbytes: int, flags: int) -> int:
        return self.do_cuMemAlloc(nbytes)

    def do_cuMemHostGetDevicePointer(self, host: int, flags: int) -> int:
        return host

    def _pointer_device(self, ordinal: int, which: int, address: int) -> int:
        wanted = real.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        if which != int(wanted):
            return int(real.CUresult.CUDA_ERROR_NOT_SUPPORTED)
        status, *found = self._call("cuPointerGetAttribute", (address,))
        if found:
            ctypes.c_int.from_address(ordinal).value = found[0]
        return int(status)

    def do_cuPointerGetAttribute(self, address: int) -> int:
        for start, (device, nbytes, _) in self.memory.items():
            if start <= address < start + nbytes:
                return device
        return -1

    def do_cuStreamSynchronize(self, stream: int) -> None: ...

    def do_cuCtxSynchronize(self) -> None: ...

    def do_cuStreamIsCapturing(self, stream: int) -> int:
        return int(self.is_capturing)

    def do_cuEventCreate(self, flags: int) -> int:
        return 0xE000

    def do_cuEventDestroy(self, event: int) -> None: ...

    def do_cuEventRecord(self, event: int, stream: int) -> None: ...

    def do_cuEventSynchronize(self, event: int) -> None: ...

    def do_cuEventElapsedTime(self, start: int, end: int) -> float:
        self.clock += 1.0
        return self.clock


def recording(devices: int = 1) -> tuple[Recording, Driver]:
    """A driver on paper, and the machine's own driver around it."""
    api = Recording(devices)
    return api, Driver(api)
