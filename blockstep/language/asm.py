"""`inline_asm_elementwise`: PTX written into a kernel, run as register instructions on blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockstep.language.assembly import Program
from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops.assembly import ASM, ASM_PACKED
from blockstep.language.promotion import broadcast, to_tensor
from blockstep.language.shape import ravel, reshape


def inline_asm_elementwise(
    asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any
) -> Any:
    """`n, … -> n, …`: PTX `asm` on `pack` elements at a time. Its registers are `$0 …`: outputs
    first, then inputs, as many as `constraints` says; elements below 32 bits share registers of 32.
    `dtype` is the result's element type, or a tuple of types for several results.

    Raises UnsupportedError for branches, memory accesses and instructions that are not known."""
    program = Program(str(unwrap(asm)), str(unwrap(constraints)))
    wanted, count, pure = unwrap(dtype), int(unwrap(pack)), bool(unwrap(is_pure))
    several = isinstance(wanted, Iterable)
    types = tuple([unwrap(t) for t in wanted]) if several else (wanted,)
    inputs = _stretched([to_tensor(x) for x in args])
    if count > 1 and inputs and inputs[0].type.shape:
        shape = inputs[0].type.shape
        flat = [ravel(x) for x in inputs]
        found = emit(ASM_PACKED, *flat, program=program, types=types, pack=count, pure=pure)
        found = [reshape(x, shape) for x in (found if len(types) > 1 else (found,))]
    else:
        found = emit(ASM, *inputs, program=program, types=types, pure=pure)
        found = found if len(types) > 1 else (found,)
    return tuple(found) if several else found[0]


def _stretched(inputs: list[Any]) -> list[Any]:
    for i in range(1, len(inputs)):
        inputs[0], inputs[i] = broadcast(inputs[0], inputs[i])
    return [broadcast(x, inputs[0])[0] for x in inputs]


__all__ = ["inline_asm_elementwise"]
