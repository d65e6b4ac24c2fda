"""Random kernels: statements, control flow, memory and arguments, as source text.

Each program instance has an id `p`; an output belongs to program instances in equal rows. Most
cases are careful: they break no rule on purpose. The others may break any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.fuzz.accesses import Accesses
from tests.fuzz.arguments import arguments
from tests.fuzz.case import Case
from tests.fuzz.expressions import Expressions, Shape, Variable, size

MOST_ATOMICS = 3  # of a kernel


@dataclass(slots=True)
class Generator(Accesses):
    """Writes one case. `large`: blocks of many elements, which several warps share."""

    large: bool = False

    def case(self) -> Case:
        """A kernel, its grid and its arguments."""
        random = self.random
        self.grid = self._grid()
        # In a short case one fault is alone: nothing else sends it to the step machine.
        short = random.random() < 0.3
        self.careful = random.random() < (0.2 if short else 0.75)
        self.write = Expressions(random, self._shapes(), self.careful)
        self._preamble()
        for _ in range(1 if short else random.randint(1, 3)):
            self._load()
        for _ in range(random.randint(0, 3) if short else random.randint(2, 9)):
            self.statement(2)
        for _ in range(1 if short else random.randint(1, 2)):
            self._store()
        batch = random.choice([None, 1, 2, 3, 7])
        made = arguments(random, self.careful, self.memories)
        seed = random.choice([0, 0, 0, 0, 5])
        return Case(self._kernel(), self.grid, tuple(made), batch, seed)

    def _grid(self) -> tuple[int, ...]:
        pick = self.random.random()
        if pick < 0.7:
            return (self.random.randint(1, 12),)
        if pick < 0.9:
            return (self.random.randint(1, 4), self.random.randint(1, 4))
        return (self.random.randint(1, 3), self.random.randint(1, 3), self.random.randint(1, 2))

    def _shapes(self) -> list[Shape]:
        random = self.random
        if self.large:
            return self._large_shapes()
        if random.random() < 0.04:
            return [(), (16,), (16, 16)]
        if random.random() < 0.55:
            return [(), (random.choice([1, 2, 4, 8, 16, 32]),)]
        m, n = random.choice([1, 2, 4, 8]), random.choice([1, 2, 4, 8])
        return [(), (m,), (n,), (m, n), (n, m)] + ([(m, 2, n)] if random.random() < 0.2 else [])

    def _large_shapes(self) -> list[Shape]:
        random = self.random
        pick = random.random()
        if pick < 0.3:
            return [(), (n := random.choice([16, 32]),), (n, n)]
        if pick < 0.6:
            return [(), (random.choice([64, 128, 256, 512]),)]
        m, n = random.choice([2, 16, 32, 64]), random.choice([4, 16, 32])
        return [(), (m,), (n,), (m, n), (n, m)]

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
        if self.atomics < MOST_ATOMICS and self.random.random() < (0.2 if self.atomics else 0.08):
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

    def _kernel(self) -> str:
        parameters = [q for m in self.memories for q in m.parameters] + ["n"]
        return f"@triton.jit\ndef kernel({', '.join(parameters)}):\n" + "\n".join(self.lines) + "\n"


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
