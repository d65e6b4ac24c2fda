"""What ptxas gets wrong is not written: the same program in another form."""

from __future__ import annotations

import re

from blockstep.compiler.emit import emit
from blockstep.compiler.ptxas_faults import written_around

MAXIMUM = """
define i32 @f(i32 %a, i32 %b, i32 %c) {
  %x = sub i32 0, %a
  %y = sub i32 0, %b
  %m = call i32 @llvm.smax.i32(i32 %x, i32 %y)
  %n = call i32 @llvm.smax.i32(i32 %m, i32 %c)
  ret i32 %n
}
declare i32 @llvm.smax.i32(i32, i32)
"""


def test_no_negation_goes_into_a_maximum() -> None:
    ptx = emit(MAXIMUM, "sm_90a")
    assert "neg.s32" not in ptx
    assert len(re.findall(r"not\.b32 *\t%(r\d+), %r\d+;\n\tadd\.s32 *\t%\1, %\1, 1;", ptx)) == 2


def test_other_negations_stay() -> None:
    kept = "\tneg.s32 \t%r2, %r1;\n\tmax.s32 \t%r4, %r3, %r5;\n"
    assert written_around(kept) == kept


def test_a_minimum_with_a_constant() -> None:
    found = written_around("\tneg.s32 \t%r2, %r1;\n\tmin.s32 \t%r4, %r2, 7;\n")
    assert found == "\tnot.b32 \t%r2, %r1;\n\tadd.s32 \t%r2, %r2, 1;\n\tmin.s32 \t%r4, %r2, 7;\n"


def test_sixteen_bits() -> None:
    found = written_around("\tneg.s16 \t%rs2, %rs1;\n\tmax.s16 \t%rs4, %rs3, %rs2;\n")
    assert found.startswith("\tnot.b16 \t%rs2, %rs1;\n\tadd.s16 \t%rs2, %rs2, 1;\n")


PAIR = """
\tshfl.sync.idx.b32 \t%r1, %r9, 0, 31, -1;
\tshfl.sync.idx.b32 \t%r2, %r9, 1, 31, -1;
\tprmt.b32 \t%r3, %r1, %r2, 0x5410U;
\tmov.b32 \t{%rs1, %rs2}, %r3;
"""


def test_halves_of_a_pair_come_from_the_registers_that_were_packed() -> None:
    found = written_around(PAIR)
    assert "mov.b32" not in found
    assert "\tcvt.u16.u32 \t%rs1, %r1;\n\tcvt.u16.u32 \t%rs2, %r2;\n" in found


def test_halves_of_a_register_that_is_written_again_stay() -> None:
    again = PAIR.replace("\tmov.b32", "\tmov.u32 \t%r1, %r8;\n\tmov.b32")
    assert written_around(again) == again
    guarded = PAIR.replace(
        "\tmov.b32", "\tmov.b32 %r8, 0; @%p1 ld.global.b32 %r2, [%rd1];\n\tmov.b32"
    )
    assert written_around(guarded) == guarded
