"""Loads and stores of global memory: as wide as the placement found them to be contiguous, under one
predicate each.

The registers of an access are groups of `vector` neighbours. A masked access is a predicated
instruction, never a branch. What lanes hold more than once is loaded by each and stored by one.
"""

from __future__ import annotations

from blockstep.compiler.layouts import redundant
from blockstep.compiler.lower.agree import agree
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item, bits_of, vector
from blockstep.ir import Operation, Value
from blockstep.language import types as ty

_LOAD_CACHE = {"": "", ".ca": ".ca", ".cg": ".cg", ".cs": ".cs", ".cv": ".cv"}
_STORE_CACHE = {"": "", ".wb": ".wb", ".cg": ".cg", ".cs": ".cs", ".wt": ".wt"}
_PRIORITY = {"evict_first": ".L1::evict_first", "evict_last": ".L1::evict_last"}


def memory_bits(kind: ty.dtype) -> int:
    """Bits of one element in memory: an int1 takes a byte."""
    return max(bits_of(kind), 8)


def groups(count: int | None, width: int) -> list[list[int]]:
    """Register numbers of each access."""
    total = count or 1
    return [list(range(i, i + width)) for i in range(0, total, width)]


def words_of(width: int, bits: int) -> tuple[int, int]:
    """How many register words of how many bits an access of `width` elements has."""
    total = width * bits
    if total <= 32:
        return 1, total
    word = 64 if bits == 64 else 32
    return total // word, word


def to_words(lw: Lowering, item: Item, registers: list[int], bits: int) -> list[str]:
    """Some elements of a value as words, for an access: `i32 %v` and the like."""
    if item.kind.is_int1():
        item = Item(lw.b.value(f"zext {item} to {vector(item.count, 'i8')}"), ty.int8, item.count)
    count, word = words_of(len(registers), bits)
    if item.count is None:
        plain = f"i{bits}"
        if item.element == plain:
            return [f"{plain} {item.name}"]
        return [f"{plain} {lw.b.value(f'bitcast {item} to {plain}')}"]
    part = lw.pick(item, registers)
    wide = lw.b.value(f"bitcast {part} to <{count} x i{word}>")
    return [
        f"i{word} {lw.b.value(f'extractelement <{count} x i{word}> {wide}, i32 {i}')}"
        for i in range(count)
    ]


def from_words(
    lw: Lowering, words: list[str], width: int, kind: ty.dtype, count: int | None
) -> Item:
    """The elements of an access from its words."""
    number, word = words_of(width, memory_bits(kind))
    stored = ty.int8 if kind.is_int1() else kind
    if count is None:
        item = Item(words[0], stored)
        if item.element != f"i{word}":
            item = Item(lw.b.value(f"bitcast i{word} {words[0]} to {item.element}"), stored)
    else:
        joined = lw.join(words, _word(word), number)
        target = Item("", stored, width).type
        item = Item(lw.b.value(f"bitcast {joined} to {target}"), stored, width)
    if not kind.is_int1():
        return Item(item.name, kind.scalar, item.count)
    zero = lw.constant(0, ty.int8, item.count)
    return Item(lw.b.value(f"icmp ne {item}, {zero.name}"), kind.scalar, item.count)


def _word(bits: int) -> ty.dtype:
    return {8: ty.uint8, 16: ty.uint16, 32: ty.uint32, 64: ty.uint64}[bits]


def letter(bits: int) -> str:
    """The constraint of a register word; PTX has no 8-bit registers."""
    return {16: "h", 32: "r", 64: "l"}[max(bits, 16)]


