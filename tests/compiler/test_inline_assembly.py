"""Inline assembly that LLVM would end the process at is an error first."""

import pytest

from blockstep.compiler.emit import emit
from blockstep.compiler.inline_assembly import fault

HEAD = "define ptx_kernel void @k(float %f, i32 %i, i64 %l, i16 %h, double %d, i128 %q) {\n  "


def kernel(call: str) -> str:
    return f"{HEAD}{call}\n  ret void\n}}\n"


TAKEN = [
    'call void asm sideeffect "a $0, ${1}, $$, ${2:r};", "f,r,l"(float %f, i32 %i, i64 %l)',
    'call void asm sideeffect "{ .reg .b32 x; a $0, $1, $2; }", "h,d,q"(i16 %h, double %d, i128 %q)',
    '%r = call i32 asm sideeffect "a $0, $1, $2;", "=r,0,n"(i32 %i, i32 5)',
    '%r = call { i32, i32 } asm sideeffect "a $0;", "=&r,=r,b,~{memory},~{cc}"(i32 %i)',
    'call void asm sideeffect "L${:uid}:\\0A\\09bra L${:uid};", ""()',
    'call void asm sideeffect "bar.sync 0;", "~{memory}"()',
]


@pytest.mark.parametrize("call", TAKEN)
def test_what_llvm_takes_is_no_fault(call: str) -> None:
    assert fault(kernel(call)) is None
    assert "begin inline asm" in emit(kernel(call))


# At each of these LLVM ends the process, or says no more than that the text does not parse.
FAULTS = [
    ('call void asm sideeffect "a $0;", "Z"(i32 %i)', "'Z' is not a constraint"),
    ('call void asm sideeffect "a $0;", "i"(i32 %i)', "constraint 'i' wants a constant"),
    ('%r = call i32 asm "a $0;", "=r,1"(i32 %i)', "ties an input to an output that there is not"),
    ('%r = call i32 asm "a $0;", "+r"(i32 %i)', r"'\+r' is not a constraint"),
    ('call void asm sideeffect "a $1;", "r"(i32 %i)', r"no operand \$1; 1 have constraints"),
    ('call void asm sideeffect "a $1;", "r,~{memory}"(i32 %i)', r"no operand \$1"),
    ('call void asm sideeffect "a ${0:c};", "r"(i32 %i)', r"'\$\{0:c\}' is not an operand"),
    ('call void asm sideeffect "a $x;", "r"(i32 %i)', r"'\$x' is not an operand"),
    ('call void asm sideeffect "a ${", "r"(i32 %i)', "is not an operand"),
    ('call void asm sideeffect "a $", "r"(i32 %i)', "is not an operand"),
    ('call void asm sideeffect "a \\24x;", "r"(i32 %i)', "is not an operand"),
]


@pytest.mark.parametrize(("call", "told"), FAULTS)
def test_what_llvm_does_not_take_is_said(call: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        emit(kernel(call))


def test_the_assembly_is_shown() -> None:
    told = fault(kernel('call void asm sideeffect "foo $0;", "Z"(i32 %i)'))
    assert told is not None
    assert told.endswith("asm 'foo $0;' with constraints 'Z'")
