"""liger-kernel: activations, attention weights, mixtures of experts and matrix products."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from blockstep.errors import CompilationError
from tests.libraries.pair import agree


def normal(*shape: int) -> torch.Tensor:
    """Reproducible data on the device that scripts name."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to("cuda")


def test_swiglu() -> None:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    agree(
        lambda a, b: LigerSiLUMulFunction.apply(a, b, 1.5, 1.0),
        lambda a, b: F.silu(1.5 * a) * b,
        normal(2, 3, 77),
        normal(2, 3, 77) * 0.5,
    )


def test_swiglu_in_tiles() -> None:
    from liger_kernel.ops import swiglu

    a, b, c = normal(3, 100), normal(3, 100) * 0.5, torch.empty(3, 100, device="cuda")
    swiglu._swiglu_forward_kernel_tiled[(3, 2)](a, b, c, 100, 1.0, 100, BLOCK_SIZE=64)
    torch.testing.assert_close(c, F.silu(a) * b)


def test_swiglu_of_fused_gate_and_up() -> None:
    from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction

    agree(
        LigerFusedGateUpSiLUMulFunction.apply,
        lambda y: F.silu(y[..., :40]) * y[..., 40:],
        normal(3, 80),
    )


def test_geglu() -> None:
    from liger_kernel.ops.geglu import LigerGELUMulFunction

    agree(
        LigerGELUMulFunction.apply,
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        normal(4, 90),
        normal(4, 90) * 0.5,
    )


def test_squared_relu() -> None:
    from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction

    agree(LigerReLUSquaredFunction.apply, lambda x: F.relu(x).square(), normal(5, 60))


def test_softmax() -> None:
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    agree(LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), normal(2, 3, 45))


@pytest.mark.rejected
def test_softmax_of_rows_longer_than_a_block_does_not_compile() -> None:
    """The kernel says `tl.float32(0.0)`; Triton 3.6 rejects it with the same words."""
    from liger_kernel.ops import softmax

    x = normal(3, 300)
    with pytest.raises((TypeError, CompilationError), match="'dtype' object is not callable"):
        softmax._softmax_multi_block_forward_kernel[(3,)](x, 300, x, 300, 300, BLOCK_SIZE=128)


def sparsemax(x: torch.Tensor) -> torch.Tensor:
    """The projection of each row onto the simplex."""
    ordered = x.sort(dim=-1, descending=True).values
    sums = ordered.cumsum(-1) - 1
    places = torch.arange(1, x.shape[-1] + 1)
    count = (ordered * places > sums).sum(-1, keepdim=True)
    return torch.relu(x - sums.gather(-1, count - 1) / count)


def test_sparsemax() -> None:
    from liger_kernel.ops.sparsemax import LigerSparsemaxFunction

    agree(lambda x: LigerSparsemaxFunction.apply(x, -1), sparsemax, normal(6, 50))


@pytest.mark.parametrize("sparse", [False, True])
def test_multi_token_attention(sparse: bool) -> None:
    from liger_kernel.ops.multi_token_attention import LigerMultiTokenAttentionFunction

    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    weights = sparsemax if sparse else (lambda x: x.softmax(-1))

    def reference(scores: torch.Tensor, kernel: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        probabilities = weights(scores.masked_fill(future, -1e9))
        mixed = F.conv2d(probabilities, kernel, bias, padding=1)
        return mixed.masked_fill(future, 0)

    agree(
        lambda scores, kernel, bias: LigerMultiTokenAttentionFunction.apply(
            scores, kernel, bias, 1, 1, 1, 1, sparse
        ),
        reference,
        normal(2, 3, 6, 6),
        normal(4, 3, 3, 3),
        normal(4),
    )


def test_neighborhood_attention() -> None:
    from liger_kernel.ops.fused_neighborhood_attention import (
        LigerFusedNeighborhoodAttentionFunction,
    )

    length, window = 24, 5
    place = torch.arange(length)
    far = (place[:, None] - place[None, :]).abs() > window // 2

    def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = (q @ k.transpose(-1, -2)) * 0.25
        return scores.masked_fill(far, float("-inf")).softmax(-1) @ v

    agree(
        lambda q, k, v: LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, window, 1, 0.25),
        reference,
        *(normal(1, 2, length, 16) * scale for scale in (1.0, 0.7, 0.5)),
        atol=1e-3,
        rtol=1e-3,
    )


def test_mixture_of_experts() -> None:
    from liger_kernel.ops.fused_moe import LigerFusedMoEFunction

    tokens, experts, hidden, inner = 10, 3, 16, 24
    chosen = torch.stack([torch.arange(tokens) % experts, (torch.arange(tokens) + 1) % experts], 1)

    def reference(
        x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, share: torch.Tensor
    ) -> torch.Tensor:
        both = torch.einsum("th,tkih->tki", x, up[chosen])
        gated = F.silu(both[..., :inner]) * both[..., inner:]
        return (torch.einsum("tki,tkhi->tkh", gated, down[chosen]) * share[..., None]).sum(1)

    agree(
        lambda x, up, down, share: LigerFusedMoEFunction.apply(
            x, up, down, chosen.to(torch.int32), share
        ),
        reference,
        normal(tokens, hidden),
        normal(experts, 2 * inner, hidden) * 0.3,
        normal(experts, hidden, inner) * 0.3,
        normal(tokens, 2).softmax(-1),
        atol=2e-2,
        rtol=2e-2,
    )


def test_hyper_connections() -> None:
    from liger_kernel.ops.mhc import LigerMHCPostResFunction, LigerMHCPreFunction

    agree(
        LigerMHCPreFunction.apply,
        lambda x, h: torch.einsum("nhc,nh->nc", x, h),
        normal(5, 4, 40),
        normal(5, 4),
    )
    agree(
        LigerMHCPostResFunction.apply,
        lambda x, f, post, res: torch.einsum("nij,njc->nic", res, x) + post[..., None] * f[:, None],
        normal(5, 4, 40),
        normal(5, 40),
        normal(5, 4),
        normal(5, 4, 4),
    )


def test_product_of_int8_and_packed_int2() -> None:
    from liger_kernel.ops.experimental.mm_int8int2 import matmul, pack_weights

    a = torch.randint(-8, 8, (8, 128), generator=torch.Generator().manual_seed(1)).to(torch.int8)
    weights = torch.randint(-1, 2, (128, 16), generator=torch.Generator().manual_seed(2))
    packed = pack_weights(weights.to(torch.int8), 2)
    wanted = a.cpu().int() @ weights.cpu().int()  # torch multiplies no integers on a device
    torch.testing.assert_close(matmul(a, packed).cpu(), wanted.to(torch.int32))


def test_gated_products_with_descriptors() -> None:
    from liger_kernel.ops.mlp import gemm_swiglu

    x, gate, up = normal(2, 24, 32), normal(48, 32) * 0.3, normal(48, 32) * 0.2
    out, _ = gemm_swiglu(x, gate, up, 1.0, False)
    torch.testing.assert_close(out, F.silu(x @ gate.T) * (x @ up.T), atol=5e-3, rtol=5e-3)
