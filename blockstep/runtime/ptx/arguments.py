"""The arguments of a bound launch as `run_ptx` takes them: bytes, and tensor maps.

Memory is the arrays' own, at the addresses that they have.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from blockstep.compiler.faults import RECORD
from blockstep.interp.memory import AddressSpace
from blockstep.interp.ptx.tensor_map import BYTES, TensorMap
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.binary import FAULTS, Binary, Param
from blockstep.runtime.gpu.launcher import packable
from blockstep.runtime.gpu.tensor_map import TYPES, Tiled
from blockstep.runtime.gpu.values import gathering, values_of

_INTEGERS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "pointer": 8}
_KINDS = {
    "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64", "fp16": "f16",
    "bf16": "bf16", "fp32": "f32",
}  # fmt: skip
_NAN = {
    "fp16": b"\x00\x7e", "bf16": b"\xc0\x7f", "fp32": b"\x00\x00\xc0\x7f",
    "tf32": b"\x00\x00\xc0\x7f", "fp64": b"\x00\x00\x00\x00\x00\x00\xf8\x7f",
}  # fmt: skip


def arguments_for(
    binary: Binary, bound: Bound, grid: tuple[int, int, int]
) -> tuple[list[Any], Any]:
    """What `run_ptx` is given for a launch over `grid`, and the fault record (int32 words, all
    zero), if the kernel has one."""
    space = bound.space
    gather = gathering(
        binary, bound, functools.partial(_tensor_map, space),
        functools.partial(_scratch, binary, space),
    )  # fmt: skip
    values = gather(values_of(bound, lambda view: view.base), grid, 0)
    visible = [p for p in binary.parameters if p.name != FAULTS]
    found = [packed(p, v) for p, v in zip(visible, values, strict=True)]
    if not binary.has_faults:
        return found, None
    record = np.zeros(len(RECORD), np.int32)
    space.add_array(record, "faults", internal=True)
    return [*found, record], record


def _scratch(binary: Binary, space: AddressSpace, x: int, y: int, z: int, stream: int) -> int:
    """The address of fresh memory for the CTAs of a launch; it holds nothing that means anything."""
    size = binary.scratch * binary.num_ctas * x * y * z
    memory = np.full(size + BYTES, 0xFF, np.uint8)
    skip = -memory.ctypes.data % BYTES  # it may hold tensor maps
    space.add_array(memory[skip : size + skip], "scratch", internal=True)
    return int(memory.ctypes.data) + skip


def packed(parameter: Param, value: Any) -> Any:
    """One argument: the bytes of a number, or a tensor map."""
    if parameter.kind == "tensor_map":
        return value
    if parameter.kind in _INTEGERS:
        size = _INTEGERS[parameter.kind]
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if parameter.kind in ("f16", "bf16"):
        return int(packable(parameter, value)).to_bytes(2, "little")
    return (np.float32 if parameter.kind == "f32" else np.float64)(value).tobytes()


def _tensor_map(space: AddressSpace, told: Tiled, kernel: str) -> TensorMap:
    storage = space.find(told.address)
    assert storage is not None  # it is that of an argument
    size = TYPES[told.element][1]
    fill = _NAN[told.element] if told.padding == "nan" else None
    return TensorMap(
        storage.data, told.address, size, told.shape[::-1],
        tuple([s * size for s in told.strides[-2::-1]]), told.box[::-1], told.swizzle, fill,
        _KINDS.get(told.element, ""),
    )  # fmt: skip
