"""Scratch memory: one for a stream, large enough for the grid, and one for each captured launch."""

from __future__ import annotations

from typing import Any

import pytest

from blockstep.runtime.gpu.binary import SCRATCH, Binary, Param
from blockstep.runtime.gpu.loading import Loaded, Loader
from blockstep.runtime.gpu.scratch import LEAST, TURNS, Scratch
from tests.runtime.gpu.arrays import install_torch
from tests.runtime.gpu.recording import Recording, recording
from tests.runtime.gpu.test_machine import Setting, fresh, pair


def loaded(num_ctas: int = 1, launch_pdl: bool = False) -> tuple[Recording, Scratch, Loaded]:
    api, driver = recording()
    parameters = (Param("pointer", SCRATCH),)
    made = api.kernel(
        Binary("ptx", "kernel", 0, 4, num_ctas, parameters, scratch=256, launch_pdl=launch_pdl)
    )
    return api, Scratch(driver), Loader(driver).load(made, 0)


def sizes(api: Recording) -> list[int]:
    """Of the memory that was allocated."""
    return [nbytes for _, nbytes, _ in api.memory.values()]


def test_launches_of_one_stream_use_the_same_memory() -> None:
    api, scratch, kernel = loaded()
    give = scratch.of(kernel)
    first, again = give(3, 2, 1, 7), scratch.of(kernel)(4, 4, 1, 7)
    assert first == again and first % 128 == 0 and sizes(api) == [LEAST]
    assert give(3, 2, 1, 8) != first


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_larger_grid_gets_more(ctas: int) -> None:
    api, scratch, kernel = loaded(ctas)
    give = scratch.of(kernel)
    give(1, 1, 1, 0)
    give(1000, 10, 1, 0)
    assert sizes(api) == [LEAST, 256 * ctas * 10_000]


def test_launches_that_may_overlap_take_turns() -> None:
    _, scratch, kernel = loaded(launch_pdl=True)
    give = scratch.of(kernel)
    found = [give(1, 1, 1, 0) for _ in range(2 * TURNS)]
    assert len(set(found)) == TURNS and found[:TURNS] == found[TURNS:]


def test_a_captured_launch_gets_memory_of_its_own() -> None:
    api, scratch, kernel = loaded()
    modes: list[Any] = []

    def exchange(mode: Any) -> Any:
        modes.append(mode)
        return api.CUresult.CUDA_SUCCESS, "before"

    api.answers["cuThreadExchangeStreamCaptureMode"] = exchange
    give = scratch.of(kernel)
    usual = give(1, 1, 1, 0)
    api.is_capturing = True
    captured = {give(2, 1, 1, 0), give(2, 1, 1, 0)}
    assert len(captured) == 2 and usual not in captured
    assert modes[1::2] == ["before", "before"]
    assert modes[0].name.endswith("RELAXED")


def test_every_launch_passes_its_scratch_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first goes the long way, the next one the short way."""
    install_torch(monkeypatch, lambda ordinal: 7)
    setting = Setting(monkeypatch)
    setting.parameters = (
        Param("pointer", "x"), Param("pointer", "out"), Param("i32", "n"), Param("pointer", SCRATCH)
    )  # fmt: skip
    setting.rest["scratch"] = 128
    kernel, (x, out) = fresh(), pair(setting.api)
    for grid in ((2,), (2,), (10_000,)):
        kernel[grid](x, out, 4, BLOCK=4)
    first, second, third = (launch.values[3] for launch in setting.api.launches)
    assert first == second != third
    assert setting.api.memory[first][1] == LEAST
    assert setting.api.memory[third][1] == 128 * 10_000
