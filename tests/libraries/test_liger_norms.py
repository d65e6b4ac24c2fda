"""liger-kernel: normalisations and embeddings, forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.libraries.pair import agree

EPS = 1e-5


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Reproducible data on the device that scripts name."""
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to("cuda", dtype)


@pytest.mark.parametrize("mode", ["llama", "gemma", "none"])
@pytest.mark.parametrize("rows, columns", [(5, 100), (3, 300)])
def test_rms_norm(mode: str, rows: int, columns: int) -> None:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    agree(
        lambda x, w: LigerRMSNormFunction.apply(x, w, EPS, 0.0, mode, False),
        lambda x, w: F.rms_norm(x, (columns,), w, EPS),
        normal(rows, columns),
        normal(columns),
    )


def test_rms_norm_of_half_precision_rows() -> None:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    agree(
        lambda x, w: LigerRMSNormFunction.apply(x, w, EPS, 0.0, "gemma", False),
        lambda x, w: F.rms_norm(x.float(), (64,), w.float(), EPS).to(x.dtype),
        normal(2, 3, 64, dtype=torch.bfloat16),
        normal(64, dtype=torch.bfloat16),
        atol=2e-2,
        rtol=2e-2,
    )


def test_rms_norm_in_blocks_of_rows() -> None:
    from liger_kernel.ops.rms_norm import _block_rms_norm_forward_kernel as kernel

    x, w = normal(21, 48), normal(48)
    y, rstd = torch.empty_like(x), torch.empty(21, device="cuda")
    strides = (48, x, 48, w, 1, rstd, 1)
    kernel[(2,)](y, *strides, 21, 48, EPS, 0.0, 0, True, BLOCK_SIZE=64, BLOCK_ROW=16)
    torch.testing.assert_close(y, F.rms_norm(x, (48,), w, EPS), atol=1e-5, rtol=1e-5)


def test_fused_add_rms_norm() -> None:
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction

    agree(
        lambda x, r, w: LigerFusedAddRMSNormFunction.apply(x, r, w, EPS, 0.0, "llama", False),
        lambda x, r, w: (F.rms_norm(x + r, (96,), w, EPS), x + r),
        normal(6, 96),
        normal(6, 96) * 0.5,
        normal(96),
    )


def test_modulated_rms_norm() -> None:
    from liger_kernel.ops.modulated_rms_norm import LigerModulatedRMSNormFunction

    def reference(
        x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor
    ) -> torch.Tensor:
        return (1 + scale[:, None]) * F.rms_norm(x, (40,), w, EPS) + shift[:, None]

    agree(
        lambda x, w, scale, shift: LigerModulatedRMSNormFunction.apply(
            x, w, scale, shift, EPS, 0.0, "llama", False
        ),
        reference,
        normal(2, 5, 40),
        normal(40),
        normal(2, 40),
        normal(2, 40) * 0.5,
    )


@pytest.mark.parametrize("rows, columns", [(7, 120), (4, 33)])
def test_layer_norm(rows: int, columns: int) -> None:
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    agree(
        lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, EPS),
        lambda x, w, b: F.layer_norm(x, (columns,), w, b, EPS),
        normal(rows, columns),
        normal(columns),
        normal(columns) * 0.1,
    )


def test_group_norm() -> None:
    from liger_kernel.ops.group_norm import LigerGroupNormFunction

    agree(
        lambda x, w, b: LigerGroupNormFunction.apply(x, w, b, 6, 3, EPS),
        lambda x, w, b: F.group_norm(x, 3, w, b, EPS),
        normal(2, 6, 15),
        normal(6),
        normal(6) * 0.1,
    )


def test_poly_norm() -> None:
    from liger_kernel.ops.poly_norm import LigerPolyNormFunction

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    agree(
        lambda x, w, b: LigerPolyNormFunction.apply(x, w, b, 1e-6, False),
        lambda x, w, b: w[0] * scaled(x**3) + w[1] * scaled(x**2) + w[2] * scaled(x) + b,
        normal(4, 70),
        normal(3),
        torch.tensor(0.3, device="cuda"),
        atol=1e-4,
    )


def test_dynamic_tanh() -> None:
    from liger_kernel.ops.dyt import LigerDyTFunction

    agree(
        LigerDyTFunction.apply,
        lambda x, alpha, gamma, beta: gamma * torch.tanh(alpha * x) + beta,
        normal(9, 72),
        normal(1),
        normal(72),
        normal(72) * 0.1,
        atol=1e-4,
    )


def test_residuals_of_attention() -> None:
    from liger_kernel.ops.attn_res import LigerAttnResFunction

    def reference(v: torch.Tensor, query: torch.Tensor, norm: torch.Tensor) -> torch.Tensor:
        keys = F.rms_norm(v, (v.shape[-1],), norm, EPS)
        weights = torch.softmax(torch.einsum("d,nbtd->nbt", query, keys), dim=0)
        return torch.einsum("nbt,nbtd->btd", weights, v)

    agree(
        lambda v, query, norm: LigerAttnResFunction.apply(v, query, norm, EPS),
        reference,
        normal(3, 2, 4, 24),
        normal(24) * 0.3,
        normal(24) * 0.5,
        atol=1e-4,
    )


def test_embedding() -> None:
    from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction

    indices = torch.tensor([[3, 1, 3], [0, 9, 3]], device="cuda")
    agree(
        lambda table: LigerEmbeddingFunction.apply(table, indices),
        lambda table: F.embedding(indices, table),
        normal(10, 20),
    )


def test_llama_rotary_embedding() -> None:
    from liger_kernel.ops.rope import LigerRopeFunction

    angles = normal(1, 5, 8)
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1) for f in (torch.cos, torch.sin))
    agree(
        lambda q, k: LigerRopeFunction.apply(q, k, cos, sin),
        lambda q, k: (
            rotated(q, cos[:, None], sin[:, None]),
            rotated(k, cos[:, None], sin[:, None]),
        ),
        normal(2, 4, 5, 16),
        normal(2, 2, 5, 16),
    )


def test_llama_4_rotary_embedding() -> None:
    from liger_kernel.ops.llama4_rope import LigerLlama4RopeFunction

    angles = normal(6, 8)
    turns = torch.polar(torch.ones_like(angles), angles)

    def turned(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns[None, :, None]).flatten(3)

    agree(
        lambda q, k: LigerLlama4RopeFunction.apply(q, k, turns),
        lambda q, k: (turned(q), turned(k)),
        normal(2, 6, 4, 16),
        normal(2, 6, 2, 16),
    )


def test_multimodal_rotary_embedding() -> None:
    from liger_kernel.ops.qwen2vl_mrope import LigerQwen2VLMRopeFunction

    sections = [2, 3, 3]
    angles = normal(3, 2, 5, 8)
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1) for f in (torch.cos, torch.sin))

    def picked(table: torch.Tensor) -> torch.Tensor:
        parts = table.split(sections * 2, dim=-1)
        return torch.cat([part[i % 3] for i, part in enumerate(parts)], dim=-1)[:, None]

    agree(
        lambda q, k: LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, sections),
        lambda q, k: (rotated(q, picked(cos), picked(sin)), rotated(k, picked(cos), picked(sin))),
        normal(2, 4, 5, 16),
        normal(2, 2, 5, 16),
    )


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The halves of the last axis turned against each other."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin
