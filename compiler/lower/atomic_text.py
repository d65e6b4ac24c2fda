"""The PTX of one atomic access.

`red` for several words whose old values are not wanted; of one word the assembler sees to that. It
can release but not acquire, and no later step can tell what it read. The extremes of floats are those
of their bits: the signed maximum where the new value is positive, the unsigned minimum where it is
negative, and the other way round. Sources: PTX ISA, atom and red.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.memory import both, letter, words_of
from blockstep.compiler.lower.text import bits_of
from blockstep.language import types as ty


@dataclass(frozen=True, slots=True)
class Instruction:
    """PTX with its operands: `outputs` words, the address, input words.

    `negative` is a second instruction, for words whose sign bit is set."""

    text: str
    outputs: int
    bits: int = 0  # of an output word; 0: as the inputs
    negative: str = ""
    loops: bool = False  # the text tests its predicate, its last operand, itself

    def emit(self, lw: Lowering, address: str, words: list[str], predicate: str) -> list[str]:
        """Runs it where the predicate holds; the old words (zeros where it does not)."""
        bits = self.bits or int(words[0].split(" ")[0][1:])
        wide = max(bits, 16)
        operands = [f"i64 {address}", *(_in_register(lw, word) for word in words)]
        first = self.outputs
        constraints = [f"=&{letter(bits)}"] * first + ["l"] + [letter(bits)] * len(words)
        text = self._guarded(lw, words, predicate, operands, constraints)
        clear = " ".join(f"mov.b{wide} ${i}, 0;" for i in range(first))
        result = "void" if not first else f"i{wide}"
        if first > 1:
            result = lw.b.structure([f"i{wide}"] * first)
        found = lw.b.asm(
            result, f"{clear} {text}".strip(), ",".join([*constraints, "~{memory}"]), operands
        )
        if not first:
            return []
        old = [found] if first == 1 else lw.b.fields(result, found, first)
        return [w if bits == wide else lw.b.value(f"trunc i{wide} {w} to i{bits}") for w in old]

    def _guarded(
        self, lw: Lowering, words: list[str], predicate: str, operands: list[str],
        constraints: list[str],
    ) -> str:  # fmt: skip
        """The text under predicates, which become further operands."""

        def operand(condition: str) -> str:
            operands.append(f"i1 {condition}")
            constraints.append("b")
            return f"${len(constraints) - 1}"

        if self.loops:
            return self.text.replace("$p", operand(predicate))
        if not self.negative:
            return self.text if predicate == "true" else f"@{operand(predicate)} {self.text}"
        (word,) = words
        positive = lw.b.value(f"icmp sge {word}, 0")
        negative = lw.b.value(f"icmp slt {word}, 0")
        first, second = (
            operand(both(lw, predicate, positive)),
            operand(both(lw, predicate, negative)),
        )
        return f"@{first} {self.text} @{second} {self.negative}"


def _in_register(lw: Lowering, word: str) -> str:
    """PTX has no 8-bit registers."""
    if not word.startswith("i8 "):
        return word
    return f"i16 {lw.b.value(f'zext {word} to i16')}"


def rmw(
    lw: Lowering, combine: str, kind: ty.dtype, order: str, width: int, wanted: bool
) -> Instruction:
    """A read-modify-write of `width` neighbours of a type."""
    if bits_of(kind) == 16 and (
        combine != "add" or (kind.is_bf16() and lw.options.capability < 90)
    ):
        return Instruction(_loop(combine, order), 1, loops=True)
    count = words_of(width, bits_of(kind))[0]
    outputs = count if wanted or count == 1 else 0
    scope = order[order.rindex(".") :]
    sem = order[: -len(scope)]
    name = f"atom.global{scope}{sem}" if outputs else f"red{_RED[sem]}{scope}.global"
    if combine in ("max", "min") and kind.is_floating():
        bits, other = bits_of(kind), "min" if combine == "max" else "max"
        made = [
            _text(f"{name}.{one}", outputs, 1) for one in (f"{combine}.s{bits}", f"{other}.u{bits}")
        ]
        return Instruction(made[0], outputs, negative=made[1])
    return Instruction(
        _text(f"{name}.{_suffix(combine, kind, width, count)}", outputs, count), outputs
    )


_RED = {".relaxed": ".relaxed", ".acquire": ".relaxed",
        ".release": ".release", ".acq_rel": ".release"}  # fmt: skip


def _text(name: str, outputs: int, words: int) -> str:
    def places(first: int, count: int) -> str:
        listed = ", ".join(f"${first + i}" for i in range(count))
        return f"{{{listed}}}" if count > 1 else listed

    old = f"{places(0, outputs)}, " if outputs else ""
    return f"{name} {old}[${outputs}], {places(outputs + 1, words)};"


def _suffix(combine: str, kind: ty.dtype, width: int, words: int) -> str:
    bits = bits_of(kind)
    vector = f".v{words}" if words > 1 else ""
    if combine == "add" and bits == 16:
        return f"add.noftz{vector}.{'bf16' if kind.is_bf16() else 'f16'}{'x2' if width > 1 else ''}"
    if combine == "add" and kind.is_floating():
        return f"add{vector}.f{bits}"
    if combine in ("and", "or", "xor", "xchg"):
        return f"{'exch' if combine == 'xchg' else combine}.b{bits}"
    signed = combine != "add" and kind.is_int_signed()
    return f"{combine}.{'s' if signed else 'u'}{bits}"


def _loop(combine: str, order: str) -> str:
    """What memory cannot do by itself to 16 bits (extremes, and before sm_90 a sum of bfloat16):
    tried until nobody came between."""
    step = _SUM if combine == "add" else _EXTREME.replace("BETTER", _BETTER[combine])
    return _LOOP.replace("STEP", step).replace("ORDER", order)


_BETTER = {"max": "ge", "min": "le"}
_SUM = """mov.b32 a, {none, old};
mov.b32 b, {none, $2};
add.rn.f32 a, a, b;
cvt.rn.bf16.f32 next, a;"""
_EXTREME = """cvt.s32.s16 a, old;
shr.s32 b, a, 31;
and.b32 b, b, 32767;
xor.b32 a, a, b;
cvt.s32.s16 c, $2;
shr.s32 b, c, 31;
and.b32 b, b, 32767;
xor.b32 c, c, b;
setp.BETTER.s32 lost, a, c;
selp.b16 next, old, $2, lost;"""
_LOOP = """{
.reg .b16 old, next, seen, none;
.reg .b32 a, b, c;
.reg .pred lost;
mov.b16 old, 0;
mov.b16 none, 0;
@!$p bra DONE;
ld.relaxed.sys.global.b16 old, [$1];
AGAIN:
STEP
atomORDER.global.cas.b16 seen, [$1], old, next;
setp.ne.b16 lost, seen, old;
mov.b16 old, seen;
@lost bra AGAIN;
DONE:
mov.b16 $0, old;
}"""
