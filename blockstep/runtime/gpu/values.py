"""From the arguments of a launch to the values of the compiled kernel's parameters.

Values come one a parameter of the jit function, as `signature.reader` gives them: an address, a
number, a tuple of values, and for a descriptor (address, shape, strides). `places` tells where in
them a name is, and `gathering` writes what picks out of them what a `Binary` wants, in its order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from blockstep.interp.memory import View
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.gpu.binary import FAULTS, NULL, SCRATCH, Binary, Box, Value
from blockstep.runtime.gpu.failures import GPUError
from blockstep.runtime.gpu.tensor_map import Known, Maker


@dataclass(slots=True, eq=False)
class Gather:
    """From `count` values, which the expressions call `v0`, `v1`, …, to those of the parameters of
    a binary, without the fault record. They may name the grid, `x`, `y`, `z`, and the `stream` too;
    `space` is what else they name."""

    count: int
    parts: tuple[str, ...]
    space: dict[str, Any]
    take: Callable[..., tuple[Any, ...]] = field(init=False)

    def __post_init__(self) -> None:
        names = ", ".join(["x", "y", "z", "stream", *self.names])
        items = "".join(f"{part}, " for part in self.parts)
        self.take = eval(compile(f"lambda {names}: ({items})", "<gather>", "eval"), {**self.space})

    @property
    def names(self) -> list[str]:
        return [f"v{i}" for i in range(self.count)]

    def __call__(
        self, values: tuple[Any, ...], grid: tuple[int, int, int], stream: int
    ) -> tuple[Any, ...]:
        return self.take(*grid, stream, *values)


def values_of(bound: Bound, address: Callable[[View], int]) -> tuple[Any, ...]:
    """The values of bound arguments; `address` says where the memory of a view is."""
    return tuple([_value(a, address) for a in bound.arguments])


def _value(argument: Argument, address: Callable[[View], int]) -> Any:
    if argument.kind == "tuple":
        return tuple([_value(item, address) for item in argument.items])
    if argument.view is None:
        return argument.value
    where = address(argument.view)
    if argument.kind == "pointer":
        return where
    told = argument.value
    return where, tuple([int(n) for n in told.shape]), tuple([int(n) for n in told.strides])


def places(bound: Bound) -> dict[str, str]:
    """By name, the expression over the values that it stands for: `{"pair[0]": "v2[0]"}`."""
    found: dict[str, str] = {}
    for i, argument in enumerate(bound.arguments):
        _place(argument, f"v{i}", found)
    return found


def _place(argument: Argument, here: str, found: dict[str, str]) -> None:
    if argument.kind == "tuple":
        for i, item in enumerate(argument.items):
            _place(item, f"{here}[{i}]", found)
        return
    if argument.kind != "descriptor":
        found[argument.name] = here
        return
    found[argument.name] = f"{here}[0]"
    found[f"{argument.name}.padding"] = repr(argument.value.padding == "nan")
    rounds = bool(getattr(argument.value, "round_f32_to_tf32", False))
    found[f"{argument.name}.rounds"] = repr(rounds)
    for axis in range(len(argument.value.shape)):
        found[f"{argument.name}.shape[{axis}]"] = f"{here}[1][{axis}]"
        found[f"{argument.name}.strides[{axis}]"] = f"{here}[2][{axis}]"


def gathering(
    binary: Binary, bound: Bound, maps: Maker, scratch: Callable[[int, int, int, int], int]
) -> Gather:
    """What takes the values of such arguments to those of the parameters of `binary`; `scratch`
    gives memory for a grid on a stream. Raises GPUError for a parameter that names no argument."""
    known = places(bound)
    space: dict[str, Any] = {"scratch": scratch}
    parts = []
    for i, parameter in enumerate(p for p in binary.parameters if p.name != FAULTS):
        if parameter.name == SCRATCH:
            parts.append("scratch(x, y, z, stream)")
        elif parameter.name == NULL:
            parts.append("0")
        elif parameter.box is None:
            parts.append(_place_of(parameter.name, known, binary))
        else:
            space[f"maps{i}"] = Known(maps, parameter.box, binary.name)
            parts.append(f"maps{i}[{_array(parameter.box, known, binary)}]")
    return Gather(len(bound.arguments), tuple(parts), space)


def _place_of(name: str, known: dict[str, str], binary: Binary) -> str:
    if name not in known:
        raise GPUError(
            binary.name, f"finding the argument `{name}`", "no such argument",
            "this is a fault of the compiler; BLOCKSTEP_MACHINE=grid runs the kernel without it",
        )  # fmt: skip
    return known[name]


def _array(box: Box, known: dict[str, str], binary: Binary) -> str:
    """The expression of (address, shape, strides). Of a descriptor's own it is the value itself."""
    where = _place_of(box.base, known, binary)
    rank = range(len(box.shape))
    own = (
        tuple(f"{box.base}.shape[{n}]" for n in rank),
        tuple(f"{box.base}.strides[{n}]" for n in rank),
    )
    if (box.shape, box.strides) == own and f"{box.base}.shape[{len(rank)}]" not in known:
        return where.removesuffix("[0]")

    def number(value: Value) -> str:
        return str(value) if isinstance(value, int) else _place_of(value, known, binary)

    shape = "".join(f"{number(n)}, " for n in box.shape)
    strides = "".join(f"{number(n)}, " for n in box.strides)
    return f"{where}, ({shape}), ({strides})"
