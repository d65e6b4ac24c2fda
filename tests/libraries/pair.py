"""Runs a library's function and PyTorch's beside each other: results and gradients have to agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def agree(
    library: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Any,
    atol: float = 2e-5,
    rtol: float = 2e-4,
    gradients: bool = True,
) -> None:
    """Both functions get copies of the inputs; every floating tensor among these gets a gradient, and
    `gradients` says whether these are compared too.

    Raises AssertionError where outputs or gradients differ by more than the tolerances."""
    ours, theirs = _copies(inputs), _copies(inputs)
    got, wanted = _tensors(library(*ours)), _tensors(reference(*theirs))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=atol, rtol=rtol)
    if not gradients:
        return
    _backward(got)
    _backward(wanted)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(one, torch.Tensor) and other.grad is not None:
            assert one.grad is not None, f"no gradient of input {number}"
            torch.testing.assert_close(one.grad, other.grad, atol=atol, rtol=rtol)


def _copies(inputs: tuple[Any, ...]) -> list[Any]:
    return [_copy(value) if isinstance(value, torch.Tensor) else value for value in inputs]


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    copy = tensor.detach().clone()
    return copy.requires_grad_() if copy.is_floating_point() else copy


def _tensors(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else [r for r in result if r is not None]


def _backward(results: list[torch.Tensor]) -> None:
    """From weights that depend on the place, so that a permuted gradient shows."""
    live = [result for result in results if result.grad_fn is not None]
    weights = [
        torch.linspace(-1, 1, r.numel(), dtype=r.dtype, device=r.device).reshape(r.shape)
        for r in live
    ]
    if live:
        torch.autograd.backward(live, weights)
