"""Reading PTX, and the order of its blocks."""

from __future__ import annotations

import pytest

from blockstep.interp.ptx.faults import Malformed
from blockstep.interp.ptx.flow import blocks_of
from blockstep.interp.ptx.parser import parse
from blockstep.interp.ptx.syntax import Address, Immediate, Register, Statement
from tests.ptx.programs import each, kernel


def statements(body: str) -> list[Statement]:
    """The instructions of a body."""
    found = parse(kernel(body, 1)).functions["kernel"].body or []
    return [s for s in found if isinstance(s, Statement)][3:-1]


def test_an_instruction_has_its_modifiers_types_and_line() -> None:
    (one,) = statements("@!%p1 fma.rn.ftz.f32 %f1, %f2, 0f3F800000, -1;")
    i = one.instruction
    assert (i.opcode, i.modifiers, i.types) == ("fma", ("rn", "ftz", "f32"), ("f32",))
    assert one.guard == Register("%p1", "pred")
    assert one.negated
    assert i.operands[2:] == (Immediate(0x3F800000, 32), Immediate(-1))


def test_addresses_have_offsets() -> None:
    (one,) = statements("ld.global.v2.u32 {%r1, %r2}, [%d1+-16];")
    assert one.instruction.operands[1] == Address(Register("%d1", "b64"), -16)


def test_registers_and_labels_of_a_block_are_its_own() -> None:
    body = """mov.u32 %r1, 1; { .reg .u32 %r1; mov.u32 %r1, 2; bra L; L: }
              { .reg .u32 %r1; mov.u32 %r1, 3; bra L; L: }"""
    assert set(each(body).tolist()) == {1}


def test_comments_and_pragmas_say_nothing() -> None:
    body = 'mov.u32 %r1, 4; // mov.u32 %r1, 5;\n /* mov.u32 %r1, 6;\n */ .pragma "nounroll";'
    assert set(each(body).tolist()) == {4}


def test_lines_of_the_kernel_come_from_loc() -> None:
    text = kernel(".loc 1 12 34\n mov.u32 %r1, 4;", 1) + '.file 1 "kernel.py"\n'
    module = parse(text)
    last = [s for s in module.functions["kernel"].body or [] if isinstance(s, Statement)][3]
    assert last.location is not None
    assert (last.location.line, last.location.column) == (12, 34)
    assert module.files == {1: "kernel.py"}


@pytest.mark.parametrize(
    "body", ["mov.u32 %r1 4;", "ld.global.u32 %r1, [%d1", "bra nowhere;", "^", "@5 ret;"]
)
def test_what_is_no_ptx_is_said_with_its_line(body: str) -> None:
    with pytest.raises(Malformed, match="PTX line"):
        blocks_of(parse(kernel(body, 1)), "kernel")


def test_a_called_function_stands_in_the_place_of_its_call() -> None:
    declared = """.func (.param .b32 out) twice(.param .b32 in) {
        .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.b32 %r1, [in]; setp.gt.u32 %p1, %r1, 3;
        @%p1 bra big; add.u32 %r2, %r1, %r1; st.param.b32 [out], %r2; ret;
        big: st.param.b32 [out], %r1; ret; }"""
    body = """{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call.uni (r), twice, (a);
              ld.param.b32 %r1, [r]; }"""
    assert each(body, threads=8, globals=declared).tolist() == [0, 2, 4, 6, 4, 5, 6, 7]


def test_what_follows_a_loop_stands_behind_it() -> None:
    body = """setp.eq.u32 %p1, %r0, 0; bra head; latch: @%p1 bra head; bra out;
              head: add.u32 %r0, %r0, 1; @%p1 bra latch; bra latch; out: mov.u32 %r1, 1;"""
    blocks = blocks_of(parse(kernel(body, 1)), "kernel").blocks
    texts = [[s.instruction.name for s in b.body] for b in blocks]
    assert texts[-1] == ["mov.u32"]
    assert blocks[0].number == 0


def test_a_carry_goes_from_one_addition_to_the_next() -> None:
    body = "add.cc.u32 %r2, %r0, 0xffffffff; addc.u32 %r1, 0, 0;"
    assert each(body, threads=4).tolist() == [0, 1, 1, 1]


def test_a_type_may_be_glued_to_its_directive() -> None:
    assert each("{.reg.b32 t; mov.b32 t, 7; mov.b32 %r1, t;}", threads=1).tolist() == [7]


def test_a_variable_may_hold_the_address_of_another() -> None:
    declared = """.global .attribute(.managed) .align 4 .u32 five = 5;
        .global .align 8 .u64 there[2] = {0, generic(five)};"""
    body = """{ .reg .b64 t; ld.global.u64 t, [there+8]; ld.u32 %r1, [t]; }"""
    assert each(body, threads=1, globals=declared).tolist() == [5]
