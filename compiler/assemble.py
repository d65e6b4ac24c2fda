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

from blockstep.compiler.toolchain import missing
from blockstep.errors import PTXASError

OPTIONS = ("-O3", "-verbose", "-Xptxas=-v")
CONTEXT = 2
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
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


def assemble(
    ptx: str, target: str = "sm_90a", *, line_info: bool = True, options: tuple[str, ...] = ()
) -> Assembled:
    """The cubin of `ptx` for `target`; `options` are further options of nvJitLink.

    Raises PTXASError, with the assembler's words and the lines of PTX that they are about, and
    UnsupportedError, with the remedy, if nvJitLink is not installed."""
    given = [f"-arch={target}", *OPTIONS, *options, *(["-lineinfo"] if line_info else [])]
    cubin, log = _linked(ptx, given)
    return _described(cubin, log)


def _linked(ptx: str, options: list[str]) -> tuple[bytes, str]:
    try:
        handle = nvjitlink.create(len(options), options)
    except RuntimeError as error:
        raise missing("nvJitLink, NVIDIA's assembler") from error
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


def _described(cubin: bytes, log: str) -> Assembled:
    frame = _FRAME.search(log)
    stack, stores, loads = (int(number) for number in frame.groups()) if frame else (0, 0, 0)
    return Assembled(
        cubin=cubin,
        registers=_number(_USED, log),
        spill_stores=stores,
        spill_loads=loads,
        stack=stack,
        shared=_number(_SHARED, log),
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
