"""Loads and stores of the ptx machine: every space, both sides of each limit."""

from __future__ import annotations

import numpy as np
import pytest

import blockstep
from blockstep.interp.ptx.faults import NotSupported
from tests.ptx.programs import each, kinds, run

SHARED = ".shared .align 16 .b8 memory[128];"
TO_SHARED = "mov.u32 %r2, memory; shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3;"


def test_the_last_element_of_an_array_can_be_read() -> None:
    x, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    body = """add.u64 %d3, %d0, %d16; ld.global.u32 %r1, [%d3];
              add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    assert run(body, x, out).faults == []
    np.testing.assert_array_equal(out, x)


def test_one_element_further_is_out_of_bounds_and_the_others_are_read() -> None:
    x, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    body = """add.u64 %d3, %d0, %d16; ld.global.u32 %r1, [%d3+4];
              add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    (fault,) = run(body, x, out).faults
    assert (fault.kind, fault.thread, fault.count) == ("out-of-bounds", 31, 1)
    assert fault.address == x.ctypes.data + x.nbytes
    np.testing.assert_array_equal(out[:31], x[1:])
    assert out[31] == 0


def test_a_store_before_an_array_writes_nothing() -> None:
    x = np.zeros(64, np.uint32)
    report = run("add.u64 %d3, %d0, %d16; st.global.u32 [%d3-4], %r0;", x[:32].copy())
    assert kinds(report) == ["out-of-bounds"]


@pytest.mark.parametrize(
    ("offset", "expected"), [(0, []), (16, []), (4, ["alignment"]), (8, ["alignment"])]
)
def test_a_vector_is_aligned_to_all_of_it(offset: int, expected: list[str]) -> None:
    memory = np.zeros(256, np.uint32)
    skip = -memory.ctypes.data % 16 // 4
    x = memory[skip : skip + 240]
    body = (
        f"mad.wide.u32 %d3, %r0, 16, %d0; ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d3+{offset}];"
    )
    assert kinds(run(body, x)) == expected


def test_a_vector_load_has_its_components_in_order() -> None:
    x = np.arange(64, dtype=np.uint32)
    out = np.zeros(64, np.uint32)
    body = """mad.wide.u32 %d3, %r0, 8, %d0; ld.global.v2.u32 {%r1, %r2}, [%d3];
              mad.wide.u32 %d4, %r0, 8, %d1; st.global.v2.u32 [%d4], {%r2, %r1};"""
    assert run(body, x, out).faults == []
    np.testing.assert_array_equal(out, x.reshape(-1, 2)[:, ::-1].reshape(-1))


def test_a_guarded_load_touches_only_the_threads_of_its_guard() -> None:
    x = np.arange(16, dtype=np.uint32)
    out = np.zeros(32, np.uint32)
    body = """setp.lt.u32 %p1, %r0, 16; mov.u32 %r1, 7; add.u64 %d3, %d0, %d16;
              @%p1 ld.global.u32 %r1, [%d3]; add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    assert run(body, x, out).faults == []
    np.testing.assert_array_equal(out, np.r_[x, np.full(16, 7)])


def test_a_byte_is_extended_as_its_type_says() -> None:
    x = np.full(32, 0x80, np.uint8)
    for type, value in (("u8", 0x80), ("s8", 0xFFFFFF80)):
        out = np.zeros(32, np.uint32)
        body = f"""ld.global.{type} %r1, [%d0];
                   add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
        assert run(body, x, out).faults == []
        assert set(out.tolist()) == {value}


def test_shared_memory_ends_where_its_variables_do() -> None:
    body = SHARED + TO_SHARED + "st.shared.u32 [%r4], %r0; ld.shared.u32 %r1, [%r4];"
    assert each(body).tolist() == list(range(32))
    (fault,) = run(SHARED + TO_SHARED + "st.shared.u32 [%r4+4], %r0;").faults
    assert (fault.kind, fault.what, fault.thread) == ("out-of-bounds", "shared memory", 31)


def test_dynamic_shared_memory_is_as_long_as_the_launch_says() -> None:
    body = "mov.u32 %r2, dynamic; mad.lo.u32 %r4, %r0, 4, %r2; st.shared.u32 [%r4], %r0;"
    declared = ".extern .shared .align 16 .b8 dynamic[];"
    assert kinds(run(body, globals=declared, shared=128)) == []
    assert kinds(run(body, globals=declared, shared=124)) == ["out-of-bounds"]


def test_shared_memory_that_nobody_wrote_is_uninitialised() -> None:
    report = run(SHARED + TO_SHARED + "ld.shared.u32 %r1, [%r4];")
    assert kinds(report) == ["uninitialised"]
    half = "setp.lt.u32 %p1, %r0, 16; @%p1 st.shared.u32 [%r4], %r0; ld.shared.u32 %r1, [%r4];"
    (fault,) = run(SHARED + TO_SHARED + half).faults
    assert (fault.kind, fault.thread, fault.count) == ("uninitialised", 16, 16)


