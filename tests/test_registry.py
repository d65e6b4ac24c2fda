"""Every operation is complete: a type rule, a meaning or a handler, a documented shape, and a row
that runs it in a judged kernel."""

from __future__ import annotations

import re
from typing import Any

import pytest

import blockstep
from blockstep.interp.effects import HANDLERS
from blockstep.interp.step import StepMachine
from blockstep.language.op import OPS, Family, Op
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
SHAPES = re.compile(r"^`[^`]*->[^`]*`")
OWN_HANDLER = (Family.MEMORY, Family.CONTROL)


@pytest.mark.parametrize("name", OPS)
def test_every_op_is_complete(name: str) -> None:
    op = OPS[name]
    assert op.name == name
    assert callable(op.rule)
    assert (op.meaning is None) == (name in HANDLERS)
    assert op.meaning is not None or op.family in OWN_HANDLER
    assert SHAPES.match(op.doc), op.doc
    assert op.doc.endswith("."), op.doc
    assert any(row.op == name for row in ROWS), "no row in tests/ops/rows.py"


def test_no_handler_or_row_is_left_over() -> None:
    assert set(HANDLERS) <= set(OPS)
    assert {row.op for row in ROWS} <= set(OPS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_row(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row's kernel runs the operation, nothing is found, and the bits are right."""
    emitted: set[str] = set()
    emit = StepMachine.emit

    def noting(machine: StepMachine, op: Op, operands: Any, attributes: Any) -> Any:
        emitted.add(op.name)
        return emit(machine, op, operands, attributes)

    monkeypatch.setattr(StepMachine, "emit", noting)
    with blockstep.machine("step"):
        row.run()
    assert row.op in emitted
