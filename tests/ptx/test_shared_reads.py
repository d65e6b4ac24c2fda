"""Reads of one place of shared memory by all threads of a CTA, which are noted at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ptx.programs import kinds, run

SHARED = ".shared .align 16 .b8 memory[1024];"
FILL = """
    mov.u32 %r2, memory;
    shl.b32 %r3, %r0, 2;
    add.u32 %r3, %r2, %r3;
    st.shared.u32 [%r3], %r0;
"""
READ = "    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [memory];\n"
BARRIER = "    bar.sync 0;\n"
WRITE = """
    setp.eq.u32 %p1, %r0, 70;
    @%p1 st.shared.u32 [memory+8], %r0;
"""


def found(body: str, threads: int = 96, ctas: int = 3) -> list[str]:
    return kinds(run(body, np.zeros(1, np.uint32), globals=SHARED, threads=threads, ctas=ctas))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FILL + BARRIER + READ + BARRIER + WRITE, []),
        (FILL + BARRIER + READ + READ + BARRIER + WRITE + BARRIER + READ, []),
        (FILL + BARRIER + READ + WRITE, ["race"]),
        (FILL + READ, ["race"]),
        (FILL + BARRIER + WRITE + READ, ["race"]),
        (READ, ["uninitialised"]),
    ],
    ids=["barriers", "again", "write-behind", "fill-before", "write-before", "unwritten"],
)
def test_what_all_threads_read_races_with_whoever_writes_it(body: str, expected: list[str]) -> None:
    assert found(body) == expected


def test_the_only_warp_of_a_cta_is_ordered_by_its_own_barrier() -> None:
    alone = FILL + BARRIER + READ + "    bar.warp.sync 0xffffffff;\n" + WRITE.replace("70", "7")
    assert found(alone, threads=32) == []
