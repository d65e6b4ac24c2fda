"""An address stays in what its parameter points at; planted faults and clean twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ptx.programs import kinds, run


def arrays() -> tuple[Any, Any, Any, int]:
    """Two arrays and a result, and how far the second is from the first."""
    x, y = np.arange(64, dtype=np.uint32), np.arange(64, dtype=np.uint32)
    return x, y, np.zeros(64, np.uint32), y.ctypes.data - x.ctypes.data


def reached(body: str) -> list[str]:
    """What is found where %d3 is far enough to lead from the first array into the second."""
    x, y, out, far = arrays()
    return kinds(run(body, x, y, out, far))


MINE = "add.u64 %d4, %d0, %d16; "  # this thread's element of the first array
LOAD, STORE = "ld.global.u32 %r1, [%d5]; ", "st.global.u32 [%d5], %r0; "


@pytest.mark.parametrize("access", [LOAD, STORE, "atom.global.add.u32 %r1, [%d5], 1; "])
def test_an_index_that_leads_into_another_array_is_told(access: str) -> None:
    assert reached(MINE + "mov.u64 %d5, %d4; " + access) == []
    assert reached(MINE + "add.u64 %d5, %d4, %d3; " + access) == ["out-of-bounds"]


def test_a_copy_out_of_another_array_is_told() -> None:
    copy = (
        ".shared .align 16 .b8 memory[1024]; mov.u32 %r2, memory; mad.lo.u32 %r4, %r0, 4, %r2; "
        "cp.async.ca.shared.global [%r4], [%d5], 4; cp.async.wait_all; "
    )
    assert reached(MINE + "mov.u64 %d5, %d4; " + copy) == []
    assert reached(MINE + "add.u64 %d5, %d4, %d3; " + copy) == ["out-of-bounds"]


def test_lanes_that_lead_into_another_array_are_counted() -> None:
    x, y, out, far = arrays()
    body = MINE + (
        "setp.lt.u32 %p1, %r0, 8; add.u64 %d6, %d4, %d3; selp.b64 %d5, %d6, %d4, %p1; " + LOAD
    )
    (fault,) = run(body, x, y, out, far).faults
    assert (fault.kind, fault.what, fault.count) == (
        "out-of-bounds", "memory of another argument", 8,
    )  # fmt: skip


def test_an_address_from_either_of_two_parameters_may_go_to_both() -> None:
    body = "setp.lt.u32 %p1, %r0, 8; selp.b64 %d5, %d0, %d1, %p1; add.u64 %d5, %d5, %d16; "
    assert reached(body + LOAD) == []


def test_an_address_that_was_in_memory_may_go_anywhere() -> None:
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    table = np.array([x.ctypes.data], np.uint64)
    body = "ld.global.u64 %d4, [%d0]; add.u64 %d5, %d4, %d16; " + LOAD
    assert kinds(run(body, table, x, out)) == []


def test_an_index_that_was_in_memory_stays_in_its_array() -> None:
    x, y, out, far = arrays()
    index = np.full(64, far // 4, np.int32)
    body = (
        "add.u64 %d4, %d1, %d16; ld.global.s32 %r2, [%d4]; mul.wide.s32 %d6, %r2, 4; "
        "add.u64 %d5, %d0, %d6; " + LOAD
    )
    assert abs(far) < 1 << 32
    assert kinds(run(body, x, index, y)) == ["out-of-bounds"]
    index[:] = 63
    assert kinds(run(body, x, index, y)) == []


def test_an_address_in_two_halves_is_still_of_its_parameter() -> None:
    halves = MINE + "mov.b64 {%r2, %r3}, %d4; mov.b64 %d6, {%r2, %r3}; "
    assert reached(halves + "mov.u64 %d5, %d6; " + LOAD) == []
    assert reached(halves + "add.u64 %d5, %d6, %d3; " + LOAD) == ["out-of-bounds"]
