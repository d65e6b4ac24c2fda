"""The default generator of the mapped device."""

from __future__ import annotations

import pytest

from blockstep.runtime import torch_device

torch = pytest.importorskip("torch")


def test_kernels_callers_move_the_offset_on() -> None:
    if not torch_device.install():
        pytest.skip("torch has a GPU")
    try:
        torch.manual_seed(7)
        (generator,) = torch.cuda.default_generators
        state = generator.get_state()
        seed, offset = state.view(torch.int64)
        assert (int(seed), int(offset)) == (7, 0) and state.numel() == 16
        offset += 8
        generator.set_state(state)
        assert (generator.get_offset(), torch.cuda.initial_seed()) == (8, 7)
        torch.cuda.manual_seed(2**64 - 1)
        assert torch.cuda.get_rng_state().view(torch.int64).tolist() == [-1, 0]
        torch.cuda.set_rng_state(torch.cuda.get_rng_state())
        assert generator.initial_seed() == 2**64 - 1
    finally:
        torch_device.uninstall()
