"""What a fuzzed kernel does with memory: loads, stores, atomics, pointers that move."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.fuzz.arguments import Memory
from tests.fuzz.expressions import BITS, FLOATS, INTEGERS, Expressions, Shape, Variable, size

ATOMIC_KINDS = ("int32", "int32", "int64", "uint32", "float32", "float16", "float64")


@dataclass(slots=True)
class Accesses:
    """Writes lines of a kernel that touch memory."""

    random: Random
    lines: list[str] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    indent: int = 1
    loops: int = 0
    names: int = 0
    atomics: int = 0
    careful: bool = True  # breaks no rule on purpose
    grid: tuple[int, ...] = (1,)
    write: Expressions = field(init=False)

    @property
    def programs(self) -> int:
        return size(self.grid)

    def say(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def define(self, kind: str, shape: Shape, text: str) -> Variable:
        """A new variable."""
        made = Variable(self.fresh("v"), kind, shape)
        self.say(f"{made.name} = {text}")
        self.write.scope.append(made)
        return made

    def offsets(self, shape: Shape) -> str:
        """The positions of a block's elements in its own memory."""
        return "0" if not shape else f"at{self.write.shapes.index(shape) - 1}"

    def _assign(self) -> None:
        kind, shape = self.write.kind(), self.write.shape()
        self.define(kind, shape, self.write.make(kind, shape))

    def _condition(self) -> str:
        if self.random.random() < 0.4:
            return f"p % {self.random.randint(2, 4)} == {self.random.randint(0, 2)}"
        return self.write.make("int1", (), 2)

    def _turns(self) -> str:
        """A small number of turns, often one that differs between program instances."""
        pick = self.random.random()
        if pick < 0.3:
            return str(self.random.randint(0, 4))
        if pick < 0.6:
            return f"p % {self.random.randint(2, 5)}"
        return f"tl.minimum(tl.maximum({self.write.make('int32', (), 2)}, 0), 4)"

    def _walk(self) -> None:
        """A block of pointers that a loop carries along."""
        kind, shape = self.write.kind(), self.write.shape()
        row = size(shape)
        stores = self.random.random() < 0.3
        made = Memory(self.fresh("o" if stores else "x"), kind, 5 * row * self.programs,
                      "output" if stores else "input", row)  # fmt: skip
        self.memories.append(made)
        pointer, index = self.fresh("q"), self.fresh("i")
        total = self.define(kind, shape, self.write.leaf(kind, shape))
        self.say(f"{pointer} = {made.at(f'p * {row} + {self.offsets(shape)}')}")
        mask = self._mask(shape) if self.random.random() < 0.3 else ""
        masked = f", mask={mask}" if mask else ""
        self.say(f"for {index} in range({self._turns()}):")
        if stores:
            self.say(f"    tl.store({pointer}, {total.name}{masked})")
        else:
            if mask and self.careful:
                masked += f", other={self.write.literal(kind)}"
            sign = "^" if kind == "int1" else "-" if kind in FLOATS else "|"
            text = f"({total.name} {sign} tl.load({pointer}{masked})).to(tl.{kind})"
            self.say(f"    {total.name} = {text}")
        self.say(f"    {pointer} += {row * self.programs}")

    def _boxes(self) -> None:
        """A block pointer, or a descriptor, over a matrix whose rows belong to programs."""
        shapes = [s for s in self.write.shapes if len(s) == 2]
        kind = self.random.choice(["int32", "float32", "float16", "int8"])
        if not shapes:
            return self._assign()
        m, n = self.random.choice(shapes)
        stores = self.random.random() < 0.4
        role = "output" if stores else "input"
        made = Memory(
            self.fresh(role[0].replace("i", "x")), kind, self.programs * m * n, role, m * n
        )
        self.memories.append(made)
        rows = self.programs * m - (1 if self.random.random() < 0.3 else 0)
        box, value = self.fresh("q"), self.write.make(kind, (m, n), 2)
        if n * BITS[kind] % 128 == 0 and self.random.random() < 0.6:
            self.say(
                f"{box} = tl.make_tensor_descriptor({made.name}, [{rows}, {n}], [{n}, 1], [{m}, {n}])"
            )
            if stores:
                self.say(f"{box}.store([p * {m}, 0], {value})")
            else:
                self.define(kind, (m, n), f"{box}.load([p * {m}, 0])")
            return
        self.say(
            f"{box} = tl.make_block_ptr({made.name}, shape=({rows}, {n}), strides=({n}, 1), "
            f"offsets=(p * {m}, 0), block_shape=({m}, {n}), order=(1, 0))"
        )
        check = "boundary_check=(0, 1)"
        if stores:
            self.say(f"tl.store({box}, {value}, {check})")
        else:
            self.define(kind, (m, n), f'tl.load({box}, {check}, padding_option="zero")')

    def _either(self) -> None:
        """Pointers that a branch chooses, into one memory or two."""
        kind, shape = self.write.kind(), self.write.shape()
        row = size(shape)
        one = self.memory(kind, row, ("input",))
        two = one if self.random.random() < 0.7 else self.memory(kind, row, ("input",))
        pointer = self.fresh("q")
        self.say(f"if {self._condition()}:")
        self.say(f"    {pointer} = {one.at(self._own(shape))}")
        self.say("else:")
        self.say(f"    {pointer} = {two.at(f'{self.write.index(row, shape, 1)}')}")
        self.define(kind, shape, f"tl.load({pointer})")

    def memory(self, kind: str, row: int, roles: tuple[str, ...]) -> Memory:
        """An argument to use, often one that is there already."""
        length = self.programs * row
        found = [
            m for m in self.memories
            if m.kind == kind and m.role in roles and m.length >= length
            and (m.row == row or not self.careful)
        ]  # fmt: skip
        if found and self.random.random() < 0.6:
            return self.random.choice(found)
        stride = self.random.choice([1] * 8 + [2, -1, -3] + ([0] if roles[0] == "input" else []))
        letter = {"input": "x", "output": "o", "both": "b", "atomic": "a"}[roles[0]]
        made = Memory(self.fresh(letter), kind, length, roles[0], row, stride)
        self.memories.append(made)
        return made

    def _load(self) -> None:
        kind, shape = self.write.kind(), self.write.shape()
        roles = ("both", "output") if self.random.random() < 0.15 else ("input", "both")
        if self.careful:
            roles = (roles[0], "input")
        memory = self.memory(kind, size(shape), roles)
        self.define(kind, shape, self._loaded(memory, shape, kind))

    def _loaded(self, memory: Memory, shape: Shape, kind: str) -> str:
        if memory.role == "input" and self.random.random() < 0.3:
            index = self.write.index(memory.length, shape, 2)
        else:
            index = self._own(shape, any=True)
        mask = self._mask(shape)
        if not mask:
            return f"tl.load({memory.at(index)})"
        pick = self.random.random()
        other = ""
        if pick < 0.35:
            other = f", other={self.write.literal(kind)}"
        elif pick < (0.95 if self.careful else 0.6):
            other = f", other={self.write.make(kind, shape, 1)}"
        return f"tl.load({memory.at(index)}, mask={mask}{other})"

    def _own(self, shape: Shape, any: bool = False) -> str:
        """Elements of this program instance's own row."""
        row, at = size(shape), self.offsets(shape)
        pick = self.random.random() * (0.93 if self.careful and not any else 1)
        if pick < 0.85 or not shape:
            return f"p * {row} + {at}"
        if pick < 0.93:
            return f"p * {row} + ({row - 1} - {at})"
        if pick < 0.96:
            return f"(p * {row} + {at} // 2)"
        return f"p * {max(row - 1, 1)} + {at}"  # rows that overlap

    def _mask(self, shape: Shape) -> str:
        pick = self.random.random()
        if pick < 0.4:
            return ""
        if pick < 0.55:
            return f"{self._own(shape)} < n"
        if pick < 0.7:
            return f"{self.offsets(shape)} < {self.random.choice(['n', '3', 'p', 'p % 3 + 1'])}"
        known = [v.name for v in self.write.scope if (v.kind, v.shape) == ("int1", shape)]
        if known and pick < 0.85:
            return self.random.choice(known)
        made = self.define("int1", shape, self.write.make("int1", shape, 2))
        return made.name

    def _store(self) -> None:
        kind, shape = self.write.kind(), self.write.shape()
        length = self.programs * size(shape)
        fresh = self.random.random() < 0.8
        if fresh:
            row = size(shape)
            self.memories.append(made := Memory(self.fresh("o"), kind, length, "output", row))
        else:
            roles = ("both",) if self.careful else ("both", "output")
            made = self.memory(kind, size(shape), roles)
        value, mask = self.write.make(kind, shape), self._mask(shape)
        index = self._own(shape)
        if self.random.random() < 0.1:
            table = self._table(length)
            index = f"tl.load({table.at(f'p * {size(shape)} + {self.offsets(shape)}')})"
        if self.loops and fresh and self.random.random() < 0.5:
            value = self.write.leaf(kind, shape)
        masked = f", mask={mask}" if mask else ""
        self.say(f"tl.store({made.at(index)}, {value}{masked})")

    def _table(self, length: int) -> Memory:
        """A permutation of the elements of a memory."""
        role = "permutation" if self.careful or self.random.random() < 0.9 else "places"
        made = Memory(self.fresh("t"), "int32", length, role)
        self.memories.append(made)
        return made

    def _atomic(self) -> None:
        self.atomics += 1
        known = [m for m in self.memories if m.role == "atomic"]
        if known and self.random.random() < 0.5:
            made = self.random.choice(known)
        else:
            length = self.random.choice([1, 3, 8, 40])
            made = Memory(self.fresh("a"), self.random.choice(ATOMIC_KINDS), length, "atomic")
            self.memories.append(made)
        kind, shape = made.kind, self.write.shape()
        names = ["add", "add", "max", "min", "xchg"]
        if kind in ("float16", "float64"):
            names = ["add"]
        if kind in INTEGERS:
            names += ["and", "or", "xor"]
        value, mask = self.write.make(kind, shape, 2), self._mask(shape)
        masked = f", mask={mask}" if mask else ""
        index = self.write.index(made.length, shape, 1)
        call = f"tl.atomic_{self.random.choice(names)}({made.at(index)}, {value}{masked})"
        if self.random.random() < 0.4:
            self.define(kind, shape, call)
        else:
            self.say(call)
