"""The text form: what is printed parses back to the same function."""

import math

import pytest

import blockstep
import blockstep.language as tl
from blockstep.compiler.frontend import build
from blockstep.ir import Function, Malformed, ParseError, dump, parse, verify

FLOATS = tl.pointer_type(tl.float32)


@blockstep.jit
def rows(x_ptr, out_ptr, n, trips, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(trips):
        acc += tl.load(x_ptr + offs + k * n, mask=offs < n, other=-float("inf"))
    if n > 4:
        acc = acc * 2
    best, at = tl.max(acc, axis=0, return_indices=True)
    while at > 0:
        at = at - 3
    tl.store(out_ptr + offs, acc + best + at, mask=offs < n)


def _ir() -> Function:
    types = {"x_ptr": FLOATS, "out_ptr": FLOATS, "n": tl.int32, "trips": tl.int32}
    return build(rows, types, {"BLOCK": 16})


@pytest.mark.parametrize("locations", [True, False])
def test_text_parses_back_to_the_same_text(locations: bool) -> None:
    text = dump(_ir(), locations)
    again = parse(text)
    verify(again)
    assert dump(again, locations) == text


def test_every_operation_knows_its_line() -> None:
    lines = open(__file__).read().splitlines()
    for operation in _ir().walk():
        if operation.name == "load":
            assert operation.location is not None
            assert "tl.load" in lines[operation.location.span.line - 1]


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "0.1", "1e-45", "-0.0", "3.4e+38"])
def test_a_float_keeps_its_bits(value: str) -> None:
    text = f"func @f() -> () const {{}} {{\n  %0 = constant {{type=!fp64, value={value}}} : fp64\n  return\n}}"
    (constant, _) = parse(text).body.operations
    got = constant.attributes["value"]
    assert (
        math.isnan(got)
        if value == "nan"
        else (got, math.copysign(1, got))
        == (
            float(value),
            math.copysign(1, float(value)),
        )
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("  %0 = nothing : int32\n  return", "no operation is called 'nothing'"),
        ("  %1 = add %0, %0 : int32\n  return", "%0 is used before"),
        ("  %0 = constant {type=!int31, value=1} : int32\n  return", "'int31' is no type"),
    ],
)
def test_a_wrong_text_is_refused_with_its_line(body: str, said: str) -> None:
    with pytest.raises(ParseError, match="line 2: " + said):
        parse("func @f() -> () const {} {\n" + body + "\n}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("  %0 = constant {type=!int32, value=1} : int64\n  return", "its type rule says"),
        ("  yield", "a function ends in return"),
        ("  return\n  return", "a terminator is the last operation"),
        ("  %0 = constant {type=!int32, value=1} : int32\n  return %0", "is declared"),
    ],
)
def test_the_verifier_says_what_is_wrong(body: str, said: str) -> None:
    function = parse("func @f() -> () const {} {\n" + body + "\n}")
    with pytest.raises(Malformed, match=said):
        verify(function)


def test_a_clone_has_the_same_text_and_shares_nothing() -> None:
    original = _ir()
    text = dump(original)
    copy = original.clone()
    verify(copy)
    assert dump(copy) == text
    store = next(o for o in copy.walk() if o.name == "store")
    store.erase()
    assert dump(original) == text
