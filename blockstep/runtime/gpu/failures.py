"""What a failed call of the CUDA driver becomes: an exception of ours that says which kernel, what
was tried, and what to do about it.

Invariant: no status but success is dropped, and every text ends in something the reader can do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockstep.errors import OutOfResources, PTXASError, TritonError
from blockstep.runtime.refusal import ArgumentError

GRID_HELP = "use fewer program instances, each with more work, or another axis"
SHARED_HELP = "lower num_stages or the block sizes"
FIND_THE_LINE = (
    "run the program under `compute-sanitizer`, or judge it on this machine's CPU with "
    "`blockstep check`: both name the line"
)
# A context is lost with these: the kernel that failed was launched earlier, and nothing in the
# process can use the device any more.
LOST = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "touched memory that belongs to no allocation",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "touched memory at an address that its access does not allow",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "touched memory through a pointer of another space",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "ran an instruction that the device does not have",
    "CUDA_ERROR_INVALID_PC": "left its own code",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "ran out of stack",
    "CUDA_ERROR_LAUNCH_FAILED": "failed while it ran",
    "CUDA_ERROR_ASSERT": "stopped at an assertion",
}
_HELP = {
    "CUDA_ERROR_OUT_OF_MEMORY": "free arrays that are not needed, or use smaller ones",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the device shows a screen and stops long kernels: use a smaller "
    "grid, or another device",
    "CUDA_ERROR_NO_DEVICE": "run with BLOCKSTEP_MACHINE=grid: no GPU is needed",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver's kernel module and libcuda differ: restart",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is older than the PTX: update the driver",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "compile for this device, or clear the cache of compiled "
    "kernels",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "launch the kernel once before the capture begins",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": "capture on a stream of its own, not on the default one",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "all CTAs of a cooperative grid run at once: use a "
    "smaller grid",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "lower num_ctas: 8 fit every device, 16 some",
}


class GPUError(TritonError, RuntimeError):
    """A call of the CUDA driver failed. `kernel` is "" where no kernel is concerned."""

    def __init__(self, kernel: str, tried: str, status: str, help: str = "") -> None:
        super().__init__(kernel, tried, status, help)
        self.kernel, self.tried, self.status, self.help = kernel, tried, status, help

    def __str__(self) -> str:
        who = f"`{self.kernel}`: " if self.kernel else ""
        text = f"{who}{self.tried} failed: {self.status}"
        return f"{text}\nhelp: {self.help}" if self.help else text


class KernelFault(GPUError):
    """A kernel stopped with an error, and the device's context with it."""

    def __str__(self) -> str:
        return f"{self.tried} ({self.status})\nhelp: {self.help}"


class DoesNotFit(OutOfResources):
    """A launch of `kernel` asks for more than `device` has."""

    def __init__(
        self, required: int, limit: int, name: str, kernel: str, device: str, help: str
    ) -> None:
        super().__init__(required, limit, name)
        self.args = (required, limit, name, kernel, device, help)
        self.kernel, self.device, self.help = kernel, device, help

    def __str__(self) -> str:
        return (
            f"out of resource: {self.name}, Required: {self.required}, "
            f"Hardware limit: {self.limit} (`{self.kernel}` on {self.device})\nhelp: {self.help}"
        )


class NotAssembled(PTXASError):
    """The driver did not take the PTX of `kernel`; `log` is what it said."""

    def __init__(self, kernel: str, status: str, log: str) -> None:
        super().__init__(log)
        self.args = (kernel, status, log)
        self.kernel, self.status, self.log = kernel, status, log

    def __str__(self) -> str:
        said = self.log.strip() or "the driver gave no reason"
        return (
            f"PTXAS error: `{self.kernel}` could not be assembled: {self.status}\n{said}\n"
            "help: this is a fault of the compiler, or a driver older than the PTX; "
            "BLOCKSTEP_MACHINE=grid runs the kernel without it"
        )


class OtherContext(GPUError):
    """The caller's context is not the one that a kernel was loaded into."""

    def __init__(self, kernel: str, status: str) -> None:
        help = "launch in the context in which the kernel was loaded"
        super().__init__(kernel, "launching in another context", status, help)
        self.args = (kernel, status)


class MixedDevices(GPUError):
    """Arguments of one launch lie on different devices."""

    def __str__(self) -> str:
        return f"`{self.kernel}`: {self.tried}\nhelp: {self.help}"


class HostTensor(ArgumentError, ValueError):
    """A tensor in the host's memory was given beside arrays on a device."""

    def __init__(self, name: str, index: int) -> None:
        super().__init__(
            name,
            f"Pointer argument (at {index}) cannot be accessed from Triton (cpu tensor?)",
            fix=f"{name}.cuda(), or pin its memory",
        )
        self.index = index

    def __str__(self) -> str:
        return f"{self.passed}: `{self.argument}` lies in the host's memory\nhelp: {self.fix}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.argument, self.index)


def name_of(status: Any) -> str:
    """The name of a CUresult; the number of one that the bindings do not know."""
    return str(getattr(status, "name", f"CUDA error {int(status)}"))


def failure(status: Any, kernel: str, tried: str, recent: Iterable[str] = ()) -> GPUError:
    """The exception for a status that is not success. `recent`: the kernels that were launched
    before, last first, one of which a lost context is the fault of."""
    name = name_of(status)
    if name in LOST:
        return _fault(name, kernel, recent)
    return GPUError(kernel, tried, name, _HELP.get(name, f"look up {name} in the driver's manual"))


def _fault(status: str, kernel: str, recent: Iterable[str]) -> KernelFault:
    names = [f"`{name}`" for name in dict.fromkeys(recent)]
    if len(names) > 1:
        who = f"{names[0]}, or one of the kernels launched before it ({', '.join(names[1:])}),"
    else:
        who = names[0] if names else "a kernel that was not launched by blockstep"
    help = f"{FIND_THE_LINE}. The process can no longer use the device: start it again"
    return KernelFault(kernel, f"{who} {LOST[status]}", status, help)
