"""PTX to a cubin with nvJitLink, which needs no driver and no GPU.

The invariant: what the assembler says is kept. Resources are read from its report, and its
performance messages (C75xx: a wgmma that is serialised, a setmaxnreg that is ignored) are
`warnings`, because each of them can cost a third of a kernel's speed without a wrong result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cuda.bindings import nvjitlink
from cuda.pathfinder import DynamicLibNotFoundError

from blockstep.compiler.toolchain import missing
from blockstep.errors import PTXASError

OPTIONS = ("-O3", "-verbose", "-Xptxas=-v")
CONTEXT = 2  # lines of PTX around the one a message names
RESERVED_SHARED = 1024  # what the report of sm_90 and later counts for the system, if anything
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"^info .* (\d+) bytes smem", re.M)  # of the linked kernel, not of one file
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_PERFORMANCE = re.compile(r"^.*\(C7\d{3}\).*$", re.M)
_LINE = re.compile(r"\bline (\d+)")


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin and what the assembler reports of its kernel. Sizes are bytes, of one thread for
    spills and stack, of one CTA for the statically allocated shared memory."""

    cubin: bytes
    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    log: str
    warnings: tuple[str, ...]


def assemble(ptx: str, target: str = "sm_90a", *, options: tuple[str, ...] = ()) -> Assembled:
    """The cubin of `ptx` for `target`; `options` are further options of nvJitLink.

    Lines of Python get into the cubin where the PTX has `.loc`. The option `-lineinfo` would only
    add a copy of the PTX to the cubin, and lines of it to the PTX that has no `.loc`.

    Raises PTXASError, with the assembler's words and the lines of PTX that they are about, and
    UnsupportedError, with the remedy, if nvJitLink is not installed."""
    given = [f"-arch={target}", *OPTIONS, *options]
    cubin, log = _linked(ptx, given)
    return _described(cubin, log, RESERVED_SHARED if capability(target) >= 90 else 0)


def capability(target: str) -> int:
    """The number in the name of a target: 90 for `sm_90a`."""
    return int(re.sub(r"\D", "", target))


def _linked(ptx: str, options: list[str]) -> tuple[bytes, str]:
    try:
        handle = nvjitlink.create(len(options), options)
    except DynamicLibNotFoundError as error:
        raise missing("nvJitLink, NVIDIA's assembler") from error
    except nvjitlink.nvJitLinkError as error:
        raise PTXASError(f"{error}: nvJitLink does not take {' '.join(options)}") from error
    try:
        source = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, source, len(source), "kernel")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return bytes(cubin), _info(handle)
    except nvjitlink.nvJitLinkError as error:
        raise PTXASError(_explained(_errors(handle) or str(error), ptx)) from error
    finally:
        nvjitlink.destroy(handle)


def _text(size: int, fill: Any) -> str:
    buffer = bytearray(size)
    fill(buffer)
    return buffer.rstrip(b"\0").decode(errors="replace").strip()


def _info(handle: int) -> str:
    size = nvjitlink.get_info_log_size(handle)
    return _text(size, lambda buffer: nvjitlink.get_info_log(handle, buffer)) if size else ""


def _errors(handle: int) -> str:
    size = nvjitlink.get_error_log_size(handle)
    return _text(size, lambda buffer: nvjitlink.get_error_log(handle, buffer)) if size else ""


def _described(cubin: bytes, log: str, reserved: int) -> Assembled:
    frame = _FRAME.search(log)
    stack, stores, loads = (int(number) for number in frame.groups()) if frame else (0, 0, 0)
    return Assembled(
        cubin=cubin,
        registers=_number(_USED, log),
        spill_stores=stores,
        spill_loads=loads,
        stack=stack,
        shared=max(0, _number(_SHARED, log) - reserved),
        log=log,
        warnings=tuple(line.strip() for line in _PERFORMANCE.findall(log)),
    )


def _number(pattern: re.Pattern[str], log: str) -> int:
    found = pattern.search(log)
    return int(found[1]) if found else 0


def _explained(message: str, ptx: str) -> str:
    """The assembler's message, and each line of PTX it names with the lines around it."""
    lines = ptx.split("\n")
    named = dict.fromkeys(int(found) for found in _LINE.findall(message))
    places = [_excerpt(lines, number) for number in named if 0 < number <= len(lines)]
    return "\n".join([message, *places])


def _excerpt(lines: list[str], number: int) -> str:
    first, last = max(1, number - CONTEXT), min(len(lines), number + CONTEXT)
    return "\n".join(
        f"{'>' if at == number else ' '} {at:5} | {lines[at - 1]}" for at in range(first, last + 1)
    )
