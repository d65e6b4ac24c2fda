"""One event of every class, in its words: what must be in them, and what must never be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from blockstep.diagnostics import WORDING, describe, explain, render
from blockstep.diagnostics.words import lanes_text, listed
from blockstep.findings import (
    CHECKERS,
    KINDS,
    Argument,
    AssertFailed,
    Birth,
    CastLoses,
    CompileFault,
    Deadlock,
    DividedByZero,
    Event,
    FalseHint,
    GridLimit,
    IdleInstances,
    InternalFault,
    Lanes,
    LanesDisagree,
    MachineFault,
    Mark,
    Misaligned,
    NaNReached,
    NeverWritten,
    OrderDependent,
    OutOfBounds,
    PrecisionLost,
    RaceFound,
    ReadBack,
    ReadsTf32,
    ReadUnwritten,
    RerunDiffers,
    Severity,
    ShiftTooFar,
    Span,
    StoresOverlap,
    Touch,
    UndefinedReached,
    UnsupportedUse,
    Waiter,
    compiled,
    events,
    ladder,
    precise,
)
from tests.diagnostics.compiled_events import COMPILED
from tests.diagnostics.places import Source, source_file

KERNEL = """
@triton.jit
def kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    y = tl.load(x_ptr + (pid * stride + offs), mask=offs < n)
    t = tl.load(x_ptr + rows[:, None] * stride + cols[None, :])
    p = tl.where(offs > 0, tl.load(x_ptr + offs - 1), 0)
    b = tl.load(block_ptr, boundary_check=(0,))
    q = a // (k + 1)
    tl.device_assert(q < n, "past the table")
    tl.store(out_ptr + offs, x)

@triton.jit
def same(out_ptr):
    tl.store(out_ptr, 1)
