"""The prepared launch of a loaded kernel: pack the values, call `cuLaunchKernel`, nothing else.

A `Frame` is memory for the parameters with the array of their addresses, made once and used again;
one struct packs all values. A launch with a cluster, in a cooperative grid or after programmatic
dependence goes through `cuLaunchKernelEx`, whose attributes are prepared too.

Invariant: a launch neither allocates device memory nor waits, so that it can be captured into a
graph. A frame is in the hands of one launch at a time: the driver copies the parameters before it
returns, and threads that launch the same kernel take different frames.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from blockstep.runtime.gpu.binary import FAULTS, TENSOR_MAP_ALIGNMENT, Binary, Param, offsets
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.failures import (
    GRID_HELP,
    SHARED_HELP,
    DoesNotFit,
    GPUError,
    OtherContext,
    failure,
    name_of,
)
from blockstep.runtime.gpu.loading import Loaded

_CODES = {
    "pointer": "Q", "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "f16": "H", "bf16": "H", "f32": "f", "f64": "d", "tensor_map": "128s",
}  # fmt: skip
CONFIG = struct.Struct("<3I3II4xQQI4x")  # CUlaunchConfig: grid, block, shared, stream, attributes
ROOM = TENSOR_MAP_ALIGNMENT  # bytes for it in front of the parameters
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
_WRONG_CONTEXT = ("CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_INVALID_HANDLE")


class Frame:
    """Memory for the parameters of one launch, and `config` for the extended call. `whole` is the
    memory from `ROOM` bytes in front of the parameters on; what begins there, and the array of the
    addresses, are `start` and `array` for calls through ctypes."""

    __slots__ = (
        "_addresses", "_memory", "addresses", "array", "config", "parameters", "start", "whole",
    )  # fmt: skip

    def __init__(self, parameters: tuple[Param, ...], faults: int, config: Any = None) -> None:
        self.config = config
        places, size = offsets(parameters)
        self._memory = ctypes.create_string_buffer(ROOM + size + TENSOR_MAP_ALIGNMENT)
        start = ctypes.addressof(self._memory)
        aligned = -(-start // TENSOR_MAP_ALIGNMENT) * TENSOR_MAP_ALIGNMENT
        self.whole = memoryview(self._memory).cast("B")[aligned - start :]
        self.parameters = self.whole[ROOM:]
        where = [aligned + ROOM + p for p in places]
        self._addresses = (ctypes.c_void_p * max(len(places), 1))(*where)
        self.addresses = ctypes.addressof(self._addresses) if places else 0
        self.start, self.array = ctypes.c_void_p(aligned), ctypes.c_void_p(self.addresses)
        for parameter, place in zip(parameters, places, strict=True):
            if parameter.name == FAULTS:
                struct.pack_into("<Q", self.parameters, place, faults)


def packing(parameters: tuple[Param, ...]) -> struct.Struct:
    """The struct that packs the values of all parameters (but the hidden one) where they belong."""
    text, at = "<", 0
    for parameter, place in zip(parameters, offsets(parameters)[0], strict=True):
        if parameter.name == FAULTS:
            continue
        text += "x" * (place - at) + _CODES[parameter.kind]
        at = place + struct.calcsize("<" + _CODES[parameter.kind])
    return struct.Struct(text)


def packable(parameter: Param, value: Any) -> Any:
    """A value that the struct refuses as it is, in the form that it takes: an unsigned integer as
    the signed one of the same bits, a float that is too large as the infinity it rounds to."""
    kind = parameter.kind
    if kind in _BITS:
        half = 1 << (_BITS[kind] - 1)
        return ((value + half) & (2 * half - 1)) - half
    if kind == "f32":
        return ctypes.c_float(value).value
    if kind in ("f16", "bf16"):
        with np.errstate(over="ignore"):
            narrow = np.asarray(value, np.float16 if kind == "f16" else ml_dtypes.bfloat16)
        return int(narrow.view(np.uint16))
    return value


class Direct(NamedTuple):
    """`cuLaunchKernelEx` itself, without the bindings, which take as long as the driver to look at
    eleven arguments: `call(frame.start, code, frame.array, None)` after
    `pack(frame.whole, 0, x, y, z, threads, 1, 1, shared, stream, 0, 0, *values)`."""

    call: Any
    code: ctypes.c_void_p
    pack: Callable[..., None]
    status: Callable[[int], Any]


class Launcher:
    """Launches one loaded kernel: `launcher.launch(x, y, z, stream, values)`.

    `values` are those of the parameters in their order, without the hidden one: addresses as
    integers, numbers, tensor maps as 128 bytes. `x, y, z` is the grid of program instances. It
    raises DoesNotFit and GPUError for this launch, KernelFault for an earlier kernel, and
    OtherContext where the caller has left the context that the kernel was loaded into."""

    def __init__(self, driver: Driver, loaded: Loaded, faults: int = 0) -> None:
        self.driver, self.loaded = driver, loaded
        self.binary = binary = loaded.binary
        self.name = binary.name
        self._faults = faults
        self._extended = (
            binary.cluster_shape != (1, 1, 1) or binary.launch_pdl or binary.launch_cooperative_grid
        )
        self._plainly = (_extended if self._extended else _plain)(driver, loaded)
        self._enqueue = self._plainly if driver.count == 1 else self._entered
        self.frames = [self._frame()]
        packed = packing(binary.parameters)
        self.pack, self._format = packed.pack_into, packed.format[1:]
        self.visible = [p for p in binary.parameters if p.name != FAULTS]

    def check_grid(self, grid: tuple[int, int, int]) -> None:
        """Raises DoesNotFit for a grid past the device's limits."""
        device, ctas = self.loaded.device, (self.binary.num_ctas, 1, 1)
        for axis, n, each, limit in zip("xyz", grid, ctas, device.grid_limits, strict=True):
            if n * each > limit:
                raise DoesNotFit(
                    n, limit // each, f"grid {axis}", self.name, device.name, GRID_HELP
                )

    def _frame(self) -> Frame:
        config = _config(self.driver.api, self.binary) if self._extended else None
        return Frame(self.binary.parameters, self._faults, config)

    def launch(self, x: int, y: int, z: int, stream: int, values: tuple[Any, ...]) -> None:
        """One launch. `entry` writes the same for launches that are made again and again."""
        frame = self.frame()
        self.fill(frame, values)
        status = self._enqueue(x, y, z, stream, frame)
        if status:
            self.again(status, x, y, z, stream, frame)
        self.frames.append(frame)
        self.driver.recent.append(self.name)

    def frame(self) -> Frame:
        """A frame that no other launch has."""
        try:
            return self.frames.pop()
        except IndexError:  # as many threads as there are frames are in a launch
            return self._frame()

    def fill(self, frame: Frame, values: tuple[Any, ...]) -> None:
        """Puts the values into the frame."""
        try:
            self.pack(frame.parameters, 0, *values)
        except (struct.error, OverflowError):
            self.pack(frame.parameters, 0, *map(packable, self.visible, values))

    def direct(self) -> Direct | None:
        """The quickest way to this kernel, if it needs no attributes and there is one device."""
        address = self.driver.launch_address
        if self._extended or self.driver.count > 1 or not address:
            return None
        return Direct(
            ctypes.CFUNCTYPE(ctypes.c_int)(address),
            ctypes.c_void_p(int(self.loaded.function)),
            struct.Struct(f"{CONFIG.format}{ROOM - CONFIG.size}x{self._format}").pack_into,
            self.driver.api.CUresult,
        )

    def enqueue(self, x: int, y: int, z: int, stream: int, frame: Frame) -> Any:
        """Enqueues a launch of a frame that is filled, and gives the driver's status."""
        return self._enqueue(x, y, z, stream, frame)

    def fill_whole(
        self, frame: Frame, x: int, y: int, z: int, stream: int, values: tuple[Any, ...]
    ) -> None:
        """As `fill`, with the configuration in front."""
        self.fill(frame, values)
        threads, shared = self.binary.threads, self.binary.shared
        CONFIG.pack_into(frame.whole, 0, x, y, z, threads, 1, 1, shared, stream, 0, 0)

    def _entered(self, x: int, y: int, z: int, stream: int, frame: Frame) -> Any:
        """Where there are several devices, the current one may be another."""
        if int(self.driver.api.cuCtxGetCurrent()[1] or 0) == self.loaded.context:
            return self._plainly(x, y, z, stream, frame)
        with self.driver.entered(self.loaded.device.ordinal):
            return self._plainly(x, y, z, stream, frame)

    def again(self, status: Any, x: int, y: int, z: int, stream: int, frame: Frame) -> None:
        """A thread that has no context yet gets one; other failures are raised."""
        if name_of(status) in _WRONG_CONTEXT:
            with self.driver.entered(self.loaded.device.ordinal) as context:
                if context != self.loaded.context:
                    raise OtherContext(self.name, name_of(status))
                status = self._plainly(x, y, z, stream, frame)
        if status:
            raise self._failed(status, (x, y, z))

    def _failed(self, status: Any, grid: tuple[int, int, int]) -> Exception:
        """What the driver's refusal means for this launch."""
        binary, device = self.binary, self.loaded.device
        if name_of(status) == "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES":
            help = f"lower num_warps or the block sizes, or set maxnreg; {SHARED_HELP}"
            return DoesNotFit(
                self.loaded.registers * binary.threads, device.registers,
                "registers", binary.name, device.name, help,
            )  # fmt: skip
        cluster = binary.cluster or (1, 1, 1)
        if any(n % part for n, part in zip(grid, cluster, strict=True)):
            tried = f"launching a grid of {grid} in clusters of {cluster}"
            return GPUError(
                binary.name, tried, name_of(status), "make each axis a multiple of the cluster's"
            )
        size = "x".join(map(str, grid))
        tried = (
            f"launching a grid of {size} program instances with {binary.num_warps} warps and "
            f"{binary.shared} bytes of shared memory"
        )
        return failure(status, binary.name, tried, reversed(self.driver.recent))


