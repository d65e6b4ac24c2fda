"""A kernel compiled to machine code, as the disk cache keeps it.

This module imports the compiler and its tools, so it is imported for a kernel that the cache does
not have, and for no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockstep.compiler import store, toolchain
from blockstep.compiler.assemble import assemble
from blockstep.compiler.compile import Compiled, compile_function
from blockstep.compiler.lower import Parameter
from blockstep.compiler.options import Hint, Options
from blockstep.errors import UnsupportedError
from blockstep.findings import Span
from blockstep.ir import Function, dump


def entry(
    made: Function, options: Options, hints: Mapping[str, Hint], assembled: bool = True
) -> store.Entry:
    """The code of a function, and what a launch must know of it (`compiling` reads it back). Not
    `assembled`, it is left to the driver: PTX of another architecture than the device's.

    Raises UnsupportedError for what cannot be compiled, PTXASError for what the assembler does not
    take."""
    compiled = compile_function(made, options, hints)
    cubin = _cubin(compiled.ptx, options.target) if assembled else None
    return packed(made, compiled, options, cubin)


def packed(
    made: Function, compiled: Compiled, options: Options, cubin: bytes | None = None
) -> store.Entry:
    """What the compiler made of a function, as it is kept."""
    texts = {
        "ir": dump(made), "placed": dump(compiled.placed),
        "llir": compiled.module.text, "ptx": compiled.ptx,
    }  # fmt: skip
    parts = {name: text.encode() for name, text in texts.items()}
    if cubin is not None:
        parts["cubin"] = cubin
    return store.Entry(_told(compiled, options), parts)


def _told(compiled: Compiled, options: Options) -> dict[str, Any]:
    module = compiled.module
    return {
        "name": module.name,
        "shared": module.shared,
        "scratch": module.scratch,
        "num_warps": options.num_warps,
        "num_ctas": options.num_ctas,
        "parameters": [[p.kind, p.name, box_of(p)] for p in module.parameters],
        "sites": [[_span(span), message] for message, span in module.sites],
    }


def _cubin(ptx: str, architecture: str) -> bytes | None:
    """Machine code by ptxas; None where it is not installed, and the driver compiles the PTX.

    nvJitLink would do, but it compiles a part of a program, not a whole one, and its code takes
    more registers: 86 against 64 for a layer norm of 8192 columns."""
    try:
        toolchain.ptxas_path()
    except UnsupportedError:
        return None
    return assemble(ptx, architecture, assembler="ptxas").cubin


def box_of(parameter: Parameter) -> list[Any] | None:
    box = parameter.box
    if box is None:
        return None
    return [box.descriptor, box.element, box.rank, list(box.box), box.swizzle, box.padding]


def _span(span: Span) -> list[Any]:
    return [span.file, span.line, span.column, span.end_line, span.end_column, span.function]


__all__ = ["entry", "packed"]
