"""Grid: outputs with holes, idle instances; order: outputs that differ between seeds."""

from __future__ import annotations

import numpy as np

from blockstep.findings import Argument, IdleInstances, NeverWritten, Severity, Span
from blockstep.interp.checkers.grid import Grid, Outputs
from blockstep.interp.checkers.order import compare
from blockstep.interp.registry import registry
from blockstep.interp.unwritten import fill
from tests.interp.checking import Bench

BLOCK = np.arange(16)


def fresh(count: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    made = np.zeros(count, np.float32)
    record = registry.register(made)
    assert record is not None
    fill(made.view(np.uint8))
    record.forget_writes()
    return made


def test_an_output_with_a_hole() -> None:
    b = Bench(Grid(), out=fresh(17))
    b.instances(2, lambda p: b.store("out", BLOCK, 1, p, mask=BLOCK < 17))
    b.checker.launch_end()
    event = b.only()
    assert isinstance(event, NeverWritten) and event.severity is Severity.WARNING
    assert (event.elements, event.count, event.total) == (((16,),), 1, 17)
    assert event.stored_at is not None


def test_a_full_output_and_one_that_no_launch_wrote() -> None:
    b = Bench(Grid(), out=fresh(16), scratch=fresh(8))
    b.instances(1, lambda p: b.store("out", BLOCK, 1, p))
    b.checker.launch_end()
    assert not b.events


def test_only_the_view_counts() -> None:
    whole = fresh(32)
    b = Bench(Grid(), out=whole[::2])
    b.instances(1, lambda p: b.store("out", 2 * BLOCK[:15], 1, p))
    b.checker.launch_end()
    assert b.only().elements == ((15,),)


def test_a_later_launch_or_the_host_may_write_the_rest() -> None:
    out, other, outputs = fresh(32), fresh(32), Outputs()
    b = Bench(Grid(outputs), out=out, other=other)
    for half in range(2):
        b.begin()
        b.instances(1, lambda p, at=16 * half: b.store("out", BLOCK + at, 1, p))  # type: ignore[misc]
        b.checker.launch_end()
    b.begin()
    b.instances(1, lambda p: b.store("other", BLOCK, 1, p))
    b.checker.launch_end()
    other[16:] = 0
    outputs.judge()
    assert not b.events


def test_holes_are_told_at_the_end_of_the_session() -> None:
    outputs = Outputs()
    b = Bench(Grid(outputs), out=fresh(20))
    b.instances(1, lambda p: b.store("out", BLOCK, 1, p))
    b.checker.launch_end()
    assert not b.events
    outputs.judge()
    outputs.judge()
    assert b.only().count == 4


def test_idle_instances_are_noted_once() -> None:
    b = Bench(Grid(), x=np.zeros(20, np.float32))
    b.instances(4, lambda p: b.store("x", 16 * p + BLOCK, 1, p, mask=16 * p + BLOCK < 20))
    b.checker.launch_end()
    event = b.only()
    assert isinstance(event, IdleInstances) and event.severity is Severity.NOTE
    assert (event.count, event.total, event.examples) == (2, 4, ((2, 0, 0), (3, 0, 0)))


def test_a_kernel_without_memory_is_not_idle() -> None:
    b = Bench(Grid(), x=np.zeros(20, np.float32))
    b.instances(4, lambda p: None)
    b.checker.launch_end()
    assert not b.events


SPAN = Span("run.py", 3)
OUT, SUM = Argument("out"), Argument("sum")


def test_equal_outputs_are_no_event() -> None:
    run = {"out": np.array([1.0, np.nan, -0.0])}
    assert compare({0: run, 1: {"out": run["out"].copy()}}, [OUT], span=SPAN) is None
    assert compare({}, [OUT], span=SPAN) is None


def test_other_values_and_mere_rounding() -> None:
    one = {"out": np.array([[1, 2], [3, 4]], np.int32), "sum": np.array([1.0], np.float32)}
    two = {"out": np.array([[1, 2], [9, 4]], np.int32), "sum": np.array([1.0], np.float32)}
    event = compare({0: one, 1: one, 2: two}, [OUT, SUM], span=SPAN)
    assert event is not None and event.outputs == (OUT,) and event.differing == (2,)
    assert event.element == (1, 0) and event.values == ("3", "9") and not event.differs_by_rounding
    near = dict(one, sum=np.nextafter(one["sum"], np.float32(2)))
    event = compare({0: one, 1: near}, [OUT, SUM], span=SPAN)
    assert event is not None and event.outputs == (SUM,) and event.differs_by_rounding


def test_scalars_and_nans_compare_by_bits() -> None:
    one, two = {"out": np.array(np.float32(1))}, {"out": np.array(np.float32(np.nan))}
    event = compare({0: one, 5: two}, [OUT], span=SPAN)
    assert event is not None and event.element == () and not event.differs_by_rounding
