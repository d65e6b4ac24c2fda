"""Mixture of experts: choose two experts a token, count them, and give each token its slots.

Three launches: the choice (softmax over the experts and the two best), the counts (atomics), and
the slots (a token's place in its expert's queue is the old value of an atomic counter).
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def choose_kernel(logits_ptr, expert_ptr, weight_ptr, EXPERTS: tl.constexpr):
    token = tl.program_id(0)
    experts = tl.arange(0, EXPERTS)
    p = tl.softmax(tl.load(logits_ptr + token * EXPERTS + experts), 0)
    first_weight, first = tl.max(p, axis=0, return_indices=True)
    p = tl.where(experts == first, -1.0, p)
    second_weight, second = tl.max(p, axis=0, return_indices=True)
    total = first_weight + second_weight
    tl.store(expert_ptr + token * 2, first)
    tl.store(expert_ptr + token * 2 + 1, second)
    tl.store(weight_ptr + token * 2, first_weight / total)
    tl.store(weight_ptr + token * 2 + 1, second_weight / total)


@triton.jit
def count_kernel(expert_ptr, count_ptr, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    chosen = tl.load(expert_ptr + offs, mask=mask, other=0)
    counts = tl.histogram(chosen, EXPERTS, mask=mask)
    tl.atomic_add(count_ptr + tl.arange(0, EXPERTS), counts, sem="relaxed")


@triton.jit
def place_kernel(expert_ptr, start_ptr, next_ptr, slot_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    expert = tl.load(expert_ptr + offs, mask=mask, other=0)
    place = tl.atomic_add(next_ptr + expert, 1, mask=mask, sem="relaxed")
    start = tl.load(start_ptr + expert, mask=mask)
    tl.store(slot_ptr + offs, start + place, mask=mask)


def route(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`t e -> t 2` experts, `t 2` weights, `t 2` slots: rows sorted by expert."""
    tokens, experts = logits.shape
    chosen, weights = np.empty((tokens, 2), np.int32), np.empty((tokens, 2), np.float32)
    choose_kernel[(tokens,)](logits, chosen, weights, EXPERTS=experts)
    n, grid = 2 * tokens, (triton.cdiv(2 * tokens, 64),)
    counts = np.zeros(experts, np.int32)
    count_kernel[grid](chosen, counts, n, EXPERTS=experts, BLOCK=64)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    slots = np.empty((tokens, 2), np.int32)
    place_kernel[grid](chosen, starts, np.zeros(experts, np.int32), slots, n, BLOCK=64)
    return chosen, weights, slots


if __name__ == "__main__":
    logits = np.random.default_rng(0).standard_normal((90, 8), np.float32)
    chosen, weights, slots = route(logits)
    assert np.array_equal(chosen, np.argsort(-logits, axis=1)[:, :2])
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-6)
    order = np.empty(180, np.int32)
    order[slots.ravel()] = chosen.ravel()  # every slot once, experts in order
    assert np.array_equal(np.sort(slots.ravel()), np.arange(180)) and (np.diff(order) >= 0).all()
    print("moe routing: every token has its slots")
