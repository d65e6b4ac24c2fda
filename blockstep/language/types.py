"""The types of the language: scalars, pointers, blocks, tuples, descriptors.

Invariant: types are interned, so two equal types are one object and `is` decides equality on hot
paths. Names and predicates are Triton 3.6's (`triton.language.core.dtype`); `numpy` is ours: the
NumPy dtype whose items hold a value of the type exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from blockstep.language.constant import unwrap

TRITON_MAX_TENSOR_NUMEL = 1048576


class Signedness(Enum):
    """How an integer type reads its top bit."""

    SIGNED = 0
    UNSIGNED = 1


class Kind(Enum):
    """What a literal is compared by: a literal of a lower kind takes the other operand's type."""

    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


# name -> (NumPy dtype, bits, mantissa bits, exponent bias)
_FLOATS: dict[str, tuple[Any, int, int, int]] = {
    "fp8e4b15": (np.uint8, 8, 3, 15),
    "fp8e4nv": (ml_dtypes.float8_e4m3fn, 8, 3, 7),
    "fp8e4b8": (ml_dtypes.float8_e4m3fnuz, 8, 3, 8),
    "fp8e5": (ml_dtypes.float8_e5m2, 8, 2, 15),
    "fp8e5b16": (ml_dtypes.float8_e5m2fnuz, 8, 2, 16),
    "fp16": (np.float16, 16, 10, 15),
    "bf16": (ml_dtypes.bfloat16, 16, 7, 127),
    "fp32": (np.float32, 32, 23, 127),
    "fp64": (np.float64, 64, 52, 1023),
}
_LONG_NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


