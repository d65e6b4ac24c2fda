"""conch-triton-kernels: inference kernels, compared with the references that the wheel brings."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Reproducible data on the device that scripts name."""
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to("cuda", dtype)


close = torch.testing.assert_close


def test_silu_and_mul() -> None:
    from conch.ops.activation.silu_and_mul import silu_and_mul

    x = normal(5, 2 * 70)
    close(silu_and_mul(x), F.silu(x[:, :70]) * x[:, 70:])


def test_gelu_tanh_and_mul() -> None:
    from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul

    x = normal(5, 2 * 70)
    wanted = F.gelu(x[:, :70], approximate="tanh") * x[:, 70:]
    close(gelu_tanh_and_mul(x), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.faulty("uninitialised")
def test_rms_norm() -> None:
    """The row is loaded with a mask and no `other`, and its padding goes into the sum of squares."""
    from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm

    x, residual, w = normal(4, 100), normal(4, 100) * 0.5, normal(100)
    close(rms_norm(x, w, 1e-6), F.rms_norm(x, (100,), w, 1e-6))
    total = x + residual
    y, kept = fused_add_rms_norm(x, residual, w, 1e-6)
    close(y, F.rms_norm(total, (100,), w, 1e-6))
    close(kept, total)


@pytest.mark.faulty("uninitialised")
def test_gemma_rms_norm() -> None:
    """As `rms_norm`: what `mask` leaves undefined goes into the sum of squares."""
    from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm

    x, w = normal(4, 100), normal(100)
    wanted = F.rms_norm(x, (100,), 1 + w, 1e-6)
    close(gemma_rms_norm(x.clone(), w, 1e-6), wanted)


def test_rotary_embedding() -> None:
    from conch.ops.embedding.rotary_embedding import rotary_embedding
    from conch.reference.embedding.rotary_embedding import (
        _rotary_embedding_pytorch_ref as reference,
    )
    from conch.reference.embedding.rotary_embedding import compute_cos_sin_cache

    places, q, k = torch.tensor([3, 0, 7]), normal(3, 2 * 16), normal(3, 16)
    table = compute_cos_sin_cache(10000.0, 16, 8)
    wanted = reference(places, q.clone(), k.clone(), table, 16, 16)
    for got, other in zip(rotary_embedding(places, q, k, 16, table), wanted, strict=True):
        close(got, other)


def test_quantisation_to_fp8() -> None:
    from conch.ops.quantization.fp8 import scaled_fp8_quant

    x, scale = normal(6, 80) * 300, torch.tensor([0.5])
    got, _ = scaled_fp8_quant(x, scale)
    wanted = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    close(got.float(), wanted.float())


def test_quantisation_to_int8() -> None:
    from conch.ops.quantization.int8 import scaled_int8_quant

    x, scale = normal(6, 80) * 100, torch.tensor([0.5])
    got, _ = scaled_int8_quant(x, scale)
    wanted = (x / scale).clamp(-128, 127)
    assert (got.float() - wanted).abs().max() <= 1


@pytest.mark.faulty("out-of-bounds")
def test_scaled_gemm() -> None:
    """Without zero points the kernel gets an empty array, and loads its first element all the same."""
    from conch.ops.quantization.gemm import scaled_gemm

    generator = torch.Generator().manual_seed(3)
    a = torch.randint(-9, 9, (20, 128), generator=generator).to(torch.int8)
    b = torch.randint(-9, 9, (128, 64), generator=generator).to(torch.int8)
    left, right = normal(20, 1).abs(), normal(64, 1).abs()
    got = scaled_gemm(a, b, left, right, torch.float16)
    wanted = (a.float() @ b.float()) * left * right.T
    close(got.float(), wanted, atol=0.5, rtol=2e-3)


def test_mixed_precision_gemm() -> None:
    from conch.ops.quantization.gemm import mixed_precision_gemm

    rows, inner, columns, group = 6, 128, 64, 64
    generator = torch.Generator().manual_seed(4)
    codes = torch.randint(0, 16, (inner, columns), generator=generator)
    packed = torch.zeros(inner // 8, columns, dtype=torch.int64)
    for place in range(8):
        packed |= codes[place::8] << (4 * place)
    packed = torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)
    scales = normal(inner // group, columns, dtype=torch.float16).abs() + 0.1
    x = normal(rows, inner, dtype=torch.float16)
    got = mixed_precision_gemm(x, packed, scales, None, 4, 8, group)
    weight = (codes - 8).float() * scales.float().repeat_interleave(group, 0)
    close(got.float(), x.float() @ weight, atol=0.1, rtol=1e-2)


def test_non_maximum_suppression() -> None:
    from conch.ops.vision.nms import nms
    from conch.reference.vision.nms import nms as reference

    corner = normal(40, 2).abs() * 10
    boxes = torch.cat([corner, corner + normal(40, 2).abs() * 4 + 1], dim=1)
    scores = torch.rand(40, generator=torch.Generator().manual_seed(5))
    close(nms(boxes, scores, 0.3), reference(boxes, scores, 0.3))


def test_pooling_to_a_birds_eye_view() -> None:
    from conch.ops.vision.bev_pool import bev_pool, bev_pool_backward

    features = normal(7, 20)
    cells = torch.tensor([[0, 0, 0, 0]] * 3 + [[1, 2, 0, 0]] * 2 + [[3, 1, 0, 0]] * 2).int()
    starts, lengths = torch.tensor([0, 3, 5]).int(), torch.tensor([3, 2, 2]).int()
    out = bev_pool(features, cells, starts, lengths, 1, 1, 4, 3)
    close(out[0, 0, 0, 0], features[:3].sum(0))
    close(out[0, 0, 1, 2], features[3:5].sum(0))
    close(out[0, 0, 3, 1], features[5:].sum(0))
    assert int((out.abs().sum(-1) > 0).sum()) == 3
    grad = bev_pool_backward(normal(1, 1, 4, 3, 20), cells, starts, lengths)
    close(grad[0], grad[2])
    close(grad[5], normal(1, 1, 4, 3, 20)[0, 0, 3, 1])


@pytest.mark.faulty("grid")
def test_voxels() -> None:
    """The last column of the indices that are returned is garbage: nothing writes it."""
    from conch.ops.vision.voxelization import VoxelizationParameter, generate_voxels

    points = torch.rand(60, 4, generator=torch.Generator().manual_seed(6))
    param = VoxelizationParameter((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.5, 0.5, 0.5), 4)
    filled, _, indices, counts = generate_voxels(points, param)
    cells = (points[:, :3] / 0.5).int()
    n = int(filled)
    for index, count in zip(indices[:n], counts[:n], strict=True):
        there = (cells == index[:3]).all(1).sum()
        assert int(count) == min(int(there), 4)


def test_copy_blocks() -> None:
    from conch.ops.vllm.copy_blocks import copy_blocks

    keys, values = [normal(6, 40), normal(6, 40) + 1], [normal(6, 40) + 2, normal(6, 40) + 3]
    before = [cache.clone() for cache in keys + values]
    copy_blocks(keys, values, torch.tensor([[0, 4], [2, 5]]))
    for cache, old in zip(keys + values, before, strict=True):
        close(cache, old[[0, 1, 2, 3, 0, 2]])


def test_reshape_and_cache() -> None:
    from conch.ops.vllm.reshape_and_cache import reshape_and_cache

    key, value = normal(3, 2, 16), normal(3, 2, 16) + 1
    keys, values = torch.zeros(4, 8, 2, 16), torch.zeros(4, 8, 2, 16)
    slots = torch.tensor([9, 0, 30])
    reshape_and_cache(key, value, keys, values, slots)
    close(keys.view(32, 2, 16)[slots], key)
    close(values.view(32, 2, 16)[slots], value)
    assert int((keys.view(32, -1).abs().sum(-1) > 0).sum()) == 3


def cached(lengths: list[int], block: int = 16) -> tuple[torch.Tensor, ...]:
    """Key and value caches in blocks, and the table that says where sequences lie."""
    keys, values = normal(8, block, 2, 32), normal(8, block, 2, 32) * 0.5
    table = torch.tensor([[5, 2, 7], [1, 6, 0]]).int()
    return keys, values, table, torch.tensor(lengths).int()


def laid_out(cache: torch.Tensor, row: torch.Tensor, length: int) -> torch.Tensor:
    """One sequence of the cache, heads first and twice, for grouped queries."""
    return cache[row.long()].flatten(0, 1)[:length].transpose(0, 1).repeat_interleave(2, 0)


def test_paged_attention() -> None:
    from conch.ops.attention.paged_attention import paged_attention

    keys, values, table, lengths = cached([37, 20])
    query = normal(2, 4, 32)
    got = paged_attention(query, keys, values, table, lengths)
    for i, length in enumerate([37, 20]):
        k, v = laid_out(keys, table[i], length), laid_out(values, table[i], length)
        wanted = F.scaled_dot_product_attention(query[i][:, None], k, v)[:, 0]
        close(got[i], wanted, atol=2e-3, rtol=2e-3)


def test_attention_of_sequences_of_any_length() -> None:
    from conch.ops.attention.varlen_attention import varlen_attention

    keys, values, table, lengths = cached([37, 20])
    query, starts = normal(57, 4, 32), torch.tensor([0, 37, 57]).int()
    got = varlen_attention(query, keys, values, starts, 37, lengths, 37, table, causal=True)
    for i, length in enumerate([37, 20]):
        first, last = int(starts[i]), int(starts[i + 1])
        q = query[first:last].transpose(0, 1)
        k, v = laid_out(keys, table[i], length), laid_out(values, table[i], length)
        wanted = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1)
        close(got[first:last], wanted, atol=2e-3, rtol=2e-3)
