"""fla-core: linear attention in chunks and step by step, and the layers around it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.libraries.pair import agree

LENGTH, HEADS, KEY, VALUE = 70, 2, 16, 32


def normal(*shape: int, scale: float = 1.0) -> torch.Tensor:
    """Reproducible data on the device that scripts name."""
    generator = torch.Generator().manual_seed(sum(shape))
    return scale * torch.randn(*shape, generator=generator).to("cuda")


def queries() -> tuple[torch.Tensor, ...]:
    """Queries, keys and values."""
    q = normal(1, LENGTH, HEADS, KEY)
    k = F.normalize(normal(1, LENGTH, HEADS, KEY + 0).flip(1), dim=-1)
    return q, k, normal(1, LENGTH, HEADS, VALUE)


def gates(*shape: int) -> torch.Tensor:
    """Logarithms of decay factors, as models use them."""
    return F.logsigmoid(normal(*shape)) / 4


def over_time(*tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """The tensors of each step, (batch, heads, ...)."""
    return zip(*(tensor.unbind(1) for tensor in tensors), strict=True)


def decayed(q: Any, k: Any, v: Any, g: Any) -> torch.Tensor:
    """The recurrence of gated linear attention; `g` is one gate a key channel, or one a head."""
    state = torch.zeros(1, HEADS, KEY, VALUE)
    outputs = []
    for q_t, k_t, v_t, g_t in over_time(q * KEY**-0.5, k, v, g):
        factor = g_t.exp()[..., None] if g_t.ndim == 3 else g_t.exp()[..., None, None]
        state = state * factor + k_t[..., None] * v_t[..., None, :]
        outputs.append(torch.einsum("bhk,bhkv->bhv", q_t, state))
    return torch.stack(outputs, 1)


def corrected(q: Any, k: Any, v: Any, g: Any, beta: Any) -> torch.Tensor:
    """The recurrence of the gated delta rule."""
    state = torch.zeros(1, HEADS, KEY, VALUE)
    outputs = []
    for q_t, k_t, v_t, g_t, beta_t in over_time(q * KEY**-0.5, k, v, g, beta):
        state = state * g_t.exp()[..., None, None]
        error = v_t - torch.einsum("bhk,bhkv->bhv", k_t, state)
        state = state + k_t[..., None] * (error * beta_t[..., None])[..., None, :]
        outputs.append(torch.einsum("bhk,bhkv->bhv", q_t, state))
    return torch.stack(outputs, 1)


roughly = partial(agree, atol=2e-2, rtol=2e-2)  # products are in tf32


def test_gated_linear_attention_step_by_step() -> None:
    from fla.ops.gla import fused_recurrent_gla

    agree(
        lambda q, k, v, g: fused_recurrent_gla(q, k, v, g)[0],
        decayed,
        *queries(),
        gates(1, LENGTH, HEADS, KEY),
        atol=1e-3,
        rtol=1e-3,
    )


@pytest.mark.faulty("grid")
def test_gated_linear_attention_in_chunks() -> None:
    """A note: of the pairs of subchunks that the grid has, those above the diagonal do nothing."""
    from fla.ops.gla import chunk_gla

    roughly(
        lambda q, k, v, g: chunk_gla(q, k, v, g)[0],
        decayed,
        *queries(),
        gates(1, LENGTH, HEADS, KEY),
    )


def test_simple_gated_attention_in_chunks() -> None:
    from fla.ops.simple_gla import chunk_simple_gla

    roughly(
        lambda q, k, v, g: chunk_simple_gla(q, k, v, g)[0],
        decayed,
        *queries(),
        gates(1, LENGTH, HEADS),
        gradients=False,  # fla refuses the backward pass on Hopper with Triton 3.6
    )


def test_simple_gated_attention_in_parallel() -> None:
    from fla.ops.simple_gla import parallel_simple_gla

    roughly(
        lambda q, k, v, g: parallel_simple_gla(q, k, v, g)[0],
        decayed,
        *queries(),
        gates(1, LENGTH, HEADS),
    )


def test_retention_in_chunks() -> None:
    from fla.ops.retention import chunk_retention

    decay = torch.log1p(-torch.exp2(-5.0 - torch.arange(HEADS))).expand(1, LENGTH, HEADS)
    roughly(
        lambda q, k, v: chunk_retention(q, k, v)[0],
        lambda q, k, v: decayed(q, k, v, decay),
        *queries(),
    )


def test_linear_attention_in_chunks() -> None:
    from fla.ops.linear_attn import chunk_linear_attn

    roughly(
        lambda q, k, v: chunk_linear_attn(q, k, v, normalize=False)[0],
        lambda q, k, v: decayed(q, k, v, torch.zeros(1, LENGTH, HEADS)),
        *queries(),
    )


def test_delta_rule_step_by_step() -> None:
    from fla.ops.delta_rule import fused_recurrent_delta_rule

    roughly(
        lambda q, k, v, beta: fused_recurrent_delta_rule(q, k, v, beta)[0],
        lambda q, k, v, beta: corrected(q, k, v, torch.zeros(1, LENGTH, HEADS), beta),
        *queries(),
        normal(1, LENGTH, HEADS).sigmoid(),
    )


def test_delta_rule_in_chunks() -> None:
    from fla.ops.delta_rule import chunk_delta_rule

    def halves(*tensors: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = chunk_delta_rule(*(tensor.bfloat16() for tensor in tensors))[0]
        return result.float()

    agree(
        halves,
        lambda q, k, v, beta: corrected(q, k, v, torch.zeros(1, LENGTH, HEADS), beta),
        *queries(),
        normal(1, LENGTH, HEADS).sigmoid(),
        atol=0.1,
        rtol=0.1,
    )


def test_gated_delta_rule_in_chunks() -> None:
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    roughly(
        lambda q, k, v, g, beta: chunk_gated_delta_rule(q, k, v, g, beta)[0],
        corrected,
        *queries(),
        gates(1, LENGTH, HEADS),
        normal(1, LENGTH, HEADS).sigmoid(),
        gradients=False,  # fla refuses the backward pass on Hopper with Triton 3.6
    )


@pytest.mark.parametrize("way", ["chunk", "fused_recurrent"])
def test_gated_recurrence(way: str) -> None:
    from fla.ops import hgrn

    def reference(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        state, states = torch.zeros(1, 24), []
        for x_t, g_t in over_time(x, g):
            state = g_t.exp() * state + x_t
            states.append(state)
        return torch.stack(states, 1)

    function = getattr(hgrn, f"{way}_hgrn")
    agree(
        lambda x, g: function(x, g)[0],
        reference,
        normal(1, LENGTH, 24),
        gates(1, LENGTH, 24),
        atol=1e-3,
        rtol=1e-3,
    )


def test_attention_with_forget_gates() -> None:
    from fla.ops.forgetting_attn import parallel_forgetting_attn

    future = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    def reference(q: Any, k: Any, v: Any, g: Any) -> torch.Tensor:
        sums = g.cumsum(1).transpose(1, 2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * KEY**-0.5
        scores = scores + sums[..., :, None] - sums[..., None, :]
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return torch.einsum("bhqk,bkhd->bqhd", weights, v)

    roughly(parallel_forgetting_attn, reference, *queries(), gates(1, LENGTH, HEADS))


def test_activations() -> None:
    from fla.modules.activations import logsigmoid, sigmoid, swiglu, swish

    x, y = normal(3, 50), normal(50, 3).T.contiguous()
    agree(sigmoid, torch.sigmoid, x)
    agree(logsigmoid, F.logsigmoid, x)
    agree(swish, F.silu, x)
    agree(swiglu, lambda x, y: F.silu(x) * y, x, y)


def normalise(columns: int) -> None:
    """Layer norm and RMS norm, with their gradients."""
    from fla.modules.norm.layernorm import layer_norm, rms_norm

    x, w, b = normal(9, columns), normal(columns), normal(columns, scale=0.1)
    agree(layer_norm, lambda x, w, b: F.layer_norm(x, (columns,), w, b), x, w, b)
    agree(lambda x, w: rms_norm(x, w, None), lambda x, w: F.rms_norm(x, (columns,), w, 1e-5), x, w)


def test_norms() -> None:
    normalise(64)


@pytest.mark.faulty("uninitialised")
def test_norms_of_padded_rows() -> None:
    """The weights are loaded with a mask and no `other`; the sums of the backward pass take them."""
    normalise(40)


def test_l2_norm() -> None:
    from fla.modules.norm.l2norm import l2norm

    x = normal(9, 40)
    agree(l2norm, lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6), x)


@pytest.mark.faulty("race")
def test_gated_norm() -> None:
    """A warning: blocks of rows overlap where there are fewer rows than multiprocessors, and two
    program instances write the same gradient."""
    from fla.modules.norm.fused_norm_gate import rms_norm_gated

    agree(
        lambda x, g, w: rms_norm_gated(x, g, w, None, eps=1e-5),
        lambda x, g, w: F.rms_norm(x, (64,), w, 1e-5) * F.silu(g),
        normal(9, 64),
        normal(64, 9).T.contiguous(),
        normal(64),
    )


def test_rotary_embedding() -> None:
    from fla.modules.rotary.ops import rotary_embedding, rotary_embedding_ref

    angles = normal(12, 8)
    agree(
        lambda x: rotary_embedding(x, angles.cos(), angles.sin()),
        lambda x: rotary_embedding_ref(x, angles.cos(), angles.sin()),
        normal(2, 12, 3, 16),
    )


def test_causal_convolution() -> None:
    from fla.modules.causal_conv1d import causal_conv1d

    def reference(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x.transpose(1, 2), (3, 0))
        return F.silu(F.conv1d(padded, w[:, None], b, groups=24)).transpose(1, 2)

    agree(
        lambda x, w, b: causal_conv1d(x, w, b, activation="silu")[0],
        reference,
        normal(2, 20, 24),
        normal(24, 4),
        normal(24),
        atol=1e-3,
    )


def test_token_shift() -> None:
    from fla.modules.token_shift import token_shift

    agree(token_shift, lambda x: F.pad(x, (0, 0, 1, -1)) - x, normal(2, 10, 24))


def test_sums_along_chunks() -> None:
    from fla.ops.utils import chunk_global_cumsum, chunk_local_cumsum

    x = normal(1, LENGTH, 3)
    torch.testing.assert_close(chunk_global_cumsum(x), x.cumsum(1))
    parts = [part.cumsum(1) for part in x.split(32, dim=1)]
    torch.testing.assert_close(chunk_local_cumsum(x, 32), torch.cat(parts, 1))
