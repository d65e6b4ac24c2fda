"""The rung of a device, with a driver that stands in for one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blockstep.runtime.gpu import driver
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.failures import KernelFault
from blockstep.runtime.ladder import Status, verify
from tests.ladder import kernels
from tests.ladder.launches import small, zeros


class Stand:
    """A gpu machine that multiplies by `factor`, as the kernel by 2."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def prepare(self, function: Any, bound: Any, options: Any, name: str) -> Any:
        loaded = SimpleNamespace(device=SimpleNamespace(ordinal=1))
        return SimpleNamespace(launcher=SimpleNamespace(loaded=loaded))

    def launch(self, prepared: Any, bound: Any, grid: Any) -> None:
        x, out = (bound.by_name[n].value for n in ("x_ptr", "out_ptr"))
        out[...] = x * np.float32(self.factor)

    def synchronize(self, ordinal: int) -> None:
        assert ordinal == 1


def climbed(monkeypatch: pytest.MonkeyPatch, factor: float) -> Any:
    monkeypatch.setattr(driver, "present", lambda: True)
    monkeypatch.setattr(gpu, "machine", lambda: Stand(factor))
    return verify(kernels.masked, (small(1000), zeros(1000), 1000), grid=(8,), BLOCK=128)


def test_a_device_that_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    found = climbed(monkeypatch, 2.0)
    assert found.outcome("gpu").status is Status.EQUAL and found.passed


def test_a_device_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = climbed(monkeypatch, 3.0)
    assert found.first_wrong is not None and found.first_wrong.rung == "gpu"
    assert "the device leaves out_ptr[" in str(found.finding)


def test_a_kernel_that_the_device_stops_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(stand: Stand, ordinal: int) -> None:
        raise KernelFault("masked", "`masked` read memory of nobody", "CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(Stand, "synchronize", stopped)
    found = climbed(monkeypatch, 2.0)
    assert found.first_wrong is not None and found.first_wrong.rung == "gpu"
    assert "read memory of nobody" in str(found)


def test_memory_behind_addresses_is_not_given_to_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.ladder.test_climb import through_table

    monkeypatch.setattr(driver, "present", lambda: True)
    part = np.zeros(64, np.float32)
    table = np.array([part.ctypes.data], np.int64)
    found = verify(through_table, (table, zeros(1, 64)), grid=(1,), BLOCK=64)
    assert found.outcome("gpu").text.startswith("it reaches memory through addresses")
