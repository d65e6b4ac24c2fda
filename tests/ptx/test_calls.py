"""Calls: the memory of parameters, as LLVM and nvcc use it."""

from __future__ import annotations

import pytest

from blockstep.interp.ptx.faults import NotSupported
from blockstep.interp.ptx.flow import blocks_of
from blockstep.interp.ptx.parser import parse
from tests.ptx.programs import each, kernel

NARROW = """.func (.param .align 4 .b8 out[4]) narrow(.param .b32 in) {
    .reg .b16 %h<3>; .reg .b32 %r<2>; ld.param.b8 %h1, [in]; ld.param.b8 %h2, [in+2];
    add.u16 %h1, %h1, %h2; cvt.u32.u16 %r1, %h1; st.param.b32 [out], %r1; ret; }"""


def test_bytes_of_an_argument_that_was_stored_whole() -> None:
    body = """{ .param .b32 a; .param .align 4 .b8 r[4]; shl.b32 %r1, %r0, 16; or.b32 %r1, %r1, 5;
              st.param.b32 [a], %r1; call.uni (r), narrow, (a); ld.param.b32 %r1, [r]; }"""
    assert each(body, threads=4, globals=NARROW).tolist() == [5, 6, 7, 8]


def test_bytes_of_a_constant_argument() -> None:
    body = """{ .param .b32 a; .param .align 4 .b8 r[4]; st.param.b32 [a], 0x30002;
              call.uni (r), narrow, (a); ld.param.b32 %r1, [r]; }"""
    assert each(body, threads=1, globals=NARROW).tolist() == [5]


def test_the_next_call_has_parameters_of_its_own_under_the_same_names() -> None:
    twice = """.func (.param .b64 out) twice(.param .b64 in) { .reg .b64 %d<2>;
        ld.param.b64 %d1, [in]; add.u64 %d1, %d1, %d1; st.param.b64 [out], %d1; ret; }"""
    body = """{ .param .b64 a; .param .b64 r; mov.b64 %d9, 21; st.param.b64 [a], %d9;
              call.uni (r), twice, (a); ld.param.b64 %d9, [r]; }
              { .param .b32 a; .param .align 4 .b8 r[4]; st.param.b32 [a], 3;
              call.uni (r), narrow, (a); ld.param.b32 %r1, [r]; }
              cvt.u32.u64 %r2, %d9; add.u32 %r1, %r1, %r2;"""
    assert each(body, threads=1, globals=NARROW + twice).tolist() == [45]


def test_an_argument_put_together_from_parts_is_not_supported() -> None:
    whole = """.func whole(.param .b32 in) { .reg .b32 %r1; ld.param.b32 %r1, [in]; ret; }"""
    body = """{ .param .b32 a; .reg .b16 %h1; mov.u16 %h1, 1; st.param.b16 [a], %h1;
              st.param.b16 [a+2], %h1; call.uni whole, (a); }"""
    with pytest.raises(NotSupported, match="loaded in one and stored in parts`: PTX line"):
        blocks_of(parse(kernel(body, 1, globals=whole)), "kernel")
