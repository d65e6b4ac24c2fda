"""The approximate instructions, and how far from exact the manual lets each be.

What is computed here is the correctly rounded result (from f64, whose own error is far below), not
the bits of any hardware: compare within `BOUNDS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from blockstep.interp.ptx.isa.arith import same
from blockstep.interp.ptx.isa.floats import HALF, Operation, Wrapping, floating
from blockstep.interp.ptx.isa.formats import Array, odd_to_f32
from blockstep.interp.ptx.isa.registry import Bits, Form, Instruction, Reader, instruction
from blockstep.interp.ptx.isa.views import FLOATS, apart

PI = float(np.pi)
INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a result may be off where the size of the (last) operand is in `inside`:
    in units of its last place, relative to it, or absolutely."""

    kind: Literal["ulp", "relative", "absolute"]
    most: float
    inside: tuple[float, float] = (0.0, INFINITY)


# By opcode with its mode, and type (of one half): from the notes of each instruction. There is no
# entry where the manual promises nothing: rcp and rsqrt of f64, sin and cos past 100 pi.
BOUNDS: dict[tuple[str, str], tuple[Bound, ...]] = {
    ("div.approx", "f32"): (Bound("ulp", 2, (2.0**-126, 2.0**126)),),
    ("div.full", "f32"): (Bound("ulp", 2),),
    ("rcp.approx", "f32"): (Bound("ulp", 1),),
    ("sqrt.approx", "f32"): (Bound("relative", 2.0**-23),),
    ("rsqrt.approx", "f32"): (Bound("relative", 2.0**-22.9),),
    ("sin.approx", "f32"): (
        Bound("absolute", 2.0**-20.5, (0.0, 2 * PI)),
        Bound("absolute", 2.0**-14.7, (2 * PI, 100 * PI)),
    ),
    ("cos.approx", "f32"): (
        Bound("absolute", 2.0**-20.5, (0.0, 2 * PI)),
        Bound("absolute", 2.0**-14.7, (2 * PI, 100 * PI)),
    ),
    ("lg2.approx", "f32"): (
        Bound("absolute", 2.0**-22, (0.5, 2.0)),
        Bound("relative", 2.0**-22, (0.0, 0.5)),
        Bound("relative", 2.0**-22, (2.0, INFINITY)),
    ),
    ("ex2.approx", "f32"): (Bound("ulp", 2),),
    ("ex2.approx", "f16"): (Bound("relative", 2.0**-9.9),),
    ("ex2.approx", "bf16"): (Bound("relative", 2.0**-7),),
    ("tanh.approx", "f32"): (Bound("relative", 2.0**-11),),
    ("tanh.approx", "f16"): (Bound("absolute", 2.0**-10.987),),
    ("tanh.approx", "bf16"): (Bound("absolute", 2.0**-8),),
}


def _rsqrt(x: Array) -> Any:
    return 1.0 / np.sqrt(x)


_IN_F64: dict[str, Operation] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": _rsqrt,
    "sqrt": np.sqrt,
    "rcp": lambda x: 1.0 / x,
}


def _through_f64(name: str, part: str) -> Operation:
    """The function on carriers: computed in f64, and rounded to the format from there."""
    function = _IN_F64[name]
    if part == "f16":
        return lambda x: function(x.astype(np.float64))
    if part == "bf16":
        return lambda x: odd_to_f32(function(x.astype(np.float64)))
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


@instruction("ex2", "lg2", "sin", "cos", "tanh", "rsqrt")
@instruction("rcp", "sqrt", types=FLOATS, modes=frozenset({"approx"}))
def unary(i: Instruction) -> Form:
    """`ex2.approx{.ftz}.type d, a`: 2^a; `lg2`: log2 a; `sin`, `cos`; `tanh`; `rsqrt`: 1 / √a; so
    `rcp`: 1 / a and `sqrt`. Of f32; `ex2` and `tanh` of halves too (bf16 `ex2` only with `.ftz`);
    `rsqrt` also of f64, and `rcp` and `rsqrt` with `.ftz` of the upper half of an f64."""
    r = Reader(i)
    r.needs("approx")
    around = Wrapping(ftz=r.flag("ftz"))
    halves = HALF if i.opcode in ("ex2", "tanh") else ()
    doubles = ("f64",) if i.opcode in ("rcp", "rsqrt") else ()
    type = r.type("f32", *halves, *doubles)
    r.end()
    if type == "f64":
        r.only(around.ftz or i.opcode == "rsqrt")
        return _gross(i.opcode) if around.ftz else floating(type, 1, _rsqrt, around)
    part = apart(type)
    # ex2 of bf16 flushes, ex2 of f16 does not; tanh never does.
    r.only(part == "f32" or around.ftz == (i.opcode == "ex2" and part == "bf16"))
    r.only(i.opcode != "tanh" or not around.ftz)
    name = i.opcode
    if part == "f32" and name == "sqrt":
        return floating(type, 1, np.sqrt, around)
    return floating(type, 1, _through_f64(name, part), around)


def _gross(name: str) -> Form:
    """`rcp.approx.ftz.f64 d, a`, `rsqrt…`: of the upper 32 bits of a, to 20 bits after the point;
    the lower half of d is 0, and subnormal numbers are zero."""
    function = _IN_F64[name]
    upper = np.uint64(0xFFFFFFFF00000000)

    def run(a: Bits) -> Bits:
        value = function(_flushed_f64(a & upper).view(np.float64))
        bits = (value.view(np.uint64) + np.uint64(0x80000000)) & upper
        nan = np.uint64(0x7FFFFFFF00000000)
        return np.where(np.isnan(value), nan, _flushed_f64(bits))

    return same("f64", 1, run)


def _flushed_f64(x: Bits) -> Bits:
    subnormal = (x & np.uint64(0x7FF << 52)) == 0
    return np.where(subnormal, x & np.uint64(1 << 63), x)


@instruction("div", types=FLOATS, modes=frozenset({"approx", "full"}))
def div(i: Instruction) -> Form:
    """`div.full{.ftz}.f32 d, a, b`: a / b; `.approx`: a · (1 / b), so that 0, or NaN for an
    infinite a, comes out where 2^126 < |b| < 2^128."""
    r = Reader(i)
    mode = r.needs("approx", "full")
    around = Wrapping(ftz=r.flag("ftz"))
    type = r.type("f32")
    r.end()
    return floating(type, 2, np.divide if mode == "full" else _by_reciprocal, around)


def _by_reciprocal(a: Array, b: Array) -> Any:
    result = a / b
    size = np.abs(b)
    lost = (size > np.float32(2.0**126)) & (size < np.float32(np.inf))
    if lost.any():
        result = np.where(lost, a * np.copysign(np.float32(0), b), result)
    return result
