"""Arguments of a kernel as words of a command line.

    f32[1024]=randn      an array of that type and shape, and what it holds
    y:f32[1024]=empty    the same with a name, for --print and --save; nothing has written it
    @weights.npy         an array from a file
    n=1000   1000  i64=7   0.5   a number: as wide as the kernel's parameter, or as the type says
    null                 a pointer to nothing
    x:f16[64,64]=randn/box=16,64/swizzle=128      a tensor map of the array

Arrays begin at a multiple of a page, as a device's do, and are no longer than they say, so that an
access one past the end is seen.
"""

from __future__ import annotations

import math
import mmap
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from blockstep.interp.ptx.tensor_map import TensorMap
from blockstep.runtime.factories import mark

Array = np.ndarray[Any, Any]

TYPES: dict[str, np.dtype[Any]] = {
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16), "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip
SWIZZLES = (0, 32, 64, 128)
_ARRAY = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d, ]+)\](?:=(?P<content>[^/]+))?(?P<map>/.*)?")
_NAME = r"(?:(?P<name>[A-Za-z_]\w*):)?"
_FILE = re.compile(r"@(?P<file>.+?)(?P<map>/(?:box|swizzle|fill)=.*)?")
_SYNTAX = "an argument is TYPE[SHAPE]=CONTENT, @FILE.npy, NAME=NUMBER, a number or null"


@dataclass(frozen=True, slots=True)
class Given:
    """One argument. `array` is what `--print` shows; `value` what the machine is given: the array,
    a tensor map of it, or a number."""

    name: str
    value: Any
    array: Array | None = None


def arguments_from(words: list[str], widths: list[int], seed: int = 0) -> list[Given]:
    """The arguments that the words say, for parameters of so many bytes. `seed` is of random
    contents. Raises ValueError for a word that says none, and for the wrong number of words."""
    random = np.random.default_rng(seed)
    if len(words) != len(widths):
        raise ValueError(f"--args has {len(words)} arguments and the kernel takes {len(widths)}")
    found = []
    for at, (word, width) in enumerate(zip(words, widths, strict=True)):
        try:
            found.append(_given(word, f"arg{at}", width, random))
        except ValueError as error:
            raise ValueError(f"--args {word}: {error}") from None
    return found


def _given(word: str, position: str, width: int, random: np.random.Generator) -> Given:
    match = re.fullmatch(_NAME + r"(?P<rest>.*)", word)
    assert match is not None
    name, rest = match["name"] or position, match["rest"]
    array = _array(rest, random)
    if array is None:
        return _number(name, rest, width)
    made, options = array
    return Given(name, _tensor_map(made, options) if options else made, made)


def _array(text: str, random: np.random.Generator) -> tuple[Array, str] | None:
    """The array that a text says, and the rest of it; None for a number."""
    if told := _ARRAY.fullmatch(text):
        shape = tuple(int(n) for n in told["shape"].split(","))
        made = _filled(_type(told["type"]), shape, told["content"] or "zeros", random)
        return made, told["map"] or ""
    if told := _FILE.fullmatch(text):
        loaded = np.load(told["file"], allow_pickle=False)
        made = _fresh(loaded.dtype, loaded.shape)
        made[...] = loaded
        return made, told["map"] or ""
    return None


def _type(name: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise ValueError(f"no type is called {name}; there are {', '.join(TYPES)}")
    return TYPES[name]


def _fresh(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    size = math.prod(shape) * dtype.itemsize
    if not size:
        return np.zeros(shape, dtype)
    return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)


CONTENTS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "zeros": lambda random, shape: np.zeros(shape),
    "ones": lambda random, shape: np.ones(shape),
    "arange": lambda random, shape: np.arange(math.prod(shape)).reshape(shape),
    "randn": lambda random, shape: random.standard_normal(shape),
    "rand": lambda random, shape: random.random(shape),
    "nan": lambda random, shape: np.full(shape, np.nan),
}  # fmt: skip


def _filled(
    dtype: np.dtype[Any], shape: tuple[int, ...], content: str, random: np.random.Generator
) -> Array:
    if content == "empty":
        made = np.empty(shape, dtype)
        mark(made, "--args")
        return made
    made = _fresh(dtype, shape)
    if content == "bits":
        made.reshape(-1).view(np.uint8)[:] = random.integers(0, 256, made.nbytes, np.uint8)
    elif content in CONTENTS:
        made[...] = CONTENTS[content](random, shape).astype(dtype)
    elif (number := _parsed(content)) is not None:
        made[...] = number
    else:
        known = ", ".join([*CONTENTS, "bits", "empty"])
        raise ValueError(f"no content is called {content}; there are {known}, and numbers")
    return made


def _parsed(text: str) -> int | float | None:
    for read in (lambda t: int(t, 0), float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _number(name: str, text: str, width: int) -> Given:
    if text == "null":
        return Given(name, 0)
    before, equals, after = text.partition("=")
    number = _parsed(after if equals else before)
    if number is None:
        raise ValueError(_SYNTAX)
    if equals and before in TYPES:
        return Given(name, np.array(number).astype(TYPES[before])[()])
    if isinstance(number, float):
        if width not in (4, 8):
            raise ValueError(
                f"the parameter has {width} bytes: say the type, e.g. f16={after or text}"
            )
        return Given(before if equals else name, number)
    if not -(1 << 8 * width - 1) <= number < 1 << 8 * width:
        raise ValueError(f"the parameter has {width} bytes, and {number} needs more")
    return Given(before if equals else name, number)


def _tensor_map(array: Array, text: str) -> TensorMap:
    options = dict(part.partition("=")[::2] for part in text.strip("/").split("/"))
    if unknown := options.keys() - {"box", "swizzle", "fill"}:
        raise ValueError(f"a tensor map has box, swizzle and fill, no {', '.join(unknown)}")
    box = tuple(int(n) for n in options.get("box", "").split(",") if n)
    if len(box) != array.ndim:
        raise ValueError(
            f"a tensor map of {array.ndim} dimensions: box={'N,' * array.ndim}".rstrip(",")
        )
    swizzle = int(options.get("swizzle", 0))
    if swizzle not in SWIZZLES:
        raise ValueError(f"swizzle is one of {', '.join(map(str, SWIZZLES))}, not {swizzle}")
    fill = options.get("fill", "zero")
    if fill not in ("zero", "nan"):
        raise ValueError(f"fill is zero or nan, not {fill}")
    pattern = np.array(np.nan).astype(array.dtype).tobytes() if fill == "nan" else None
    strides = tuple(array.strides[-2::-1])
    return TensorMap(
        array, array.ctypes.data, array.itemsize, array.shape[::-1], strides, box[::-1], swizzle,
        pattern,
    )  # fmt: skip
