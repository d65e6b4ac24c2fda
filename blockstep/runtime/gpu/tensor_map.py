"""Tensor maps: the 128 bytes that tell the copy engine how a block lies in memory.

`encode` asks the driver (`cuTensorMapEncodeTiled`); `TensorMaps` keeps the answers by everything
that they depend on, and `Known` those of one parameter by the array alone, so that a launch with the
same array costs one look-up of a tuple that it has.

Invariant: dimensions are given as arrays are, outermost first; the driver is told them innermost
first. What the hardware cannot take is refused in the array's own terms before the driver is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from blockstep.runtime.gpu.binary import SIZES, Box
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.failures import GPUError

KEPT = 4096
ALIGNMENT = 16  # bytes, of the address and of every stride but the innermost
MOST_DIMENSIONS = 5
WIDEST_BOX = 256  # elements along one dimension
# What the copy engine calls the elements; 8-bit floats are bytes to it.
TYPES = {
    "fp16": ("FLOAT16", 2), "bf16": ("BFLOAT16", 2), "fp32": ("FLOAT32", 4),
    "tf32": ("TFLOAT32", 4), "fp64": ("FLOAT64", 8),
    "int1": ("UINT8", 1), "int8": ("UINT8", 1), "uint8": ("UINT8", 1), "int16": ("UINT16", 2),
    "uint16": ("UINT16", 2), "int32": ("INT32", 4), "uint32": ("UINT32", 4),
    "int64": ("INT64", 8), "uint64": ("UINT64", 8), "fp8e4nv": ("UINT8", 1),
    "fp8e5": ("UINT8", 1), "fp8e4b8": ("UINT8", 1), "fp8e5b16": ("UINT8", 1),
    "fp8e4b15": ("UINT8", 1),
}  # fmt: skip
_FLOATS = ("fp16", "bf16", "fp32", "tf32", "fp64")


@dataclass(frozen=True, slots=True)
class Tiled:
    """Everything that a tensor map depends on. `shape`, `strides`, `box` in elements, outermost
    first; `swizzle` and `promotion` in bytes, 0 for none; `element` a type of the language."""

    address: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    padding: str = "zero"
    promotion: int = 128


Maker = Callable[[Tiled, str], Any]
"""Gives the tensor map of what is told, for a kernel of this name."""
Array = tuple[int, tuple[int, ...], tuple[int, ...]]  # address, shape, strides


class Known(dict[Array, Any]):
    """The tensor maps of one parameter of a kernel, by array; it makes those that it has not. The
    oldest go when there are more than `KEPT`."""

    def __init__(self, make: Maker, box: Box, kernel: str) -> None:
        self._make, self._box, self._kernel = make, box, kernel

    def __missing__(self, array: Array) -> Any:
        address, shape, strides = array
        box = self._box
        told = Tiled(
            address, box.element, shape, strides, box.box, box.swizzle, box.padding, box.promotion
        )
        found = self._make(told, self._kernel)
        while len(self) >= KEPT:
            self.pop(next(iter(self)), None)
        self[array] = found
        return found


class TensorMaps:
    """Tensor maps that were made before. The oldest go when there are more than `KEPT`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._made: dict[Tiled, bytes] = {}

    def __call__(self, told: Tiled, kernel: str = "") -> bytes:
        """The 128 bytes. Raises GPUError for what the hardware cannot take."""
        found = self._made.get(told)
        if found is None:
            found = encode(self._driver, told, kernel)
            while len(self._made) >= KEPT:
                self._made.pop(next(iter(self._made)), None)
            self._made[told] = found
        return found


def encode(driver: Driver, told: Tiled, kernel: str = "") -> bytes:
    """A tensor map, from the driver."""
    wrong = next(_problems(told), None)
    if wrong is not None:
        raise GPUError(
            kernel, f"a tensor map of {_described(told)}", wrong,
            "pass an array that is contiguous along its last dimension and 16-byte aligned",
        )  # fmt: skip
    api, (name, size) = driver.api, TYPES[told.element]
    wide, narrow = api.cuuint64_t, api.cuuint32_t
    inner_first = [wide(n) for n in reversed(told.shape)]
    steps = [wide(s * size) for s in reversed(told.strides[:-1])]
    box = [narrow(n) for n in reversed(told.box)]
    swizzle = f"{told.swizzle}B" if told.swizzle else "NONE"
    promotion = f"L2_{told.promotion}B" if told.promotion else "NONE"
    nan = told.padding == "nan"
    fill = "NAN_REQUEST_ZERO_FMA" if nan else "NONE"
    made = driver.call(
        f"making a tensor map of {_described(told)}", api.cuTensorMapEncodeTiled,
        getattr(api.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}"),
        len(told.shape), told.address, inner_first, steps, box, [narrow(1)] * len(box),
        api.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(api.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        getattr(api.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
        getattr(api.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
        kernel=kernel,
    )  # fmt: skip
    return bytes_of(made)


def bytes_of(tensor_map: Any) -> bytes:
    """The bytes of a `CUtensorMap`, as a parameter carries them."""
    return ctypes.string_at(tensor_map.getPtr(), SIZES["tensor_map"])


def _problems(told: Tiled) -> Iterator[str]:
    """What the hardware does not take, in words."""
    size, rank = TYPES[told.element][1], len(told.shape)
    if not 1 <= rank <= MOST_DIMENSIONS:
        yield f"{rank} dimensions; it takes 1 to {MOST_DIMENSIONS}"
    if told.address % ALIGNMENT:
        yield f"the address is not a multiple of {ALIGNMENT} bytes"
    if told.strides[-1] != 1:
        yield f"the last dimension is not contiguous: its stride is {told.strides[-1]}"
    for axis, stride in enumerate(told.strides[:-1]):
        if stride * size % ALIGNMENT or not 0 < stride * size < 1 << 40:
            yield (
                f"stride {axis} is {stride * size} bytes, which is no multiple of {ALIGNMENT} "
                "below 2**40"
            )
    for axis, n in enumerate(told.shape):
        if not 1 <= n <= 1 << 32:
            yield f"dimension {axis} has {n} elements; it takes 1 to 2**32"
    for axis, n in enumerate(told.box):
        if not 1 <= n <= WIDEST_BOX:
            yield f"the box has {n} elements along dimension {axis}; it takes 1 to {WIDEST_BOX}"
    if told.swizzle and told.box[-1] * size > told.swizzle:
        yield f"a row of the box is {told.box[-1] * size} bytes, more than the swizzle"
    if told.padding == "nan" and told.element not in _FLOATS:
        yield f"padding with nan, and the elements are {told.element}"


def _described(told: Tiled) -> str:
    shape = ", ".join(map(str, told.shape))
    return f"{told.element}[{shape}] with strides {told.strides} and a box of {told.box}"
