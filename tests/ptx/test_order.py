"""What orders accesses of shared memory where threads do not all meet: planted faults, clean twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.interp.ptx.faults import Report
from tests.ptx.programs import kinds, run

SHARED = (
    ".shared .align 128 .b8 memory[4096]; .shared .align 8 .b64 bar; .shared .align 8 .b64 two; "
)
MINE = "mov.u32 %r2, memory; mad.lo.u32 %r4, %r0, 4, %r2; and.b32 %r7, %r0, 31; "
OTHER = "xor.b32 %r5, %r0, 32; mad.lo.u32 %r6, %r5, 4, %r2; "
ROLES = "setp.ge.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 0; setp.eq.u32 %p4, %r7, 0; "
BEGIN = SHARED + MINE + OTHER + ROLES
WRITE, READ = "st.shared.u32 [%r4], %r0; ", "ld.shared.u32 %r1, [%r6]; "
FENCE = "fence.proxy.async.shared::cta; "


def init(name: str, count: int) -> str:
    """Thread 0 sets up an mbarrier."""
    return f"@%p2 mbarrier.init.shared::cta.b64 [{name}], {count}; "


def wait(name: str, parity: int, label: str) -> str:
    """Whoever comes waits for a phase."""
    return (
        f"{label}: mbarrier.try_wait.parity.shared::cta.b64 %p5, [{name}], {parity}; "
        f"@!%p5 bra {label}; "
    )


def found(body: str, threads: int = 64, **options: Any) -> list[str]:
    """The kinds of what is found; the second warp stores nothing."""
    return kinds(run(BEGIN + body, np.zeros(1024, np.uint32), threads=threads, **options))


def roles(first: str, second: str) -> str:
    """What the first warp and the second warp do."""
    return f"@%p1 bra other; {first} bra over; other: {second} over: "


# named barriers


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (WRITE + "bar.arrive 1, 64;", "bar.sync 1, 64;" + READ, []),
        (WRITE + "bar.sync 1, 64;", "bar.sync 1, 64;" + READ, []),
        ("bar.arrive 1, 64;" + WRITE, "bar.sync 1, 64;" + READ, ["race"]),
        (WRITE + "bar.arrive 1, 64;", READ + "bar.sync 1, 64;", ["race"]),
        (WRITE + "bar.arrive 2, 64; bar.sync 1, 64;", "bar.sync 1, 64;" + READ, []),
    ],
)
def test_whoever_waits_at_a_named_barrier_sees_what_those_who_arrived_did(
    first: str, second: str, expected: list[str]
) -> None:
    assert found(roles(first, second)) == expected


def test_a_reader_that_arrives_too_early_is_overwritten() -> None:
    begin = WRITE + "bar.sync 0; "
    late = roles(READ + "bar.arrive 1, 64;", "bar.sync 1, 64; st.shared.u32 [%r6], %r0;")
    early = roles("bar.arrive 1, 64; ld.shared.u32 %r1, [%r4];", "bar.sync 1, 64; "
                  "st.shared.u32 [%r6], %r0;")  # fmt: skip
    assert found(begin + late) == []
    assert found(begin + early) == ["race"]


# mbarriers


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (WRITE + "mbarrier.arrive.shared::cta.b64 _, [bar];", wait("bar", 0, "w") + READ, []),
        ("mbarrier.arrive.shared::cta.b64 _, [bar];" + WRITE, wait("bar", 0, "w") + READ, ["race"]),
        (
            WRITE + "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];",
            wait("bar", 0, "w") + READ,
            ["race"],
        ),
    ],
    ids=["waits", "arrives too early", "relaxed"],
)
def test_a_wait_that_succeeds_orders_what_arrived(
    first: str, second: str, expected: list[str]
) -> None:
    assert found(init("bar", 32) + "bar.sync 0; " + roles(first, second)) == expected


@pytest.mark.parametrize(
    ("between", "expected"), [("bar.warp.sync 0xffffffff; ", []), ("", ["race"])]
)
def test_one_lane_arrives_for_its_warp_once_the_warp_has_met(
    between: str, expected: list[str]
) -> None:
    first = WRITE + between + "@%p4 mbarrier.arrive.shared::cta.b64 _, [bar];"
    body = init("bar", 1) + "bar.sync 0; " + roles(first, wait("bar", 0, "w") + READ)
    assert found(body) == expected


@pytest.mark.parametrize(
    ("between", "expected"), [("bar.warp.sync 0xffffffff; ", []), ("", ["race"])]
)
def test_one_lane_waits_for_its_warp_and_the_warp_has_to_meet(
    between: str, expected: list[str]
) -> None:
    first = WRITE + "mbarrier.arrive.shared::cta.b64 _, [bar];"
    second = f"setp.ne.u32 %p6, %r7, 0; @%p6 bra on; {wait('bar', 0, 'w')} on: {between}" + READ
    assert found(init("bar", 32) + "bar.sync 0; " + roles(first, second)) == expected


def test_an_mbarrier_is_used_by_others_once_they_know_that_it_is_set_up() -> None:
    arrive = "mbarrier.arrive.shared::cta.b64 _, [bar]; "
    assert found(init("bar", 64) + "bar.sync 0; " + arrive) == []
    assert found(init("bar", 64) + arrive) == ["async"]


@pytest.mark.parametrize(
    ("fence", "arrival", "expected"),
    [
        ("fence.mbarrier_init.release.cluster; ", ".relaxed", []),
        ("", ".relaxed", ["async"]),
        ("", "", []),
    ],
)
def test_an_mbarrier_is_set_up_for_a_cluster(fence: str, arrival: str, expected: list[str]) -> None:
    body = (
        init("bar", 64) + fence + f"barrier.cluster.arrive{arrival}.aligned; "
        "barrier.cluster.wait.aligned; mov.u32 %r8, bar; mapa.shared::cluster.u32 %r9, %r8, 0; "
        "@%p2 mbarrier.arrive.shared::cluster.b64 _, [%r9]; "
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    )
    assert found(body, ctas=2, cluster=(2,)) == expected


# the copy engine

LOAD = (
    "@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256; "
    "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[memory], [%d0], 256, [bar]; "
)
SAVE = "@%p2 cp.async.bulk.global.shared::cta.bulk_group [%d0], [memory], 256; "
COMMIT, WAIT_READ = "@%p2 cp.async.bulk.commit_group; ", "@%p2 cp.async.bulk.wait_group.read 0; "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (wait("bar", 0, "w") + READ, []),
        (READ + wait("bar", 0, "w"), ["async"]),
        ("bar.sync 0; " + READ + wait("bar", 0, "w"), ["async"]),
        (f"@%p1 bra on; {wait('bar', 0, 'w')} on: bar.sync 0; " + READ, []),
        (f"@%p1 bra on; {wait('bar', 0, 'w')} on: " + READ, ["async"]),
        ("", ["async"]),
    ],
    ids=["waits", "reads first", "a barrier is no wait", "one waits for all",
         "one waits, no barrier", "nobody waits"],
)  # fmt: skip
def test_a_bulk_copy_is_read_after_the_phase_that_counts_it(body: str, expected: list[str]) -> None:
    assert found(init("bar", 1) + "bar.sync 0; " + LOAD + body) == expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [(FENCE + "bar.sync 0; ", []), ("bar.sync 0; ", ["async"]), (FENCE, ["race"]),
     ("bar.sync 0; @%p2 fence.proxy.async; ", []), ("bar.sync 0; @%p1 fence.proxy.async; ", ["async"]),
     ("bar.sync 0; @%p2 fence.proxy.async.global; ", ["async"])],
)  # fmt: skip
def test_what_threads_wrote_is_fenced_before_the_copy_engine_reads_it(
    between: str, expected: list[str]
) -> None:
    assert found(WRITE + between + SAVE + COMMIT + WAIT_READ) == expected


def test_what_threads_wrote_is_fenced_before_the_copy_engine_overwrites_it() -> None:
    load = LOAD + wait("bar", 0, "w")
    assert found(init("bar", 1) + WRITE + FENCE + "bar.sync 0; " + load) == []
    assert found(init("bar", 1) + WRITE + "bar.sync 0; " + load) == ["async"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [(WAIT_READ + "bar.sync 0; " + WRITE, []), (WAIT_READ + WRITE, ["race"]),
     ("bar.sync 0; " + WRITE + WAIT_READ, ["async"]), ("", ["async"])],
    ids=["waits", "others do not", "overwrites first", "ends first"],
)  # fmt: skip
def test_what_the_copy_engine_reads_stays_until_it_has_read_it(
    after: str, expected: list[str]
) -> None:
    report = _report(WRITE + FENCE + "bar.sync 0; " + SAVE + COMMIT + after)
    assert kinds(report) == expected
    if "race" in expected:
        assert "another thread" in report.faults[0].what


def _report(body: str) -> Report:
    return run(BEGIN + body, np.zeros(1024, np.uint32), threads=64)


@pytest.mark.parametrize("waits", [True, False])
def test_each_of_many_mbarriers_counts_its_own_copy(waits: bool) -> None:
    names = range(47)
    body = ".shared .align 8 .b8 bars[376]; .shared .align 128 .b8 boxes[12032]; "
    body += "".join(init(f"bars+{8 * n}", 1) for n in names) + "bar.sync 0; "
    for n in names:
        load = LOAD.replace("[bar]", f"[bars+{8 * n}]").replace("[memory]", f"[boxes+{256 * n}]")
        body += load + (wait(f"bars+{8 * n}", 0, f"w{n}") if waits or n < 46 else "")
        body += f"ld.shared.u32 %r1, [boxes+{256 * n}]; "
    body += wait(f"bars+{8 * 46}", 0, "last")
    assert found(body) == ([] if waits else ["async"])


# cp.async and mbarriers

COPY = "add.u64 %d3, %d0, %d16; cp.async.ca.shared.global [%r4], [%d3], 4; "


@pytest.mark.parametrize(
    ("arrive", "expected"),
    [("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];", []),
     ("mbarrier.arrive.shared::cta.b64 _, [bar];", ["async"]),
     ("cp.async.wait_all; mbarrier.arrive.shared::cta.b64 _, [bar];", [])],
)  # fmt: skip
def test_copies_of_threads_are_read_once_an_mbarrier_has_followed_them(
    arrive: str, expected: list[str]
) -> None:
    body = init("bar", 32) + "bar.sync 0; " + roles(COPY + arrive, wait("bar", 0, "w") + READ)
    assert found(body) == expected


def test_a_later_copy_is_not_followed_by_an_earlier_arrival() -> None:
    follow = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{}]; "
    again = COPY.replace("[%r4]", "[%r4+512]")
    first = COPY + follow.format("bar") + again + follow.format("two")
    begin = init("bar", 32) + init("two", 32) + "bar.sync 0; "
    later = "ld.shared.u32 %r1, [%r6+512]; "
    right = wait("bar", 0, "w") + READ + wait("two", 0, "v") + later
    wrong = wait("bar", 0, "w") + READ + later + wait("two", 0, "v")
    assert found(begin + roles(first, right)) == []
    assert found(begin + roles(first, wrong)) == ["async"]


# one warp


@pytest.mark.parametrize(
    ("between", "expected"), [("bar.warp.sync 0xffffffff; ", []), ("", ["race"])]
)
def test_lanes_of_a_warp_are_ordered_by_what_they_meet_at(
    between: str, expected: list[str]
) -> None:
    near = "xor.b32 %r5, %r0, 1; mad.lo.u32 %r6, %r5, 4, %r2; "
    body = "bar.sync 1, 64; " + near + WRITE + between + READ
    assert found(body) == expected


def test_lanes_that_have_read_one_place_are_overwritten_after_they_met() -> None:
    begin = "bar.sync 1, 64; " + WRITE + "bar.sync 1, 64; ld.shared.u32 %r1, [memory]; "
    assert found(begin + "bar.sync 1, 64; @%p2 st.shared.u32 [memory], %r2;") == []
    assert found(begin + "@%p2 st.shared.u32 [memory], %r2;") == ["race"]


def test_bytes_of_two_ctas_do_not_race() -> None:
    assert found("bar.sync 1, 64; " + WRITE + "bar.sync 1, 64; " + READ, ctas=3) == []


# clusters


@pytest.mark.parametrize(
    ("arrival", "expected"), [("", []), (".relaxed", ["race"])], ids=["release", "relaxed"]
)
def test_memory_of_another_cta_is_ordered_by_the_barrier_of_the_cluster(
    arrival: str, expected: list[str]
) -> None:
    body = (
        WRITE + f"barrier.cluster.arrive{arrival}.aligned; barrier.cluster.wait.aligned; "
        "mov.u32 %r8, %cluster_ctarank; xor.b32 %r8, %r8, 1; "
        "mapa.shared::cluster.u32 %r9, %r4, %r8; ld.shared::cluster.u32 %r1, [%r9]; "
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    )
    assert found(body, ctas=2, cluster=(2,)) == expected
