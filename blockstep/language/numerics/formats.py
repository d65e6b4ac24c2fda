"""The scalar formats of the language, as data: how each is stored in NumPy and what its bits mean.

Invariant: one `Format` object per format, so formats compare with `is`. A format is named as the
language names its type (`"float8e4nv"`) or by the short form found in type texts (`"fp8e4nv"`).
This module holds no arithmetic; `convert.py` does the rounding.

`float8e4b15` has no NumPy type: its values are stored as `uint8` codes (sign, 4 exponent bits with
bias 15, 3 fraction bits, neither infinities nor NaN). `int1` is stored as `bool`.
Sources: OCP 8-bit floating point 1.0 (e4m3, e5m2); PTX ISA 8.7, "Alternate floating point formats".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

Kind = Literal["bool", "signed", "unsigned", "float"]


@dataclass(frozen=True, slots=True)
class Format:
    """One scalar format. The last four are for floats; `nan` is the code the hardware writes."""

    name: str
    storage: np.dtype[Any]
    kind: Kind
    bits: int
    fraction: int = 0
    bias: int = 0
    largest: float = 0.0
    nan: int = 0

    @property
    def is_float8(self) -> bool:
        return self.kind == "float" and self.bits == 8


def _integers() -> list[Format]:
    signed = [Format(f"int{n}", np.dtype(f"int{n}"), "signed", n) for n in (8, 16, 32, 64)]
    unsigned = [Format(f"uint{n}", np.dtype(f"uint{n}"), "unsigned", n) for n in (8, 16, 32, 64)]
    return [Format("int1", np.dtype(bool), "bool", 1), *signed, *unsigned]


_F32_MAX, _F64_MAX = float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)
_BF16_MAX = float.fromhex("0x1.fep127")

_FLOATS = [
    Format("float64", np.dtype(np.float64), "float", 64, 52, 1023, _F64_MAX, 0x7FF8 << 48),
    Format("float32", np.dtype(np.float32), "float", 32, 23, 127, _F32_MAX, 0x7FFFFFFF),
    Format("float16", np.dtype(np.float16), "float", 16, 10, 15, 65504.0, 0x7FFF),
    Format("bfloat16", np.dtype(ml_dtypes.bfloat16), "float", 16, 7, 127, _BF16_MAX, 0x7FFF),
    Format("float8e4nv", np.dtype(ml_dtypes.float8_e4m3fn), "float", 8, 3, 7, 448.0, 0x7F),
    Format("float8e5", np.dtype(ml_dtypes.float8_e5m2), "float", 8, 2, 15, 57344.0, 0x7F),
    Format("float8e4b8", np.dtype(ml_dtypes.float8_e4m3fnuz), "float", 8, 3, 8, 240.0, 0x80),
    Format("float8e5b16", np.dtype(ml_dtypes.float8_e5m2fnuz), "float", 8, 2, 16, 57344.0, 0x80),
    Format("float8e4b15", np.dtype(np.uint8), "float", 8, 3, 15, 1.875, 0x7E),
]

FORMATS: dict[str, Format] = {f.name: f for f in [*_integers(), *_FLOATS]}

_SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
_SHORT |= {f.name.replace("float8", "fp8"): f.name for f in _FLOATS if f.is_float8}
_OF_STORAGE = {f.storage: f for f in [*_integers(), *_FLOATS] if f.name != "float8e4b15"}


@cache
def format_of(name: str) -> Format:
    """The format called `name`; `KeyError` names an unknown one."""
    return FORMATS[_SHORT.get(name, name)]


def format_of_storage(storage: np.dtype[Any]) -> Format:
    """The format that NumPy values of type `storage` hold; `uint8` is the integer."""
    return FORMATS[_OF_STORAGE[np.dtype(storage)].name]


@cache
def decoded(name: str) -> NDArray[np.float32]:
    """The values of all 256 codes of an 8-bit float format, in code order (read-only)."""
    codes = np.arange(256, dtype=np.uint8)
    if name == "float8e4b15":
        half = (codes & 0x80).astype(np.uint16) << 8 | (codes & 0x7F).astype(np.uint16) << 7
        values = half.view(np.float16).astype(np.float32)
    else:
        exact = codes.view(format_of(name).storage).astype(np.float32)
        values = np.where(np.isnan(exact), np.uint32(0x7FFFFFFF), exact.view(np.uint32))
        values = values.view(np.float32)
    values.flags.writeable = False
    return values
