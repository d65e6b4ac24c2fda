"""Host code of plain instructions has the bits of their NumPy functions; whole kernels too."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

import blockstep.interp.ptx.isa.effects  # noqa: F401  (all instructions are entered)
from blockstep.interp.ptx.host.build import built
from blockstep.interp.ptx.host.text import COLUMN, Function
from blockstep.interp.ptx.isa.registry import Form, form, unsigned
from blockstep.interp.ptx.isa.trace import Graph, Traced, Untraceable
from tests.ptx.instructions import written

RANDOM = np.random.default_rng(11)
WORDS = ("u16", "s16", "u32", "s32", "u64", "s64")
HALF = ("f16", "f16x2", "bf16", "bf16x2")


def _names(text: str, **parts: tuple[str, ...]) -> list[str]:
    """A pattern with every choice of its parts."""
    return [
        text.format(**dict(zip(parts, choice, strict=True)))
        for choice in itertools.product(*parts.values())
    ]


# Names as they are written, with how many operands they have behind the destination.
COMPILED: dict[int, list[str]] = {
    1: [
        *_names("not.{t}", t=("pred", "b16", "b32", "b64")), *_names("mov.{t}", t=("b32", "b64")),
        *_names("abs.{t}", t=("s16", "s32", "s64", "f32", "f64", "f16", "bf16x2")),
        *_names("neg.{t}", t=("s16", "s32", "s64", "f32", "f64", "f16", "bf16x2")),
        *_names("cnot.{t}", t=("b16", "b32", "b64")), *_names("popc.{t}", t=("b32", "b64")),
        *_names("clz.{t}", t=("b32", "b64")), *_names("brev.{t}", t=("b32", "b64")),
        *_names("bfind.{t}", t=("u32", "s32", "u64", "s64")), "bfind.shiftamt.u32",
        *_names("cvt.{a}.{b}", a=WORDS, b=WORDS), *_names("cvt.sat.{a}.{b}", a=WORDS, b=WORDS),
        *_names("cvt.rn.{a}.{b}", a=("f32",), b=("u32", "s32", "s16", "u64", "s64")),
        *_names("cvt.{r}.{a}.{b}", r=("rni", "rzi", "rmi", "rpi"), a=("s32", "u32", "s64", "u64"),
                b=("f32", "f16", "f64")),
        "cvt.f32.f16", "cvt.f32.bf16", "cvt.rn.f16.f32", "cvt.rn.bf16.f32", "cvt.rn.f32.f64",
        "cvt.ftz.f32.f16", "cvt.rn.relu.f16.f32", "cvt.rn.sat.f16.f32", "cvt.rzi.f32.f32",
        "cvt.rna.tf32.f32", "cvt.rn.tf32.f32", "cvt.sat.f32.f32",
        "ex2.approx.f32", "ex2.approx.ftz.f32", "rsqrt.approx.f32", "rcp.approx.ftz.f32",
        "sqrt.approx.f32", "sqrt.rn.f32", "rcp.rn.f32", "sqrt.rn.ftz.f32",
        *_names("testp.{p}.f32", p=("finite", "infinite", "number", "notanumber")),
    ],
    2: [
        *_names("{o}.{t}", o=("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"),
                t=WORDS),
        "add.sat.s32", "sub.sat.s32", "add.u16x2", "min.s16x2", "max.relu.s32",
        *_names("mul.wide.{t}", t=("u16", "s16", "u32", "s32")), "mul24.lo.s32", "mul24.hi.u32",
        *_names("{o}.{t}", o=("and", "or", "xor"), t=("pred", "b16", "b32", "b64")),
        *_names("shl.{t}", t=("b16", "b32", "b64")), *_names("shr.{t}", t=WORDS),
        "bmsk.clamp.b32", "bmsk.wrap.b32", "szext.clamp.s32", "szext.wrap.u32",
        *_names("setp.{c}.{t}", c=("eq", "ne", "lt", "le", "gt", "ge"),
                t=("u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16")),
        *_names("setp.{c}.f32", c=("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")),
        "setp.hi.u32", "setp.lt.ftz.f32", "set.lt.u32.s32", "set.gt.f32.f32",
        *_names("{o}.{t}", o=("add", "sub", "mul"), t=("f32", *HALF)),
        "add.ftz.f32", "add.sat.f32", "mul.ftz.sat.f32", "add.f16x2",
        *_names("{o}.{t}", o=("min", "max"), t=("f32", *HALF)), "min.NaN.f32", "max.ftz.f32",
        "min.NaN.f16x2", "max.xorsign.abs.f32", "max.NaN.xorsign.abs.bf16",
        "div.rn.f32", "div.full.f32", "div.approx.ftz.f32", "copysign.f32", "copysign.f64",
        "cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32", "cvt.rn.relu.bf16x2.f32",
        "cvt.pack.sat.s16.s32",
    ],
    3: [
        *_names("mad.{m}.{t}", m=("lo", "hi"), t=WORDS), "mad.hi.sat.s32", "mad24.lo.u32",
        *_names("mad.wide.{t}", t=("u16", "s16", "u32", "s32")),
        *_names("sad.{t}", t=WORDS), "dp4a.u32.s32", "dp2a.lo.s32.s32",
        *_names("selp.{t}", t=("b16", "b32", "b64", "f32", "f64")),
        "slct.u32.s32", "slct.f32.f32", "setp.lt.and.s32", "setp.ne.or.b64", "setp.gt.xor.f32",
        "shf.l.wrap.b32", "shf.r.clamp.b32", "shf.l.clamp.b32",
        *_names("bfe.{t}", t=("u32", "s32", "u64", "s64")),
        "fma.rn.f32", "fma.rn.ftz.f32", "fma.rn.sat.f32", "mad.rn.f32", "fma.rn.f16",
        "fma.rn.f16x2", "fma.rn.relu.f16", "min.f32", "max.NaN.f32",
    ],
    4: ["bfi.b32", "bfi.b64"],
}  # fmt: skip
ALL = [(name, count) for count, names in COMPILED.items() for name in dict.fromkeys(names)]
# Payloads of NaN, directed rounding, tables by registers.
LEFT = (
    ("add.f64", 2), ("fma.rn.f64", 3), ("prmt.b32", 3), ("add.rz.f32", 2), ("sin.approx.f32", 1), ("div.rn.f64", 2),
)  # fmt: skip


def edges(type: str, count: int) -> Any:
    """Numbers where something happens, and random bits."""
    kind = unsigned(type)
    if kind is np.bool_:
        return RANDOM.integers(0, 2, count).astype(bool)
    width = 8 * np.dtype(kind).itemsize
    whole = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF]
    whole += [1 << (width - 1), (1 << (width - 1)) - 1, (1 << width) - 1, (1 << width) - 2]
    parts = {16: [0x7C00, 0xFC00, 0x7E01, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x7BFF, 0x7F80, 0x7F7F]}
    parts[32] = [0x7F800000, 0xFF800000, 0x7FC00001, 0x7F800001, 0x3F800000, 0xBF800000, 1,
                 0x807FFFFF, 0x7F7FFFFF, 0x4F000000, 0xCF000000, 0x4F800000, 0x42FE0000,
                 0xC2FC0000, 0x7C007C00, 0x3C00FC01, 0x477FF000, 0x3F7FFFFF, 0x33000000]  # fmt: skip
    parts[64] = [int(np.float64(x).view(np.uint64))
                 for x in (1, -1, 2**31, -(2**31), 2**32, 2**63, -(2**63), 2**64, 0.5, np.inf,
                           np.nan, 1e-310, 3.4028236e38)]  # fmt: skip
    known = np.array([x % (1 << width) for x in whole + parts.get(width, [])], np.uint64)
    bits = RANDOM.integers(0, 1 << 63, count, np.uint64) * np.uint64(2) | np.uint64(1)
    near = RANDOM.integers(0, 40, count).astype(np.uint64)
    chosen = RANDOM.integers(0, 4, count)
    bits = np.where(chosen == 0, RANDOM.choice(known, count), bits)
    return np.where(chosen == 1, near, bits).astype(kind)


def traced(found: Form) -> tuple[Graph, list[Traced]]:
    """The trace of an instruction. Raises Untraceable."""
    graph = Graph()
    inputs = [graph.add("input", (), np.dtype(unsigned(t)), n) for n, t in enumerate(found.sources)]
    results = found.compute(*inputs)
    return graph, [*results] if isinstance(results, tuple) else [results]


@pytest.mark.parametrize(("name", "count"), ALL, ids=[name for name, _ in ALL])
def test_host_code_has_the_bits_of_numpy(name: str, count: int) -> None:
    found = form(written(name, count))
    graph, results = traced(found)
    steps = [np.dtype(unsigned(t)).itemsize for t in found.sources]
    code = Function(graph, [COLUMN] * len(steps), steps, [r.number for r in results])
    given = [edges(t, 5003)[None] for t in found.sources]
    made = [np.empty((1, 5003), r.dtype) for r in results]
    objects = (ctypes.c_void_p * (len(given) + len(made)))(*map(id, given), *map(id, made))
    built(code.text)(objects, 1, 5003)
    with np.errstate(all="ignore"):
        expected = found.compute(*given)
    for one, other in zip(
        expected if isinstance(expected, tuple) else (expected,), made, strict=True
    ):
        wrong = np.flatnonzero(one != other)
        assert not wrong.size, (
            [x[0, wrong[:3]] for x in given], one[0, wrong[:3]], other[0, wrong[:3]]
        )  # fmt: skip


@pytest.mark.parametrize(("name", "count"), LEFT, ids=[name for name, _ in LEFT])
def test_what_host_code_could_not_do_alike_is_left_to_numpy(name: str, count: int) -> None:
    with pytest.raises(Untraceable):
        traced(form(written(name, count)))