@lowers("load")
def _load(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    told = lw.named(operation, "pointer", "mask", "other")
    width = operation.attributes.get("vector", 1)
    pieces = []
    for registers in groups(lw.count(result), width):
        pieces.append(_load_group(lw, operation, result, told, registers))
    found = pieces[0] if len(pieces) == 1 else lw.concatenate(pieces)
    if operation.attributes.get("volatile"):  # what changes meanwhile is one value for all
        found = agree(lw, found, None if result.layout is None else lw.layout(result))
    lw.bind(result, found)


def _at(lw: Lowering, item: Item, register: int) -> str:
    if item.count is None:
        return item.name
    if item.name.startswith("splat ("):
        return lw.parts(item)[register]
    return lw.b.value(f"extractelement {item}, i32 {register}")


def _load_group(
    lw: Lowering, operation: Operation, result: Value, told: dict[str, Value | None],
    registers: list[int],
) -> Item:  # fmt: skip
    kind = result.type.scalar
    bits = memory_bits(kind)
    number, word = words_of(len(registers), bits)
    pointer = told["pointer"]
    assert pointer is not None
    address = _at(lw, lw[pointer], registers[0])
    mask, other = told["mask"], told["other"]
    filled = to_words(lw, lw[other], registers, bits) if other is not None else None
    predicate = None if mask is None else _at(lw, lw[mask], registers[0])
    words = read(lw, address, predicate, filled, number, word, modifiers(operation, _LOAD_CACHE))
    count = None if lw.count(result) is None else len(registers)
    return from_words(lw, words, len(registers), kind, count)


def modifiers(operation: Operation, caches: dict[str, str]) -> str:
    """`.volatile`, or cache and eviction qualifiers, as PTX orders them."""
    told = operation.attributes
    if told.get("volatile"):
        return ".volatile.global"
    cache = caches[told.get("cache", "") or ""]
    priority = _PRIORITY.get(told.get("eviction", "") or "", "")
    return f".global{cache}{priority if not cache else ''}"


def read(
    lw: Lowering, address: str, predicate: str | None, filled: list[str] | None, number: int,
    word: int, space: str,
) -> list[str]:  # fmt: skip
    """`number` words of `word` bits from a global address; where the predicate is off, `filled`
    (zeros if there is none)."""
    wide = max(word, 16)
    into = "{" + ", ".join(f"${i}" for i in range(number)) + "}" if number > 1 else "$0"
    suffix = f"{f'.v{number}' if number > 1 else ''}.b{word}"
    operands = [f"i64 {address}"]
    constraints = [f"={letter(word)}"] * number + ["l"]
    place = number
    text = f"ld{space}{suffix} {into}, [${place}];"
    if predicate is not None:
        operands.append(f"i1 {predicate}")
        constraints.append("b")
        text = f"@${place + 1} {text}"
        start = []
        for i in range(number):
            if filled is None:
                start.append(f"mov.b{wide} ${i}, 0;")
            else:
                operands.append(_widened(lw, filled[i], wide))
                constraints.append(letter(word))
                start.append(f"mov.b{wide} ${i}, ${place + 2 + i};")
        text = " ".join([*start, text])
        constraints[:number] = [f"=&{letter(word)}"] * number
    one = f"i{wide}"
    result = one if number == 1 else lw.b.structure([one] * number)
    found = lw.b.asm(result, text, ",".join(constraints), operands)
    words = [found] if number == 1 else lw.b.fields(result, found, number)
    return words if word == wide else [lw.b.value(f"trunc {one} {w} to i{word}") for w in words]


def _widened(lw: Lowering, typed: str, bits: int) -> str:
    """`i8 %v` as `i16 %w`: PTX has no 8-bit registers."""
    kind, name = typed.split(" ", 1)
    if int(kind[1:]) >= bits:
        return typed
    if not name.startswith("%"):
        return f"i{bits} {int(name) & 0xFF if name.lstrip('-').isdigit() else name}"
    return f"i{bits} {lw.b.value(f'zext {typed} to i{bits}')}"


@lowers("store")
def _store(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "pointer", "value", "mask")
    pointer, value, mask = told["pointer"], told["value"], told["mask"]
    assert pointer is not None and value is not None
    layout = value.layout
    leader = lw.leaders(layout)
    copies = redundant(layout).registers if layout is not None else 0  # others store the same
    width = operation.attributes.get("vector", 1)
    bits = memory_bits(value.type.scalar)
    number, word = words_of(width, bits)
    space = modifiers(operation, _STORE_CACHE)
    for registers in groups(lw.count(value), width):
        if registers[0] & copies:
            continue
        predicate = leader
        if mask is not None:
            predicate = both(lw, leader, _at(lw, lw[mask], registers[0]))
        words = to_words(lw, lw[value], registers, bits)
        write(lw, _at(lw, lw[pointer], registers[0]), predicate, words, number, word, space)


def both(lw: Lowering, a: str, b: str) -> str:
    """The conjunction of two predicates."""
    if a == "true":
        return b
    return a if b == "true" else lw.b.value(f"and i1 {a}, {b}")


def write(
    lw: Lowering, address: str, predicate: str, words: list[str], number: int, word: int,
    space: str,
) -> None:  # fmt: skip
    """Words to a global address, where the predicate holds."""
    wide = max(word, 16)
    operands = [f"i64 {address}", *[_widened(lw, w, wide) for w in words]]
    constraints = ["l", *[letter(word)] * number]
    places = ", ".join(f"${i + 1}" for i in range(number))
    suffix = f"{f'.v{number}' if number > 1 else ''}.b{word}"
    text = f"st{space}{suffix} [$0], {'{' + places + '}' if number > 1 else places};"
    if predicate != "true":
        operands.append(f"i1 {predicate}")
        constraints.append("b")
        text = f"@${number + 1} {text}"
    lw.b.asm("void", text, ",".join([*constraints, "~{memory}"]), operands)
