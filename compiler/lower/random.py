"""Philox: two products of each round at full width, the other operations are exclusive ors."""

from __future__ import annotations

from typing import Any

from blockstep.compiler.lower.core import Lowering, computes
from blockstep.compiler.lower.text import Item
from blockstep.language.ops.random import MULTIPLIERS, WEYL


@computes("philox")
def _philox(lw: Lowering, attributes: Any, kinds: Any, *items: Item) -> tuple[Item, ...]:
    rows = [lw.parts(item) for item in items]
    bits = items[0].kind.primitive_bitwidth
    found = [_words(lw, parts, bits, attributes["rounds"]) for parts in zip(*rows, strict=True)]
    kind, count = items[0].kind, items[0].count
    return tuple(lw.join(list(column), kind, count) for column in zip(*found, strict=True))


def _words(lw: Lowering, parts: tuple[str, ...], bits: int, rounds: int) -> tuple[str, ...]:
    """The four words of one element."""
    c0, c1, c2, c3, k0, k1 = parts
    t = f"i{bits}"
    for number in range(rounds):
        if number:
            k0 = lw.b.value(f"add {t} {k0}, {_signed(WEYL[bits][0], bits)}")
            k1 = lw.b.value(f"add {t} {k1}, {_signed(WEYL[bits][1], bits)}")
        high0, low0 = _product(lw, c0, MULTIPLIERS[bits][0], bits)
        high2, low2 = _product(lw, c2, MULTIPLIERS[bits][1], bits)
        c0, c1 = _crossed(lw, high2, c1, k0, t), low2
        c2, c3 = _crossed(lw, high0, c3, k1, t), low0
    return c0, c1, c2, c3


def _crossed(lw: Lowering, high: str, word: str, key: str, t: str) -> str:
    mixed = lw.b.value(f"xor {t} {high}, {word}")
    return lw.b.value(f"xor {t} {mixed}, {key}")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _product(lw: Lowering, x: str, by: int, bits: int) -> tuple[str, str]:
    """The upper and the lower half of a product of unsigned words."""
    t, wide = f"i{bits}", f"i{2 * bits}"
    if bits == 64:
        factor = _signed(by, 64)
        high = lw.b.call(t, "llvm.nvvm.mulhi.ull", [f"{t} {x}", f"{t} {factor}"])
        return high, lw.b.value(f"mul {t} {x}, {factor}")
    extended = lw.b.value(f"zext {t} {x} to {wide}")
    product = lw.b.value(f"mul nuw {wide} {extended}, {by}")
    high = lw.b.value(f"lshr {wide} {product}, {bits}")
    low = lw.b.value(f"trunc {wide} {product} to {t}")
    return lw.b.value(f"trunc {wide} {high} to {t}"), low
