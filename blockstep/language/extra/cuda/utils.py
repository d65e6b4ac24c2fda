"""Special registers, and conversions of the software format float8e4b15."""

from __future__ import annotations

from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.creation import num_programs, program_id
from blockstep.language.elementwise import add, mod, mul
from blockstep.language.op import emit, machine
from blockstep.language.ops.device import GLOBALTIMER, SMID
from blockstep.language.promotion import to_tensor
from blockstep.target import current


def globaltimer() -> Any:
    """`->` int64: nanoseconds of a clock that all program instances share."""
    return emit(GLOBALTIMER)


def smid() -> Any:
    """`->` int32: the multiprocessor that runs this program instance; on a machine without any, one
    that could: they are dealt in order."""
    place = add(program_id(1), mul(num_programs(1), program_id(2)))
    place = add(program_id(0), mul(num_programs(0), place))
    return emit(SMID, mod(place, current().multiprocessors))


def num_warps() -> int:
    """The launch's `num_warps`, a compile-time value."""
    running: Any = machine.get()
    return int(running.num_warps)


def num_threads() -> int:
    """Threads in a program instance, a compile-time value."""
    return num_warps() * current().warp_size


def convert_custom_float8(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """`n -> n`: from float8e4b15 to float16 or float32, or back (in two steps, the first toward
    zero)."""
    x, target = to_tensor(arg), unwrap(dst_ty).scalar
    if x.type.scalar is ty.float8e4b15:
        return cast(x, target)
    if x.type.scalar not in (ty.float16, ty.float32):
        raise TypeError(f"float8e4b15 is made from float16 or float32, not {x.type.scalar}")
    return cast(x, ty.float8e4b15)


def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """`convert_custom_float8` as devices of compute capability 8.0 and later do it."""
    return convert_custom_float8(arg, dst_ty, fp_downcast_rounding)


def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """`convert_custom_float8` as devices before compute capability 8.0 do it."""
    return convert_custom_float8(arg, dst_ty, fp_downcast_rounding)


__all__ = [
    "convert_custom_float8",
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "globaltimer",
    "num_threads",
    "num_warps",
    "smid",
]
