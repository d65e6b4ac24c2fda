"""Random kernels: statements, control flow, memory and arguments, as source text.

Each program instance has an id `p`; an output belongs to program instances in equal rows. Most
cases are clean; `_Hazards` decides which rules a case may break.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from tests.fuzz.case import Case
from tests.fuzz.expressions import BITS, FLOATS, INTEGERS, Expressions, Shape, Variable, size

NUMPY = {"int1": "bool", "bfloat16": "ml_dtypes.bfloat16"}
ATOMIC_KINDS = ("int32", "int32", "int64", "uint32", "float32", "float16", "float64")


@dataclass(slots=True)
class Memory:
    """An array argument."""

    name: str
    kind: str
    length: int  # elements that may be used
    role: str  # "input", "output", "both", "atomic"
    row: int = 1  # elements of one program instance
    stride: int = 1  # elements; the kernel gets it as an argument where it is not 1

    def at(self, index: str) -> str:
        """A pointer to an element or to a block of elements."""
        if self.stride == 1:
            return f"{self.name} + {index}"
        return f"{self.name} + ({index}) * {self.name}_stride"

    @property
    def parameters(self) -> list[str]:
        return [self.name] if self.stride == 1 else [self.name, f"{self.name}_stride"]


@dataclass(slots=True)
class Generator:
    """Writes one case."""

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

    def case(self) -> Case:
        """A kernel, its grid and its arguments."""
        random = self.random
        self.careful = random.random() < 0.75
        self.grid = self._grid()
        self.write = Expressions(random, self._shapes(), self.careful)
        self._preamble()
        for _ in range(random.randint(1, 3)):
            self._load()
        for _ in range(random.randint(2, 9)):
            self.statement(2)
        for _ in range(random.randint(1, 2)):
            self._store()
        batch = random.choice([None, 1, 2, 3, 7])
        return Case(self._kernel(), self.grid, tuple(self._arguments()), batch)

    @property
    def programs(self) -> int:
        return size(self.grid)

    def _grid(self) -> tuple[int, ...]:
        pick = self.random.random()
        if pick < 0.7:
            return (self.random.randint(1, 12),)
        if pick < 0.9:
            return (self.random.randint(1, 4), self.random.randint(1, 4))
        return (self.random.randint(1, 3), self.random.randint(1, 3), self.random.randint(1, 2))

    def _shapes(self) -> list[Shape]:
        random = self.random
        if random.random() < 0.04:
            return [(), (16,), (16, 16)]
        if random.random() < 0.55:
            return [(), (random.choice([1, 2, 4, 8, 16, 32]),)]
        m, n = random.choice([1, 2, 4, 8]), random.choice([1, 2, 4, 8])
        return [(), (m,), (n,), (m, n), (n, m)] + ([(m, 2, n)] if random.random() < 0.2 else [])

    # Text.

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

    def _preamble(self) -> None:
        terms = "p = tl.program_id(0)"
        if len(self.grid) > 1:
            terms += f" + tl.program_id(1) * {self.grid[0]}"
        if len(self.grid) > 2:
            terms += f" + tl.program_id(2) * {self.grid[0] * self.grid[1]}"
        self.say(terms)
        fixed = replace(Variable("p", "int32", ()), settable=False)
        self.write.scope += [fixed, Variable("n", "int32", (), False)]
        for number, shape in enumerate(self.write.shapes[1:]):
            name = f"at{number}"
            self.say(f"{name} = {_flat(shape)}")
            self.write.scope.append(Variable(name, "int32", shape, False))

    def offsets(self, shape: Shape) -> str:
        """The positions of a block's elements in its own memory."""
        return "0" if not shape else f"at{self.write.shapes.index(shape) - 1}"

    # Statements.

    def statement(self, depth: int) -> None:
        """Any statement."""
        simple: list[Callable[[], None]] = [
            self._assign, self._assign, self._set, self._set, self._load, self._load, self._store,
        ]  # fmt: skip
        if self.random.random() < 0.06:
            simple = [self._barrier, self._promise, self._split, self._hint]
        if self.random.random() < 0.1:
            simple = [self._walk, self._walk, self._boxes, self._either]
        if not self.atomics and not self.loops and self.random.random() < 0.08:
            simple = [self._atomic]
        nested = [self._if, self._if, self._for, self._while]
        if depth > 0 and self.random.random() < 0.3:
            pick = self.random.choice(nested)
            pick(depth - 1)
        elif self.indent == 1 and self.random.random() < 0.04:
            self.say(f"if {self.write.make('int1', (), 2)}:")
            self.say("    return")
        else:
            self.random.choice(simple)()

    def body(self, depth: int) -> None:
        """An indented block; what it defines is not known after it."""
        known = list(self.write.scope)
        self.indent += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)
        self.indent -= 1
        self.write.scope[:] = known

    def _assign(self) -> None:
        kind, shape = self.write.kind(), self.write.shape()
        self.define(kind, shape, self.write.make(kind, shape))

    def _set(self) -> None:
        found = [v for v in self.write.scope if v.settable]
        if found:
            v = self.random.choice(found)
            self.say(f"{v.name} = {self.write.make(v.kind, v.shape)}")

    def _if(self, depth: int) -> None:
        self.say(f"if {self._condition()}:")
        self.body(depth)
        if self.random.random() < 0.5:
            self.say("else:")
            self.body(depth)

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

    def _for(self, depth: int) -> None:
        index = self.fresh("i")
        low = self.random.choice(["0", "0", "1", "p % 2"])
        step = self.random.choice(["", "", ", 2", ", 3"])
        kind = self.random.choice(["range"] * 5 + ["tl.range"])
        bounds = f"{low}, {self._turns()}{step}"
        if self.random.random() < 0.1:
            kind, bounds = "tl.static_range", str(self.random.randint(1, 3))
        elif self.random.random() < 0.1:
            bounds = f"{self._turns()}, -1, -1"
        self.say(f"for {index} in {kind}({bounds}):")
        before = list(self.write.scope)
        if kind != "tl.static_range":
            self.write.scope.append(Variable(index, "int32", (), False))
        self.loops += 1
        self.body(depth)
        self.loops -= 1
        self.write.scope[:] = before

    def _while(self, depth: int) -> None:
        counter = self.fresh("c")
        self.say(f"{counter} = tl.full([], 0, tl.int32)")
        before = list(self.write.scope)
        self.write.scope.append(Variable(counter, "int32", (), False))
        also = f" & {self.write.make('int1', (), 2)}" if self.random.random() < 0.5 else ""
        self.say(f"while ({counter} < {self._turns()}){also}:")
        self.loops += 1
        self.body(depth)
        self.loops -= 1
        self.say(f"    {counter} += 1")
        self.write.scope[:] = before

    def _barrier(self) -> None:
        self.say("tl.debug_barrier()")

    def _promise(self) -> None:
        condition = (
            "p >= 0"
            if self.careful or self.random.random() < 0.7
            else self.write.make("int1", (), 2)
        )
        name = "tl.assume" if self.random.random() < 0.5 else "tl.device_assert"
        self.say(f"{name}({condition})")

    def _split(self) -> None:
        kind, shape = self.write.kind(), self.write.shape()
        one, two = self.fresh("v"), self.fresh("v")
        x, y = self.write.make(kind, shape, 2), self.write.make(kind, shape, 2)
        self.say(f"{one}, {two} = tl.split(tl.join({x}, {y}))")
        self.write.scope += [Variable(one, kind, shape), Variable(two, kind, shape)]

    def _hint(self) -> None:
        n = self.random.choice([2, 4])
        known = f"(p * {n}).to(tl.int32)" if self.careful else self.write.leaf("int32", ())
        self.define("int32", (), f"tl.multiple_of({known}, {n})")

    # Memory.

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
        kind, shape = self.random.choice(ATOMIC_KINDS), self.write.shape()
        made = Memory(self.fresh("a"), kind, self.random.choice([1, 3, 8, 40]), "atomic")
        self.memories.append(made)
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

    # The kernel and its arguments.

    def _kernel(self) -> str:
        parameters = [q for m in self.memories for q in m.parameters] + ["n"]
        return f"@triton.jit\ndef kernel({', '.join(parameters)}):\n" + "\n".join(self.lines) + "\n"

    def _arguments(self) -> list[str]:
        lines, passed = [], []
        for m in self.memories:
            short = m.length - (1 if self.random.random() < 0.03 and not self.careful else 0)
            lines.append(f"{m.name} = {self._array(m, short)}")
            passed.append(m.name)
            if m.stride != 1:
                lines.append(f"{m.name} = {_view(m, short)}")
                passed.append(str(m.stride))
        most = max([m.length for m in self.memories] + [1])
        n = self.random.choice([most, most - 3, most // 2, 2, 5])
        passed.append(str(max(n, 2)))  # 1 would be a constant of the kernel
        return [*lines, f"return [{', '.join(passed)}]"]

    def _array(self, m: Memory, length: int) -> str:
        dtype = NUMPY.get(m.kind, f"np.{m.kind}")
        length = max(length, 1) * max(abs(m.stride), 1)
        if m.role == "permutation":
            return f"random.permutation({length}).astype(np.int32)"
        if m.role == "places":
            return f"random.integers(0, {m.length}, {length}).astype(np.int32)"
        if m.role == "output":
            if self.random.random() < 0.15 and m.stride == 1:
                return f"Empty(({length},), {dtype})"
            return f"np.zeros({length}, {dtype})"
        if m.kind == "int1":
            return f"random.integers(0, 2, {length}).astype(bool)"
        if m.kind in FLOATS:
            return self._floats(length, dtype)
        if self.careful or self.random.random() < 0.7:
            low = 0 if m.kind[0] == "u" or self.random.random() < 0.5 else -9
            return f"random.integers({low}, {self.random.choice([2, 5, 30])}, {length}).astype({dtype})"
        return f"np.frombuffer(random.bytes({length} * np.dtype({dtype}).itemsize), {dtype}).copy()"

    def _floats(self, length: int, dtype: str) -> str:
        if self.random.random() < 0.7:
            return f"random.normal(size={length}).astype({dtype})"
        edges = "[0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0]"
        return f"random.choice({edges}, {length}).astype({dtype})"


def _view(m: Memory, length: int) -> str:
    if m.stride == 0:
        return f"np.broadcast_to({m.name}[:1], ({max(length, 1)},))"
    return f"{m.name}[::{m.stride}]"


def _flat(shape: Shape) -> str:
    terms = []
    for axis, n in enumerate(shape):
        where = ", ".join(":" if k == axis else "None" for k in range(len(shape)))
        cut = f"[{where}]" if len(shape) > 1 else ""
        terms.append(f"tl.arange(0, {n}){cut} * {size(shape[axis + 1 :])}")
    return " + ".join(terms)


def generate(random: Random) -> Case:
    """A case."""
    return Generator(random).case()
