"""Random expressions of the kernel language, by type and shape.

`Expressions.make(kind, shape, depth)` is source text whose value has exactly that type and shape:
what promotion could change is cast at the end. Whether it overflows, divides by zero or is
undefined is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

Shape = tuple[int, ...]
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = SIGNED + UNSIGNED
KINDS = ("int1", *INTEGERS, *FLOATS)
BITS = {k: int("".join(filter(str.isdigit, k))) for k in KINDS}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
COMBINES = ("add", "least", "second", "mixed")  # jit functions that every case has


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that may be read here."""

    name: str
    kind: str
    shape: Shape
    settable: bool = True


def size(shape: Shape) -> int:
    """How many elements."""
    count = 1
    for n in shape:
        count *= n
    return count


@dataclass(slots=True)
class Expressions:
    """Writes expressions over the variables in scope."""

    random: Random
    shapes: list[Shape]
    careful: bool = False  # nothing that must overflow, lose bits or divide by zero
    scope: list[Variable] = field(default_factory=list)

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def kind(self) -> str:
        """A type; the usual ones more often."""
        usual = ("int32", "int32", "float32", "float32", "int64", "float16", "int1", "int8")
        return self.random.choice(usual if self.chance(0.6) else KINDS)

    def shape(self) -> Shape:
        return self.random.choice(self.shapes)

    def make(self, kind: str, shape: Shape, depth: int = 3) -> str:
        """Source text of an expression."""
        if depth <= 0 or self.chance(0.15):
            return self.leaf(kind, shape)
        choices = self._logical if kind == "int1" else self._numeric
        pick = self.random.choice([choices, choices, self._any, self._shaped])
        for _ in range(4):
            text = pick(kind, shape, depth - 1)
            if text:
                return text
        return self.leaf(kind, shape)

    # Leaves.

    def literal(self, kind: str) -> str:
        """A number of this type."""
        if kind == "int1":
            return self.random.choice(["True", "False"])
        if kind in FLOATS:
            return self.random.choice(["0.0", "1.0", "-2.5", "0.1", "3.0", "-1e3", "0.333"])
        low = 0 if kind in UNSIGNED else -4
        usual = self.random.randint(low, 9)
        if self.careful:
            return str(usual)
        least = 0 if kind in UNSIGNED else -(1 << (BITS[kind] - 1))
        most = (1 << (BITS[kind] - (kind in SIGNED))) - 1
        return str(self.random.choice([usual] * 8 + [least, most]))

    def leaf(self, kind: str, shape: Shape) -> str:
        """A variable if there is one, else a constant, a range or a program id."""
        found = [v.name for v in self.scope if (v.kind, v.shape) == (kind, shape)]
        if found and self.chance(0.8):
            return self.random.choice(found[-6:] if self.chance(0.5) else found)
        near = [v.name for v in self.scope if v.shape == shape and self._castable(v.kind, kind)]
        if near and self.chance(0.5):
            return self._cast(self.random.choice(near), kind)
        if len(shape) == 1 and kind in INTEGERS and self.chance(0.6):
            return self._cast(f"tl.arange(0, {shape[0]})", kind)
        if not shape and kind in INTEGERS and self.chance(0.5):
            return self._cast(self.random.choice(["p", "p", "tl.num_programs(0)"]), kind)
        if len(shape) == 1 and kind == "float32" and self.chance(0.2):
            return f"tl.rand({self.random.randint(0, 99)}, p + tl.arange(0, {shape[0]}))"
        return f"tl.full({list(shape)}, {self.literal(kind)}, tl.{kind})"

    def _castable(self, source: str, target: str) -> bool:
        return target == "int1" or not (source in FLOATS and target in INTEGERS)

    def _cast(self, text: str, kind: str) -> str:
        if self.careful and kind in INTEGERS and BITS[kind] < 32 and "&" not in text[-6:]:
            text = f"({text}).to(tl.int64) & 63"
        return f"({text} != 0)" if kind == "int1" else f"({text}).to(tl.{kind})"

    # Operations on elements.

    def operand(self, kind: str, shape: Shape, depth: int) -> str:
        """A second operand: of the same shape, or a scalar that is broadcast."""
        if shape and self.chance(0.3):
            return self.make(kind, (), depth)
        if len(shape) == 2 and self.chance(0.3):
            return self.random.choice(
                [
                    lambda: f"({self.make(kind, shape[:1], depth)})[:, None]",
                    lambda: f"({self.make(kind, shape[1:], depth)})[None, :]",
                ]
            )()
        return self.make(kind, shape, depth)

    def _logical(self, kind: str, shape: Shape, depth: int) -> str:
        if self.chance(0.5):
            source = self.random.choice(INTEGERS + FLOATS) if self.chance(0.5) else "int32"
            sign = self.random.choice(COMPARISONS)
            x, y = self.make(source, shape, depth), self.operand(source, shape, depth)
            return f"({x} {sign} {y})"
        if self.chance(0.2):
            return f"(~({self.make(kind, shape, depth)}))"
        sign = self.random.choice(["&", "&", "|", "^"])
        return f"({self.make(kind, shape, depth)} {sign} {self.operand(kind, shape, depth)})"

    def _numeric(self, kind: str, shape: Shape, depth: int) -> str:
        if kind == "int1":
            return self._logical(kind, shape, depth)
        if self.chance(0.2):
            return self._unary(kind, shape, depth)
        x, y = self.make(kind, shape, depth), self.operand(kind, shape, depth)
        if kind in FLOATS:
            return self._float(kind, x, y)
        signs = ["+", "+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"]
        sign = self.random.choice(signs)
        if self.careful:
            return self._mild(kind, sign, x, y)
        if sign in ("//", "%"):
            y = self.random.choice([y, f"({y} | 1)", self.random.choice("2345678")])
        if sign in ("<<", ">>"):
            y = self.random.choice([f"({y} & 7)", self.random.choice("01234")])
        return f"(({x} {sign} {y}).to(tl.{kind}))"

    def _mild(self, kind: str, sign: str, x: str, y: str) -> str:
        """Integer arithmetic that seldom leaves its type."""
        if sign in ("+", "-", "*") and BITS[kind] < 32:
            sign = "^"
        if sign == "-" and kind in UNSIGNED:
            sign = "|"
        if sign == "*":
            y = self.random.choice("0123")
        if sign in ("//", "%"):
            y = self.random.choice(["3", "4", "7", f"(({y} & 7) + 1).to(tl.{kind})"])
        if sign in ("<<", ">>"):
            y = self.random.choice("012")
        return f"(({x} {sign} {y}).to(tl.{kind}))"

    def _float(self, kind: str, x: str, y: str) -> str:
        form = self.random.choice(
            ["({x} + {y})", "({x} - {y})", "({x} * {y})", "({x} / {y})", "tl.minimum({x}, {y})",
             "tl.maximum({x}, {y}, propagate_nan=tl.PropagateNan.ALL)", "tl.fma({x}, {y}, {x})"]
        )  # fmt: skip
        return f"({form.format(x=x, y=y)}).to(tl.{kind})"

    def _unary(self, kind: str, shape: Shape, depth: int) -> str:
        x = self.make(kind, shape, depth)
        if kind in ("float32", "float64") and self.chance(0.6):
            name = self.random.choice(["exp", "sqrt", "sin", "floor", "exp2", "log", "sigmoid"])
            return f"tl.{name}({x})"
        forms = ["(-({x}))", "tl.abs({x})"] if kind not in UNSIGNED else ["(~({x}))"]
        if kind in INTEGERS:
            forms.append("(~({x}))")
        return self.random.choice(forms).format(x=x)

    def _any(self, kind: str, shape: Shape, depth: int) -> str:
        pick = self.random.random()
        if pick < 0.35:
            condition = self.operand("int1", shape, depth)
            x, y = self.make(kind, shape, depth), self.operand(kind, shape, depth)
            return f"tl.where({condition}, {x}, {y})"
        if pick < 0.5 and kind in INTEGERS:
            name = self.random.choice(["minimum", "maximum"])
            x, y = self.make(kind, shape, depth), self.operand(kind, shape, depth)
            return f"tl.{name}({x}, {y})"
        if pick < 0.6 and kind in INTEGERS and not self.careful:
            other = self.random.choice([k for k in INTEGERS if BITS[k] == BITS[kind]])
            return f"({self.make(other, shape, depth)}).to(tl.{kind}, bitcast=True)"
        if pick < 0.66:
            return self._called(kind, shape, depth)
        if pick < 0.7 and kind in ("float16", "float32", "bfloat16"):
            small = self.random.choice(["float8e5", "float8e4nv"])
            return f"({self.make(kind, shape, depth)}).to(tl.{small}).to(tl.{kind})"
        source = self.kind()
        if not self._castable(source, kind) and (self.careful or self.chance(0.8)):
            source = self.random.choice(INTEGERS)
        return self._cast(self.make(source, shape, depth), kind)

    def _called(self, kind: str, shape: Shape, depth: int) -> str:
        """A function that is called in place, with branches of its own."""
        x, y = self.make(kind, shape, depth), self.make(kind, shape, depth)
        if self.chance(0.5):
            return f"guarded({x}, {y}, {self.make('int1', (), depth)})"
        turns = self.random.choice(["2", "p % 3", self.index(4, (), depth)])
        return f"turned({x}, {y}, {turns})"

    # Operations that move or combine elements.

    def _shaped(self, kind: str, shape: Shape, depth: int) -> str:
        writers: list[Callable[[str, Shape, int], str]] = [self._reduced]
        if shape:
            writers += [
                self._combined,
                self._scanned,
                self._moved,
                self._broadcast,
                self._gathered,
                self._sorted,
            ]
        return self.random.choice(writers)(kind, shape, depth)

    def _longer(self, shape: Shape) -> tuple[Shape, int] | None:
        """A shape with one more axis, and the axis."""
        found = [
            (s, axis)
            for s in self.shapes
            for axis in range(len(s))
            if s[:axis] + s[axis + 1 :] == shape
        ]
        return self.random.choice(found) if found else None

    def _reduced(self, kind: str, shape: Shape, depth: int) -> str:
        longer = self._longer(shape)
        if longer is None:
            return ""
        source, axis = longer
        x = self.make("int32" if kind == "int1" else kind, source, depth)
        names = ["sum", "max", "min"]
        if kind in INTEGERS:
            names += ["xor_sum", "argmax", "argmin"]
        if self.chance(0.3):
            text = f"tl.reduce({x}, {axis}, {self._combine(kind)})"
        else:
            text = f"tl.{self.random.choice(names)}({x}, axis={axis})"
        return self._cast(text, kind)

    def _combine(self, kind: str) -> str:
        if self.careful and kind not in FLOATS:
            return self.random.choice(["least", "second"])
        return self.random.choice(COMBINES)

    def _scanned(self, kind: str, shape: Shape, depth: int) -> str:
        if kind == "int1":
            return ""
        x, axis = self.make(kind, shape, depth), self.random.randrange(len(shape))
        back = self.random.choice(["True", "False"])
        if self.careful and kind not in FLOATS:
            return f"tl.associative_scan({x}, {axis}, {self._combine(kind)}, reverse={back})"
        form = self.random.choice(
            [f"tl.cumsum({x}, axis={axis}, reverse={back})", f"tl.cumprod({x}, axis={axis})",
             f"tl.associative_scan({x}, {axis}, {self._combine(kind)}, reverse={back})"]
        )  # fmt: skip
        return f"({form}).to(tl.{kind})"

    def _sorted(self, kind: str, shape: Shape, depth: int) -> str:
        x = self.make(kind, shape, depth)
        if kind == "int1" or self.chance(0.4):
            return f"tl.flip({x}, {self.random.randrange(len(shape))})"
        return f"tl.sort({x}, descending={self.random.choice(['True', 'False'])})"

    def _moved(self, kind: str, shape: Shape, depth: int) -> str:
        others = [s for s in self.shapes if s != shape and size(s) == size(shape)]
        pick = self.random.random()
        if others and pick < 0.4:
            return f"tl.reshape({self.make(kind, self.random.choice(others), depth)}, {shape})"
        if len(shape) == 2 and pick < 0.7:
            return f"tl.trans({self.make(kind, shape[::-1], depth)})"
        if shape[-1] > 1:
            half = (*shape[:-1], shape[-1] // 2)
            x, y = self.make(kind, half, depth), self.make(kind, half, depth)
            if shape[-1] == 2 and len(shape) > 1:
                return f"tl.join({self.make(kind, shape[:-1], depth)}, {self.make(kind, shape[:-1], depth)})"
            return f"tl.interleave({x}, {y})"
        return ""

    def _combined(self, kind: str, shape: Shape, depth: int) -> str:
        """Operations that few types and shapes have."""
        if len(shape) == 1 and kind == "int32" and self.chance(0.5):
            wide = self.random.choice([s for s in self.shapes if len(s) == 1])
            return f"tl.histogram({self.index(shape[0], wide, depth)}, {shape[0]})"
        if len(shape) == 1 and shape[0] > 1 and kind != "int1":
            half = (shape[0] // 2,)
            x, y = self.make(kind, half, depth), self.make(kind, half, depth)
            return f"tl.cat({x}, {y}, can_reorder=True)"
        if shape in ((16, 16), (32, 32)) and kind == "float32":
            source = self.random.choice(["float16", "float32"])
            x, y = self.make(source, shape, depth), self.make(source, shape, depth)
            more = ', input_precision="ieee"' if source == "float32" else ""
            return f"tl.dot({x}, {y}, {self.make(kind, shape, depth)}{more})"
        return ""

    def _broadcast(self, kind: str, shape: Shape, depth: int) -> str:
        if len(shape) == 2:
            if self.chance(0.5):
                x = f"({self.make(kind, shape[:1], depth)})[:, None]"
            else:
                x = f"({self.make(kind, shape[1:], depth)})[None, :]"
            return f"tl.broadcast_to({x}, {shape})"
        return f"tl.broadcast_to({self.make(kind, (), depth)}, {shape})"

    def _gathered(self, kind: str, shape: Shape, depth: int) -> str:
        axis = self.random.randrange(len(shape))
        x, index = self.make(kind, shape, depth), self.index(shape[axis], shape, depth)
        return f"tl.gather({x}, {index}, {axis})"

    def index(self, n: int, shape: Shape, depth: int) -> str:
        """An int32 expression that nearly always lies in [0, n)."""
        pick = self.random.random()
        if pick < 0.4:
            inner = self.make("int32", shape, min(depth, 1))
            return f"((({inner}).to(tl.uint32)) % {n}).to(tl.int32)"
        if pick < 0.8:
            return f"({self._small(shape)} % {n})"
        if pick < 0.97 or self.careful:
            return f"tl.minimum(tl.maximum({self.make('int32', shape, depth)}, 0), {n - 1})"
        return f"({self.make('int32', shape, depth)} % {n})"

    def _small(self, shape: Shape) -> str:
        steps = [str(self.random.randint(0, 5)) for _ in range(len(shape) + 2)]
        terms = [f"p * {steps[0]} + {steps[1]}"]
        for axis, n in enumerate(shape):
            where = ", ".join(":" if k == axis else "None" for k in range(len(shape)))
            terms.append(f"tl.arange(0, {n})[{where}] * {steps[axis + 2]}")
        text = "(" + " + ".join(terms) + ")"
        return f"tl.broadcast_to({text}, {list(shape)})" if shape else text