class dtype:
    """A scalar type. `dtype("fp32") is dtype("fp32")`."""

    SINT_TYPES: ClassVar[list[str]] = ["int8", "int16", "int32", "int64"]
    UINT_TYPES: ClassVar[list[str]] = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES: ClassVar[list[str]] = list(_FLOATS)
    STANDARD_FP_TYPES: ClassVar[list[str]] = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES: ClassVar[list[str]] = ["void"]
    SIGNEDNESS = Signedness
    KIND = Kind

    _known: ClassVar[dict[str, dtype]] = {}

    name: str
    numpy: np.dtype[Any]
    primitive_bitwidth: int
    itemsize: int
    fp_mantissa_width: int
    exponent_bias: int
    int_signedness: Signedness
    int_bitwidth: int
    lowest: int
    highest: int
    _floating: bool
    _integer: bool
    shape: tuple[int, ...] = ()
    scalar: dtype

    def __new__(cls, name: str = "", *_: Any, **__: Any) -> dtype:
        if cls is not dtype:
            return object.__new__(cls)
        name = unwrap(name)
        found = dtype._known.get(name)
        if found is None:
            found = object.__new__(cls)
            found._define(name)
            dtype._known[name] = found
        return found

    def _define(self, name: str) -> None:
        self.name = name
        self.scalar = self
        self._floating = name in _FLOATS
        self._integer = False
        if self._floating:
            numpy_type, bits, mantissa, bias = _FLOATS[name]
            self.numpy = np.dtype(numpy_type)
            self.fp_mantissa_width, self.exponent_bias = mantissa, bias
            self.primitive_bitwidth, self.itemsize = bits, bits // 8
        elif name == "void":
            self.primitive_bitwidth = self.itemsize = 0
        elif name in self.SINT_TYPES or name in self.UINT_TYPES:
            self._define_integer(name)
        else:
            raise ValueError(f"no type is called {name!r}")

    def _define_integer(self, name: str) -> None:
        bits = int(name.removeprefix("u").removeprefix("int"))
        signed = name in self.SINT_TYPES
        self._integer = True
        self.int_signedness = Signedness.SIGNED if signed else Signedness.UNSIGNED
        self.int_bitwidth = self.primitive_bitwidth = bits
        self.itemsize = max(bits // 8, 1)
        self.numpy = np.dtype(bool if bits == 1 else name)
        self.lowest = -(1 << (bits - 1)) if signed else 0
        self.highest = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1

    def is_fp8(self) -> bool:
        return self._floating and self.primitive_bitwidth == 8

    def is_fp8e4nv(self) -> bool:
        return self.name == "fp8e4nv"

    def is_fp8e4b8(self) -> bool:
        return self.name == "fp8e4b8"

    def is_fp8e4b15(self) -> bool:
        return self.name == "fp8e4b15"

    def is_fp8e5(self) -> bool:
        return self.name == "fp8e5"

    def is_fp8e5b16(self) -> bool:
        return self.name == "fp8e5b16"

    def is_fp16(self) -> bool:
        return self.name == "fp16"

    def is_bf16(self) -> bool:
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        return self.name == "fp32"

    def is_fp64(self) -> bool:
        return self.name == "fp64"

    def is_int1(self) -> bool:
        return self.name == "int1"

    def is_int8(self) -> bool:
        return self.name == "int8"

    def is_int16(self) -> bool:
        return self.name == "int16"

    def is_int32(self) -> bool:
        return self.name == "int32"

    def is_int64(self) -> bool:
        return self.name == "int64"

    def is_uint8(self) -> bool:
        return self.name == "uint8"

    def is_uint16(self) -> bool:
        return self.name == "uint16"

    def is_uint32(self) -> bool:
        return self.name == "uint32"

    def is_uint64(self) -> bool:
        return self.name == "uint64"

    def is_floating(self) -> bool:
        return self._floating

    def is_standard_floating(self) -> bool:
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self) -> bool:
        return self._integer and self.int_signedness is Signedness.SIGNED

    def is_int_unsigned(self) -> bool:
        return self._integer and self.int_signedness is Signedness.UNSIGNED

    def is_int(self) -> bool:
        return self._integer

    def is_bool(self) -> bool:
        return self.name == "int1"

    def kind(self) -> Kind:
        if self.is_bool():
            return Kind.BOOLEAN
        return Kind.INTEGRAL if self._integer else Kind.FLOATING

    def get_int_max_value(self) -> int:
        return self.highest

    def get_int_min_value(self) -> int:
        return self.lowest

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        return type_str in _FLOATS or type_str in dtype.SINT_TYPES + dtype.UINT_TYPES + ["void"]

    @staticmethod
    def is_void() -> bool:
        raise RuntimeError("is_void is a name of Triton's that only raises there, too")

    @staticmethod
    def is_block() -> bool:
        return False

    @staticmethod
    def is_ptr() -> bool:
        return False

    @staticmethod
    def is_const() -> bool:
        return False

    def is_tuple(self) -> bool:
        return False

    def with_element_ty(self, element_ty: dtype) -> dtype:
        return element_ty

    @property
    def cache_key_part(self) -> str:
        return self.name

    def mangle(self) -> str:
        """The type's part of a specialised function's name (Triton: `i32`, `u8`, `fp32`)."""
        if self._integer:
            return ("i" if self.int_signedness is Signedness.SIGNED else "u") + str(
                self.int_bitwidth
            )
        return "V" if self.name == "void" else self.name

    def codegen_name(self) -> str:
        """The name a user writes after `tl.` in generated source."""
        if self.name.startswith("fp8"):
            return "float8" + self.name[3:]
        return _LONG_NAMES.get(self.name, self.name)

    def __repr__(self) -> str:
        ours = sys.modules.get("blockstep.language")
        renamed = ours is not None and sys.modules.get("triton.language") is ours
        package = "triton" if renamed else "blockstep"  # as the user imports it
        return f"{package}.language.{self.codegen_name()}"

    def __str__(self) -> str:
        return self.name

    __hash__ = object.__hash__  # interned: identity is equality, and a slot is fast

    def __eq__(self, other: object) -> bool:
        return self is unwrap(other)

    def __reduce__(self) -> Any:
        return (dtype, (self.name,))


class pointer_type(dtype):
    """The type of addresses of `element_ty` values; `const` forbids stores."""

    _pointers: ClassVar[dict[tuple[dtype, Any, bool], pointer_type]] = {}

    element_ty: dtype
    address_space: Any
    const: bool

    def __new__(
        cls, element_ty: dtype, address_space: Any = 1, const: bool = False
    ) -> pointer_type:
        element_ty, const = unwrap(element_ty), bool(unwrap(const))
        if not isinstance(element_ty, dtype):
            raise TypeError(f"a pointer points to a type; got {element_ty!r}")
        key = (element_ty, address_space, const)
        found = pointer_type._pointers.get(key)
        if found is None:
            found = object.__new__(cls)
            found.element_ty, found.address_space, found.const = key
            found.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
            found.numpy = np.dtype(np.int64)
            found.primitive_bitwidth, found.itemsize = 64, 8
            found.scalar = found
            found._floating = found._integer = False
            pointer_type._pointers[key] = found
        return found

    @staticmethod
    def is_ptr() -> bool:
        return True

    def is_const(self) -> bool:  # type: ignore[override]
        return self.const

    def mangle(self) -> str:
        return ("P" if not self.const else "kP") + self.element_ty.mangle()

    def __repr__(self) -> str:
        return str(self)

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        return (pointer_type, (self.element_ty, self.address_space, self.const))


