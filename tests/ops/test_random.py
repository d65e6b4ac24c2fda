"""Random numbers against the paper's generator in Python's own integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.language import random as rnd
from blockstep.language import types as ty
from blockstep.language.value import tensor

Block = Callable[..., tensor]

CONSTANTS = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}


def philox(counter: list[int], key: list[int], bits: int, rounds: int = 10) -> list[int]:
    """Philox-4x32 or -4x64, word by word."""
    a, b, weyl_a, weyl_b = CONSTANTS[bits]
    mask = (1 << bits) - 1
    for _ in range(rounds):
        p, q = a * counter[0], b * counter[2]
        counter = [
            q >> bits ^ counter[1] ^ key[0],
            q & mask,
            p >> bits ^ counter[3] ^ key[1],
            p & mask,
        ]
        key = [(key[0] + weyl_a) & mask, (key[1] + weyl_b) & mask]
    return counter


@pytest.mark.parametrize("seed", [0, 42, 0xFFFFFFFF, 0x0000000FCAFEB0BA])
@pytest.mark.parametrize("kind", [ty.int32, ty.int64, ty.uint32])
def test_words_are_philox(block: Block, seed: int, kind: ty.dtype) -> None:
    offsets = [0, 1, 5, 1000]
    words = rnd.randint4x(seed, block(offsets, kind))
    for i, offset in enumerate(offsets):
        expected = philox([offset, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32], 32)
        assert [int(w.handle[i]) for w in words] == expected
    assert {w.dtype for w in words} == {ty.uint32}


def test_offsets_past_32_bits_count(block: Block) -> None:
    offset = (3 << 32) + 7
    word = rnd.randint(9, block([offset]))
    assert int(word.handle[0]) == philox([7, 3, 0, 0], [9, 0], 32)[0]


def test_64_bit_counters_give_64_bit_words(block: Block) -> None:
    zero = block([0, 0], ty.uint64)
    words = rnd.philox(2**40 + 1, block([4, 5], ty.int64), zero, zero, zero)
    assert [int(w.handle[1]) for w in words] == philox([5, 0, 0, 0], [2**40 + 1, 0], 64)


def test_fewer_rounds_are_fewer(block: Block) -> None:
    word = rnd.randint(1, block([2, 3]), n_rounds=7)
    assert int(word.handle[1]) == philox([3, 0, 0, 0], [1, 0], 32, 7)[0]


@pytest.mark.parametrize("kind", [ty.int32, ty.uint32, ty.int64, ty.uint64])
def test_uniform_numbers_stay_below_one(block: Block, kind: ty.dtype) -> None:
    top = (1 << (kind.int_bitwidth - 1)) - 1
    words = np.array([0, top, top + 1, 2 * top + 1], np.uint64).astype(kind.numpy)
    found = rnd.uint_to_uniform_float(block(words, kind))
    assert found.dtype is ty.float32
    assert found.handle[0] == found.handle[3] == 0
    assert 1 - 2**-22 < found.handle[1] == found.handle[2] < 1


def test_uniform_and_normal_numbers_are_spread(block: Block) -> None:
    offsets = block(np.arange(1 << 16))
    uniform = np.sort(rnd.rand(42, offsets).handle)
    assert np.abs(uniform - np.arange(1 << 16) / (1 << 16)).max() < 0.01
    for normal in rnd.randn4x(42, offsets):
        assert abs(normal.handle.mean()) < 0.02
        assert abs(normal.handle.std() - 1) < 0.02
    assert rnd.randn(42, offsets).handle.tobytes() == rnd.randn4x(42, offsets)[0].handle.tobytes()


def test_the_four_uniform_blocks_are_independent(block: Block) -> None:
    offsets = block(np.arange(1 << 12))
    first, *others = rnd.rand4x(1, offsets)
    assert first.handle.tobytes() == rnd.rand(1, offsets).handle.tobytes()
    for other in others:
        assert abs(np.corrcoef(first.handle, other.handle)[0, 1]) < 0.05


def test_a_seed_is_an_integer(block: Block) -> None:
    with pytest.raises(TypeError, match="the seed is an integer"):
        rnd.rand(2.3, block([0, 1]))
    with pytest.raises(TypeError, match="uint32 or uint64"):
        rnd.philox_impl(*[block([0, 1], ty.int32)] * 6)


def test_a_kernel_draws_by_offset_not_by_program_instance() -> None:
    @triton.jit
    def kernel(X, seed, B: tl.constexpr):
        offset = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(X + offset, tl.rand(seed, offset))

    one, four = np.zeros((2, 64), np.float32)
    kernel[(1,)](one, 11, 64)
    kernel[(4,)](four, 11, 16)
    assert one.tobytes() == four.tobytes()
