"""Moves that compute nothing new: `mov` with its packing, `prmt`, `cvta`.

PTX ISA, "Data Movement and Conversion Instructions".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.arith import kept, same
from blockstep.interp.ptx.isa.logic import PLAIN
from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Bits,
    Compute,
    Form,
    Instruction,
    Reader,
    instruction,
    unsigned,
)
from blockstep.interp.ptx.syntax import Immediate

# The byte of {b, a} that each byte of d takes, the lowest first, by the two low bits of c.
MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}
_SELECTORS = {
    mode: np.array([sum(byte << 4 * k for k, byte in enumerate(row)) for row in rows], np.uint32)
    for mode, rows in MODES.items()
}


@instruction("prmt")
def prmt(i: Instruction) -> Form:
    """`prmt.b32{.mode} d, a, b, c`: four bytes of {b, a}, numbered 0 to 7: byte k of d is the one
    that the k-th 4 bits of c name, or 8 copies of its sign where their topmost bit is set. A mode
    takes only the two low bits of c, and names all four bytes by them."""
    r = Reader(i)
    r.type("b32")
    mode = r.one(*MODES)
    r.end()
    if not mode:
        return same("b32", 3, permuted)
    selectors = _SELECTORS[mode]
    return same("b32", 3, lambda a, b, c: permuted(a, b, selectors[c & np.uint32(3)]))


def read_by_prmt(i: Instruction) -> list[Any]:
    """The sources, with 0 for a register of which a constant selector takes no byte: LLVM puts
    one there that nothing has written."""
    a, b, c = i.operands[1:]
    if isinstance(c, Immediate) and i.name == "prmt.b32":
        taken = {c.value >> 4 * k & 4 for k in range(4)}
        a = a if 0 in taken else Immediate(0)
        b = b if 4 in taken else Immediate(0)
    return [a, b, c]


def permuted(a: Bits, b: Bits, selector: Bits) -> Any:
    """Bytes of {b, a}; a selector that is the same for all takes a few shifts and masks."""
    if selector.size == 1 and not int(selector.flat[0]) & 0x8888:
        return _permuted_alike(a, b, int(selector.flat[0]) & 0xFFFF)
    both = (b.astype(np.uint64) << 32) | a
    result: Any = np.uint32(0)
    for k in range(4):
        control = (selector >> np.uint32(4 * k)) & np.uint32(15)
        byte = ((both >> (control & 7).astype(np.uint64) * 8) & 0xFF).astype(np.uint32)
        byte = np.where(control & 8, (byte >> 7) * np.uint32(0xFF), byte)
        result = result | (byte << np.uint32(8 * k))
    return np.asarray(result)


@lru_cache(maxsize=1024)
def _moves(selector: int) -> tuple[tuple[int, int, np.uint32], ...]:
    """(register, shift to the left, mask) of the bytes that move alike."""
    masks: dict[tuple[int, int], int] = {}
    for k in range(4):
        source = selector >> 4 * k & 7
        key = source // 4, 8 * (k - source % 4)
        masks[key] = masks.get(key, 0) | 0xFF << 8 * k
    return tuple((register, left, np.uint32(mask)) for (register, left), mask in masks.items())


def _permuted_alike(a: Bits, b: Bits, selector: int) -> Any:
    result: Any = None
    for register, left, mask in _moves(selector):
        x = b if register else a
        moved = (x << left if left >= 0 else x >> -left) & mask
        result = moved if result is None else result | moved
    return result


@instruction("mov")
def mov(i: Instruction) -> Form:
    """`mov.type d, a`; `mov.b64 d, {a, b}` packs, the first into the lowest bits;
    `mov.b64 {a, b}, d` takes apart; of two or four parts. 128 bits are two words of 64."""
    r = Reader(i)
    numbers = ("u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
    type = r.type(*PLAIN, *numbers, "b128")
    r.end()
    to, source = (len(o) if isinstance(o, tuple) else 0 for o in i.operands[:2])
    if type == "b128":
        return Form(lambda low, high: (low, high), ("b64", "b64"), ("b64", "b64"))
    if not to and not source:
        return same(type, 1, kept)
    parts = to or source
    r.only(type in PLAIN[1:] and parts in (2, 4) and WIDTH[type] // parts >= 8)
    r.only(not (to and source))
    part = f"b{WIDTH[type] // parts}"
    if source:
        return Form(_packed(type, parts), (part,) * parts, (type,))
    return Form(_unpacked(type, parts), (type,), (part,) * parts)


def _packed(type: str, parts: int) -> Compute:
    whole, width = unsigned(type), WIDTH[type] // parts

    def run(*x: Bits) -> Bits:
        result = x[0].astype(whole)
        for k, part in enumerate(x[1:], 1):
            result = result | (part.astype(whole) << whole(k * width))
        return result

    return run


def _unpacked(type: str, parts: int) -> Compute:
    whole, width = unsigned(type), WIDTH[type] // parts
    narrow = unsigned(f"b{width}")
    return lambda x: tuple((x >> whole(k * width)).astype(narrow) for k in range(parts))


_SPACES = ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param",
           "param::entry")  # fmt: skip


@instruction("cvta")
def cvta(i: Instruction) -> Form:
    """`cvta.space.size d, a`, `cvta.to.space.size d, a`: the same address: here a generic address
    and that of its space are one number."""
    r = Reader(i)
    r.flag("to")
    r.needs(*_SPACES)
    type = r.type("u32", "u64")
    r.end()
    return same(type, 1, kept)
