"""Arrays that write down what is done to them, in place of arrays of numbers.

The function of an instruction (`registry.Form.compute`) works on a `Traced` as on an array of NumPy's
and leaves a `Graph` of elementwise operations behind, from which `host` makes code. So instructions
are defined once. Where a function takes a short way if no element needs the long one, the trace takes
the long one: `any()` is true and `all()` is false.

Invariant: what has no name here raises Untraceable, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

Kind = np.dtype[Any]


class Untraceable(Exception):
    """An operation on arrays that a trace has no name for."""


class Node(NamedTuple):
    """An elementwise operation. `args` are numbers of nodes; `value` is the bits of a constant, or
    the number of an input."""

    op: str
    args: tuple[int, ...]
    kind: Kind
    value: int = 0


_UFUNCS: dict[Any, str] = {
    getattr(np, name): name
    for name in (
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "negative",
        "absolute", "sqrt", "rint", "trunc", "floor", "ceil", "bitwise_and", "bitwise_or",
        "bitwise_xor", "invert", "logical_not", "left_shift", "right_shift", "equal",
        "not_equal", "less", "less_equal", "greater", "greater_equal", "minimum", "maximum",
        "fmin", "fmax", "isnan", "isfinite", "isinf", "signbit", "copysign", "bitwise_count",
        "exp2",
    )
}  # fmt: skip


class Graph:
    """Nodes, each after its arguments, and none twice."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}

    def add(self, op: str, args: tuple[Any, ...], kind: Kind, value: int = 0) -> Traced:
        """The result of an operation on Traced."""
        node = Node(op, tuple([a.number for a in args]), kind, value)
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return Traced(self, found)

    def cast(self, x: Any, kind: Kind) -> Traced:
        """A Traced, or one number for all, in a dtype."""
        if not isinstance(x, Traced):
            one = np.asarray(x)
            if one.size != 1:
                raise Untraceable("a table")
            bits = int.from_bytes(one.reshape(-1)[0].astype(kind).tobytes(), "little")
            return self.add("constant", (), kind, bits)
        if x.dtype == kind:
            return x
        if not _converts(x.dtype, kind):
            raise Untraceable(f"{x.dtype} as {kind}")
        return self.add("cast", (x,), kind)


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A result in a graph, in the place of an array."""

    ndim, size = 2, 2  # more than one element

    def __init__(self, graph: Graph, number: int) -> None:
        self.graph, self.number = graph, number

    @property
    def node(self) -> Node:
        """The operation that it is the result of."""
        return self.graph.nodes[self.number]

    @property
    def dtype(self) -> Kind:
        """Its elements' type."""
        return self.node.kind

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Traced:
        out, dtype = named.pop("out", None), named.pop("dtype", None)
        name = _UFUNCS.get(ufunc)
        if name is None or method != "__call__" or named:
            raise Untraceable(f"{ufunc.__name__} {method} {named}")
        kinds = [_kind(x) if dtype is None else np.dtype(dtype) for x in inputs]
        *loop, kind = ufunc.resolve_dtypes((*kinds, None))
        args = [self.graph.cast(x, k) for x, k in zip(inputs, loop, strict=True)]
        if name == "exp2" and kind != np.float64:
            raise Untraceable(f"exp2 of {kind}")
        made = self.graph.add(name, tuple(args), kind)
        return made if out is None else self.graph.cast(made, out[0].dtype)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        if function is np.where and len(args) == 3 and not named:
            kind = np.result_type(*[x.dtype if isinstance(x, Traced) else x for x in args[1:]])
            condition = self.graph.cast(args[0], np.dtype(bool))
            return self.graph.add(
                "where", (condition, *[self.graph.cast(x, kind) for x in args[1:]]), kind
            )
        if function is np.vdot:  # of a test for NaN, which is true
            return args[0]
        raise Untraceable(function.__name__)

    def view(self, kind: Any) -> Traced:
        """The same bits in another dtype of that width."""
        if np.dtype(kind).itemsize != self.dtype.itemsize:
            raise Untraceable("a view of another width")
        if kind == self.dtype:
            return self
        if self.dtype == np.float64 and kind == np.uint64 and self.node.op != "view":
            raise Untraceable("the payload of a NaN, which depends on the order of operands")
        return self.graph.add("view", (self,), np.dtype(kind))

    def astype(self, kind: Any, copy: bool = True) -> Traced:
        """Converted."""
        return self.graph.cast(self, np.dtype(kind))

    def clip(self, low: Any, high: Any) -> Any:
        """Between two numbers."""
        return np.minimum(np.maximum(self, low), high)

    def byteswap(self) -> Traced:
        """The bytes in reverse order."""
        return self.graph.add("byteswap", (self,), self.dtype)

    def any(self) -> bool:
        """Some element may be true."""
        return True

    def all(self) -> bool:
        """Some element may be false."""
        return False

    def __bool__(self) -> bool:
        return True

    def _not_here(self, *_: Any, **__: Any) -> NoReturn:
        raise Untraceable("elements of a trace")

    __array__ = __getitem__ = __setitem__ = __iter__ = __len__ = _not_here
    __int__ = __float__ = __index__ = _not_here

    def __getattr__(self, name: str) -> NoReturn:
        raise Untraceable(name)


def _kind(x: Any) -> Any:
    """What decides about the dtypes of an operation: a dtype, or int or float for Python's."""
    if isinstance(x, bool):
        return np.dtype(bool)
    return type(x) if isinstance(x, int | float) and not isinstance(x, np.generic) else x.dtype


def _converts(before: Kind, after: Kind) -> bool:
    """Whether a conversion is the same everywhere. To f16 there is one from f32 only; of floats
    as integers those of 64 bits are where the number is in range."""
    if after.kind == "f":
        return after.itemsize > 2 or before == np.float32
    return before.kind != "f" or after.itemsize == 8


def tracing(*x: Any) -> bool:
    """Whether one of these is in a trace."""
    return any(type(one) is Traced for one in x)


def fused(a: Any, b: Any, c: Any) -> Traced:
    """a · b + c of f32, rounded once."""
    kind = np.dtype(np.float32)
    graph = next(x.graph for x in (a, b, c) if type(x) is Traced)
    return graph.add("fused", tuple([graph.cast(x, kind) for x in (a, b, c)]), kind)


def by_halves(compute: Callable[..., Any], half: Kind, whole: Kind, *registers: Any) -> Any:
    """A function of halves on registers that have two each, the first in the lower bits."""
    width = 8 * half.itemsize
    parts = [[(x >> shift).astype(half) for x in registers] for shift in (0, width)]
    low, high = (compute(*part).astype(whole) for part in parts)
    return low | (high << width)
