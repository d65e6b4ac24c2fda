"""liger-kernel: losses, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.libraries.pair import agree

ROWS, CLASSES = 6, 50


def normal(*shape: int) -> torch.Tensor:
    """Reproducible data on the device that scripts name."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to("cuda")


def logarithms(seed: int) -> torch.Tensor:
    """Rows of log-probabilities."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(ROWS, CLASSES, generator=generator).log_softmax(-1).to("cuda")


TARGET = torch.tensor([3, 49, -100, 0, 17, 3])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(smoothing: float, reduction: str) -> None:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    agree(
        lambda x: LigerCrossEntropyFunction.apply(x, TARGET, None, -100, 0.0, smoothing, reduction)[
            0
        ],
        lambda x: F.cross_entropy(x, TARGET, label_smoothing=smoothing, reduction=reduction),
        normal(ROWS, CLASSES),
    )


def test_cross_entropy_with_class_weights_and_statistics() -> None:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    weight = normal(CLASSES).abs()
    x = normal(ROWS, CLASSES)
    loss, z_loss, accuracy, predicted = LigerCrossEntropyFunction.apply(
        x.clone(), TARGET, weight, -100, 0.0, 0.0, "mean", None, True, True, True
    )
    torch.testing.assert_close(loss, F.cross_entropy(x, TARGET, weight))
    assert z_loss == 0
    live = TARGET != -100
    torch.testing.assert_close(predicted[live], x.argmax(-1)[live])
    torch.testing.assert_close(accuracy, (x.argmax(-1) == TARGET)[live].float().mean())


def test_cross_entropy_with_softcap() -> None:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    agree(
        lambda x: LigerCrossEntropyFunction.apply(x, TARGET, None, -100, 0.0, 0.0, "mean", 5.0)[0],
        lambda x: F.cross_entropy(5.0 * torch.tanh(x / 5.0), TARGET),
        normal(ROWS, CLASSES),
    )


def test_fused_linear_cross_entropy() -> None:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

    agree(
        lambda x, w, b: LigerFusedLinearCrossEntropyFunction.apply(x, w, TARGET, b)[0],
        lambda x, w, b: F.cross_entropy(x @ w.T + b, TARGET),
        normal(ROWS, 12),
        normal(CLASSES, 12),
        normal(CLASSES),
    )


@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.parametrize("reduction", ["batchmean", "sum", "mean", "none"])
def test_kl_divergence(reduction: str, log_target: bool) -> None:
    from liger_kernel.ops.kl_div import LigerKLDivLossFunction

    truth = logarithms(2) if log_target else logarithms(2).exp()
    agree(
        lambda x: LigerKLDivLossFunction.apply(x, truth, reduction, log_target),
        lambda x: F.kl_div(x, truth, reduction=reduction, log_target=log_target),
        logarithms(1),
    )


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_generalised_jensen_shannon_divergence(beta: float) -> None:
    from liger_kernel.ops.jsd import LigerJSDFunction

    truth = logarithms(2)
    agree(
        lambda x: LigerJSDFunction.apply(x, truth, None, beta),
        lambda x: jensen_shannon(x, truth, beta),
        logarithms(1),
    )


def jensen_shannon(x: torch.Tensor, truth: torch.Tensor, beta: float) -> torch.Tensor:
    """Of log-probabilities; `beta` 0 and 1 are the two Kullback-Leibler divergences."""
    if beta in (0.0, 1.0):
        one, other = (truth, x) if beta == 0.0 else (x, truth)
        return (one.exp() * (one - other)).sum() / ROWS
    middle = torch.log(beta * truth.exp() + (1 - beta) * x.exp())
    forward = (truth.exp() * (truth - middle)).sum()
    return (beta * forward + (1 - beta) * (x.exp() * (x - middle)).sum()) / ROWS


def test_fused_linear_jensen_shannon_divergence() -> None:
    from liger_kernel.ops.fused_linear_jsd import LigerFusedLinearJSDFunction

    teacher, weight = normal(ROWS, 8), normal(CLASSES, 8)
    truth = (teacher @ weight.T).log_softmax(-1)
    agree(
        lambda x, w: LigerFusedLinearJSDFunction.apply(x, w, teacher, weight),
        lambda x, w: jensen_shannon((x @ w.T).log_softmax(-1), truth, 0.5),
        normal(ROWS, 8) * 0.5,
        normal(CLASSES, 8) * 0.5,
    )


def test_fused_linear_kl_divergence() -> None:
    from liger_kernel.ops.fused_linear_kl_div import LigerFusedLinearKLDivFunction

    truth = logarithms(3).exp()
    agree(
        lambda x, w: LigerFusedLinearKLDivFunction.apply(x, w, truth),
        lambda x, w: F.kl_div((x @ w.T).log_softmax(-1), truth, reduction="batchmean"),
        normal(ROWS, 8),
        normal(CLASSES, 8),
    )


@pytest.mark.parametrize("reduction", ["batchmean", "sum", "mean", "none"])
def test_total_variation_distance(reduction: str) -> None:
    from liger_kernel.ops.tvd import LigerTVDLossFunction

    other = logarithms(2).exp()

    def reference(p: torch.Tensor) -> Any:
        distance = 0.5 * (p - other).abs()
        sums: dict[str, Any] = {"none": distance, "mean": distance.mean(), "sum": distance.sum()}
        return sums.get(reduction, distance.sum() / ROWS)

    agree(
        lambda p: LigerTVDLossFunction.apply(p, other, None, reduction),
        reference,
        logarithms(1).exp(),
    )


def test_fused_cross_entropy_and_total_variation() -> None:
    from liger_kernel.ops.fused_ce_tvd import LigerFusedCETVDFunction

    teacher = normal(ROWS, CLASSES) * 0.5
    live = (TARGET != -100).float()

    def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        distance = 0.5 * (x.softmax(-1) - teacher.softmax(-1)).abs().sum(-1)
        return F.cross_entropy(x, TARGET, reduction="none"), distance * live

    agree(
        lambda x: LigerFusedCETVDFunction.apply(x, teacher, TARGET),
        reference,
        normal(ROWS, CLASSES),
    )


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_group_relative_policy_optimisation(level: str) -> None:
    from liger_kernel.ops.grpo_loss import GrpoLossFunction

    batch, length = 2, 4
    ids = torch.tensor([[5, 0, 49, 7], [1, 2, 3, 4]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])
    advantages = torch.tensor([0.7, -1.2])
    old, ref = normal(batch, length) * 0.1 - 4, normal(length, batch).T.contiguous() * 0.1 - 4

    def reference(logits: torch.Tensor) -> torch.Tensor:
        found = (logits[:, :-1] / 0.9).log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        ratio = found - old
        if level == "sequence":
            mean = (ratio * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
            ratio = mean.expand(batch, length)
        gain = torch.exp(ratio)
        least = torch.minimum(
            gain * advantages[:, None], gain.clamp(0.8, 1.2) * advantages[:, None]
        )
        drift = torch.exp(ref - found) - (ref - found) - 1
        per_token = (0.04 * drift - least) * mask
        return (per_token.sum(-1) / mask.sum(-1)).mean()

    agree(
        lambda logits: GrpoLossFunction.apply(
            logits,
            old,
            ref,
            ids,
            advantages,
            mask,
            0.9,
            0.04,
            0.2,
            0.2,
            False,
            "grpo",
            None,
            True,
            level,
        )[0],
        reference,
        normal(batch, length + 1, CLASSES),
    )
