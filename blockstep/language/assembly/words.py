"""Register words and the types that instructions read them as.

A word is an array of uint64; an instruction's type says how many of its low bits count and as what.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

# type -> (NumPy dtype, bits)
TYPES: dict[str, tuple[np.dtype[Any], int]] = {
    **{f"{k}{n}": (np.dtype(f"u{n // 8}"), n) for k in "bu" for n in (8, 16, 32, 64)},
    **{f"s{n}": (np.dtype(f"i{n // 8}"), n) for n in (8, 16, 32, 64)},
    "f16": (np.dtype(np.float16), 16),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 16),
    "f32": (np.dtype(np.float32), 32),
    "f64": (np.dtype(np.float64), 64),
    "tf32": (np.dtype(np.float32), 32),
    "e4m3": (np.dtype(ml_dtypes.float8_e4m3fn), 8),
    "e5m2": (np.dtype(ml_dtypes.float8_e5m2), 8),
    "pred": (np.dtype(bool), 1),
}
NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "e4m3": "float8e4nv",
    "e5m2": "float8e5",
    **{f"{k}{n}": f"{w}int{n}" for k, w in (("u", "u"), ("s", "")) for n in (8, 16, 32, 64)},
}


def pair_of(kind: str) -> str | None:
    """`f16x2` -> `f16`; None for a type that is not a pair."""
    return kind[:-2] if kind.endswith("x2") and kind[:-2] in TYPES else None


def is_type(part: str) -> bool:
    return part in TYPES or pair_of(part) is not None


def is_float(kind: str) -> bool:
    return TYPES[pair_of(kind) or kind][0].kind not in "iub"


def value(word: Any, kind: str) -> Any:
    """The low bits of `word` as numbers; a pair has a last axis of 2, the low half first."""
    half = pair_of(kind)
    if half is not None:
        bits = TYPES[half][1]
        return np.stack([value(word, half), value(word >> np.uint64(bits), half)], axis=-1)
    dtype, bits = TYPES[kind]
    if bits == 1:
        return word != 0
    return word.astype(f"u{bits // 8}").view(dtype)


def word(x: Any, kind: str) -> Any:
    """Numbers as register words, zero above the type's bits."""
    half = pair_of(kind)
    if half is not None:
        width = np.uint64(TYPES[half][1])
        return word(x[..., 0], half) | word(x[..., 1], half) << width
    dtype, bits = TYPES[kind]
    x = np.ascontiguousarray(np.asarray(x).astype(dtype, copy=False)).reshape(np.shape(x))
    return x.astype(np.uint64) if bits == 1 else x.view(f"u{bits // 8}").astype(np.uint64)


_FLOAT_BITS = re.compile(r"0([fFdD])([0-9a-fA-F]+)")


def immediate(text: str, kind: str) -> Any:
    """A number in the text as a word; None if it is none."""
    bits = _FLOAT_BITS.fullmatch(text)
    if bits:
        return np.asarray(np.uint64(int(bits.group(2), 16)))
    try:
        number: Any = int(text.rstrip("U"), 0)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return None
    if isinstance(number, float) or is_float(kind):
        return word(np.asarray(number, TYPES[pair_of(kind) or kind][0]), pair_of(kind) or kind)
    return np.asarray(np.uint64(number & 0xFFFFFFFFFFFFFFFF))
