"""Barriers, races, divergence, warps: what threads do together."""

from __future__ import annotations

import numpy as np
import pytest

from blockstep.interp.ptx.faults import Report, Trap
from tests.ptx.programs import each, kinds, run

SHARED = ".shared .align 16 .b8 memory[1024];"
MINE = "mov.u32 %r2, memory; mad.lo.u32 %r4, %r0, 4, %r2;"
OTHER = "xor.b32 %r5, %r0, 32; mad.lo.u32 %r6, %r5, 4, %r2;"


@pytest.mark.parametrize(
    ("between", "expected"),
    [("bar.sync 0;", []), ("barrier.sync 0;", []), ("bar.sync 0, 64;", []), ("", ["race"]),
     ("bar.warp.sync 0xffffffff;", ["race"])],
)  # fmt: skip
def test_a_barrier_stands_between_a_write_and_a_read_of_another_warp(
    between: str, expected: list[str]
) -> None:
    body = SHARED + MINE + OTHER + f"st.shared.u32 [%r4], %r0; {between} ld.shared.u32 %r1, [%r6];"
    assert kinds(run(body, threads=64)) == expected


@pytest.mark.parametrize(
    ("between", "expected"), [("bar.warp.sync 0xffffffff;", []), ("", ["race"])]
)
def test_a_warp_barrier_is_enough_inside_of_a_warp(between: str, expected: list[str]) -> None:
    near = "xor.b32 %r5, %r0, 1; mad.lo.u32 %r6, %r5, 4, %r2;"
    body = SHARED + MINE + near + f"st.shared.u32 [%r4], %r0; {between} ld.shared.u32 %r1, [%r6];"
    assert kinds(run(body, threads=64)) == expected


def test_overwriting_what_others_read_needs_a_barrier_too() -> None:
    begin = (
        SHARED + MINE + OTHER + "st.shared.u32 [%r4], %r0; bar.sync 0; ld.shared.u32 %r1, [%r6];"
    )
    assert kinds(run(begin + "bar.sync 0; st.shared.u32 [%r4], %r1;", threads=64)) == []
    report = run(begin + "st.shared.u32 [%r4], %r1;", threads=64)
    assert kinds(report) == ["race"]
    fault = report.faults[0]
    assert fault.related is not None and "ld.shared" in fault.related.text


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("bar.sync 0;", "bar.sync 0;", []),
     ("", "bar.sync 0;", ["atomic on what another thread writes"]),
     ("bar.sync 0;", "", ["read of what another thread's atomic changes"])],
)  # fmt: skip
def test_atomics_race_with_plain_accesses_and_not_with_each_other(
    first: str, second: str, expected: list[str]
) -> None:
    body = SHARED + MINE + OTHER
    body += f"st.shared.u32 [%r4], 0; {first} mov.u32 %r3, 1; red.shared.add.u32 [%r6], %r3;"
    body += f"red.shared.add.u32 [%r4], %r3; {second} ld.shared.u32 %r1, [%r4];"
    report = run(body, threads=64)
    assert [fault.what for fault in report.faults] == expected


def test_two_threads_that_write_one_place_race_unless_they_write_the_same() -> None:
    assert kinds(run(SHARED + "st.shared.u32 [memory], %r0;")) == ["race"]
    assert kinds(run(SHARED + "mov.u32 %r3, 5; st.shared.u32 [memory], %r3;")) == []


def test_bytes_side_by_side_do_not_race() -> None:
    body = (
        SHARED
        + """mov.u32 %r2, memory; add.u32 %r4, %r2, %r0; cvt.u16.u32 %h1, %r0;
        st.shared.u8 [%r4], %h1; bar.sync 0; ld.shared.u32 %r1, [memory];"""
    )
    assert kinds(run(body)) == []


