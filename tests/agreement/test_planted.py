"""Bugs planted into placed IR are caught, each where it is: by a finding or by other bits."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable

import pytest

from blockstep.interp.grid.asynchronous import Hazard
from blockstep.interp.grid.memory import Suspicion
from blockstep.ir import Function, Operation, Value
from blockstep.language import types as ty
from blockstep.language.op import OPS
from tests.agreement.agree import Disagreement, compare
from tests.agreement.loops_of_products import LAUNCHES
from tests.agreement.placed import Launch

NAMES = (
    "six turns",
    "two slots",
    "uneven turns",
    "a ring used again",
    "masks",
    "attention",
    "boxes",
)


def run(name: str, plant: Callable[[Function], None] = lambda function: None) -> None:
    """Runs the last stage of a launch with a bug in it, beside the first one without."""
    kernel, grid, arguments, named = LAUNCHES[name]()
    launch = Launch(kernel, grid, arguments, named)
    first, *_, last = launch.stages("sm_90a")
    plant(last.function)
    compare(launch.run(first.function), launch.run(last.function))


def of(function: Function, name: str) -> list[Operation]:
    """The operations of a name."""
    return [o for o in function.walk() if o.name == name]


def places(name: str) -> list[tuple[str, int]]:
    """Each operation of a name in each launch, as the launch and a number."""
    return [(launch, number) for launch in NAMES for number in range(_counts(launch)[name])]


@functools.cache
def _counts(name: str) -> Counter[str]:
    kernel, grid, arguments, named = LAUNCHES[name]()
    last = Launch(kernel, grid, arguments, named).stages("sm_90a")[-1]
    return Counter(operation.name for operation in last.function.walk())


def remove(operation: Operation) -> None:
    """As if it were not there; its results are its operands."""
    operation.replace_with(operation.operands[: len(operation.results)])


@pytest.mark.parametrize("name", NAMES)
def test_without_a_bug_nothing_is_found(name: str) -> None:
    run(name)


SPARE = ("boxes", 0)  # every lane waits for the engine itself; the other barrier is for the copies


@pytest.mark.parametrize(("name", "number"), [p for p in places("barrier") if p != SPARE])
def test_a_removed_barrier_is_found(name: str, number: int) -> None:
    with pytest.raises(Hazard, match="no barrier behind the wait|may still read"):
        run(name, lambda function: remove(of(function, "barrier")[number]))


@pytest.mark.parametrize(("name", "number"), places("async_wait"))
def test_a_wait_that_leaves_one_group_more_is_found(name: str, number: int) -> None:
    def later(function: Function) -> None:
        of(function, "async_wait")[number].attributes["pending"] += 1

    with pytest.raises(Hazard, match="reads a slot while the copy into it is still under way"):
        run(name, later)


@pytest.mark.parametrize(("name", "number"), places("dot_wait"))
def test_a_removed_wait_for_a_product_is_found(name: str, number: int) -> None:
    with pytest.raises(Hazard, match="in flight|may still read"):
        run(name, lambda function: remove(of(function, "dot_wait")[number]))


@pytest.mark.parametrize(("name", "number"), places("async_commit"))
def test_a_removed_commit_is_found(name: str, number: int) -> None:
    with pytest.raises(Hazard, match="reads a slot"):
        run(name, lambda function: remove(of(function, "async_commit")[number]))


@pytest.mark.parametrize(("name", "number"), places("slot"))
def test_a_block_of_the_next_slot_is_found(name: str, number: int) -> None:
    def next_slot(function: Function) -> None:
        slot = of(function, "slot")[number]
        ring = slot.operands[0].producer
        assert ring is not None
        one, last, zero = (_constant(value, slot) for value in (1, ring.attributes["slots"], 0))
        more = _made("add", [slot.operands[1], one], ty.int32, slot)
        past = _made("eq", [more, last], ty.int1, slot)
        slot.set_operand(1, _made("select", [past, zero, more], ty.int32, slot))

    with pytest.raises((Hazard, Disagreement)):
        run(name, next_slot)


@pytest.mark.parametrize(("name", "number"), places("async_copy"))
def test_a_copy_into_the_next_slot_is_found(name: str, number: int) -> None:
    def next_slot(function: Function) -> None:
        copy = of(function, "async_copy")[number]
        copy.set_operand(1, _made("add", [copy.operands[1], _constant(1, copy)], ty.int32, copy))

    with pytest.raises((Hazard, Disagreement)):
        run(name, next_slot)


@pytest.mark.parametrize("number", [0, 2, 4, 5])  # of 1 and 3, b's first blocks, no mask is off
def test_a_copy_without_its_mask_is_found(number: int) -> None:
    def unmasked(function: Function) -> None:
        copy = of(function, "async_copy")[number]
        copy.drop_operand(4)
        copy.attributes["operand_slots"] = (True, True, True, True, False)

    with pytest.raises((Suspicion, Disagreement)):
        run("masks", unmasked)


@pytest.mark.parametrize(("name", "number"), places("ring"))
def test_a_ring_of_too_few_slots_is_found(name: str, number: int) -> None:
    def fewer(function: Function) -> None:
        of(function, "ring")[number].attributes["slots"] -= 1

    with pytest.raises(Hazard, match="names a slot that a ring of"):
        run(name, fewer)


@pytest.mark.parametrize(("name", "number"), places("phase_wait"))
def test_a_removed_wait_for_the_engine_is_found(name: str, number: int) -> None:
    with pytest.raises(Hazard, match="reads a slot while the copy into it is still under way"):
        run(name, lambda function: remove(of(function, "phase_wait")[number]))


@pytest.mark.parametrize(("name", "number"), places("phase_wait"))
@pytest.mark.parametrize("phase", [0, 1])
def test_a_phase_that_does_not_turn_is_found(name: str, number: int, phase: int) -> None:
    def fixed(function: Function) -> None:
        wait = of(function, "phase_wait")[number]
        wait.set_operand(2, _constant(phase, wait))

    with pytest.raises(Hazard, match="reads a slot (while|into)"):
        run(name, fixed)


@pytest.mark.parametrize(("name", "number"), places("tensor_copy"))
@pytest.mark.parametrize("difference", [-16, 16])
def test_a_wrong_number_of_announced_bytes_is_found(
    name: str, number: int, difference: int
) -> None:
    def changed(function: Function) -> None:
        of(function, "tensor_copy")[number].attributes["announced"] += difference

    with pytest.raises(Hazard, match="waits for a phase that no copy ends"):
        run(name, changed)


def test_a_finding_names_the_operation_its_line_and_the_program() -> None:
    with pytest.raises(Hazard) as raised:
        run("uneven turns", lambda function: remove(of(function, "barrier")[0]))
    found = raised.value.finding
    assert (found.kind, found.kernel, found.program) == ("async", "uneven", (1, 0, 0))
    assert found.message.startswith("`slot` reads a slot with no barrier")
    line = open(found.span.file).read().splitlines()[found.span.line - 1]
    assert "tl.load(a" in line
    assert f"line {found.span.line}" in str(raised.value)


def _made(name: str, operands: list[Value], kind: ty.dtype, before: Operation) -> Value:
    made = Operation(OPS[name], operands, [kind], {})
    made.insert_before(before)
    return made.results[0]


def _constant(value: int, before: Operation) -> Value:
    made = Operation(OPS["constant"], [], [ty.int32], {"type": ty.int32, "value": value})
    made.insert_before(before)
    return made.results[0]
