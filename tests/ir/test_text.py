"""The text form: what is printed parses back to the same function."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockstep
import blockstep.language as tl
from blockstep.compiler.compile import place
from blockstep.compiler.frontend import build
from blockstep.compiler.layouts import swizzle_128b
from blockstep.compiler.lower import Options
from blockstep.ir import (
    Function,
    Layout,
    Malformed,
    ParseError,
    SharedLayout,
    dump,
    parse,
    verify,
)
from tests.compiler.layouts.random_layouts import layouts

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


@pytest.mark.parametrize("locations", [True, False])
def test_placed_text_parses_back_to_the_same_text(locations: bool) -> None:
    text = dump(place(_ir(), Options(), {}), locations)
    assert " layout<16; r=" in text
    again = parse(text)
    verify(again)
    assert dump(again, locations) == text


def test_the_arguments_of_a_region_keep_their_layouts() -> None:
    again = parse(dump(place(_ir(), Options(), {})))
    loop = next(o for o in again.walk() if o.name == "for")
    carried = loop.regions[0].arguments[1]
    assert isinstance(carried.layout, Layout)
    assert carried.layout == loop.results[0].layout


def test_a_run_is_read() -> None:
    layout = "layout<64; r=1; l=2,4,8,16,32; w=0>"
    text = f"func @f() -> () const {{}} {{\n  %0 = arange {{start=0, end=64}} : int32[64] {layout} run 2\n  return\n}}"
    function = parse(text)
    assert function.body.operations[0].results[0].run == 2
    assert dump(function) == text


@given(layout=layouts())
def test_a_layout_reads_back(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout


@given(rows=st.integers(3, 8), columns=st.integers(3, 7), width=st.sampled_from([32, 64, 128]))
def test_a_layout_of_shared_memory_reads_back(rows: int, columns: int, width: int) -> None:
    shape = (1 << rows, 1 << columns)
    itemsize = 2 if shape[1] * 2 >= width else 16
    shared = swizzle_128b(shape, (1, 0), itemsize, width)
    assert SharedLayout.parse(str(shared)) == shared
    for element in range(0, shape[0] * shape[1], 7):
        assert shared.element(shared.address(element)) == element


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("layout<64; r=1; l=2,4,8,16; w=>", "5 lane bases"),
        ("layout<64; q=1>", "not a layout"),
        ("shared<8; 1,2,3>", "one address"),
        ("shared<8; 1,2,8>", "one address"),
        ("shared<8; r=1>", "not a layout of shared memory"),
    ],
)
def test_a_wrong_layout_is_refused_with_its_line(layout: str, said: str) -> None:
    text = f"func @f() -> () const {{}} {{\n  %0 = slot %1 : fp32[64] {layout}\n  return\n}}"
    with pytest.raises(ParseError, match=f"line 2: .*{said}"):
        parse(text.replace(" %1", ""))


def test_a_value_of_python_is_only_named() -> None:
    text = 'func @f() -> () const {FN=host "some.function"} {\n  return\n}'
    assert dump(parse(text)) == text


def test_a_result_after_an_operation_without_operands_is_no_operand_of_it() -> None:
    text = "func @f(%n.0: int32) -> () const {} {\n  barrier\n  %1 = add %n.0, %n.0 : int32\n  return\n}"
    assert dump(parse(text)) == text
