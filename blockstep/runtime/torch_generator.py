"""The default generator of the mapped device: a seed and an offset, as CUDA's Philox has them.

Libraries draw random numbers in kernels of their own from `torch.cuda.default_generators[0]`: they
read its state (two int64: seed and offset), and move the offset on. Numbers that torch itself
draws on the mapped device come from the CPU's generator.
"""

from __future__ import annotations

from typing import Any

SEED = 0x3C_6E_F3_72  # torch's own default differs by device and version; any number will do


class Generator:
    """`torch.Generator` of device `cuda`, as far as kernels' callers use it."""

    def __init__(self) -> None:
        self._seed, self._offset = SEED, 0

    @property
    def device(self) -> Any:
        """Where its numbers are used."""
        import torch

        return torch.device("cpu")

    def get_state(self) -> Any:
        """Sixteen bytes in a tensor of uint8."""
        import torch

        return torch.tensor([_signed(self._seed), self._offset], dtype=torch.int64).view(
            torch.uint8
        )

    def set_state(self, state: Any) -> None:
        """Takes what `get_state` gave."""
        import torch

        seed, self._offset = map(int, state.view(torch.int64)[:2])
        self._seed = seed % 2**64

    def manual_seed(self, seed: int) -> Generator:
        """Starts over with a seed."""
        self._seed, self._offset = int(seed) % 2**64, 0
        return self

    def initial_seed(self) -> int:
        """The seed it was started with."""
        return self._seed

    def get_offset(self) -> int:
        """How many numbers were drawn."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Goes to a place in the sequence, a multiple of four."""
        if offset % 4:
            raise ValueError(f"offset must be a multiple of 4, not {offset}")
        self._offset = offset


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


default = Generator()


def seed_all(seed: int) -> None:
    """`torch.cuda.manual_seed`, which `torch.manual_seed` calls too."""
    default.manual_seed(seed)


def state(device: Any = "cuda") -> Any:
    """`torch.cuda.get_rng_state`."""
    return default.get_state()


def set_state(new_state: Any, device: Any = "cuda") -> None:
    """`torch.cuda.set_rng_state`."""
    default.set_state(new_state)