def test_each_cta_has_its_own_shared_memory() -> None:
    out = np.zeros((4, 32), np.uint32)
    body = (
        SHARED
        + TO_SHARED
        + """mov.u32 %r5, %ctaid.x; st.shared.u32 [%r4], %r5;
        ld.shared.u32 %r1, [%r4]; mad.lo.u32 %r6, %r5, 32, %r0; mad.wide.u32 %d3, %r6, 4, %d0;
        st.global.u32 [%d3], %r1;"""
    )
    assert run(body, out, ctas=4).faults == []
    np.testing.assert_array_equal(out, np.repeat(np.arange(4), 32).reshape(4, 32))


def test_generic_addresses_reach_every_space() -> None:
    body = """.local .align 4 .b8 mine[4];
        mov.u64 %d2, memory; cvta.shared.u64 %d3, %d2; add.u64 %d3, %d3, %d16;
        mov.u64 %d4, mine; cvta.local.u64 %d5, %d4;
        setp.lt.u32 %p1, %r0, 16; selp.b64 %d6, %d3, %d5, %p1;
        st.u32 [%d6], %r0; ld.u32 %r1, [%d6]; isspacep.shared %p2, %d6; @%p2 add.u32 %r1, %r1, 100;"""
    assert each(SHARED + body).tolist() == [n + 100 if n < 16 else n for n in range(32)]


def test_local_memory_is_each_threads_own() -> None:
    body = """.local .align 8 .b8 mine[16];
        mov.u32 %r2, 1; st.local.u32 [mine], %r0; st.local.u32 [mine+12], %r2;
        ld.local.u32 %r3, [mine]; ld.local.u32 %r4, [mine+12]; add.u32 %r1, %r3, %r4;"""
    assert each(body).tolist() == list(range(1, 33))


def test_a_variable_in_global_memory_begins_with_its_data() -> None:
    declared = ".global .align 4 .u32 table[4] = {5, 0x10, 7}; .const .align 8 .u64 where = table;"
    body = """ld.const.u64 %d3, [where]; and.b32 %r2, %r0, 3; mad.wide.u32 %d4, %r2, 4, %d3;
              ld.global.u32 %r1, [%d4];"""
    assert each(body, threads=4, globals=declared).tolist() == [5, 16, 7, 0]


def test_what_is_not_known_is_said_with_its_line() -> None:
    with pytest.raises(NotSupported, match=r"frobnicate\.b32.*PTX line 1."):
        run("frobnicate.b32 %r1, %r0;")


def test_memory_of_the_host_that_is_no_argument_is_out_of_bounds() -> None:
    other, x = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    body = f"mov.u64 %d3, {other.ctypes.data}; ld.global.u32 %r1, [%d3];"
    assert kinds(run(body, x)) == ["out-of-bounds"]


def test_an_address_out_of_a_table_may_lead_to_any_array() -> None:
    other, out = np.full(1, 9, np.uint32), np.zeros(32, np.uint32)
    table = np.array([other.ctypes.data], np.uint64)
    body = """ld.global.u64 %d3, [%d0]; ld.global.u32 %r1, [%d3];
              add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    assert run(body, table, out).faults == []
    assert set(out.tolist()) == {9}


def test_a_register_that_nobody_wrote_is_told() -> None:
    (fault,) = run("add.u32 %r1, %r0, %r9;").faults
    assert (fault.kind, fault.what) == ("uninitialised", "register")
    assert run("mov.u32 %r9, 1; add.u32 %r1, %r0, %r9;").faults == []


def test_bytes_of_a_register_that_nobody_wrote_may_be_left_where_they_are() -> None:
    assert run("prmt.b32 %r1, %r0, %r9, 0x3210U;").faults == []
    assert run("prmt.b32 %r1, %r9, %r0, 0x7654U;").faults == []
    assert kinds(run("prmt.b32 %r1, %r0, %r9, 0x4210U;")) == ["uninitialised"]
    assert kinds(run("mov.u32 %r2, 0; prmt.b32 %r1, %r0, %r9, %r2;")) == ["uninitialised"]


def test_global_memory_that_the_host_never_wrote_is_uninitialised() -> None:
    with blockstep.check():
        x = np.empty(32, np.uint32)
    load = "add.u64 %d3, %d0, %d16; ld.global.u32 %r1, [%d3];"
    (fault,) = run(load, x).faults
    assert (fault.kind, fault.what, fault.count) == ("uninitialised", "global memory", 32)
    store = "add.u64 %d3, %d0, %d16; st.global.u32 [%d3], %r0; ld.global.u32 %r1, [%d3];"
    assert run(store, x).faults == []


def test_an_array_that_may_only_be_read_is_not_written() -> None:
    x = np.zeros(32, np.uint32)
    x.flags.writeable = False
    frozen = np.frombuffer(x.tobytes(), np.uint32)
    (fault,) = run("st.global.u32 [%d0], %r0;", frozen).faults
    assert fault.what == "read-only memory"
