"""Who goes to the gpu machine, and what it refuses; names that only a real driver would miss."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import cuda.bindings.driver as real
import numpy as np
import pytest

import blockstep as triton
from blockstep.errors import UnsupportedError
from blockstep.findings import Span
from blockstep.options import Options, machine_from_environment
from blockstep.runtime import session
from blockstep.runtime.compat.device_driver import DeviceDriver
from blockstep.runtime.compat.driver import DriverConfig, ProfileDriver
from blockstep.runtime.gpu import Site, driver, failures, loading, selection
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.failures import GPUError
from blockstep.runtime.gpu.faults import Faults, KernelAssertion, Record
from tests.runtime.gpu.arrays import install_torch
from tests.runtime.gpu.recording import recording
from tests.runtime.gpu.test_launcher import binary
from tests.runtime.gpu.test_machine import Setting


def test_every_status_that_is_explained_is_the_drivers() -> None:
    named = {*failures.LOST, *failures._HELP, *loading._REFUSED}
    assert named <= {status.name for status in real.CUresult}


def test_a_failed_call_says_what_was_tried_and_what_helps() -> None:
    api, opened = recording()
    api.failures["cuMemAlloc"] = ["CUDA_ERROR_OUT_OF_MEMORY"]
    with pytest.raises(GPUError) as caught:
        opened.call("copying `x` to the device", api.cuMemAlloc, 8, kernel="add")
    assert str(caught.value) == (
        "`add`: copying `x` to the device failed: CUDA_ERROR_OUT_OF_MEMORY\n"
        "help: free arrays that are not needed, or use smaller ones"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_without_a_device_the_driver_says_so() -> None:
    api, _ = recording()
    api.failures["cuInit"] = ["CUDA_ERROR_NO_DEVICE"]
    with pytest.raises(GPUError, match="no GPU is needed"):
        Driver(api)


def test_the_environment_names_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_from_environment() == "auto"
    monkeypatch.setenv("BLOCKSTEP_MACHINE", "gpu")
    assert machine_from_environment() == "gpu"
    monkeypatch.setenv("BLOCKSTEP_MACHINE", "tpu")
    with pytest.raises(ValueError, match="auto, grid, step, ptx, gpu"):
        machine_from_environment()


def of(**options: Any) -> session.Session:
    return session.make(Options(**options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"judged": True}, "judges nothing"),
        ({"programs": ((0, 0, 0),)}, "runs all program instances"),
        ({}, "needs a GPU and its driver"),
    ],
)
def test_the_gpu_machine_refuses_what_it_does_not_do(
    options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "present", lambda: False)
    with pytest.raises(UnsupportedError, match=words):
        selection.check_choice(of(machine="gpu", **options))
    selection.check_choice(of(machine="auto", **options))


def test_a_debugger_is_refused_by_the_gpu_machine() -> None:
    current = of(machine="gpu")
    current.on_instance = lambda *stop: None
    with pytest.raises(UnsupportedError, match="does not stop in a kernel"):
        selection.check_choice(current)


@pytest.mark.parametrize(
    "options",
    [{"machine": "grid"}, {"machine": "step"}, {"judged": True}, {"programs": ()}],
    ids=str,
)
def test_what_asks_for_an_interpreting_machine_gets_one(options: dict[str, Any]) -> None:
    assert not selection.may_want(of(**options), asked=True)
    assert selection.may_want(of(), asked=True)


def test_launches_with_device_arrays_are_known_before_they_are_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = Setting(monkeypatch)
    install_torch(monkeypatch, lambda ordinal: 0)
    there, here = SimpleNamespace(is_cuda=True), np.zeros(2)
    assert selection.on_device([1, (2, there)], of())
    assert not selection.on_device([1, (2, here)], of())
    assert selection.on_device([here], of(machine="gpu"))
    assert setting.compiled == []


def test_host_code_is_told_about_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(monkeypatch)
    told = DriverConfig()
    assert type(told.default) is ProfileDriver
    install_torch(monkeypatch, lambda ordinal: 40 + ordinal)
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True, raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0, raising=False)
    monkeypatch.setattr(torch, "device", lambda *place: place, raising=False)
    for module in (driver, __import__("blockstep.runtime.compat.device_driver", fromlist=["x"])):
        monkeypatch.setattr(module, "driver", lambda: setting.machine.driver)
        monkeypatch.setattr(module, "present", lambda: True)
    assert type(told.active) is DeviceDriver
    assert told.active.get_current_target().arch == 90
    assert told.active.get_device_capability() == (9, 0)
    assert told.active.get_current_stream() == 40
    assert told.active.get_active_torch_device() == ("cuda", 0)
    assert told.utils.get_device_properties(0)["multiprocessor_count"] == 132
    with triton.machine("grid"):
        assert type(told.active) is ProfileDriver


def test_records_of_two_kernels_are_apart() -> None:
    api, opened = recording()
    faults = Faults(opened)
    one, two = binary(), binary(name="scale", sites=(Site(Span("k.py", 2, 3)),))
    first, second = faults.slot(one, 7), faults.slot(two, 7)
    assert faults.slot(one, 7) is first
    assert abs(first.address - second.address) >= 64
    faults.check()
    second.words[:] = [1, 0, 4, 0, 0, -1]
    with pytest.raises(KernelAssertion) as caught:
        faults.check()
    assert str(caught.value).splitlines() == [
        "a device_assert of `scale` does not hold", "  --> k.py:2:3 in scale",
        "   = program instance (4, 0, 0)",
    ]  # fmt: skip
    faults.check()
    assert api.calls.count("cuMemHostAlloc") == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.record, str(again)) == (Record(1, 0, 4, 0, 0, -1), str(caught.value))


def test_a_record_with_an_unknown_site_still_names_the_kernel() -> None:
    _, opened = recording()
    faults = Faults(opened)
    faults.slot(binary(), 7).words[:] = [1, 5, 0, 0, 0, 2]
    with pytest.raises(KernelAssertion, match=r"`add` does not hold\n.*\(0, 0, 0\), element 2"):
        faults.check()
