"""Matrix instructions: `mma.sync` and the arithmetic of `wgmma`.

PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level
Matrix Multiply-Accumulate Instructions".

Products are exact; they are summed in f64, in the order that BLAS likes, with the accumulator, and
the sum is rounded once to the type of the result. Hardware does otherwise: it aligns the products
of one step to the largest of them, cuts what lies below at least 25 bits (fp8: 14), and rounds
towards zero between steps; results agree within that, not bit by bit. `f64` hardware chains fused
multiply-adds. Integers are exact, modulo 2^32 or clipped (`.satfinite`).

Fragments: lane = 4 · g + t of a warp; registers of 32 bits hold `per` elements side by side (1 of
tf32 or f64, 2 of 16 bits, 4, 8, 32 of 8, 4, 1 bits), the first in the lowest bits:

    A 16 x k: row = g + 8 · (register % 2)   column = per · t + slot + 4 · per · (register // 2)
    B k x 8:  row = per · t + slot + 4 · per · register   column = g
    C 16 x 8: row = g + 8 · (element // 2)   column = 2 · t + element % 2

    C     t=0   t=1   t=2   t=3          an accumulator of 16 bits holds elements 0 1 in one
    g=0  c0 c1 c0 c1 c0 c1 c0 c1         register, and 2 3 in the other
    g=8  c2 c3 c2 c3 c2 c3 c2 c3
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.formats import LOAD, Array, store_f16, store_f32
from blockstep.interp.ptx.isa.registry import Bits, Form, Instruction, Reader, instruction
from blockstep.interp.ptx.isa.small import NUMBERS, cut_tf32

LANES, WARPS = 32, 4  # of a warp; of a warpgroup

# How many bits an element has in a register.
BITS = {"f64": 64, "tf32": 32, "f32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8,
        "e3m2": 8, "e2m3": 8, "e2m1": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
INTEGERS = ("s8", "u8", "s4", "u4", "b1")
FP8 = ("e4m3", "e5m2")


def a_position(lane: Any, register: Any, slot: Any, per: int, rows: int = 16) -> tuple[Any, Any]:
    """(row, column) in A of an element that a lane holds; with 8 rows registers go along k only."""
    halves = rows // 8
    row = lane // 4 + 8 * (register % halves)
    return row, per * (lane % 4) + slot + 4 * per * (register // halves)


def b_position(lane: Any, register: Any, slot: Any, per: int) -> tuple[Any, Any]:
    """(row, column) in B of an element that a lane holds."""
    return per * (lane % 4) + slot + 4 * per * register, lane // 4


def c_position(lane: Any, element: Any, warp: Any = 0) -> tuple[Any, Any]:
    """(row, column) in C and D. Of wgmma warp w has the rows from 16 · w on, and every four
    elements the next 8 columns."""
    row = 16 * warp + lane // 4 + 8 * (element // 2 % 2)
    return row, 8 * (element // 4) + 2 * (lane % 4) + element % 2


def numbers(type: str, bits: Bits) -> Any:
    """Elements side by side in unsigned integers of any width (along the last axis), as f32, which
    holds them all, small integers too; f64 as such."""
    bits = np.ascontiguousarray(bits)
    if type == "f64":
        return bits.view(np.float64)
    if type == "tf32":
        return cut_tf32(bits.view(np.uint32)).view(np.float32)
    if type in ("f16", "bf16"):
        return LOAD[type](bits.view(np.uint16))
    return _of_bytes(type, bits.view(np.uint8))


def _of_bytes(type: str, octets: Bits) -> Any:
    if type == "b1":
        return np.unpackbits(octets, axis=-1, bitorder="little").astype(np.float32)
    if type in ("s4", "u4"):
        nibbles = np.stack([octets & 15, octets >> 4], axis=-1)
        nibbles = nibbles.reshape(*octets.shape[:-1], 2 * octets.shape[-1])
        value = nibbles.astype(np.float32)
        return np.where(nibbles > 7, value - np.float32(16), value) if type == "s4" else value
    if type in ("s8", "u8"):
        return octets.view(np.int8 if type == "s8" else np.uint8).astype(np.float32)
    if type in FP8:
        return NUMBERS[type][octets]
    # In a byte of `.kind::f8f6f4` six bits lie low, four in the middle.
    codes = (octets >> 2) & 15 if type == "e2m1" else octets & 63
    return NUMBERS[type][codes]


def _words(registers: Sequence[Bits]) -> Bits:
    """Registers (…, threads) as words (register, …, warps, 8, 4)."""
    shape = np.broadcast_shapes(*(r.shape for r in registers))
    whole = np.stack([np.broadcast_to(r, shape) for r in registers])
    return whole.reshape(len(registers), *shape[:-1], -1, 8, 4)


def a_matrix(registers: Sequence[Bits], type: str, rows: int = 16) -> Any:
    """Registers of whole warps, each (…, threads), as matrices (…, warps, rows, k) of `numbers`."""
    halves = rows // 8
    words = _words(registers)
    words = words.reshape(len(registers) // halves, halves, *words.shape[1:])
    # Whole words change places, before there are several numbers of each.
    k, h, *outer, g, t = range(words.ndim)
    words = np.ascontiguousarray(words.transpose(*outer, h, g, k, t))
    return numbers(type, words.reshape(*words.shape[: len(outer)], rows, -1))


def b_matrix(registers: Sequence[Bits], type: str) -> Any:
    """Registers of whole warps as matrices (…, warps, k, 8) of `numbers`: a column in memory after
    the other."""
    words = _words(registers)
    k, *outer, g, t = range(words.ndim)
    words = np.ascontiguousarray(words.transpose(*outer, g, k, t))
    return numbers(type, words.reshape(*words.shape[: len(outer)], 8, -1)).swapaxes(-1, -2)


_ELEMENT = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "s32": np.int32}


def tile(registers: Sequence[Bits], type: str, rows: int = 16) -> Array:
    """Accumulator registers of whole warps as matrices (…, warps, rows, n) of their own type; n is 8
    for mma.sync, and what the registers hold for wgmma (there a matrix of 64 rows is four warps'
    one below the other: `stacked`)."""
    words = _words(registers)
    pair = 1 if type == "f16" else 2  # registers that hold two neighbours of a row
    halves = rows // 8
    words = words.reshape(len(registers) // halves // pair, halves, pair, *words.shape[1:])
    n, h, s, *outer, g, t = range(words.ndim)
    words = np.ascontiguousarray(words.transpose(*outer, h, g, n, t, s))
    return words.view(_ELEMENT[type]).reshape(*words.shape[: len(outer)], rows, -1)


def fragment(matrix: Array, type: str, rows: int = 16) -> tuple[Bits, ...]:
    """Matrices (…, warps, rows, n) of the accumulator's type as registers (…, threads)."""
    *outer, warps, _, n = matrix.shape
    x = matrix.reshape(*outer, warps, rows // 8, 8, n // 8, 4, 2)
    *axes, half, g, eighth, t, slot = range(x.ndim)
    # The register comes first, so that each one lies in memory as a whole; two elements of 16 bits
    # are one register.
    last = (slot,) if type == "f16" else ()
    first = () if type == "f16" else (slot,)
    x = np.ascontiguousarray(x.transpose(eighth, half, *first, *axes, g, t, *last))
    bits = x.view(np.uint64 if type == "f64" else np.uint32)
    return tuple(bits.reshape(-1, *outer, warps * LANES))


def stacked(x: Array) -> Array:
    """(…, warps, 16, n) as (…, warpgroups, 64, n)."""
    return x.reshape(*x.shape[:-3], x.shape[-3] // WARPS, 16 * WARPS, x.shape[-1])


def unstacked(x: Array) -> Array:
    """(…, warpgroups, 64, n) as (…, warps, 16, n)."""
    return x.reshape(*x.shape[:-3], x.shape[-3] * WARPS, 16, x.shape[-1])


@dataclass(frozen=True, slots=True)
class Product:
    """D = A · B + C on matrices: (…, m, k) and (…, k, n) of `numbers`, C and D of their own types."""

    a: str
    b: str
    c: str
    d: str
    satfinite: bool = False
    xor: bool = False  # of b1: popc(a ^ b) for popc(a & b)

    def __call__(self, a: Array, b: Array, c: Array | None) -> Array:
        """D, in the dtype of its type; no C is zero."""
        with np.errstate(all="ignore"):  # inf - inf, and BLAS that leaves flags behind
            a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
            total = self._exclusive(a, b) if self.xor else a @ b
            if c is not None:
                total += c
            return self._rounded(total)

    def _exclusive(self, a: Array, b: Array) -> Any:
        return a.sum(-1, keepdims=True) + b.sum(-2, keepdims=True) - 2 * (a @ b)

    def _rounded(self, total: Array) -> Array:
        if self.d == "f32":
            return store_f32(total.astype(np.float32)).view(np.float32)
        if self.d == "f16":
            return store_f16(total).view(np.float16)
        if self.d == "f64":
            return total
        if self.satfinite:
            total = total.clip(-(2.0**31), 2.0**31 - 1)
        return total.astype(np.int64).astype(np.int32)


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def _shape(r: Reader) -> tuple[int, int, int]:
    found = next((m for m in map(_SHAPE.fullmatch, r.left) if m), None) or r.fail()
    r.left.remove(found[0])
    m, n, k = map(int, found.groups())
    return m, n, k


def _types(r: Reader, count: int) -> list[str]:
    return [r.type(*BITS) for _ in range(count)]


# The k that mma.sync has with 16 and with 8 rows, by the type of A.
_DEPTHS: dict[int, dict[str, tuple[int, ...]]] = {
    16: {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "f64": (4, 8, 16), "e4m3": (16, 32),
         "e5m2": (16, 32), "s8": (16, 32), "u8": (16, 32), "s4": (32, 64), "u4": (32, 64),
         "b1": (128, 256), "e3m2": (32,), "e2m3": (32,), "e2m1": (32,)},
    8: {"f64": (4,), "s8": (16,), "u8": (16,), "s4": (32,), "u4": (32,), "b1": (128,)},
}  # fmt: skip


def _go_together(a: str, b: str, c: str, d: str, mixed: bool) -> bool:
    """Whether mma has these types; `mixed`: any two of 8, 6 and 4 bits (`.kind::f8f6f4`)."""
    if a in INTEGERS:
        return BITS[a] == BITS[b] and b in INTEGERS and c == d == "s32"
    if a == "f64":
        return a == b == c == d
    if a in ("f16", *FP8) or mixed:
        small = (*FP8, "e3m2", "e2m3", "e2m1") if mixed else FP8
        return (a == b or a in small and b in small) and {c, d} <= {"f16", "f32"}
    return a == b and c == d == "f32"


@instruction("mma")
def mma(i: Instruction) -> Form:
    """`mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c`: D = A · B + C
    of every warp; of 1 bit, `.xor.popc` or `.and.popc` counts what the products would be.

    The operands are registers of whole warps: at least one of them has to have its full number of
    threads on the last axis. Raises ValueError where that is no multiple of 32."""
    r = Reader(i)
    r.only(r.flag("sync") and r.flag("aligned"))
    m, n, k = _shape(r)
    r.only(r.flag("row") and r.flag("col"))
    mixed = r.flag("kind::f8f6f4")
    satfinite = r.flag("satfinite")
    d, a, b, c = _types(r, 4)
    bits = r.needs("xor", "and") if a == "b1" else ""
    r.only(a != "b1" or r.flag("popc"))
    r.only(n == 8 and k in _DEPTHS.get(m, {}).get(a, ()) and _go_together(a, b, c, d, mixed))
    r.only(not satfinite or a in INTEGERS and a != "b1")
    r.only(mixed or not {a, b} & {"e3m2", "e2m3", "e2m1"})
    r.end()
    product = Product(a, b, c, d, satfinite, bits == "xor")
    return _warp_form(product, m, k)


def _warp_form(p: Product, m: int, k: int) -> Form:
    of_a = m * k * BITS[p.a] // LANES // max(32, BITS[p.a])
    of_b = 8 * k * BITS[p.b] // LANES // max(32, BITS[p.b])
    of_c, of_d = (m * 8 * BITS[t] // LANES // max(32, BITS[t]) for t in (p.c, p.d))

    def run(*x: Bits) -> tuple[Bits, ...]:
        x = _whole_warps(x)
        a = a_matrix(x[:of_a], p.a, m)
        b = b_matrix(x[of_a : of_a + of_b], p.b)
        return fragment(p(a, b, tile(x[of_a + of_b :], p.c, m)), p.d, m)

    sources = (_word(p.a),) * of_a + (_word(p.b),) * of_b + (_word(p.c),) * of_c
    return Form(run, sources, (_word(p.d),) * of_d)


def _word(type: str) -> str:
    return "b64" if type == "f64" else "b32"


def _whole_warps(x: tuple[Bits, ...]) -> tuple[Bits, ...]:
    shape = np.broadcast_shapes(*(r.shape for r in x))
    if shape[-1] % LANES:
        raise ValueError(f"{shape[-1]} threads are no whole warps")
    return tuple(np.broadcast_to(r, shape) for r in x)


@dataclass(frozen=True, slots=True)
class Wgmma:
    """One `wgmma.mma_async`: its shape and types, and the arithmetic; where A and B come from is the
    machine's business. Matrices are (…, warpgroups, 64, k), (…, warpgroups or 1, k, n) of
    `numbers`, accumulators (…, warpgroups, 64, n) of their own dtype."""

    n: int
    k: int
    product: Product

    @property
    def registers(self) -> int:
        """How many accumulator registers a thread has."""
        return 64 * self.n * BITS[self.product.d] // 32 // (LANES * WARPS)

    @property
    def a_registers(self) -> int:
        """How many registers a thread has of A, where A is in registers."""
        return 64 * self.k * BITS[self.product.a] // 32 // (LANES * WARPS)

    def a(self, registers: Sequence[Bits]) -> Array:
        """A from registers of whole warpgroups, each (…, threads)."""
        return stacked(a_matrix(registers, self.product.a))

    def accumulator(self, registers: Sequence[Bits]) -> Array:
        """The accumulator from registers of whole warpgroups, each (…, threads)."""
        return stacked(tile(registers, self.product.d))

    def fragment(self, accumulator: Array) -> tuple[Bits, ...]:
        """The accumulator as registers, each (…, threads)."""
        return fragment(unstacked(accumulator), self.product.d)

    def __call__(self, a: Array, b: Array, accumulator: Array | None) -> Array:
        """D = A · B + D, or A · B where `scale-d` is 0 (None)."""
        return self.product(a, b, accumulator)


def wgmma(i: Instruction) -> Wgmma:
    """`wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b-desc, scale-d, …`.

    Negation and transposition (the immediate operands) are for who reads A and B. Raises
    Unsupported for shapes and types that are not there."""
    r = Reader(i)
    r.only(all(r.flag(name) for name in ("mma_async", "sync", "aligned")))
    m, n, k = _shape(r)
    satfinite = r.flag("satfinite")
    d, a, b = _types(r, 3)
    r.only(a != "b1" or r.flag("and") and r.flag("popc"))
    r.only(m == 64 and k * BITS[a] == 256 and 8 <= n <= 256 and n % 8 == 0)
    r.only(a not in ("f64", "s4", "u4") and _go_together(a, b, d, d, mixed=False))
    r.only(a not in INTEGERS or n % 16 == 0 or n in (8, 24))
    r.only(not satfinite or a in ("s8", "u8"))
    r.end()
    return Wgmma(n, k, Product(a, b, d, d, satfinite))
