"""Random straight-line IR of integers and pointers, with the elements of every value beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from blockstep.compiler.analysis import Hint
from blockstep.compiler.analysis.facts import step_of
from blockstep.interp.control import breaks_hint
from blockstep.ir import RETURN, Function, Operation, Value
from blockstep.language import types as ty
from blockstep.language.op import OPS

INTEGERS = [ty.int32] * 6 + [ty.int64] * 2 + [ty.uint32, ty.int8, ty.int16, ty.uint8, ty.uint64]
SHAPES = [(8,), (16,), (16,), (32,), (8, 8), (4, 16), (16, 1), (1, 32), (2, 4, 8), (1,)]
BINARY = ["add", "add", "add", "sub", "mul", "idiv", "irem", "irem", "and", "or", "xor", "shl",
          "lshr", "ashr", "minimum", "maximum"]  # fmt: skip
COMPARE = ["lt", "le", "gt", "ge", "eq", "ne"]
EXACT = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}
POINTERS = [ty.pointer_type(t) for t in (ty.float16, ty.float32, ty.int8, ty.int64)]


@dataclass(slots=True)
class Program:
    """A function that grows by one operation at a time."""

    random: Random
    function: Function = field(default_factory=lambda: Function("random", [], []))
    hints: dict[str, Hint] = field(default_factory=dict)
    data: dict[Value, Any] = field(default_factory=dict)
    wrapped: set[Value] = field(default_factory=set)
    undefined: set[Value] = field(default_factory=set)

    def grow(self, steps: int) -> None:
        """That many random operations, and the terminator."""
        for _ in range(3):
            self._parameter()
        moves = [self._offsets, self._offsets, self._offsets, self._source, self._shape, self._shape, self._binary, self._binary, self._binary,
                 self._binary, self._compare, self._compare, self._select, self._cast, self._pointer, self._box,
                 self._hint, self._parameter]  # fmt: skip
        for _ in range(steps):
            self.random.choice(moves)()
        self.emit("return", [], [])

    def emit(
        self, name: str, operands: Sequence[Value], types: Any = None, **attributes: Any
    ) -> Any:
        op = RETURN if name == "return" else OPS[name]
        if types is None:
            types = op.rule(*[v.type for v in operands], **attributes)
            types = list(types) if isinstance(types, tuple) else [types]
        made = self.function.body.append(Operation(op, operands, types, attributes))
        if op.meaning is not None:
            with np.errstate(all="ignore"):
                found = op.meaning(*[self.data[v] for v in operands], **attributes)
            found = found if isinstance(found, tuple) else (found,)
            for value, data in zip(made.results, found, strict=True):
                self.data[value] = np.asarray(data)
        self._marks(made)
        return made.results[0] if made.results else None

    def _made(self, name: str, operands: Sequence[Value], **attributes: Any) -> Value:
        value = self.emit(name, operands, **attributes)
        assert isinstance(value, Value)
        return value

    def _marks(self, made: Operation) -> None:
        name, operands = made.name, made.operands
        gone = any(v in self.undefined for v in operands)
        wraps = any(v in self.wrapped for v in operands)
        if name in ("idiv", "irem"):
            divisor = self.data[operands[1]]
            gone |= bool((divisor == 0).any())
            gone |= wraps and not made.results[0].type.scalar.is_int_unsigned()
        elif name in EXACT and not wraps and not made.results[0].type.scalar.is_int1():
            exact = EXACT[name](*[self.data[v].astype(object) for v in operands])
            wraps = bool((exact != self.data[made.results[0]].astype(object)).any())
        elif name in ("shl", "cast", "bitcast", "iabs", "box_pointers") and made.results:
            wraps |= name == "shl" and bool((self.data[made.results[0]] < 0).any())
            wraps |= name == "shl" and self._overflows(made)
        for value in made.results:
            if gone:
                self.undefined.add(value)
            if wraps:
                self.wrapped.add(value)

    def _overflows(self, made: Operation) -> bool:
        x, count = (self.data[v].astype(object) for v in made.operands)
        bits = made.results[0].type.scalar.primitive_bitwidth
        exact = x * 2 ** np.where((count >= 0) & (count < bits), count, 0)
        return bool((exact != self.data[made.results[0]].astype(object)).any())

    def _number(self, kind: Any) -> Any:
        random = self.random
        if random.random() < 0.7:
            return random.choice([1, 2, 3, 4, 7, 8, 12, 15, 16, 31, 32, 48, 64])
        number = random.choice([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 48, 63, 64, 100, -1, -2, -4,
                                -16, -64, random.randint(-200, 200), 1 << random.randint(0, 62),
                                kind.lowest, kind.highest, kind.highest - 15])  # fmt: skip
        low, bits = number & ((1 << kind.primitive_bitwidth) - 1), kind.primitive_bitwidth
        return low - (1 << bits) if low > kind.highest else low

    def _parameter(self) -> None:
        random, name = self.random, f"p{len(self.hints)}"
        divisor = random.choice([1, 1, 4, 16, 16, 64])
        if random.random() < 0.3:
            kind: Any = random.choice(POINTERS)
            number = divisor * random.randint(1, 1 << 40)
        else:
            kind = random.choice([ty.int32, ty.int32, ty.int64, ty.uint32])
            top = random.choice([3, 100, 1 << 25])
            number = divisor * random.randint(0 if kind.is_int_unsigned() else -top, top)
        value = self.function.body.add_argument(kind, name)
        self.data[value] = np.asarray(kind.numpy.type(number))
        sign = number >= 0 and random.random() < 0.8
        self.hints[name] = Hint(divisor, sign)

    def _source(self) -> None:
        random = self.random
        if random.random() < 0.4:
            start = random.choice([0, 0, 0, 1, 4, 8, 16, 32])
            self.emit("arange", [], start=start, end=start + random.choice([8, 16, 32, 64]))
        elif random.random() < 0.4:
            made = self.emit("program_id", [], axis=0)
            self.data[made] = np.int32(random.choice([0, 1, 2, 3, 17, 1000]))
        else:
            kind = random.choice(INTEGERS)
            shape = random.choice([(), random.choice(SHAPES)])
            self._constant(ty.blocked(kind, shape))

    def _offsets(self) -> None:
        """`start + arange`, as kernels write it."""
        run = self.emit("arange", [], start=0, end=self.random.choice([8, 16, 16, 32]))
        start = self._any(lambda k: k is ty.int32)
        if start is None or self.random.random() < 0.3:
            start = self._constant(ty.int32)
        self.emit("add", [self.emit("splat", [start], shape=run.type.shape), run])

    def _constant(self, kind: Any) -> Value:
        number = self._number(kind.scalar)
        return self._made("constant", [], type=kind, value=number)

    def _any(self, wanted: Any = lambda kind: True) -> Value | None:
        found = [v for v in self.data if wanted(v.type)]
        if not found:
            return None
        return found[-1 - min(int(self.random.expovariate(0.2)), len(found) - 1)]

    def _integer(self) -> Value | None:
        return self._any(lambda k: k.scalar.is_int() and not k.scalar.is_int1())

    def _beside(self, x: Value, scalar: Any = None) -> Value:
        """A value of the same shape, and of the same or of another type."""
        kind = ty.blocked(scalar or x.type.scalar, x.type.shape)
        pick = self.random.random()
        if pick < 0.15 and x.type.scalar is kind.scalar and kind.scalar.is_int():
            edge = int(self.random.choice(self.data[x].reshape(-1)))  # where comparisons change
            return self._made("constant", [], type=kind, value=edge)
        if pick < 0.4:
            return self._constant(kind)
        if pick < 0.6 and kind.shape:
            one = self._any(lambda k: k is kind.scalar)
            if one is not None:
                return self._made("splat", [one], shape=kind.shape)
        known = self._any(lambda k: k is kind)
        return known if known is not None else self._constant(kind)

    def _binary(self) -> None:
        x = self._integer()
        if x is not None:
            pair = [x, self._beside(x)]
            if self.random.random() < 0.2:
                pair.reverse()
            self.emit(self.random.choice(BINARY), pair)

    def _compare(self) -> None:
        x = self._any()
        if x is not None and not x.type.scalar.is_ptr():
            pair = [x, self._beside(x)] if not x.type.scalar.is_int1() else [x, x]
            name = self.random.choice(COMPARE if not x.type.scalar.is_int1() else ["and", "xor"])
            self.emit(name, pair)

    def _select(self) -> None:
        test = self._any(lambda k: k.scalar.is_int1())
        if test is None:
            return
        x = self._any(lambda k: k.shape == test.type.shape and k.scalar.is_int())
        if x is not None and not x.type.scalar.is_int1():
            self.emit("select", [test, x, self._beside(x)])
            if self.random.random() < 0.3:
                self.emit("clamp", [x, self._beside(x), self._beside(x)])

    def _cast(self) -> None:
        x = self._any(lambda k: k.scalar.is_int())
        if x is not None:
            target = self.random.choice([*INTEGERS, ty.int1])
            source = x.type.scalar
            if target is not source:
                self.emit("cast", [x], source=source, target=target, rounding=None)

    def _pointer(self) -> None:
        x = self._any(lambda k: k.scalar.is_ptr())
        if x is None:
            return
        if self.random.random() < 0.15:
            target = self.random.choice([ty.int64, *POINTERS])
            name = "bitcast" if target.is_ptr() else "pointer_to_int"
            extra = {"source": x.type.scalar} if target.is_ptr() else {}
            self.emit(name, [x], target=target, **extra)
            return
        offset = self._any(lambda k: k.scalar in (ty.int32, ty.int64, ty.uint32) and k.shape)
        if offset is None:
            return
        if not x.type.shape:
            x = self.emit("splat", [x], shape=offset.type.shape)
        if x.type.shape == offset.type.shape:
            self.emit("addptr", [x, offset], itemsize=step_of(x.type))

    def _box(self) -> None:
        base = self._any(lambda k: k in POINTERS)
        if base is None:
            return
        shape = self.random.choice([(16,), (8, 8), (4, 16)])
        scalars: list[Any] = [self._any(lambda k: k in (ty.int32, ty.int64)) for _ in shape * 2]
        if None in scalars:
            return
        if self.random.random() < 0.6:
            scalars[-1] = self.emit("constant", [], type=ty.int64, value=1)
        if self.random.random() < 0.5:
            self.emit("box_pointers", [base, *scalars], shape=shape, itemsize=step_of(base.type))
        else:
            self.emit("box_mask", scalars, axes=tuple(range(len(shape))), shape=shape)

    def _hint(self) -> None:
        x = self._any(lambda k: not k.scalar.is_int1())
        if x is None or x.type.scalar.is_floating():
            return
        rank = max(1, len(x.type.shape))
        name = self.random.choice(["multiple_of", "max_contiguous", "max_constancy"])
        claimed = tuple(self.random.choice([1, 4, 8, 16]) for _ in range(rank))
        kind: Any = x.type.scalar
        size = kind.element_ty.itemsize if kind.is_ptr() else 1
        if not breaks_hint(self.data[x], name, claimed, size, 0):
            made = self.emit("hint", [x], hint=name, values=claimed)
            self.data[made] = self.data[x]

    def _shape(self) -> None:
        x = self._any()
        if x is None:
            return
        shape, random = x.type.shape, self.random
        if not shape:
            self.emit("splat", [x], shape=random.choice(SHAPES))
            return
        rank, axis = len(shape), random.randrange(len(shape))
        name = random.choice(["expand_dims", "broadcast", "reshape", "permute", "flip", "join",
                              "split", "cat", "element", "reduce", "gather"])  # fmt: skip
        if name == "expand_dims" and rank < 3:
            self.emit(name, [x], axis=random.randint(0, rank), rank=rank)
        elif name == "broadcast" and 1 in shape:
            self.emit(name, [x], shape=tuple(8 if n == 1 else n for n in shape))
        elif name == "reshape":
            self.emit(name, [x], shape=self._factors(math.prod(shape)), rank=rank)
        elif name == "permute":
            self.emit(name, [x], dims=tuple(random.sample(range(rank), rank)))
        elif name == "flip":
            self.emit(name, [x], axis=axis - rank)
        elif name == "join" and math.prod(shape) < 256:
            self.emit(name, [x, self._same(x)])
        elif name == "split" and shape[-1] == 2:
            self.emit(name, [x])
        elif name == "cat" and math.prod(shape) < 256:
            self.emit(name, [x, self._same(x)], axis=axis - rank)
        elif name == "element":
            self.emit(name, [x], index=tuple(random.randrange(n) for n in shape))
        elif name == "gather":
            index = self._any(lambda k: k.scalar is ty.int32 and k.shape == shape)
            if index is not None:
                self.emit(name, [x, index], axis=axis - rank)

    def _same(self, x: Value) -> Value:
        known = self._any(lambda k: k is x.type)
        assert known is not None
        return known

    def _factors(self, numel: int) -> tuple[int, ...]:
        found: list[int] = []
        while numel > 1 and len(found) < 3:
            n = self.random.choice([2, 4, 8, 16, numel])
            if n <= numel:
                found.append(n)
                numel //= n
        found.append(numel)
        self.random.shuffle(found)
        return tuple(found)
