"""`triton._utils`: names of types, shapes of blocks, paths into nested tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

TRITON_MAX_TENSOR_NUMEL = 1 << 20

_LONG_NAMES = {
    "u1": ("bool", "int1", "uint1", "i1"), "void": ("void",),
    "i8": ("int8",), "i16": ("int16",), "i32": ("int32", "int"), "i64": ("int64",),
    "u8": ("uint8",), "u16": ("uint16",), "u32": ("uint32",), "u64": ("uint64",),
    "fp16": ("float16", "half"), "bf16": ("bfloat16",),
    "fp32": ("float32", "float"), "fp64": ("float64", "double"),
    "fp8e4nv": ("float8e4nv", "float8_e4m3fn"), "fp8e4b8": ("float8e4b8", "float8_e4m3fnuz"),
    "fp8e5": ("float8e5", "float8_e5m2"), "fp8e5b16": ("float8e5b16", "float8_e5m2fnuz"),
    "fp8e4b15": ("float8e4b15",),
}  # fmt: skip

type_canonicalisation_dict = {
    name: short for short, names in _LONG_NAMES.items() for name in (*names, short)
}


def _width(short: str) -> int:
    if short == "void":
        return 0
    return 8 if short.startswith("fp8") else int(short.lstrip("bfpiu"))


BITWIDTH_DICT = {name: _width(short) for name, short in type_canonicalisation_dict.items()}


def canonicalize_dtype(dtype: Any) -> str:
    """The short name: torch.float32 and tl.float32 are "fp32"."""
    return type_canonicalisation_dict[str(dtype).split(".")[-1]]


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    """The short name of a pointer to `dtype`: "*fp32", and "*kfp32" if it may not be stored to."""
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def get_primitive_bitwidth(dtype: str) -> int:
    """Bits of an element, by any of its names."""
    return BITWIDTH_DICT[dtype]


def is_power_of_two(x: int) -> bool:
    """Whether at most one bit of `x` is set."""
    return (x & (x - 1)) == 0


def validate_block_shape(shape: Sequence[int]) -> int:
    """Number of elements of a block; an error unless each size is a power of two and they are not
    too many."""
    numel = 1
    for axis, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(
                f"Shape element {axis} must have type `constexpr[int]`, "
                f"got `constexpr[{type(size)}]"
            )
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {axis} must be a power of 2")
        numel *= size
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})"
        )
    return numel


def get_iterable_path(iterable: Any, path: Sequence[int]) -> Any:
    """The element of nested sequences that `path` leads to."""
    return reduce(lambda value, index: value[index], path, iterable)


def find_paths_if(
    iterable: Any, pred: Callable[[tuple[int, ...], Any], bool]
) -> list[tuple[int, ...]]:
    """Paths to the leaves of nested sequences for which `pred(path, leaf)` holds."""
    found: list[tuple[int, ...]] = []

    def visit(path: tuple[int, ...], value: Any) -> None:
        if isinstance(value, list | tuple) or type(value).__name__ == "tuple":
            for index, item in enumerate(value):
                visit((*path, index), item)
        elif pred(path, value):
            found.append(path)

    visit((), iterable)
    return found


def is_namedtuple(val: Any) -> bool:
    """Whether `val` is a namedtuple class."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")
