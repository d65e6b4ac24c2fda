"""Launches on the ptx machine: compiled, run on NumPy in place, judged, and never on another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import knobs
from blockstep._internal_testing import is_interpreter
from blockstep.errors import OutOfBoundsError, OutOfResources, ReadOnlyError, UnsupportedError
from blockstep.findings import Severity
from blockstep.options import Options
from blockstep.runtime import session
from blockstep.runtime.gpu.faults import KernelAssertion


@pytest.fixture(autouse=True)
def _on_ptx() -> Any:
    with triton.machine("ptx"):
        yield


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


@triton.jit
def unmasked(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x)


@triton.jit
def asserting(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.device_assert(x < 3, "x is small")


@triton.jit
def printing(x_ptr):
    tl.device_print("x is", tl.load(x_ptr))


@triton.jit
def stopping(x_ptr):
    breakpoint()
    tl.store(x_ptr, 1.0)


@triton.jit
def unknown(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("bogus.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    tl.store(x_ptr, y)


@triton.jit
def large(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.dot(x, x).to(tl.float16))


@triton.jit
def last_one(x_ptr):
    tl.atomic_xchg(x_ptr, tl.program_id(0))


def launched(n: int = 20) -> tuple[Any, Any, Any]:
    x = np.arange(n, dtype=np.float32)
    out = np.zeros(n, np.float32)
    return scale[(triton.cdiv(n, 8),)](x, out, n, BLOCK=8), x, out


def test_arrays_are_written_in_place() -> None:
    _, x, out = launched()
    assert (out == 2 * x).all()
    whole = np.zeros(64, np.float32)
    scale[(3,)](x, whole[32:], 20, BLOCK=8)
    assert (whole[32:52] == 2 * x).all() and not whole[:32].any() and not whole[52:].any()


def test_the_kernel_has_its_code() -> None:
    kernel, *_ = launched()
    assert set(kernel.asm) == {"ir", "placed", "llir", "ptx"}
    assert ".visible .entry scale(" in kernel.asm["ptx"]
    assert kernel.metadata.num_warps == 4 and kernel.metadata.shared == 0
    with pytest.raises(KeyError, match="there is no 'ttgir'"):
        kernel.asm["ttgir"]


@triton.jit
def multiply_add(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) * 1.5 + 1.0)


def test_the_default_of_contraction_is_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(1, np.float32)
    assert "fma.rn" in multiply_add.warmup(x, grid=(1,)).asm["ptx"]
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    assert "fma.rn" not in multiply_add.warmup(x, grid=(1,)).asm["ptx"]
    assert "fma.rn" in multiply_add.warmup(x, grid=(1,), enable_fp_fusion=True).asm["ptx"]


def test_a_warmup_compiles_and_runs_nothing() -> None:
    x = np.ones(8, np.float32)
    out = np.zeros(8, np.float32)
    kernel = scale.warmup(x, out, 8, BLOCK=8, grid=(1,))
    assert "ptx" in kernel.asm and not out.any()


def test_hooks_hear_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(
        knobs.runtime, "launch_enter_hook", lambda told: heard.append(told.get()["name"])
    )
    monkeypatch.setattr(knobs.runtime, "launch_exit_hook", lambda told: heard.append("done"))
    launched()
    assert heard == ["scale", "done"]


def test_tests_are_told_that_nothing_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert not is_interpreter()
    with triton.machine("grid"):
        assert is_interpreter()
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert is_interpreter()


def test_a_judged_launch_is_recorded() -> None:
    with triton.check() as report:
        launched()
    (record,) = report.launches
    assert (record.machine, record.programs, record.grid) == ("ptx", 3, (3, 1, 1))
    assert report.findings == []


def test_the_tuner_takes_the_first_configuration() -> None:
    configs = [triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})]
    tuned = triton.autotune(configs, key=["n"])(scale)
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    tuned[lambda meta: (triton.cdiv(16, meta["BLOCK"]),)](x, out, 16)
    assert tuned.best_config is configs[0] and (out == 2).all()


def test_an_access_past_the_end_stops_an_unjudged_launch() -> None:
    with pytest.raises(OutOfBoundsError, match=r"unmasked.*global memory.*test_ptx_machine\.py"):
        unmasked[(1,)](np.ones(100, np.float32), np.zeros(128, np.float32), BLOCK=128)


def test_an_access_past_the_end_is_a_finding_at_its_line() -> None:
    with triton.check() as report:
        unmasked[(1,)](np.ones(100, np.float32), np.zeros(128, np.float32), BLOCK=128)
    (finding,) = report.findings
    assert (finding.kind, finding.severity) == ("out-of-bounds", Severity.ERROR)
    assert finding.span.line == unmasked.fn.__code__.co_firstlineno + 3
    assert "ld.global" in str(finding)


def test_only_what_is_judged_is_told() -> None:
    with triton.check(skip=["bounds"]) as report:
        unmasked[(1,)](np.ones(100, np.float32), np.zeros(128, np.float32), BLOCK=128)
    assert report.findings == []


def test_an_assertion_names_its_program_instance() -> None:
    x = np.array([1, 1, 1, 1, 1, 9, 1, 1], np.float32)
    with pytest.raises(KernelAssertion, match="x is small") as raised:
        asserting[(4,)](x, BLOCK=2, debug=True)
    assert (raised.value.program, raised.value.record.element) == ((2, 0, 0), 1)
    with triton.check() as report:
        asserting[(4,)](x, BLOCK=2, debug=True)
    (finding,) = report.findings
    assert (finding.kind, finding.program) == ("assert", (2, 0, 0))
    assert finding.span.line == asserting.fn.__code__.co_firstlineno + 3


def test_what_a_kernel_prints_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printing[(2,)](np.array([3], np.int32))
    assert capsys.readouterr().out == "pid (0, 0, 0) idx () x is: 3\npid (1, 0, 0) idx () x is: 3\n"


def test_what_cannot_be_compiled_runs_nowhere_else() -> None:
    x = np.zeros(1, np.float32)
    with pytest.raises(Exception, match="breakpoint"), triton.check() as report:
        stopping[(1,)](x)
    assert x[0] == 0
    (finding,) = report.findings
    assert finding.kind == "unsupported" and report.launches[0].machine == "ptx"
    assert finding.span.line == stopping.fn.__code__.co_firstlineno + 2


def test_an_instruction_that_the_machine_lacks_is_unsupported_at_its_line() -> None:
    with pytest.raises(UnsupportedError, match=r"`bogus"), triton.check() as report:
        unknown[(1,)](np.zeros(1, np.float32))
    (finding,) = report.findings
    assert finding.kind == "unsupported"
    assert finding.span.line == unknown.fn.__code__.co_firstlineno + 3


def test_more_shared_memory_than_there_is_is_refused() -> None:
    x = np.zeros((512, 512), np.float16)
    with pytest.raises(OutOfResources, match="shared memory"):
        large[(1,)](x, x.copy(), N=512, num_warps=8)


def test_a_grid_past_the_limits_is_refused() -> None:
    with pytest.raises(OutOfResources, match="grid y, Required: 70000, Hardware limit: 65535"):
        last_one[(1, 70_000)](np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"programs": ((0, 0, 0),)}, "runs all program instances")],
)
def test_the_ptx_machine_refuses_what_it_does_not_do(options: Any, words: str) -> None:
    opened = session.make(Options(machine="ptx", **options))
    with session.using(opened), pytest.raises(UnsupportedError, match=words):
        launched()
    opened = session.make(Options(machine="ptx"))
    opened.on_instance = lambda *stop: None
    with session.using(opened), pytest.raises(UnsupportedError, match="does not stop in a kernel"):
        launched()


def test_another_maker_of_devices_is_refused() -> None:
    from blockstep import target

    with target.using(target.find("mi300x")), pytest.raises(UnsupportedError, match="NVIDIA"):
        launched()


def test_a_seed_gives_another_order() -> None:
    x = np.zeros(1, np.int32)
    with triton.check(seeds=4) as report:
        last_one[(8,)](x)
    assert [f.kind for f in report.findings] == ["order"]


def test_read_only_memory_is_not_written() -> None:
    for out in (np.frombuffer(bytes(512), np.float32), np.zeros(128, np.float32)):
        out.flags.writeable = False
        with pytest.raises(ReadOnlyError, match="read-only memory"):
            unmasked[(1,)](np.ones(128, np.float32), out, BLOCK=128)
        assert not out.any()
