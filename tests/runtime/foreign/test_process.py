"""What another compiler's process says becomes code that runs, or an error that says why."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.compiler import store
from blockstep.errors import UnsupportedError
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.foreign import NoTriton, RefusedByTriton, Triton
from blockstep.runtime.foreign.process import Process
from blockstep.runtime.ptx.running import run_binary

STAND_IN = Path(__file__).with_name("stand_in.py")


@blockstep.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, offsets < n) + 1, offsets < n)


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Triton]:
    monkeypatch.setattr(store, "current", lambda: store.Store(tmp_path, 1 << 20))
    made = Triton(process=Process(sys.executable, STAND_IN))
    yield made
    made.process.close()


def bound_to(*args: Any) -> Bound:
    return bind(add_one.params, args, {}, kernel="add_one")


def test_the_answer_runs_on_the_ptx_machine(triton: Triton) -> None:
    x = np.arange(50, dtype=np.int32)
    bound = bound_to(x, 45, 32)
    ran = run_binary(triton.compile(add_one, bound, {}), bound, (2, 1, 1))
    assert not ran.report.faults
    assert x.tolist() == [*range(1, 46), *range(45, 50)]


def test_launches_that_triton_takes_alike_are_compiled_once(
    triton: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ask = triton.process.ask

    def counted(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return ask(request)

    monkeypatch.setattr(triton.process, "ask", counted)
    x = np.zeros(64, np.int32)
    for args in ((x, 45, 32), (x[4:], 7, 32), (x, 48, 32), (x[1:], 45, 32), (x, 45, 64)):
        triton.compile(add_one, bound_to(*args), {})
    assert len(asked) == 4  # only the second is as the first


def test_another_process_finds_the_code_on_the_disk(
    triton: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = bound_to(np.zeros(64, np.int32), 45, 32)
    first = triton.compile(add_one, bound, {})
    again = Triton(process=triton.process)
    monkeypatch.setattr(triton.process, "ask", None)
    assert again.compile(add_one, bound, {}).parameters == first.parameters


def test_a_refusal_has_the_compilers_text(triton: Triton) -> None:
    with pytest.raises(RefusedByTriton, match="add_one: CompilationError: not today"):
        triton.compile(add_one, bound_to(np.zeros(64, np.int32), 45, "REFUSE"), {})


def test_a_compiler_that_crashes_refuses_and_the_next_request_is_answered(triton: Triton) -> None:
    x = np.zeros(64, np.int32)
    with pytest.raises(RefusedByTriton, match=r"(?s)ended with status 3.*Assertion `all is well'"):
        triton.compile(add_one, bound_to(x, 45, "DIE"), {})
    assert triton.compile(add_one, bound_to(x, 45, 32), {}).name == "add_one"


def test_an_answer_with_other_hidden_parameters_is_not_run(
    triton: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = triton.process.ask

    def other(request: dict[str, Any]) -> dict[str, Any]:
        found = ask(request)
        return {**found, "ptx": found["ptx"].replace("\t.param .u64 .ptr .global .align 1 p2,", "")}

    monkeypatch.setattr(triton.process, "ask", other)
    with pytest.raises(UnsupportedError, match="has 3 parameters where .* pass 4"):
        triton.compile(add_one, bound_to(np.zeros(64, np.int32), 45, 32), {})


def test_an_interpreter_without_triton_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text('print(\'{"error": "ImportError: no triton"}\')')
    without = Triton(process=Process(sys.executable, tmp_path / "child.py"))
    with pytest.raises(NoTriton, match="has no Triton: ImportError: no triton"):
        without.compile(add_one, bound_to(np.zeros(64, np.int32), 45, 32), {})
    with pytest.raises(NoTriton, match="no/such/python cannot be run"):
        print(Triton("no/such/python").version)
