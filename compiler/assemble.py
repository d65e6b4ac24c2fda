"""PTX to a cubin, without a driver and without a GPU.

Two assemblers make nearly the same machine code. nvJitLink is a library, five times as fast as starting a
program; but it takes PTX only as a part to be linked with others, and in such a part `setmaxnreg`
has no effect: kernels with specialised warps come out with spills and a serialised wgmma. ptxas
assembles whole programs, as the driver does. So what has a `setmaxnreg` goes to ptxas, and everything
else to nvJitLink; neither stands in for the other where it is missing. Without `setmaxnreg` the two
differ by a few registers (46 and 40 for a loop over 16 elements a lane), which occupancy may show.

The invariant: what the assembler says is kept. Resources are read from its report, and its
performance messages (C75xx: a wgmma that is serialised, a setmaxnreg that is ignored) are
`warnings`, because each of them can cost a third of a kernel's speed without a wrong result.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuda.bindings import nvjitlink
from cuda.pathfinder import DynamicLibNotFoundError

from blockstep.compiler.toolchain import missing, ptxas_path
from blockstep.errors import PTXASError

NVJITLINK, PTXAS = "nvjitlink", "ptxas"
CONTEXT = 2  # lines of PTX around the one a message names
RESERVED_SHARED = 1024  # what nvJitLink counts for the system on sm_90 and later, if anything
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_LINKED_SHARED = re.compile(r"^info .* (\d+) bytes smem", re.M)  # of the kernel, not of one part
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
    assembler: str


def assemble(
    ptx: str, target: str = "sm_90a", *, assembler: str | None = None, options: tuple[str, ...] = ()
) -> Assembled:
    """The cubin of `ptx`, a module with one kernel, for `target`. `assembler` is "nvjitlink",
    "ptxas" or None, for the one that the PTX needs; `options` are further options for it.

    Lines of Python get into the cubin where the PTX has `.loc`. The option `-lineinfo` would only
    add a copy of the PTX to the cubin, and lines of it to the PTX that has no `.loc`.

    Raises PTXASError, with the assembler's words and the lines of PTX that they are about, and
    UnsupportedError, with the remedy, if the assembler is not installed."""
    chosen = assembler or needed(ptx)
    given = [f"-arch={target}", "-O3", *options]
    if chosen == PTXAS:
        cubin, log = _run_ptxas(ptx, given)
        return _described(cubin, log, _number(_SHARED, log), chosen)
    cubin, log = _run_nvjitlink(ptx, given)
    reserved = RESERVED_SHARED if capability(target) >= 90 else 0
    return _described(cubin, log, max(0, _number(_LINKED_SHARED, log) - reserved), chosen)


def needed(ptx: str) -> str:
    """The assembler for this PTX."""
    return PTXAS if "setmaxnreg" in ptx else NVJITLINK


def capability(target: str) -> int:
    """The number in the name of a target: 90 for `sm_90a`."""
    return int(re.sub(r"\D", "", target))


def _run_ptxas(ptx: str, options: list[str]) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="blockstep-") as folder:
        made = Path(folder, "kernel.cubin")
        command = [ptxas_path(), "-v", *options, "-", "-o", str(made)]
        ran = subprocess.run(command, input=ptx, capture_output=True, text=True, check=False)
        log = (ran.stdout + ran.stderr).strip()
        if ran.returncode != 0:
            raise PTXASError(_explained(log or f"ended with status {ran.returncode}", ptx))
        return made.read_bytes(), log


def _run_nvjitlink(ptx: str, options: list[str]) -> tuple[bytes, str]:
    handle = _link([*options, "-verbose", "-Xptxas=-v"])
    try:
        source = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, source, len(source), "kernel")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = _text(nvjitlink.get_info_log_size, nvjitlink.get_info_log, handle)
        return bytes(cubin), log
    except nvjitlink.nvJitLinkError as error:
        said = _text(nvjitlink.get_error_log_size, nvjitlink.get_error_log, handle)
        raise PTXASError(_explained(said or str(error), ptx)) from error
    finally:
        nvjitlink.destroy(handle)


def _link(options: list[str]) -> int:
    try:
        return int(nvjitlink.create(len(options), options))
    except DynamicLibNotFoundError as error:
        raise missing("nvJitLink, NVIDIA's assembler") from error
    except nvjitlink.nvJitLinkError as error:
        raise PTXASError(f"{error}: nvJitLink does not take {' '.join(options)}") from error


def _text(size: Callable[[int], int], fill: Callable[[int, bytearray], None], handle: int) -> str:
    buffer = bytearray(size(handle))
    if buffer:
        fill(handle, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace").strip()


def _described(cubin: bytes, log: str, shared: int, assembler: str) -> Assembled:
    frame = _FRAME.search(log)
    stack, stores, loads = (int(number) for number in frame.groups()) if frame else (0, 0, 0)
    return Assembled(
        cubin=cubin,
        registers=_number(_USED, log),
        spill_stores=stores,
        spill_loads=loads,
        stack=stack,
        shared=shared,
        log=log,
        warnings=tuple(line.strip() for line in _PERFORMANCE.findall(log)),
        assembler=assembler,
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
