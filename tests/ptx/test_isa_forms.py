"""Which forms there are: as an assembler has it, and that this folder stands on its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep.compiler.assemble import assemble
from blockstep.compiler.toolchain import missing
from blockstep.errors import PTXASError, UnsupportedError
from blockstep.interp.ptx import isa
from blockstep.interp.ptx.isa import Form, Instruction, Unsupported, form, registry
from blockstep.interp.ptx.isa.registry import opcodes, unsigned
from tests.ptx.instructions import TYPES

REGISTERS = """.reg .pred p<4>; .reg .b8 c<4>; .reg .b16 h<8>; .reg .b32 r<8>; .reg .b64 d<8>;
.reg .f32 f<8>; .reg .f64 g<8>;"""

ACCEPTED = """
add.s32 r0, r1, r2; add.sat.s32 r0, r1, r2; add.u16x2 r0, r1, r2; add.cc.s64 d0, d1, d2;
addc.cc.u32 r0, r1, r2; subc.u64 d0, d1, d2; madc.hi.cc.u32 r0, r1, r2, r3;
mad.lo.cc.u32 r0, r1, r2, r3; mad.hi.sat.s32 r0, r1, r2, r3; mad.wide.u16 r0, h0, h1, r1;
mul.wide.s16 r0, h0, h1; mul.hi.u64 d0, d1, d2; mul24.hi.s32 r0, r1, r2; sad.u16 h0, h1, h2, h3;
mad24.hi.sat.s32 r0, r1, r2, r3; div.s64 d0, d1, d2; rem.u16 h0, h1, h2; abs.s16 h0, h1;
neg.s64 d0, d1; min.relu.s32 r0, r1, r2; max.s16x2.relu r0, r1, r2; max.u16x2 r0, r1, r2;
dp4a.s32.u32 r0, r1, r2, r3; dp2a.hi.s32.u32 r0, r1, r2, r3;
and.pred p0, p1, p2; or.b32 r0, r1, r2; xor.b16 h0, h1, h2; not.pred p0, p1; cnot.b16 h0, h1;
lop3.b32 r0, r1, r2, r3, 5; lop3.or.b32 r0|p0, r1, r2, r3, 5, p1; shl.b16 h0, h1, r0;
shr.b16 h0, h1, r0; shr.s64 d0, d1, r0; shf.r.clamp.b32 r0, r1, r2, r3; bfe.s64 d0, d1, r0, r1;
bfi.b64 d0, d1, d2, r0, r1; bfind.shiftamt.s64 r0, d1; brev.b64 d0, d1; popc.b64 r0, d1;
clz.b32 r0, r1; fns.b32 r0, r1, r2, r3; prmt.b32.rc16 r0, r1, r2, r3; szext.clamp.s32 r0, r1, r2;
bmsk.wrap.b32 r0, r1, r2; mov.b32 {c0, c1, c2, c3}, r0; mov.b64 d0, {r0, r1}; mov.pred p0, p1;
mov.b16 {c0, c1}, h0; mov.b64 {h0, h1, h2, h3}, d0; cvta.to.global.u64 d0, d1; cvta.shared.u64 d0, d1;
setp.lt.and.s32 p0|p1, r0, r1, p2; setp.neu.ftz.f32 p0, f0, f1; setp.hs.u16 p0, h0, h1;
setp.eq.f16x2 p0|p1, r0, r1; setp.eq.f16x2 p0, r0, r1; setp.num.bf16 p0, h0, h1;
set.lt.and.f16x2.f16x2 r0, r1, r2, p0; set.lt.u16.f16 h0, h1, h2; set.lt.u32.f16x2 r0, r1, r2;
set.gtu.and.f32.f64 f0, g0, g1, p0; selp.b16 h0, h1, h2, p0; slct.ftz.u64.f32 d0, d1, d2, f0;
add.rm.ftz.sat.f32 f0, f1, f2; sub.rn.ftz.sat.f16x2 r0, r1, r2; mul.rn.bf16x2 r0, r1, r2;
add.f32x2 d0, d1, d2; add.f32.f16 f0, h1, f2; sub.rz.sat.f32.bf16 f0, h1, f2; mul.rp.f64 g0, g1, g2;
fma.rn.f32.bf16 f0, h1, h2, f3; fma.rn.relu.bf16x2 r0, r1, r2, r3; fma.rn.ftz.sat.f16 h0, h1, h2, h3;
fma.rp.ftz.f32x2 d0, d1, d2, d3; mad.rz.sat.f32 f0, f1, f2, f3; div.rp.ftz.f32 f0, f1, f2;
div.rn.f64 g0, g1, g2; rcp.rz.f64 g0, g1; sqrt.rm.ftz.f32 f0, f1; min.NaN.xorsign.abs.f32 f0, f1, f2;
min.f32 f0, f1, f2, f3; max.NaN.abs.f32 f0, f1, f2, f3; max.f64 g0, g1, g2; abs.ftz.f16 h0, h1;
min.ftz.NaN.xorsign.abs.f16x2 r0, r1, r2; max.bf16 h0, h1, h2; neg.bf16x2 r0, r1;
copysign.f64 g0, g1, g2; testp.subnormal.f32 p0, f0; div.full.ftz.f32 f0, f1, f2;
div.approx.f32 f0, f1, f2; rcp.approx.ftz.f64 g0, g1; rsqrt.approx.f64 g0, g1; sin.approx.f32 f0, f1;
rsqrt.approx.ftz.f64 g0, g1; ex2.approx.ftz.bf16x2 r0, r1; ex2.approx.f16 h0, h1; lg2.approx.f32 f0, f1;
tanh.approx.bf16x2 r0, r1; tanh.approx.f32 f0, f1; cos.approx.ftz.f32 f0, f1; sqrt.approx.f32 f0, f1;
cvt.s32.s8 r0, r1; cvt.sat.u8.s32 r0, r1; cvt.rzi.ftz.sat.s32.f32 r0, f0; cvt.rni.sat.f32.f32 f0, f1;
cvt.rpi.bf16.bf16 h0, h1; cvt.f16.f16 h0, h1; cvt.rn.f64.u64 g0, d0; cvt.rn.ftz.f32.s32 f0, r0;
cvt.rn.sat.f32.s32 f0, r0; cvt.bf16.f16 h0, h1; cvt.rz.f16.bf16 h0, h1; cvt.ftz.f32.f16 f0, h0;
cvt.f64.f32 g0, f0; cvt.rm.bf16.f32 h0, f0; cvt.rz.ftz.sat.f32.f64 f0, g0;
cvt.rn.relu.satfinite.f16x2.f32 r0, f0, f1; cvt.rz.satfinite.bf16.f32 h0, f0;
cvt.rna.satfinite.tf32.f32 r0, f0; cvt.rn.relu.tf32.f32 r0, f0;
cvt.rn.satfinite.relu.e4m3x2.f32 h0, f0, f1; cvt.rn.satfinite.e5m2x2.f16x2 h0, r0;
cvt.rn.relu.f16x2.e5m2x2 r0, h0; cvt.rn.satfinite.e2m1x2.f32 c0, f0, f1; cvt.rn.f16x2.e2m1x2 r0, c0;
cvt.rn.satfinite.e3m2x2.f32 h0, f0, f1; cvt.rp.satfinite.ue8m0x2.bf16x2 h0, r1;
cvt.rz.ue8m0x2.f32 h0, f0, f1; cvt.rn.bf16x2.ue8m0x2 r0, h0; cvt.pack.sat.s16.s32 r0, r1, r2;
cvt.pack.sat.u8.s32.b32 r0, r1, r2, r3;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {r0, r1, r2, r3}, {r0, r1, r2, r3}, {r4, r5}, {r0, r1, r2, r3};
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {r0, r1, r2, r3}, {r0, r1, r2, r3}, {r4, r5}, {r0, r1, r2, r3};
mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {r0, r1}, {r0, r1, r2, r3}, {r4, r5}, {r6, r7};
mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {g0, g1, g2, g3}, {g0, g1, g2, g3}, {g4, g5}, {g0, g1, g2, g3};
"""

REFUSED = """
add.sat.u32 r0, r1, r2; sub.u16x2 r0, r1, r2; add.cc.b32 r0, r1, r2; mad.lo.cc.u16 h0, h1, h2, h3;
neg.s16x2 r0, r1; abs.u32 r0, r1; lop3.xor.b32 r0|p0, r1, r2, r3, 5, p1; setp.lt.b32 p0, r0, r1;
selp.f16 h0, h1, h2, p0; set.lt.u16.s32 h0, r1, r2; add.ftz.bf16 h0, h1, h2; mul.f32.f16 f0, h1, f2;
add.rn.sat.f32x2 d0, d1, d2; fma.rn.sat.relu.f16 h0, h1, h2, h3; ex2.approx.ftz.f16 h0, h1;
cvt.rn.f32.f16 f0, h0; cvt.rn.f32.f32 f0, f1; cvt.rn.f64.f32 g0, f0; cvt.f16.f32 h0, f0;
cvt.ftz.s32.f32 r0, f0; cvt.rn.sat.bf16.f32 h0, f0; cvt.rn.relu.f16.f64 h0, g0;
cvt.rn.satfinite.sat.f16.f32 h0, f0; fma.f32 f0, f1, f2, f3; div.f32 f0, f1, f2; rcp.approx.f64 g0, g1;
min.relu.u32 r0, r1, r2; mul.s32 r0, r1, r2; mul.wide.u64 d0, d1, d2; shl.u32 r0, r1, r2;
"""


def _texts(listed: str) -> list[str]:
    return [t.strip() for t in listed.replace("\n", " ").split(";") if t.strip()]


def _written(text: str) -> Instruction:
    name, rest = text.split(" ", 1)
    opcode, *modifiers = name.split(".")
    found = re.findall(r"\{[^}]*\}|[\w|]+", rest)
    operands = tuple(tuple(re.findall(r"\w+", o)) if "{" in o or "|" in o else o for o in found)
    types = tuple(m for m in modifiers if m in TYPES or re.fullmatch(r"e\dm\d|b1|s8|u8|tf32", m))
    return Instruction(opcode, tuple(modifiers), types, 1, operands)


def _assembled(lines: list[str]) -> None:
    ptx = ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n"
    body = "\n".join(f"{line};" for line in lines)
    try:
        assemble(f"{ptx}{REGISTERS}\n{body}\nret;\n}}\n", "sm_100a")
    except UnsupportedError as error:
        if str(error) != str(missing("nvJitLink")) and "needs" not in str(error):
            raise
        pytest.skip(str(error))


def test_an_assembler_takes_every_form_that_is_listed() -> None:
    _assembled(_texts(ACCEPTED))


@pytest.mark.parametrize("text", _texts(ACCEPTED))
def test_a_form_that_is_taken_is_known_with_its_operands(text: str) -> None:
    i = _written(text)
    f = form(i)
    given = sum(len(o) if isinstance(o, tuple) else 1 for o in i.operands[1:])
    assert len(f.sources) == given + f.takes_carry
    results = len(i.operands[0]) if isinstance(i.operands[0], tuple) else 1
    assert len(f.results) == results + f.gives_carry


@pytest.mark.parametrize("text", _texts(REFUSED))
def test_a_form_that_an_assembler_refuses_is_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        form(_written(text))
    with pytest.raises(PTXASError):
        _assembled([text])


def _sources(f: Form, seed: int, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Random bits, small shift amounts and tables among them, in these shapes in turn."""
    random = np.random.default_rng(seed)
    sources = []
    for k, type in enumerate(f.sources):
        shape = shapes[k % len(shapes)]
        bits = random.integers(2**63, size=shape, dtype=np.uint64) * np.uint64(2)
        bits = np.where(random.integers(3, size=shape) == 0, bits % np.uint64(40), bits)
        sources.append(
            (bits & np.uint64(2)) != 0 if type == "pred" else bits.astype(unsigned(type))
        )
    return sources


