"""What a compiler hands to the gpu machine: the code of one kernel and the list of its parameters.

Invariant: `parameters` are in the order of the kernel's own parameters, and everything that a
launch needs to know besides the arguments is here, so that a `Binary` can be kept in a file and
launched in another process. Parameters are laid out as `cuLaunchKernel` reads them: one address
each, naturally aligned, tensor maps at multiples of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blockstep.compiler.faults import FAULTS as FAULTS
from blockstep.compiler.faults import SCRATCH as SCRATCH
from blockstep.findings import Span

Kind = Literal[
    "pointer", "i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tensor_map"
]

SIZES: dict[Kind, int] = {
    "pointer": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "tensor_map": 128,
}  # fmt: skip
TENSOR_MAP_ALIGNMENT = 64
NULL = "$null"
"""The name of a hidden parameter that is a null pointer."""

Value = int | str
"""A number, or the name of the argument that holds it: `n`, `pair[0]`, `desc.shape[1]`."""


@dataclass(frozen=True, slots=True)
class Box:
    """How a tensor map sees memory; what `cuTensorMapEncodeTiled` is asked for.

    `shape`, `strides` (elements) and `box` go from the outermost dimension to the innermost, whose
    stride is 1. `element` is a type of the language (`fp16`); `swizzle` is 0, 32, 64 or 128 bytes.
    """

    base: str
    element: str
    shape: tuple[Value, ...]
    strides: tuple[Value, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    padding: Literal["zero", "nan"] = "zero"
    promotion: int = 128  # bytes brought into L2 together: 0, 64, 128, 256


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of the compiled kernel.

    `name` says where its value is from: a parameter of the jit function (`x`), an item of a tuple
    (`pair[0]`, `point.x`), a part of a descriptor (`desc`: its address; `desc.shape[0]`,
    `desc.strides[0]`), `SCRATCH`, `NULL` or `FAULTS`. A tensor map has its `box`."""

    kind: Kind
    name: str
    box: Box | None = None

    def __post_init__(self) -> None:
        if (self.kind == "tensor_map") != (self.box is not None):
            raise ValueError(f"parameter {self.name}: a tensor map, and nothing else, has a box")


@dataclass(frozen=True, slots=True)
class Site:
    """A `device_assert`: a fault record has its index in `Binary.sites`."""

    span: Span
    message: str = ""


@dataclass(frozen=True, eq=False)
class Binary:
    """One compiled kernel. `image` is a cubin (bytes) or PTX (text); `name` is its entry point.

    `shared` is dynamic shared memory in bytes; `scratch` is global memory that a launch has to give
    to each CTA, in bytes. With `num_ctas` > 1 a program instance is a cluster
    of that many CTAs; `cluster` says so for kernels whose program instances are the CTAs of a
    cluster. `writes`: the parameters (of the jit function) whose arrays the kernel may write; None
    where that is not known. `asm` has the stages for `CompiledKernel.asm`."""

    image: bytes | str
    name: str
    shared: int
    num_warps: int
    num_ctas: int
    parameters: tuple[Param, ...]
    cluster: tuple[int, int, int] | None = None
    launch_pdl: bool = False
    launch_cooperative_grid: bool = False
    writes: frozenset[str] | None = None
    sites: tuple[Site, ...] = ()
    scratch: int = 0
    asm: Mapping[str, str | bytes] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if any(p.name == FAULTS for p in self.parameters[:-1]):
            raise ValueError(f"{self.name}: the fault record is the last parameter")

    @property
    def has_faults(self) -> bool:
        """Whether the last parameter is the fault record."""
        return bool(self.parameters) and self.parameters[-1].name == FAULTS

    @property
    def threads(self) -> int:
        """Lanes of one CTA."""
        return 32 * self.num_warps

    @property
    def cluster_shape(self) -> tuple[int, int, int]:
        """CTAs of a cluster along x, y, z; (1, 1, 1) for a launch without clusters."""
        return self.cluster or (self.num_ctas, 1, 1)


def offsets(parameters: tuple[Param, ...]) -> tuple[list[int], int]:
    """Where each parameter begins in the packed buffer, and how long the buffer is."""
    found, at = [], 0
    for parameter in parameters:
        size = SIZES[parameter.kind]
        alignment = min(size, TENSOR_MAP_ALIGNMENT)
        at = (at + alignment - 1) // alignment * alignment
        found.append(at)
        at += size
    return found, at
