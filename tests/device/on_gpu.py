"""A pytest plugin: every launch of the tests that run also runs compiled, on a GPU, and is compared.

    python -m pytest -p tests.device.on_gpu tests/test_registry.py tests/ops

Each launch runs on copies of its arguments with machine `gpu`, then as the test asked for. What both
left in memory must be the same bits; floats may differ by `ULPS` units (approximate functions and
contraction), and a launch whose instances meet in atomics is compared where its test compares. What
differs is listed at the end, and in the file that BLOCKSTEP_GPU_REPORT names. BLOCKSTEP_GPU_EXACT=1
asks for exact code: no contraction, IEEE division and square root. BLOCKSTEP_GPU_AGAINST=ptx compares
with what the ptx machine makes of the same code, on copies too, instead of with the test's own launch.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockstep.language.function import current_launcher, register_launcher
from blockstep.runtime import session
from blockstep.runtime.descriptor import TensorDescriptor
from tests.agreement.agree import copies
from tests.ops.kernels import bits, distance

ULPS = 4
AGAINST = os.environ.get("BLOCKSTEP_GPU_AGAINST", "cpu")
OF_THE_DEVICE = ("smid-place",)  # rows whose result is which multiprocessor ran it
_current = ["?"]
_found: list[dict[str, Any]] = []
_ran: collections.Counter[str] = collections.Counter()


def _arrays(arguments: list[Any]) -> list[Any]:
    bases = [a.base if isinstance(a, TensorDescriptor) else a for a in arguments]
    return [a for a in bases if isinstance(a, np.ndarray)]


def _compare(cpu: list[Any], gpu: list[Any]) -> dict[str, Any] | None:
    for number, (a, b) in enumerate(zip(_arrays(cpu), _arrays(gpu), strict=True)):
        different = bits(a) != bits(b)
        if not different.any():
            continue
        where = tuple(np.argwhere(different)[0].tolist())
        return {
            "argument": number,
            "count": int(different.sum()),
            "of": int(different.size),
            "at": list(where),
            "cpu": str(a[where]),
            "gpu": str(b[where]),
            "ulps": distance(a[different], b[different]),
        }
    return None


def _on(machine: str, before: Any, function: Any, args: Any, kwargs: Any, grid: Any) -> Any:
    """The arguments after the launch ran, compiled, on a machine."""
    given = copies([*args, *kwargs.values()])
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    if os.environ.get("BLOCKSTEP_GPU_EXACT") == "1":
        named["enable_fp_fusion"] = False
    chosen = replace(session.current().options, machine=machine, judged=False, programs=None)
    with _unheard(), session.sharing(session.make(chosen, None)):
        before(function, tuple(given[: len(args)]), named, grid=grid, warmup=False)
    return given


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """What a kernel prints is printed by the test's own launch, once; a device writes to the file."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            _synchronise()
            os.dup2(kept, 1)
            os.close(kept)


def _synchronise() -> None:
    """Device prints come when the device is waited for."""
    from blockstep.runtime.gpu.driver import present

    torch = sys.modules.get("torch")
    if present() and torch is not None and torch.cuda.is_available():
        with contextlib.suppress(torch.AcceleratorError):  # told by the launch that it belongs to
            torch.cuda.synchronize()


def _launch(before: Any) -> Any:
    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if warmup or session.current().options.machine in ("gpu", "ptx"):
            return before(function, args, kwargs, grid=grid, warmup=warmup)
        failed = ""
        try:
            # first where a fault is an exception: on the device it ends the process's context
            ptx = _on("ptx", before, function, args, kwargs, grid) if AGAINST == "ptx" else None
            gpu = _on("gpu", before, function, args, kwargs, grid)
        except Exception as error:  # noqa: BLE001  (told below, unless the CPU raises as well)
            failed, gpu, ptx = f"{type(error).__name__}: {error}", None, None
        result = before(function, args, kwargs, grid=grid, warmup=warmup)
        _ran["launches"] += 1
        cpu = [*args, *kwargs.values()] if ptx is None else ptx
        told = {"failed": failed[:400]} if failed else _compare(cpu, gpu)
        if told is not None and not any(f"[{row}]" in _current[0] for row in OF_THE_DEVICE):
            told |= {"test": _current[0], "kernel": function.__name__}
            _found.append(told)
        return result

    return launch


def pytest_runtest_setup(item: pytest.Item) -> None:
    _current[0] = item.nodeid


def pytest_sessionstart(session: pytest.Session) -> None:
    register_launcher(_launch(current_launcher()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    exact = _ran["launches"] - len(_found)
    near = [f for f in _found if f.get("ulps", np.inf) <= ULPS]
    far = [f for f in _found if f not in near]
    terminalreporter.write_line(
        f"on the GPU: {_ran['launches']} launches, {exact} the same bits, {len(near)} within "
        f"{ULPS} units, {len(far)} differ"
    )
    reasons: collections.Counter[str] = collections.Counter()
    for one in far:
        reasons[one.get("failed", "")[:160] or f"differs: {one['kernel']}"] += 1
    for reason, count in reasons.most_common(60):
        terminalreporter.write_line(f"  {count} {reason}")
    path = os.environ.get("BLOCKSTEP_GPU_REPORT")
    if path:
        with open(path, "w") as file:
            told = {"launches": _ran["launches"], "near": len(near), "reasons": reasons, "far": far}
            json.dump(told, file, indent=1)
