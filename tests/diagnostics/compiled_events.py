"""One event of each class that the ladder raises, and what must be in its words."""

from __future__ import annotations

from blockstep.findings import (
    Argument,
    CompiledFault,
    Disagrees,
    Event,
    PassBroke,
    Rewrite,
    Severity,
    Span,
    Suspect,
    TouchesElsewhere,
    Undecided,
)

HERE = Span("kernel.py", 3, 5, 3, 20, "kernel")
OUT = Argument("out_ptr", "float32[64]", (64,), (1,), 4)
LINES = ("ld.global.b32 %r1, [%rd2];",)
COMPILED: list[tuple[Event, str, Severity, str]] = [
    (
        Disagrees(
            span=HERE, rung="after cse:2", argument=OUT, element=(3,), wanted="1.0", found="2.0",
            count=4, total=64, made_by="`store`",
            suspect=Suspect("cse:2", Rewrite(3, 9, ("%a = load %p",), ())),
        ),
        "compiler",
        Severity.ERROR,
        "the IR after the pass `cse:2` leaves out_ptr[3] = 2.0, and the source 1.0",
    ),
    (
        Disagrees(
            span=HERE, rung="ptx", argument=OUT, element=(0,), wanted="1.0", found="2.0", count=1,
            total=64, limits=("0.99", "1.01"), suspect=Suspect("lowering", lines=LINES),
        ),
        "compiler",
        Severity.ERROR,
        "1 of 64 elements differs; 0.99 to 1.01 would be right",
    ),
    (
        CompiledFault(span=HERE, rung="ptx", fault="race", what="two warps, one slot"),
        "compiler",
        Severity.ERROR,
        "breaks a rule that the source keeps: race",
    ),
    (
        TouchesElsewhere(
            span=HERE, rung="ptx", writes=False, argument=OUT, elements=((9,),), count=8,
        ),
        "compiler",
        Severity.ERROR,
        "reads 8 bytes of `out_ptr` that the source never reads",
    ),
    (PassBroke(span=HERE, name="place", what="KeyError: 3"), "compiler", Severity.ERROR, "place"),
    (
        Undecided(span=HERE, rung="ptx", count=2),
        "compiler",
        Severity.WARNING,
        "2 elements differ on the rung `ptx`",
    ),
]  # fmt: skip
