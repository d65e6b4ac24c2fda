"""Inline PTX as an operation: elements packed into register words and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.assembly import Program
from blockstep.language.op import Family, define


def _outputs(*operands: ty.dtype, types: tuple[ty.dtype, ...], **_: Any) -> Any:
    shape = operands[0].shape if operands else ()
    found = tuple(ty.blocked(t, shape) for t in types)
    return found if len(found) > 1 else found[0]


def _per_word(itemsize: int) -> int:
    """How many elements share a register: those below 32 bits do."""
    return max(4 // itemsize, 1)


def _words(x: Any, pack: int) -> list[Any]:
    """`… groups pack` elements as register words, the first element in the low bits."""
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64)
    each, found = _per_word(x.dtype.itemsize), []
    for start in range(0, pack, each):
        total = np.zeros(bits.shape[:-1], np.uint64)
        for i in range(start, min(start + each, pack)):
            total = total | bits[..., i] << np.uint64(8 * x.dtype.itemsize * (i - start))
        found.append(total)
    return found


def _elements(words: list[Any], dtype: Any, pack: int, shape: tuple[int, ...]) -> Any:
    """The inverse of `_words`: `… groups pack` elements."""
    bits, each = 8 * dtype.itemsize, _per_word(dtype.itemsize)
    parts = [words[i // each] >> np.uint64(bits * (i % each)) for i in range(pack)]
    parts = [np.broadcast_to(p, shape).astype(f"u{dtype.itemsize}") for p in parts]
    return np.stack(parts, axis=-1).view(dtype)


def _run(groups: list[Any], program: Program, types: Any, pack: int) -> list[Any]:
    """Outputs of the program for inputs of shape `… groups pack`."""
    inputs = [w for x in groups for w in _words(x, pack)]
    shape = groups[0].shape[:-1] if groups else ()
    words = program.run(inputs)
    found = []
    for t in types:
        count = -(-pack // _per_word(t.numpy.itemsize))
        found.append(_elements(words[:count], t.numpy, pack, shape))
        words = words[count:]
    return found


def _asm(*operands: Any, program: Program, types: tuple[ty.dtype, ...], pure: bool = True) -> Any:
    arrays = np.broadcast_arrays(*operands) if operands else []
    found = [x[..., 0][()] for x in _run([a[..., None] for a in arrays], program, types, 1)]
    return tuple(found) if len(found) > 1 else found[0]


ASM = define(
    "asm",
    Family.ELEMENTWISE,
    _outputs,
    _asm,
    "`n, … -> n, …`: inline PTX at every element.",
)


def _asm_packed(
    *operands: Any, program: Program, types: tuple[ty.dtype, ...], pack: int, pure: bool = True
) -> Any:
    n = np.shape(operands[0])[-1]
    spare = -n % pack
    padded = [np.concatenate([x, x[..., :1].repeat(spare, -1)], -1) for x in operands]
    groups = [p.reshape(*p.shape[:-1], -1, pack) for p in padded]
    found = [x.reshape(*x.shape[:-2], -1)[..., :n] for x in _run(groups, program, types, pack)]
    return tuple(found) if len(found) > 1 else found[0]


ASM_PACKED = define(
    "asm_packed",
    Family.MIX,
    _outputs,
    _asm_packed,
    "`n, … -> n, …`: inline PTX at every group of `pack` neighbours of 1-D blocks.",
)
