"""Checks axis facts against every value that a launch on the grid machine computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from blockstep.compiler.analysis import Hint, analyse
from blockstep.compiler.analysis.facts import power_of_two
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.memory import View
from blockstep.ir import Function, Value
from tests.compiler.axis_truth import lies

SIGNED_DIVISIONS = ("idiv", "irem")


@dataclass(slots=True)
class Watch:
    """What was seen: functions with their facts, how many values were checked, false claims."""

    known: dict[Function, dict[Value, Any]] = field(default_factory=dict)
    checked: int = 0
    false: list[str] = field(default_factory=list)
    wrapped: set[Value] = field(default_factory=set)

    def launch(self, machine: GridMachine) -> None:
        """Analyses the function with what is true of the arguments."""
        hints = {}
        for name, given in machine.arguments.items():
            number = int(given.base) if isinstance(given, View) else given
            if isinstance(number, int):
                hints[name] = Hint(min(power_of_two(number), 16), number >= 0)
        self.known[machine.function] = analyse(machine.function, hints)

    def see(self, machine: GridMachine, value: Value, lanes: Any) -> None:
        """Checks one value in one batch."""
        producer = value.producer
        operands = producer.operands if producer is not None else ()
        if lanes.marks or any(v in self.wrapped for v in operands):
            self.wrapped.add(value)  # and what is made of it: a mark may end, the doubt does not
            return
        self.checked += 1
        said = lies(self.known[machine.function][value], lanes.full())
        if said:
            made = "an argument" if producer is None else producer.name
            self.false.append(f"{machine.function.name}: {value!r} ({made}): {said}")


@contextmanager
def watched() -> Iterator[Watch]:
    """Launches on the grid machine inside the `with` are checked."""
    watch = Watch()
    run, one, region = GridMachine.run, GridMachine._operation, GridMachine.run_region

    def run_all(machine: GridMachine) -> None:
        watch.launch(machine)
        run(machine)

    def run_one(machine: GridMachine, operation: Any, environment: Any) -> None:
        one(machine, operation, environment)
        for value in operation.results:
            watch.see(machine, value, environment[value])

    def run_region(machine: GridMachine, body: Any, environment: Any) -> Any:
        for value in body.arguments:
            watch.see(machine, value, environment[value])
        return region(machine, body, environment)

    with (
        patch.object(GridMachine, "run", run_all),
        patch.object(GridMachine, "_operation", run_one),
        patch.object(GridMachine, "run_region", run_region),
    ):
        yield watch
