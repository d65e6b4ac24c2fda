"""What `torch.cuda` answers while the device map is in force: one device, as its profile describes
it.

`answers()` lists (owner, name, value) for every attribute that is replaced. Memory figures are
those of a device on which nothing is allocated; streams are one, in order; events measure
wall-clock time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Self

from blockstep import target as devices
from blockstep.runtime import torch_generator
from blockstep.runtime.compat.driver import WallClockEvent

UUID = "00000000-0000-0000-0000-000000000000"
CUDA_VERSION = "12.8"


class Stream:
    """The only stream: work on it is done when it is asked for."""

    cuda_stream = 0
    device_index = 0
    priority = 0

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        """`event`, or a new one, recorded now."""
        event = event if event is not None else WallClockEvent()
        event.record()
        return event


class Device:
    """`torch.cuda.device(i)`: a `with` that changes nothing."""

    def __init__(self, device: Any = None) -> None:
        self.idx = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...


def properties(device: Any = None) -> SimpleNamespace:
    """The profile under the names of `torch.cuda.get_device_properties`."""
    target = devices.current()
    major, minor = target.capability
    return SimpleNamespace(
        name=target.title,
        major=major,
        minor=minor,
        total_memory=target.memory,
        multi_processor_count=target.multiprocessors,
        max_threads_per_multi_processor=target.threads_per_multiprocessor,
        max_threads_per_block=target.threads_per_block,
        regs_per_multiprocessor=target.registers_per_block,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=target.shared_per_block,
        shared_memory_per_multiprocessor=target.shared_per_multiprocessor,
        warp_size=target.warp_size,
        L2_cache_size=target.l2,
        clock_rate=target.clock,
        memory_clock_rate=target.memory_clock,
        memory_bus_width=target.memory_bus,
        gcnArchName=target.arch if target.backend == "hip" else "",
        is_integrated=False,
        is_multi_gpu_board=False,
        uuid=UUID,
    )


@contextmanager
def stream(stream: Any = None) -> Iterator[Any]:
    """`torch.cuda.stream(s)`: the only stream is always current."""
    yield stream


def _memory(device: Any = None) -> tuple[int, int]:
    return devices.current().memory, devices.current().memory


def _capability(device: Any = None) -> tuple[int, int]:
    return devices.current().capability


def _name(device: Any = None) -> str:
    return devices.current().title


def _architectures() -> list[str]:
    major, minor = devices.current().capability
    return [f"sm_{major}{minor}"]


def _only_stream(device: Any = None) -> Stream:
    return Stream()


CLASSES = {
    "Event": WallClockEvent,
    "Stream": Stream,
    "ExternalStream": Stream,
    "device": Device,
    "device_of": Device,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "stream": stream,
    "StreamContext": stream,
    "current_stream": _only_stream,
    "default_stream": _only_stream,
    "get_device_properties": properties,
    "get_device_capability": _capability,
    "get_device_name": _name,
    "get_arch_list": _architectures,
    "mem_get_info": _memory,
    "manual_seed": torch_generator.seed_all,
    "manual_seed_all": torch_generator.seed_all,
    "initial_seed": torch_generator.default.initial_seed,
    "get_rng_state": torch_generator.state,
    "set_rng_state": torch_generator.set_state,
}
CONSTANTS: dict[Any, tuple[str, ...]] = {
    True: ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported"),
    False: ("is_current_stream_capturing", "can_device_access_peer"),
    None: (
        "synchronize", "set_device", "set_stream", "empty_cache", "ipc_collect", "init",
        "_lazy_init", "reset_peak_memory_stats", "reset_max_memory_allocated",
        "reset_accumulated_memory_stats", "seed", "seed_all",
        "set_per_process_memory_fraction",
    ),
}  # fmt: skip
NUMBERS = {
    "device_count": 1,
    **dict.fromkeys(("current_device", "utilization"), 0),
    **dict.fromkeys(("memory_allocated", "max_memory_allocated"), 0),
    **dict.fromkeys(("memory_reserved", "max_memory_reserved"), 0),
}


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def _as(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of its own that calls `function`: torch's compiler wants one object for each
    name."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    answer.__name__ = answer.__qualname__ = name
    answer.__module__ = "torch.cuda"
    return answer


def _cuda() -> Iterator[tuple[str, Any]]:
    for name, kind in CLASSES.items():
        yield name, type(name, (kind,), {"__module__": "torch.cuda"})
    for name, function in FUNCTIONS.items():
        yield name, _as(name, function)
    for value, names in CONSTANTS.items():
        for name in names:
            yield name, _as(name, _constant(value))
    for name, number in NUMBERS.items():
        yield name, _as(name, _constant(number))
    yield "memory_stats", _as("memory_stats", lambda device=None: {})
    yield "default_generators", (torch_generator.default,)


def _generator() -> Any:
    """`torch.Generator`, which is a class and does not ask the mode for its device."""
    import torch

    original: Any = torch.Generator

    class Kind(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

        def __call__(cls, device: Any = "cpu") -> Any:
            kind = str(device).split(":")[0]
            return original("cpu" if kind == "cuda" or isinstance(device, int) else device)

    return Kind("Generator", (original,), {})


def answers() -> Iterator[tuple[Any, str, Any]]:
    """Every attribute to replace: (owner, name, value)."""
    import torch

    for name, value in _cuda():
        yield torch.cuda, name, value
        if not hasattr(torch.cpu, name):  # a script's getattr(torch, device.type) finds torch.cpu
            yield torch.cpu, name, value
    yield torch, "Generator", _generator()
    yield torch.version, "cuda", CUDA_VERSION
    yield torch._C, "_cuda_getCurrentRawStream", _as("_cuda_getCurrentRawStream", _constant(0))
