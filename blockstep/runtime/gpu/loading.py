"""A compiled kernel brought into a context: its function, and what the driver says about it.

Invariant: a kernel that was loaded can be launched: its shared memory, its threads and its cluster
were held against the device's limits, and the function's attributes allow them. One `Binary` is
loaded once into each context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.driver import Device, Driver
from blockstep.runtime.gpu.failures import SHARED_HELP, DoesNotFit, NotAssembled, failure, name_of

LOG_BYTES = 1 << 14
ALWAYS_ALLOWED = 48 << 10  # bytes of dynamic shared memory that need no attribute
PORTABLE_CLUSTER = 8
_REFUSED = (
    "CUDA_ERROR_INVALID_PTX",
    "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_INVALID_SOURCE",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A function of one context. `local` and `static_shared` are bytes, `local` for each lane."""

    binary: Binary
    device: Device
    context: int
    module: Any
    function: Any
    registers: int
    local: int
    static_shared: int
    threads_limit: int
    log: str = ""

    @property
    def spills(self) -> int:
        """Registers that were spilt, as Triton counts them: words of local memory."""
        return self.local // 4


class Loader:
    """The kernels that are loaded. They stay: one may be in a graph, or running."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._loaded: dict[tuple[int, int], Loaded] = {}  # a Loaded keeps its Binary, and its id

    def load(self, binary: Binary, ordinal: int) -> Loaded:
        """The function of `binary` on a device: in the current context if that is one of the
        device, else in the primary one.

        Raises DoesNotFit, NotAssembled (the driver refuses the code), GPUError."""
        with self.driver.entered(ordinal) as context:
            key = id(binary), context
            found = self._loaded.get(key)
            if found is None:
                found = self._loaded[key] = self._bring_in(binary, ordinal, context)
            return found

    def _bring_in(self, binary: Binary, ordinal: int, context: int) -> Loaded:
        device = self.driver.device(ordinal)
        _check_size(binary, device, 0)
        module, log = self._module(binary)
        api, kernel = self.driver.api, binary.name
        tried = f"finding `{kernel}` in its own code"
        function = self.driver.call(
            tried, api.cuModuleGetFunction, module, kernel.encode(), kernel=kernel
        )
        static = self._ask(function, "SHARED_SIZE_BYTES", kernel)
        threads = self._ask(function, "MAX_THREADS_PER_BLOCK", kernel)
        registers = self._ask(function, "NUM_REGS", kernel)
        _check_size(binary, device, static)
        _check_threads(binary, device, threads, registers)
        self._allow(function, binary)
        local = self._ask(function, "LOCAL_SIZE_BYTES", kernel)
        return Loaded(
            binary, device, context, module, function, registers, local, static, threads, log
        )

    def _module(self, binary: Binary) -> tuple[Any, str]:
        api = self.driver.api
        option = api.CUjit_option
        said, errors = bytearray(LOG_BYTES), bytearray(LOG_BYTES)
        names = [
            option.CU_JIT_INFO_LOG_BUFFER, option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ]  # fmt: skip
        values = [said, LOG_BYTES, errors, LOG_BYTES]
        image = binary.image
        code = image.encode() + b"\0" if isinstance(image, str) else image
        status, module = api.cuModuleLoadDataEx(code, len(names), names, values)
        if status and name_of(status) in _REFUSED:
            raise NotAssembled(binary.name, name_of(status), _text(errors) or _text(said))
        if status:
            raise failure(status, binary.name, "loading the code", reversed(self.driver.recent))
        return module, _text(said)

    def _ask(self, function: Any, name: str, kernel: str) -> int:
        api = self.driver.api
        which = getattr(api.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        tried = "asking about the function"
        return int(self.driver.call(tried, api.cuFuncGetAttribute, which, function, kernel=kernel))

    def _allow(self, function: Any, binary: Binary) -> None:
        x, y, z = binary.cluster_shape
        if binary.shared > ALWAYS_ALLOWED:
            self._set(function, "MAX_DYNAMIC_SHARED_SIZE_BYTES", binary.shared, binary.name)
        if x * y * z > PORTABLE_CLUSTER:
            self._set(function, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1, binary.name)

    def _set(self, function: Any, name: str, value: int, kernel: str) -> None:
        api = self.driver.api
        which = getattr(api.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        tried = f"setting {name} to {value}"
        self.driver.call(tried, api.cuFuncSetAttribute, function, which, value, kernel=kernel)


def _check_size(binary: Binary, device: Device, static: int) -> None:
    total = binary.shared + static
    if total > device.shared_limit:
        raise DoesNotFit(
            total, device.shared_limit, "shared memory", binary.name, device.name, SHARED_HELP
        )


def _check_threads(binary: Binary, device: Device, threads: int, registers: int) -> None:
    if binary.threads <= threads:
        return
    if binary.threads > device.threads_limit:
        limit, what, help = device.threads_limit, "threads", "lower num_warps"
    else:
        limit, what = threads, "threads"
        help = (
            f"lower num_warps or the block sizes, or set maxnreg: a lane has {registers} registers"
        )
    raise DoesNotFit(binary.threads, limit, what, binary.name, device.name, help)


def _text(log: bytearray) -> str:
    return bytes(log).split(b"\0")[0].decode(errors="replace")
