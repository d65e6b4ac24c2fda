"""For runs on a CUDA device: what the tests make on the CPU without naming a device lies there too.

Numbers come from the CPU's generators first, so that they are those of every other run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

MAKERS = frozenset(
    {
        torch.arange, torch.empty, torch.eye, torch.full, torch.linspace, torch.ones, torch.rand,
        torch.randint, torch.randn, torch.randperm, torch.tensor, torch.zeros,
    }
)  # fmt: skip


class OnDevice(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Moves what a maker of tensors gives to the current CUDA device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        made = func(*args, **named)
        if func not in MAKERS or named.get("device") is not None or named.get("out") is not None:
            return made
        moved = made.detach().cuda()
        return moved.requires_grad_() if made.requires_grad else moved
