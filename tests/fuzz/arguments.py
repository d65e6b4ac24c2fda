"""The array arguments of a fuzzed kernel: what it calls them, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz.expressions import FLOATS

NUMPY = {"int1": "bool", "bfloat16": "ml_dtypes.bfloat16"}


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


def arguments(random: Random, careful: bool, memories: list[Memory]) -> list[str]:
    """The lines of a function that returns the arguments in order, `n` last."""
    lines, passed = [], []
    for m in memories:
        short = m.length - (1 if random.random() < 0.03 and not careful else 0)
        lines.append(f"{m.name} = {_array(random, careful, m, short)}")
        passed.append(m.name)
        if m.stride != 1:
            lines.append(f"{m.name} = {_view(m, short)}")
            passed.append(str(m.stride))
    most = max([m.length for m in memories] + [1])
    n = random.choice([most, most - 3, most // 2, 2, 5])
    passed.append(str(max(n, 2)))  # 1 would be a constant of the kernel
    return [*lines, f"return [{', '.join(passed)}]"]


def _array(random: Random, careful: bool, m: Memory, length: int) -> str:
    dtype = NUMPY.get(m.kind, f"np.{m.kind}")
    length = max(length, 1) * max(abs(m.stride), 1)
    if m.role == "permutation":
        return f"random.permutation({length}).astype(np.int32)"
    if m.role == "places":
        return f"random.integers(0, {m.length}, {length}).astype(np.int32)"
    if m.role == "output":
        if random.random() < 0.15 and m.stride == 1:
            return f"Empty(({length},), {dtype})"
        return f"np.zeros({length}, {dtype})"
    if m.kind == "int1":
        return f"random.integers(0, 2, {length}).astype(bool)"
    if m.kind in FLOATS:
        return _floats(random, length, dtype)
    if careful or random.random() < 0.7:
        low = 0 if m.kind[0] == "u" or random.random() < 0.5 else -9
        return f"random.integers({low}, {random.choice([2, 5, 30])}, {length}).astype({dtype})"
    return f"np.frombuffer(random.bytes({length} * np.dtype({dtype}).itemsize), {dtype}).copy()"


def _floats(random: Random, length: int, dtype: str) -> str:
    if random.random() < 0.7:
        return f"random.normal(size={length}).astype({dtype})"
    edges = "[0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0]"
    return f"random.choice({edges}, {length}).astype({dtype})"


def _view(m: Memory, length: int) -> str:
    if m.stride == 0:
        return f"np.broadcast_to({m.name}[:1], ({max(length, 1)},))"
    return f"{m.name}[::{m.stride}]"