Enqueue = Callable[[int, int, int, int, Frame], Any]


def _plain(driver: Driver, loaded: Loaded) -> Enqueue:
    """The call that enqueues a launch and gives its status."""
    launch, function = driver.api.cuLaunchKernel, loaded.function
    threads, shared = loaded.binary.threads, loaded.binary.shared

    def enqueue(x: int, y: int, z: int, stream: int, frame: Frame) -> Any:
        return launch(function, x, y, z, threads, 1, 1, shared, stream, frame.addresses, 0)[0]

    return enqueue


def _extended(driver: Driver, loaded: Loaded) -> Enqueue:
    """As `_plain`, with the attributes of the frame's configuration."""
    launch, function, ctas = driver.api.cuLaunchKernelEx, loaded.function, loaded.binary.num_ctas

    def enqueue(x: int, y: int, z: int, stream: int, frame: Frame) -> Any:
        config = frame.config
        config.gridDimX, config.gridDimY, config.gridDimZ = x * ctas, y, z
        config.hStream = stream
        return launch(config, function, frame.addresses, 0)[0]

    return enqueue


def _config(api: Any, binary: Binary) -> Any:
    config, attributes = api.CUlaunchConfig(), _attributes(api, binary)
    config.blockDimX, config.blockDimY, config.blockDimZ = binary.threads, 1, 1
    config.sharedMemBytes = binary.shared
    config.attrs, config.numAttrs = attributes, len(attributes)
    return config


def _attributes(api: Any, binary: Binary) -> list[Any]:
    names, found = api.CUlaunchAttributeID, []
    if binary.cluster_shape != (1, 1, 1):
        cluster = api.CUlaunchAttribute()
        cluster.id = names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dimensions = cluster.value.clusterDim
        dimensions.x, dimensions.y, dimensions.z = binary.cluster_shape
        found.append(cluster)
    if binary.launch_pdl:
        early = api.CUlaunchAttribute()
        early.id = names.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        early.value.programmaticStreamSerializationAllowed = 1
        found.append(early)
    if binary.launch_cooperative_grid:
        together = api.CUlaunchAttribute()
        together.id = names.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        together.value.cooperative = 1
        found.append(together)
    return found