def _results(f: Form, sources: list[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        got = f.compute(*sources)
    return got if isinstance(got, tuple) else (got,)


@pytest.mark.parametrize("text", [t for t in _texts(ACCEPTED) if not t.startswith("mma")])
def test_operands_are_broadcast_and_never_written(text: str) -> None:
    f = form(_written(text))
    shapes = [(3, 1), (1, 32), (3, 32), (1, 1)]
    for turn in range(4):
        given = _sources(f, turn, shapes[turn:] + shapes[:turn])
        if text.startswith("lop3"):
            given[3] = given[3][:1, :1]  # the table is a constant
        kept = [x.copy() for x in given]
        for x in given:
            x.flags.writeable = False
        got = _results(f, given)
        assert all((x == y).all() for x, y in zip(given, kept, strict=True))
        full = [np.broadcast_to(x, (3, 32)) for x in given]
        whole = [x.copy() for x in full]
        strided = [np.repeat(x, 3, axis=-1)[..., ::3] for x in full]
        if text.startswith("lop3"):
            full[3] = whole[3] = strided[3] = given[3]
        for sources in (full, whole, strided):
            for g, w, type in zip(got, _results(f, sources), f.results, strict=True):
                assert g.dtype == w.dtype == unsigned(type)
                assert (np.broadcast_to(g, (3, 32)) == np.broadcast_to(w, (3, 32))).all()


def test_every_opcode_is_listed() -> None:
    assert {t.split(" ")[0].split(".")[0] for t in _texts(ACCEPTED)} == set(opcodes())


def test_the_arithmetic_shares_nothing_with_the_language() -> None:
    files = list(Path(isa.__file__).parent.glob("*.py"))
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith(("blockstep.language", "blockstep.compiler")), path


def test_every_instruction_is_described() -> None:
    for entries in registry._makers.values():
        for _, _, maker in entries:
            assert maker.__doc__ and "`" in maker.__doc__, maker
