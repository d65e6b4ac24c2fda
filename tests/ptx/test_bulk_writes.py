"""Boxes that the copy engine writes to global memory: which ones the hardware refuses, and what has to be
waited for and fenced around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.interp.ptx.faults import Report, Trap
from blockstep.interp.ptx.machine import run_ptx
from blockstep.interp.ptx.tensor_map import TensorMap

BOX = (4, 2)  # columns, rows
TEXT = """
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 memory[];
.visible .entry write(.param .align 64 .b8 map[128], .param .u64 to, .param .u32 x, .param .u32 y)
{
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    .reg .pred %p<2>;
    mov.b64 %a1, map;
    cvta.param.u64 %a1, %a1;
    ld.param.u64 %a2, [to];
    ld.param.u32 %r2, [x];
    ld.param.u32 %r3, [y];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r4, memory;
    mad.lo.u32 %r5, %r1, 4, %r4;
    st.shared.b32 [%r5], %r1;
    mul.wide.u32 %a3, %r1, 4;
    add.u64 %a3, %a3, %a2;
    BEFORE
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 COPY
    @%p1 cp.async.bulk.commit_group;
    AFTER
    ret;
}
"""
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%a1, {%r2, %r3}], [%r4];"
ADD = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%a1, {%r2, %r3}], [%r4];"
WAIT = "@%p1 cp.async.bulk.wait_group 0;"
READ = "@%p1 cp.async.bulk.wait_group.read 0;"
FENCE = "fence.proxy.async;"


def run(
    x: int, y: int, before: str = "", after: str = WAIT, copy: str = STORE, kind: Any = np.int32
) -> tuple[Report, Any]:
    """The kernel on 64 threads and an array of 4 rows of 16 elements."""
    array = np.zeros((4, 16), kind)
    name = {np.int32: "s32", np.float16: "f16"}[kind]
    columns = 16 // array.itemsize
    told = TensorMap(
        array, array.ctypes.data, array.itemsize, (16, 4), (array.strides[0],), (columns, 2),
        kind=name,
    )  # fmt: skip
    text = TEXT.replace("BEFORE", before).replace("AFTER", after).replace("COPY", copy)
    report = run_ptx(text, "write", (1,), (64,), [told, array, x, y], shared=256)
    return report, array


@pytest.mark.parametrize("copy", [STORE, ADD])
@pytest.mark.parametrize("at", [(0, 0), (12, 3), (16, 0), (4, 9), (1 << 30, 1 << 30)])
def test_a_box_may_begin_at_16_bytes_of_a_row_and_past_the_end(at: Any, copy: str) -> None:
    report, array = run(at[0], at[1], copy=copy)
    assert report.faults == []
    expected = np.zeros((4 + 2 * BOX[1], 16 + 2 * BOX[0]), np.int32)
    if at[0] <= 16 and at[1] <= 4:
        expected[at[1] : at[1] + BOX[1], at[0] : at[0] + BOX[0]] = np.arange(8).reshape(2, 4)
    np.testing.assert_array_equal(array, expected[:4, :16])


@pytest.mark.parametrize("copy", [STORE, ADD])
@pytest.mark.parametrize(
    ("at", "words"),
    [
        (
            (-4, 0),
            "coordinate -4 of axis 0, counted from the innermost, and it takes none below zero",
        ),
        ((4, -1), "coordinate -1 of axis 1, counted from the innermost"),
        ((0, -9), "coordinate -9 of axis 1"),
        ((2, 0), r"byte 8 of a row \(coordinate 2\), and it takes multiples of 16 bytes alone"),
        ((401, 0), r"byte 1604 of a row \(coordinate 401\)"),
    ],
)
def test_a_box_that_the_hardware_does_not_write_ends_the_launch(
    at: Any, words: str, copy: str
) -> None:
    with pytest.raises(Trap, match=words) as trap:
        run(at[0], at[1], copy=copy)
    assert trap.value.fault.place.text.startswith("@%p1 cp.")
    assert trap.value.fault.count == 1


def test_the_multiple_is_of_bytes_whatever_the_elements() -> None:
    assert run(8, 0, kind=np.float16)[0].faults == []
    with pytest.raises(Trap, match="byte 8 of a row"):
        run(4, 0, kind=np.float16)


SOON = "bar.sync 0; ld.global.b32 %r6, [%a3];"
LATE = f"bar.sync 0; {STORE.replace('cp.', '@%p1 cp.')} @%p1 cp.async.bulk.commit_group; {WAIT}"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (f"{WAIT} {SOON}", ""),
        (f"{READ} {SOON}", "nothing has waited for it"),
        (f"{SOON} {WAIT}", "nothing has waited for it"),
        (f"{WAIT} ld.global.b32 %r6, [%a3];", "no barrier is behind the wait"),
        (f"{WAIT} @%p1 ld.global.b32 %r6, [%a3];", ""),
        (f"{WAIT} bar.sync 0; st.global.b32 [%a3], %r1;", ""),
        (f"{READ} bar.sync 0; st.global.b32 [%a3], %r1;", "nothing has waited for it"),
        (f"{READ} bar.sync 0; red.global.add.u32 [%a3], %r1;", "nothing has waited for it"),
        (f"{READ} bar.sync 0; @%p1 st.global.b32 [%a3+16], %r1;", ""),
        (f"{WAIT} {LATE}", ""),
        (f"{READ} {LATE}", "nothing has waited for it"),
    ],
)
def test_what_is_written_is_touched_after_a_wait_and_a_barrier(after: str, words: str) -> None:
    report, _ = run(0, 0, after=after)
    assert [fault.kind for fault in report.faults] == (["async"] if words else [])
    assert all(words in fault.what for fault in report.faults)


def test_sums_may_be_written_beside_each_other() -> None:
    again = f"{READ} {LATE.replace(STORE[3:], ADD[3:])}"
    assert run(0, 0, copy=ADD, after=again)[0].faults == []
    assert [f.kind for f in run(0, 0, copy=STORE, after=again)[0].faults] == ["async"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("st.global.b32 [%a3], %r1;", ["async"]),
        (f"st.global.b32 [%a3], %r1; {FENCE}", []),
        (f"{FENCE} st.global.b32 [%a3], %r1;", ["async"]),
        (f"st.global.b32 [%a3], %r1; bar.sync 0; @%p1 {FENCE}", []),
        ("st.global.b32 [%a3], %r1; fence.proxy.async.global;", []),
        (f"st.global.b32 [%a3], %r1; @%p1 {FENCE}", ["async"]),
        ("@%p1 st.global.b32 [%a3+252], %r1;", []),
    ],
)
def test_what_lanes_wrote_is_fenced_before_the_engine_writes_there(
    before: str, found: list[str]
) -> None:
    report, _ = run(0, 0, before=before)
    assert [fault.kind for fault in report.faults] == found