class block_type(dtype):
    """The type of an N-d block: `element_ty` and a shape of powers of two."""

    _blocks: ClassVar[dict[tuple[dtype, tuple[int, ...]], block_type]] = {}

    element_ty: dtype
    numel: int

    def __new__(cls, element_ty: dtype, shape: Sequence[Any]) -> block_type:
        if type(shape) is tuple:
            known = block_type._blocks.get((element_ty, shape))
            if known is not None:
                return known
        dims = tuple([int(unwrap(n)) for n in unwrap(shape)])
        found = block_type._blocks.get((element_ty, dims))
        if found is None:
            found = object.__new__(cls)
            found._define_block(element_ty, dims)
            block_type._blocks[(element_ty, dims)] = found
        return found

    def _define_block(self, element_ty: dtype, dims: tuple[int, ...]) -> None:
        if not dims:
            raise TypeError("a block has at least one dimension; a scalar is not a block")
        numel = 1
        for axis, n in enumerate(dims):
            if n <= 0 or n & (n - 1):
                more = f": take {1 << n.bit_length()}" if n > 0 else ""
                raise ValueError(f"Shape element {axis} must be a power of 2, but it is {n}{more}")
            numel *= n
        if numel > TRITON_MAX_TENSOR_NUMEL:
            raise ValueError(
                f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})"
            )
        self.element_ty, self.shape, self.numel = element_ty, dims, numel
        self.scalar = element_ty
        self.name = f"<{list(map(str, dims))}, {element_ty}>"
        self.numpy = element_ty.numpy
        self.primitive_bitwidth, self.itemsize = element_ty.primitive_bitwidth, element_ty.itemsize
        self._floating = self._integer = False

    @staticmethod
    def is_block() -> bool:
        return True

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    @property
    def nbytes(self) -> int:
        return self.numel * self.element_ty.itemsize

    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_type(element_ty, self.shape)

    def mangle(self) -> str:
        return self.element_ty.mangle() + "S" + "_".join(map(str, self.shape)) + "S"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.element_ty}[{', '.join(map(str, self.shape))}]"

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        return (block_type, (self.element_ty, self.shape))


class tuple_type(dtype):
    """The type of a tuple of values, with the field names of a named tuple."""

    def __init__(self, types: Iterable[Any], fields: Sequence[str] | None = None) -> None:
        self.types = tuple(types)
        self.fields = tuple(fields) if fields else None
        self.name = "[" + ",".join(map(str, self.types)) + "]"
        self.scalar = self
        self._floating = self._integer = False

    def __str__(self) -> str:
        return self.name

    def __iter__(self) -> Any:
        return iter(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    def is_tuple(self) -> bool:
        return True

    def mangle(self) -> str:
        return "T" + "_".join(t.mangle() for t in self.types) + "T"

    def __eq__(self, other: object) -> bool:
        return type(other) is tuple_type and (self.types, self.fields) == (
            other.types,
            other.fields,
        )

    def __hash__(self) -> int:
        return hash((self.types, self.fields))


class constexpr_type(dtype):
    """The type of a compile-time value; it holds the value."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)
        self.name = f"constexpr[{self.value}]"
        self.scalar = self
        self._floating = self._integer = False

    def mangle(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class tensor_descriptor_type(dtype):
    """The type of a tensor descriptor: the block it moves and its rank."""

    def __init__(self, block: block_type) -> None:
        self.block_type = block
        self.name = f"tensor_descriptor<{block}>"
        self.scalar = self
        self._floating = self._integer = False

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and self.block_type is other.block_type

    def __hash__(self) -> int:
        return hash(self.block_type)


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
FLOATS = (float16, bfloat16, float32, float64)
FLOAT8 = (float8e5, float8e5b16, float8e4nv, float8e4b8, float8e4b15)


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of `bitwidth` bits. Raises ValueError for a width that no type has."""
    bitwidth = unwrap(bitwidth)
    if bitwidth == 1:
        return int1
    if bitwidth not in (8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(("int" if unwrap(signed) else "uint") + str(bitwidth))


def blocked(element: dtype, shape: Sequence[int]) -> dtype:
    """`element` itself for the empty shape, else the block type."""
    return block_type(element, shape) if len(shape) else element


__all__ = [name for name in list(globals()) if not name.startswith("_")]
