"""A pytest plugin for `peer_tests.py`: `triton` is blockstep before any test module is imported.

`PEER_MODE=interpreter` leaves `is_interpreter()` true. `PEER_MODE=paths` sets it to false, so that
the tests take the paths that an interpreter is expected to skip (bf16, reduced dot precisions,
narrow atomics); the target then calls itself "blockstep", because tests read PTX from a kernel
where the target calls itself "cuda", and nothing here makes PTX. `PEER_MODE=gpu` compiles every kernel
and runs it on the CUDA device that its arguments lie on. `PEER_MODE=ptx` compiles every kernel and runs
its PTX on the ptx machine; `cuda` is the CPU then. A test that takes longer than `PEER_LIMIT` seconds
fails. `PEER_PART=I/N` leaves every Nth test from the Ith on, `PEER_PASSED` names a file of tests to leave out.
"""

import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest

import blockstep

LIMIT = int(os.environ.get("PEER_LIMIT", "60"))

os.environ["TRITON_INTERPRET"] = "1" if os.environ.get("PEER_MODE") == "interpreter" else "0"
if os.environ.get("PEER_MODE") == "ptx":
    os.environ["BLOCKSTEP_MACHINE"] = "ptx"
blockstep.install()

if os.environ.get("PEER_MODE") == "paths":
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    active = driver.active
    active.get_current_target = lambda: GPUTarget("blockstep", 90, 32)


def _too_long(number: int, frame: object) -> NoReturn:
    pytest.fail(f"took longer than {LIMIT} seconds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if file := os.environ.get("PEER_PASSED"):
        passed = set(Path(file).read_text().splitlines())
        items[:] = [i for i in items if i.nodeid.removeprefix("unit/") not in passed]
    if part := os.environ.get("PEER_PART"):
        first, step = map(int, part.split("/"))
        items[:] = items[first - 1 :: step]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