@pytest.mark.parametrize(
    ("wait", "expected"),
    [("cp.async.wait_group 0; bar.sync 0;", []), ("cp.async.wait_all; bar.sync 0;", []),
     ("cp.async.wait_group 1; bar.sync 0;", ["async"]), ("bar.sync 0;", ["async"]),
     ("bar.sync 0; cp.async.wait_group 0;", ["race"])],
)  # fmt: skip
def test_a_copy_is_read_after_its_wait_and_a_barrier(wait: str, expected: list[str]) -> None:
    x = np.arange(64, dtype=np.uint32)
    out = np.zeros(64, np.uint32)
    body = (
        SHARED
        + MINE
        + OTHER
        + f"""add.u64 %d3, %d0, %d16;
        cp.async.ca.shared.global [%r4], [%d3], 4; cp.async.commit_group; {wait}
        ld.shared.u32 %r1, [%r6]; add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    )
    assert kinds(run(body, x, out, threads=64)) == expected
    np.testing.assert_array_equal(out, np.arange(64) ^ 32)


def test_a_copy_of_fewer_bytes_fills_up_with_zeros() -> None:
    x = np.full(32, 0x01020304, np.uint32)
    out = np.zeros(32, np.uint32)
    body = (
        SHARED
        + MINE
        + """add.u64 %d3, %d0, %d16; and.b32 %r7, %r0, 3;
        cp.async.ca.shared.global [%r4], [%d3], 4, %r7; cp.async.wait_all;
        ld.shared.u32 %r1, [%r4]; add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"""
    )
    assert kinds(run(body, x, out)) == []
    assert out[:4].tolist() == [0, 0x04, 0x0304, 0x020304]


def test_a_barrier_that_some_threads_pass_by_is_told() -> None:
    body = """setp.lt.u32 %p1, %r0, 32; @%p1 bra there; bar.sync 1, 64; there: bar.sync 0;"""
    with pytest.raises(Trap, match="not all of its threads reach"):
        run(body, threads=64)


def test_threads_that_have_ended_are_not_waited_for() -> None:
    body = "setp.lt.u32 %p1, %r0, 32; @%p1 ret; bar.sync 0;"
    assert kinds(run(body, threads=64)) == []


def test_a_part_of_a_warp_at_an_aligned_barrier_is_told() -> None:
    body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra there; bar.sync 0; there: bar.sync 0;"
    assert "barrier" in kinds(_report(body))


def _report(body: str) -> Report:
    try:
        return run(body, threads=32)
    except Trap as trap:
        return Report([trap.fault])


def test_a_guard_takes_whole_warps_to_a_barrier() -> None:
    body = (
        SHARED
        + MINE
        + OTHER
        + """setp.lt.u32 %p1, %r0, 64; @%p1 st.shared.u32 [%r4], %r0;
        @%p1 bar.sync 1, 64; @%p1 ld.shared.u32 %r1, [%r6]; @!%p1 mov.u32 %r1, 7;"""
    )
    assert each(body, threads=96).tolist() == [n ^ 32 for n in range(64)] + [7] * 32


def test_a_barrier_reduces_what_all_threads_bring() -> None:
    body = "setp.lt.u32 %p1, %r0, 40; bar.red.popc.u32 %r1, 0, %p1;"
    assert set(each(body, threads=64).tolist()) == {40}
    body = "setp.lt.u32 %p1, %r0, 40; bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 2, %p2;"
    assert set(each(body, threads=64).tolist()) == {2}


def test_arms_of_a_branch_meet_again() -> None:
    body = """and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra even;
        add.u32 %r1, %r0, 100; bra.uni join; even: add.u32 %r1, %r0, 200;
        join: shfl.sync.idx.b32 %r1, %r1, 1, 31, -1;"""
    assert set(each(body).tolist()) == {101}


def test_loops_of_different_lengths_end_together() -> None:
    body = """mov.u32 %r1, 0; mov.u32 %r2, 0; loop: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1;
        setp.le.u32 %p1, %r2, %r0; @%p1 bra loop; shfl.sync.bfly.b32 %r1, %r1, 0, 31, -1;"""
    assert each(body, threads=64).tolist() == [n * (n + 1) // 2 for n in range(64)]


def test_an_indexed_branch_takes_the_label_of_its_index() -> None:
    body = """targets: .branchtargets zero, one, two; and.b32 %r2, %r0, 1; brx.idx %r2, targets;
        zero: mov.u32 %r1, 10; bra join; one: mov.u32 %r1, 11; bra join; two: mov.u32 %r1, 12;
        join:"""
    assert each(body, threads=4).tolist() == [10, 11, 10, 11]


def test_a_cta_that_waits_for_a_later_one_gets_its_turn() -> None:
    flag, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    body = """mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra second;
        wait: ld.acquire.gpu.global.u32 %r3, [%d0]; setp.eq.u32 %p2, %r3, 0; @%p2 bra wait;
        st.global.u32 [%d1], %r3; ret; second: mov.u32 %r4, 7; st.release.gpu.global.u32 [%d0], %r4;"""
    assert kinds(run(body, flag, out, ctas=2)) == []
    assert out[0] == 7


def test_waiting_for_what_never_comes_is_a_deadlock() -> None:
    flag = np.zeros(1, np.uint32)
    body = """wait: ld.acquire.gpu.global.u32 %r3, [%d0]; setp.eq.u32 %p2, %r3, 0; @%p2 bra wait;"""
    with pytest.raises(Trap, match="deadlock"):
        run(body, flag)


@pytest.mark.parametrize(
    ("mode", "b", "c", "expected"),
    [("bfly", 1, 31, lambda n: n ^ 1), ("idx", 5, 31, lambda n: 5),
     ("up", 1, 0, lambda n: n - 1 if n else 0), ("down", 3, 31, lambda n: n + 3 if n < 29 else n),
     ("idx", 1, 0x1C1F, lambda n: n // 4 * 4 + 1), ("bfly", 16, 31, lambda n: n ^ 16)],
)  # fmt: skip
def test_a_shuffle_takes_the_lane_that_its_mode_says(
    mode: str, b: int, c: int, expected: object
) -> None:
    found = each(f"shfl.sync.{mode}.b32 %r1, %r0, {b}, {c}, -1;")
    assert found.tolist() == [expected(n) for n in range(32)]  # type: ignore[operator]


def test_a_shuffle_says_whether_its_lane_is_in_range() -> None:
    body = "shfl.sync.up.b32 %r1|%p1, %r0, 1, 0, -1; selp.u32 %r1, 1, 0, %p1;"
    assert each(body).tolist() == [0] + [1] * 31


def test_votes_count_the_lanes_of_their_mask() -> None:
    begin = "setp.lt.u32 %p1, %r0, 5; "
    assert set(each(begin + "vote.sync.ballot.b32 %r1, %p1, -1;").tolist()) == {0x1F}
    body = begin + "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;"
    assert each(body, threads=64).tolist() == [1] * 32 + [0] * 32


def test_lanes_that_are_named_and_elsewhere_are_told() -> None:
    part = "setp.lt.u32 %p1, %r0, 16; @!%p1 bra there; shfl.sync.bfly.b32 %r1, %r0, 1, 31, {mask}; there:"
    assert kinds(run(part.replace("{mask}", "0xffff"))) == []
    assert "barrier" in kinds(run(part.replace("{mask}", "-1")))


def test_matches_and_reductions() -> None:
    body = "and.b32 %r2, %r0, 1; match.any.sync.b32 %r1, %r2, -1;"
    assert each(body).tolist() == [0x55555555, 0xAAAAAAAA] * 16
    assert set(each("redux.sync.add.u32 %r1, %r0, -1;").tolist()) == {496}
    assert set(each("sub.u32 %r2, %r0, 5; redux.sync.min.s32 %r1, %r2, -1;").tolist()) == {
        2**32 - 5
    }
    body = "elect.sync %r2|%p1, -1; selp.u32 %r1, 1, 0, %p1;"
    assert each(body).tolist() == [1] + [0] * 31


def test_special_registers() -> None:
    assert each("mov.u32 %r1, %laneid;", threads=64).tolist() == list(range(32)) * 2
    assert each("mov.u32 %r1, %lanemask_lt;").tolist() == [(1 << n) - 1 for n in range(32)]
    assert set(each("mov.u32 %r1, %nctaid.x;", ctas=3).tolist()) == {3}


def test_an_mbarrier_ends_a_phase_when_all_have_arrived() -> None:
    body = """.shared .align 8 .b64 bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 64;
        bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; selp.u32 %r2, 1, 0, %p2;
        bar.sync 0; mbarrier.arrive.shared.b64 _, [bar];
        wait: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra wait; add.u32 %r1, %r2, 10;"""
    assert set(each(body, threads=64).tolist()) == {10}


def test_an_mbarrier_that_lacks_an_arrival_is_a_deadlock() -> None:
    body = """.shared .align 8 .b64 bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 65;
        bar.sync 0; mbarrier.arrive.shared.b64 _, [bar];
        wait: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra wait;"""
    with pytest.raises(Trap, match="deadlock"):
        run(body, threads=64)


def test_an_mbarrier_that_is_not_set_up_is_told() -> None:
    body = ".shared .align 8 .b64 bar; mbarrier.arrive.shared.b64 _, [bar];"
    assert "barrier" in kinds(run(body))


def test_memory_of_another_cta_of_the_cluster() -> None:
    out = np.zeros((2, 32), np.uint32)
    body = (
        SHARED
        + MINE
        + """mov.u32 %r5, %cluster_ctarank; mad.lo.u32 %r6, %r5, 100, %r0;
        st.shared.u32 [%r4], %r6; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        xor.b32 %r7, %r5, 1; mapa.shared::cluster.u32 %r8, %r4, %r7;
        ld.shared::cluster.u32 %r9, [%r8]; mad.lo.u32 %r10, %r5, 32, %r0;
        mad.wide.u32 %d3, %r10, 4, %d0; st.global.u32 [%d3], %r9;"""
    )
    assert kinds(run(body, out, ctas=2, cluster=(2,))) == []
    np.testing.assert_array_equal(out, [np.arange(100, 132), np.arange(32)])


def test_a_trap_ends_the_launch() -> None:
    with pytest.raises(Trap, match="thread 3"):
        run("setp.eq.u32 %p1, %r0, 3; @%p1 trap;")