"""
X = Argument("x", "float32[48, 50]", (48, 50), (64, 1), 4)
OUT = Argument("out", "int32[8]", (8,), (1,), 4)
ONE = Lanes.of(np.array(True))
TAIL = Lanes.of(np.arange(128) >= 104)
HERE = Span("gone.py", 3, 5, 3, 9, "kernel")
THERE = Span("gone.py", 2, 5, 2, 9, "kernel")


@pytest.fixture
def kernel(tmp_path: Path) -> Source:
    """The kernel above."""
    return source_file(tmp_path, KERNEL)


def touch(op: str, span: Span = HERE, program: int = 0, **more: object) -> Touch:
    """An access of out[3]."""
    return Touch(op, span, (program, 0, 0), ((3,),), 1, **more)  # type: ignore[arg-type]


EVENTS: list[tuple[Event, str, Severity, str]] = [
    (
        OutOfBounds(span=HERE, op="store", where="start", lanes=TAIL, argument=OUT, first=-1),
        "out-of-bounds",
        Severity.ERROR,
        "this store writes before the start of `out`",
    ),
    (
        OutOfBounds(span=HERE, op="load", where="null", lanes=ONE),
        "out-of-bounds",
        Severity.ERROR,
        "this load reads through a null pointer",
    ),
    (
        OutOfBounds(span=HERE, op="load", where="unknown", lanes=ONE),
        "out-of-bounds",
        Severity.ERROR,
        "this load reads memory that belongs to no argument",
    ),
    (
        OutOfBounds(span=HERE, op="atomic_add", where="end", lanes=ONE, argument=OUT, first=8),
        "out-of-bounds",
        Severity.ERROR,
        "this atomic_add updates past the end of `out`",
    ),
    (
        OutOfBounds(span=HERE, op="load", where="gap", lanes=TAIL, argument=X, first=50),
        "out-of-bounds",
        Severity.ERROR,
        "this load reads between the elements of `x`",
    ),
    (
        OutOfBounds(span=HERE, op="load", where="end", lanes=ONE, argument=X, explained_by=OUT),
        "out-of-bounds",
        Severity.WARNING,
        "this load leaves what was passed as `x`, and reads `out`",
    ),
    (
        OutOfBounds(span=HERE, op="load", where="end", lanes=ONE, argument=X, explained_by="s_b"),
        "out-of-bounds",
        Severity.WARNING,
        "`s_b`, which was passed too, leads there",
    ),
    (
        OutOfBounds(span=HERE, op="store", where="read-only", lanes=TAIL, argument=OUT),
        "out-of-bounds",
        Severity.ERROR,
        "this store writes to `out`, which is read-only",
    ),
    (
        Misaligned(span=HERE, op="load", needed=4, lanes=ONE, argument=OUT, offset=6, remainder=2),
        "alignment",
        Severity.ERROR,
        "this load of 4 bytes starts 2 bytes past a multiple of 4",
    ),
    (
        RaceFound(span=HERE, argument=OUT, first=touch("store"), second=touch("store", program=1)),
        "race",
        Severity.ERROR,
        "`out` is written by two program instances, and nothing orders them",
    ),
    (
        RaceFound(
            span=HERE, argument=OUT, first=touch("store"), second=touch("store"), same_value=True
        ),
        "race",
        Severity.WARNING,
        "`out` is written by two program instances, with the same value, and nothing orders them",
    ),
    (
        RaceFound(
            span=HERE, argument=OUT, first=touch("atomic_add"), second=touch("load"), why="mixed"
        ),
        "race",
        Severity.ERROR,
        "is updated by an atomic and read by a plain access",
    ),
    (
        LanesDisagree(
            span=HERE, op="store", argument=OUT, element=(3,), lanes=((0,), (5,)), values=("1", "2")
        ),
        "overlap",
        Severity.ERROR,
        "elements 0 and 5 of the block both go to out[3]: 1 and 2",
    ),
    (
        StoresOverlap(span=HERE, argument=OUT, first=touch("store"), second=touch("store")),
        "overlap",
        Severity.ERROR,
        "two stores of one program instance write different values to `out`",
    ),
    (
        ReadBack(span=HERE, argument=OUT, first=touch("store"), second=touch("load")),
        "overlap",
        Severity.WARNING,
        "reads back what the same program instance stored to `out`",
    ),
    (
        ReadUnwritten(span=HERE, op="load", argument=OUT, lanes=TAIL, unwritten=1),
        "uninitialised",
        Severity.ERROR,
        "reads 1 byte of `out` that nothing has written",
    ),
    (
        UndefinedReached(span=HERE, mark=Mark("masked-load", HERE), sink="branch", lanes=ONE),
        "uninitialised",
        Severity.ERROR,
        "an undefined value decides this branch",
    ),
    (
        UndefinedReached(
            span=HERE,
            mark=Mark("wrap", HERE, None, "*", "int32", ("65536", "32768"), "2147483648", "0"),
            sink="address",
            lanes=ONE,
        ),
        "overflow",
        Severity.ERROR,
        "65536 * 32768 = 2147483648 does not fit int32 and became 0",
    ),
    (
        UndefinedReached(span=HERE, mark=Mark("division", HERE), sink="store", lanes=ONE),
        "division",
        Severity.ERROR,
        "a quotient by zero is stored to memory",
    ),
    (
        UndefinedReached(span=HERE, mark=Mark("shift", HERE), sink="mask", lanes=ONE),
        "overflow",
        Severity.ERROR,
        "the result of a shift past the width is used as a mask",
    ),
    (
        ReadsTf32(span=HERE, operand=1, lanes=TAIL, value="1.0004883", read_as="1.0"),
        "precision",
        Severity.WARNING,
        "is 1.0004883, read as 1.0",
    ),
    (
        PrecisionLost(
            span=HERE,
            bound="error:4ulp",
            how="rounding",
            op="add",
            type_text="bf16",
            value=135.0,
            shadow=126.0,
            operands=(),
            element=(3, 17),
            ulps=18.0,
            introduced=0.5,
            argument=OUT,
            elements=((1,),),
            count=1,
            total=4,
            output_type="fp32",
            output_ulps=9e3,
            output_value=135.0,
            output_shadow=126.0,
            output_element=(1,),
        ),  # fmt: skip
        "precision",
        Severity.ERROR,
        "18 ulps of bf16 there, of which this operation makes at most 0.5 each time",
    ),
    (
        NaNReached(
            span=HERE,
            sink="store",
            op="store",
            lanes=TAIL,
            birth=Birth("computed", THERE, op="sub", operands=("inf", "inf"), element=(3, 17)),
            argument=OUT,
        ),
        "precision",
        Severity.WARNING,
        "the NaN was born here: inf - inf at element [3, 17]",
    ),
    (
        NaNReached(
            span=HERE,
            sink="atomic",
            op="atomic_add",
            lanes=ONE,
            birth=Birth("loaded", HERE, argument="out", source=(5,)),
            argument=OUT,
        ),
        "precision",
        Severity.WARNING,
        "`out[5]` was NaN already",
    ),
    (
        UndefinedReached(
            span=HERE,
            mark=Mark(
                "nan",
                HERE,
                op="<",
                operands=("1", "nan"),
                result="false",
                birth=Birth("passed", THERE, argument="s"),
            ),
            sink="branch",
            lanes=ONE,
        ),
        "precision",
        Severity.WARNING,
        "1 < nan is false: with NaN every comparison but != is false",
    ),
    (
        DividedByZero(span=HERE, op="%", lanes=TAIL),
        "division",
        Severity.ERROR,
        "an integer remainder by zero",
    ),
    (
        ShiftTooFar(span=HERE, op="<<", lanes=TAIL, type_text="int32", amount=40, width=32),
        "overflow",
        Severity.ERROR,
        "a shift by 40 is past the 32 bits of int32",
    ),
    (
        CastLoses(span=HERE, source="int32", target="int8", value="300", result="44", lanes=TAIL),
        "cast",
        Severity.WARNING,
        "300 does not fit int8, and becomes 44",
    ),
    (
        GridLimit(span=HERE, grid=(1, 65538, 1), axis=1, size=65538, limit=65535, device="H200"),
        "grid",
        Severity.ERROR,
        "axis y of the grid has 65538 program instances, and H200 allows 65535",
    ),
    (
        NeverWritten(span=HERE, argument=OUT, elements=((7,),), count=1, total=8),
        "grid",
        Severity.WARNING,
        "nothing wrote 1 of 8 elements of `out`",
    ),
    (
        IdleInstances(span=HERE, count=3, total=8, examples=((5, 0, 0),)),
        "grid",
        Severity.NOTE,
        "3 of 8 program instances touched no memory",
    ),
    (
        FalseHint(span=HERE, hint="multiple_of", claimed=(16,), seen=("8",), lanes=ONE),
        "hint",
        Severity.ERROR,
        "`multiple_of` promises that the values are multiples of 16, and that is false",
    ),
    (
        FalseHint(span=HERE, hint="assume"),
        "hint",
        Severity.ERROR,
        "`assume` promises that the condition is true, and that is false",
    ),
    (
        OrderDependent(span=HERE, outputs=(OUT,), seeds=64, differing=(3,), values=("0", "1")),
        "order",
        Severity.WARNING,
        "`out` depends on the order of program instances",
    ),
    (
        RerunDiffers(span=HERE, kernel="k", outputs=(OUT,), configurations=4),
        "order",
        Severity.WARNING,
        "each launch of the kernel changes `out` again",
    ),
    (
        Deadlock(span=HERE, waiters=(Waiter((0, 0, 0), HERE, "flag", (0,), "0"),), waiting=1),
        "deadlock",
        Severity.ERROR,
        "program instance (0, 0, 0) waits for flag[0], which stays 0",
    ),
    (
        AssertFailed(span=HERE, message="past the table", lanes=TAIL, condition="i < n"),
        "assert",
        Severity.ERROR,
        "`i < n` is false for elements 104..127 of 128",
    ),
    (CompileFault(span=HERE, message="no such name"), "compile", Severity.ERROR, "no such name"),
    (
        UnsupportedUse(span=HERE, what="inline PTX"),
        "unsupported",
        Severity.ERROR,
        "not a bug in your kernel",
    ),
    (
        InternalFault(span=HERE, what="a lost mask"),
        "internal",
        Severity.ERROR,
        "a bug in blockstep",
    ),
    (
        MachineFault(
            span=HERE,
            fault="race",
            what="write, then read",
            line=88,
            text="ld.shared.b32 %r1, [%r2];",
            thread=3,
            other=THERE,
            other_line=80,
            other_text="st.shared.b32 [%r2], %r3;",
        ),
        "race",
        Severity.ERROR,
        "PTX line 80: st.shared.b32 [%r2], %r3;",
    ),
    *COMPILED,
]
NAMES = [f"{type(event).__name__}-{n}" for n, (event, *_) in enumerate(EVENTS)]


@pytest.mark.parametrize(("event", "kind", "severity", "text"), EVENTS, ids=NAMES)
def test_an_event_in_words(event: Event, kind: str, severity: Severity, text: str) -> None:
    finding = describe(event)
    assert (finding.kind, finding.severity) == (kind, severity)
    assert text in render(finding)
    assert finding.key == event.key


@pytest.mark.parametrize(("event", "kind", "severity", "text"), EVENTS, ids=NAMES)
def test_no_message_has_an_address_or_the_word(
    event: Event, kind: str, severity: Severity, text: str
) -> None:
    shown = render(describe(event))
    assert not re.search(r"0x|\binvalid\b|\btensor\b|\bthread block\b", shown, re.IGNORECASE)


def test_every_class_of_event_has_words_and_a_case_here() -> None:
    modules = (events, compiled, ladder, precise)
    named = [value for module in modules for value in vars(module).values()]
    found = [c for c in named if isinstance(c, type) and issubclass(c, Event)]
    classes = set(found) - {Event}
    assert classes == set(WORDING) == {type(event) for event, *_ in EVENTS}


def test_every_kind_and_checker_is_explained() -> None:
    for name in (*KINDS, *CHECKERS):
        assert "What to do:" in explain(name) and "Not reported:" in explain(name)


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no kind or checker is called 'rase'; there are .*race"):
        explain("rase")


def test_the_tail_help_takes_a_number_when_no_parameter_has_that_value(kernel: Source) -> None:
    event = OutOfBounds(
        span=kernel.at("tl.store(out_ptr + offs, x)"),
        op="store",
        where="end",
        lanes=TAIL,
        argument=OUT,
        first=8,
        scalars={"m": 8, "n": 9},
    )
    assert describe(event).help == ("mask the tail:  tl.store(out_ptr + offs, x, mask=offs < 8)",)


def test_the_tail_help_of_two_axes(kernel: Source) -> None:
    event = OutOfBounds(
        span=kernel.at("tl.load(x_ptr + rows[:, None] * stride + cols[None, :])"),
        op="load",
        where="end",
        lanes=TAIL,
        argument=X,
        first=3072,
        scalars={"n": 50},
    )
    (text,) = describe(event).help
    assert text.endswith("mask=(rows[:, None] < 48) & (cols[None, :] < n))        # n = 50 here")


def test_a_mask_that_is_too_long_is_named(kernel: Source) -> None:
    event = OutOfBounds(
        span=kernel.at("tl.load(x_ptr + offs, mask=offs < n)"),
        op="load",
        where="end",
        lanes=TAIL,
        argument=OUT,
        first=8,
        masked=True,
    )
    finding = describe(event)
    assert "its mask, `offs < n`, is true there" in finding.facts
    assert finding.help == ("compare with the length of `out` itself, 8, in the mask",)


def test_a_select_around_a_load_gets_a_note(kernel: Source) -> None:
    event = OutOfBounds(
        span=kernel.at("tl.load(x_ptr + offs - 1)"),
        op="load",
        where="start",
        lanes=ONE,
        argument=OUT,
    )
    assert any("tl.where" in note for note in describe(event).notes)


def test_an_offset_that_is_only_part_of_the_way_is_not_named(kernel: Source) -> None:
    event = OutOfBounds(
        span=kernel.at("tl.load(x_ptr + (pid * stride + offs), mask=offs < n)"),
        op="load",
        where="end",
        lanes=TAIL,
        argument=OUT,
        offsets=(0, 9),
    )
    assert "the offsets from `out` there are 0..9" in render(describe(event))


def test_a_block_pointer_is_told_to_pad(kernel: Source) -> None:
    mark = Mark("masked-load", kernel.at("tl.load(block_ptr, boundary_check=(0,))"))
    event = UndefinedReached(span=HERE, mark=mark, sink="store", lanes=ONE)
    assert describe(event).help == (
        'tl.load(block_ptr, boundary_check=(0,), padding_option="zero")',
    )


def test_a_wrapped_product_is_told_to_widen(kernel: Source) -> None:
    mark = Mark("wrap", kernel.at("pid * stride"), type_text="int32")
    event = UndefinedReached(span=HERE, mark=mark, sink="address", lanes=ONE)
    assert describe(event).help == ("pid.to(tl.int64) * stride",)


def test_a_division_is_told_to_guard(kernel: Source) -> None:
    event = DividedByZero(span=kernel.at("a // (k + 1)"), op="//", lanes=ONE)
    assert describe(event).help == ("a // tl.where((k + 1) == 0, 1, k + 1)",)


def test_a_kernel_without_program_id_is_told_so(kernel: Source) -> None:
    span = kernel.at("tl.store(out_ptr, 1)", "same")
    event = RaceFound(
        span=span, argument=OUT, first=touch("store", span), second=touch("store", span)
    )
    assert "tl.program_id(0)" in describe(event).help[0]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("store", "store", "write after write"),
        ("store", "load", "read after write"),
        ("load", "store", "write after read"),
        ("load", "atomic_add", "write after read"),
    ],
)
def test_the_class_of_a_race(first: str, second: str, name: str) -> None:
    event = RaceFound(span=HERE, argument=OUT, first=touch(first), second=touch(second))
    assert describe(event).details["race"] == name
    assert f"a {name} at 1 element" in render(describe(event))


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (np.array(True), ""),
        (np.array([True]), "its only element"),
        (np.ones(8, bool), "all 8 elements"),
        (np.arange(8) == 7, "element 7 of 8"),
        (np.arange(8) >= 4, "elements 4..7 of 8"),
        (np.arange(8) % 2 == 0, "4 of 8 elements (0, 2, 4, ...)"),
        (np.add.outer(np.arange(4) * 10, np.arange(4)) >= 30, "elements [3, 0..3] of [4, 4]"),
        (np.eye(4, dtype=bool), "4 of 16 elements ([0, 0], [1, 1], [2, 2], ...)"),
    ],
)
def test_lanes_in_words(chosen: np.ndarray, text: str) -> None:
    assert lanes_text(Lanes.of(chosen)) == text


def test_a_list_in_words() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"
