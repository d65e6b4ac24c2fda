"""Conversions between all types: `cvt` and `cvt.pack`.

PTX ISA, "Data Movement and Conversion Instructions: cvt". Between integers values are cut or, with
`.sat`, clipped; floats become integers clipped; what becomes a float is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa import small
from blockstep.interp.ptx.isa.arith import limits
from blockstep.interp.ptx.isa.floats import Wrapping, clamped, saturated
from blockstep.interp.ptx.isa.formats import (
    LOAD,
    NAN_32,
    STORE,
    Array,
    flushed,
    load_bf16,
    load_f16,
    load_f32,
    store_bf16,
    store_f16,
)
from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Bits,
    Compute,
    Form,
    Instruction,
    Reader,
    instruction,
    unsigned,
)
from blockstep.interp.ptx.isa.rounding import (
    DIRECTIONS,
    FORMATS,
    WHOLE,
    added,
    rounded,
    stepped,
    to_f32,
    two_sum,
)
from blockstep.interp.ptx.isa.views import number

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
TO_WHOLE = ("rni", "rzi", "rmi", "rpi")
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
SMALL = {f"{name}x2": name for name in small.SMALL}


@instruction("cvt")
def cvt(i: Instruction) -> Form:
    """`cvt{.rnd}{.ftz}{.sat}{.relu}{.satfinite}.dtype.atype d, a`: a as a value of dtype.

    `.rni .rzi .rmi .rpi` round to whole numbers, `.rn .rz .rm .rp` (and `.rna` of tf32) to the
    format; pairs take the upper half first: `cvt.rn.f16x2.f32 d, a, b` has a in the upper half."""
    r = Reader(i)
    if r.flag("pack"):
        return _pack(r)
    to, source = i.types[:2] if len(i.types) >= 2 else r.fail()
    if to in PAIRS or to in SMALL or "ue8m0x2" in (to, source) or source in SMALL:
        return _pair(r)
    if to == "tf32":
        return _tf32(r)
    if to in INTEGERS:
        return _to_integer(r) if source in INTEGERS else _float_to_integer(r)
    return _integer_to_float(r) if source in INTEGERS else _float_to_float(r)


def _narrowed(type: str, compute: Compute) -> Compute:
    """The function on registers that may be wider than their type: the low bits count."""
    to = unsigned(type)
    return lambda *x: compute(*(v.astype(to, copy=False) for v in x))


def _form(to: str, source: str, compute: Compute, count: int = 1) -> Form:
    return Form(_narrowed(source, compute), (source,) * count, (to,))


def _to_integer(r: Reader) -> Form:
    sat = r.flag("sat")
    to, source = r.type(*INTEGERS), r.type(*INTEGERS)
    r.end()
    view, target = number(source), number(to)
    (to_low, to_high), (low, high) = limits(to), limits(source)
    low, high = max(low, to_low), min(high, to_high)
    back = unsigned(to)

    def run(a: Bits) -> Bits:
        value = a.view(view)
        return (value.clip(low, high) if sat else value).astype(target).view(back)

    return _form(to, source, run)


def _float_to_integer(r: Reader) -> Form:
    """Clipped to the range; NaN is 0, or the topmost bit where one of the types has 64 bits and
    is no u64 or s64 only as a source: f64 as a source, 64 bits as the target."""
    whole = WHOLE[r.needs(*TO_WHOLE)[:2]]
    ftz, _ = r.flag("ftz"), r.flag("sat")  # clipping is what happens anyway
    to, source = r.type(*INTEGERS), r.type(*FLOATS)
    r.only(not ftz or source == "f32")
    r.end()
    load, width = LOAD[source], WIDTH[to]
    nan = 1 << width - 1 if source == "f64" or width == 64 else 0
    back = unsigned(to)
    clip = _clipped_64(to) if width == 64 else _clipped(to)

    def run(a: Bits) -> Bits:
        value = load(flushed("f32", a) if ftz else a)
        lost = np.isnan(value)
        bits = clip(whole(value.astype(np.float64)))
        return np.where(lost, back(nan), bits) if lost.any() else bits

    return _form(to, source, run)


def _clipped(type: str) -> Callable[[Array], Bits]:
    low, high = limits(type)
    back = unsigned(type)
    # fmax turns a NaN into a number, which is replaced later: no cast of what has no value.
    return lambda x: np.fmin(np.fmax(x, low), high).astype(np.int64).astype(back)


def _clipped_64(type: str) -> Callable[[Array], Bits]:
    """The largest s64 and u64 are no f64: what reaches past the last f64 below gets all bits."""
    target, (low, high) = number(type), limits(type)
    last = float(np.nextafter(float(high), 0.0))

    def run(x: Array) -> Bits:
        inside = np.fmin(np.fmax(x, float(low)), last).astype(target)
        return np.where(x > last, target.type(high), inside).view(np.uint64)

    return run


def _integer_to_float(r: Reader) -> Form:
    direction, sat = r.needs(*DIRECTIONS), r.flag("sat")
    ftz = r.flag("ftz")  # no integer becomes a subnormal number
    to, source = r.type(*FLOATS), r.type(*INTEGERS)
    r.only(not ftz or to == "f32")
    r.end()
    view, store = number(source), STORE[to]

    def run(a: Bits) -> Bits:
        result = _as_float(a.view(view), to, direction)
        return store(saturated(result) if sat else result)

    return _form(to, source, run)


def _as_float(value: Array, to: str, direction: str) -> Array:
    """Integers as a carrier of the format, rounded; those of 64 bits as the sum of two halves."""
    if value.dtype.itemsize < 8:
        wide = value.astype(np.float64)
        return wide if to == "f64" else _narrow(wide, to, direction)
    high = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (value & value.dtype.type(0xFFFFFFFF)).astype(np.float64)
    if to != "f64":
        return _narrow(added(high, low), to, direction)
    near, error = two_sum(high, low)
    if direction == "rn":
        return near
    return stepped(near, error < 0, error > 0, np.signbit(near), direction)


def _narrow(x: Array, to: str, direction: str) -> Array:
    """f64 numbers, exact or rounded to odd, on the carrier of a format, rounded."""
    if to == "f32":
        return to_f32(x, direction)
    if to == "f16" and direction == "rn":
        return x.astype(np.float16).astype(np.float32)
    return rounded(x, FORMATS[to], direction).astype(np.float32)


def _float_to_float(r: Reader) -> Form:
    whole, direction = r.one(*TO_WHOLE), r.one(*DIRECTIONS)
    around = Wrapping(sat=r.flag("sat"), relu=r.flag("relu"))
    ftz, finite = r.flag("ftz"), r.flag("satfinite")
    to, source = r.type(*FLOATS), r.type(*FLOATS)
    r.only(not ftz or "f32" in (to, source))
    r.only(not (around.sat and (around.relu or finite)))
    r.only(not (finite or around.relu) or to in ("f16", "bf16") and source == "f32")
    r.only(not (around.sat and to == "bf16") and not (whole and to != source))
    r.end()
    narrows = WIDTH[to] < WIDTH[source]
    # Between f16 and bf16 a direction may be there; without, it is nearest (as ptxas has it).
    r.only(bool(direction) == narrows or to != source and WIDTH[to] == WIDTH[source])
    if to == source and not whole and not around.sat:
        return _form(to, source, (lambda a: flushed(to, a)) if ftz else lambda a: a)
    convert = _converter(to, source, direction or "rn", finite)
    step = WHOLE[whole[:2]] if whole else None
    load, store = LOAD[source], STORE[to]

    def run(a: Bits) -> Bits:
        value = load(flushed(source, a) if ftz and source == "f32" else a)
        bits = store(_limited(convert(step(value) if step else value), to, around, finite))
        return flushed(to, bits) if ftz and to == "f32" else bits

    return _form(to, source, run)


def _limited(x: Array, to: str, around: Wrapping, finite: bool) -> Array:
    """`.sat`, `.satfinite` and `.relu` on the carrier of a result."""
    if finite:
        largest = x.dtype.type(FORMATS[to].largest)
        x = x.clip(-largest, largest)
    if around.sat:
        x = saturated(x)
    return clamped(x) if around.relu else x


def _converter(to: str, source: str, direction: str, finite: bool) -> Callable[[Array], Array]:
    """Carrier to carrier; the store rounds halves to nearest, and keeps what is rounded already."""
    if to == source:
        return _kept
    if to == "f64":
        return lambda x: x.astype(np.float64)
    if source == "f64" or direction != "rn":
        return lambda x: _narrow(x.astype(np.float64), to, direction)
    if finite:  # rounded before it is limited: what lies just above the largest may round to it
        load, store = LOAD[to], STORE[to]
        return lambda x: load(store(x))
    return _kept


def _kept(x: Array) -> Array:
    return x


def _tf32(r: Reader) -> Form:
    """`cvt.rna{.satfinite}.tf32.f32 d, a`, `cvt.{rn,rz}{.satfinite}{.relu}.tf32.f32`: to 10 bits after
    the point; the lower 13 bits of d are 0."""
    direction = r.needs("rna", "rn", "rz")
    finite, relu = r.flag("satfinite"), r.flag("relu")
    r.only(not (relu and direction == "rna"))
    r.type("tf32"), r.type("f32")
    r.end()
    largest = np.float32(FORMATS["tf32"].largest).view(np.uint32)

    def run(a: Bits) -> Bits:
        size = a & np.uint32(0x7FFFFFFF)
        bits = small.cut_tf32(size + _half_place(size, direction))
        if finite:
            bits = np.minimum(bits, largest)
        bits = np.where(a >> 31, np.uint32(0) if relu else bits | np.uint32(1 << 31), bits)
        return np.where(size > np.uint32(0x7F800000), NAN_32, bits)

    return _form("tf32", "f32", run)


def _half_place(size: Bits, direction: str) -> Any:
    """What is added to the bits before they are cut after the 13th from the right."""
    if direction == "rz":
        return np.uint32(0)
    if direction == "rna":
        return np.uint32(0x1000)
    return np.uint32(0xFFF) + ((size >> 13) & 1)


def _pair(r: Reader) -> Form:
    direction = r.needs(*DIRECTIONS)
    relu, finite = r.flag("relu"), r.flag("satfinite")
    names = (*PAIRS, *SMALL, "ue8m0x2")
    to, source = r.type(*names), r.type(*names, "f32")
    r.end()
    if to in PAIRS and source != "f32":
        r.only(direction == "rn" and not finite and (to, source) in _unpacking())
        return _unpack_small(to, source, relu)
    if to in PAIRS:
        r.only(direction in ("rn", "rz"))
        return _form(to, "f32", _halves_of_f32(PAIRS[to], direction, relu, finite), 2)
    if to == "ue8m0x2":
        r.only(direction in ("rz", "rp") and not relu and source in ("f32", "bf16x2"))
    else:
        r.only(direction == "rn" and finite and source in ("f32", *PAIRS))
    return _pack_small(to, source, direction, relu, finite)


def _unpacking() -> set[tuple[str, str]]:
    return {*(("f16x2", s) for s in SMALL), ("bf16x2", "ue8m0x2")}


def _halves_of_f32(to: str, direction: str, relu: bool, finite: bool) -> Compute:
    convert, around = _converter(to, "f32", direction, finite), Wrapping(relu=relu)
    store = STORE[to]

    def half(x: Bits) -> Bits:
        return store(_limited(convert(load_f32(x)), to, around, finite)).astype(np.uint32)

    return lambda a, b: (half(a) << 16) | half(b)


def _pack_small(to: str, source: str, direction: str, relu: bool, finite: bool) -> Form:
    """Two numbers as codes of a small format, the first in the upper bits. Cut to bf16 with a last
    bit that says whether anything was cut (rounded to odd), f32 numbers find their code in a table:
    8 bits are enough, for no small format has more than 4."""
    name = to.removesuffix("x2")
    table = _codes(name, direction, relu, finite)
    upper = 4 if name == "e2m1" else 8

    def code(x: Bits) -> Any:
        odd = (x >> 16) | ((x & np.uint32(0xFFFF)) != 0)
        return table[odd]

    def joined(a: Bits, b: Bits) -> Any:
        register = unsigned(to)
        return (code(a).astype(register) << upper) | code(b)

    if source == "f32":
        return _form(to, "f32", joined, 2)
    load = load_f16 if source == "f16x2" else load_bf16

    def of_pair(a: Bits) -> Any:
        high, low = ((a >> 16).astype(np.uint16), a.astype(np.uint16))
        return joined(load(high).view(np.uint32), load(low).view(np.uint32))

    return _form(to, source, of_pair)


@cache
def _codes(name: str, direction: str, relu: bool, finite: bool) -> Bits:
    """The code of every bf16 number."""
    with np.errstate(all="ignore"):
        every = load_bf16(np.arange(1 << 16, dtype=np.uint16)).astype(np.float64)
        if name == "ue8m0":
            return small.encode_scale(every, direction, finite)
        return small.encode(every, name, direction, relu)


def _unpack_small(to: str, source: str, relu: bool) -> Form:
    """Two codes as f16 or bf16 numbers, which hold them exactly."""
    name = source.removesuffix("x2")
    numbers = small.NUMBERS[name]
    with np.errstate(all="ignore"):
        values = clamped(numbers) if relu else numbers
        table = (store_f16 if to == "f16x2" else store_bf16)(values).astype(np.uint32)
    upper = 4 if name == "e2m1" else 8
    mask = len(table) - 1
    return _form(to, source, lambda a: (table[(a >> upper) & mask] << 16) | table[a & mask])


def _pack(r: Reader) -> Form:
    """`cvt.pack.sat.type.s32 d, a, b`: a and b clipped to 16 bits, b in the lower ones;
    `cvt.pack.sat.type.s32.b32 d, a, b, c`: to 2, 4 or 8 bits, c shifted up behind them."""
    r.only(r.flag("sat"))
    type = r.needs("u16", "s16", "u2", "s2", "u4", "s4", "u8", "s8")
    r.type("s32")
    width = int(type[1:])
    behind = width < 16
    if behind:
        r.type("b32")
    r.end()
    low, high = limits(type)
    mask = np.uint32((1 << width) - 1)

    def part(x: Bits) -> Bits:
        return x.view(np.int32).clip(low, high).view(np.uint32) & mask

    def run(a: Bits, b: Bits, *c: Bits) -> Bits:
        packed = (part(a) << width) | part(b)
        return packed | (c[0] << 2 * width) if c else packed

    return Form(run, ("s32", "s32") + ("b32",) * behind, ("b32",))
