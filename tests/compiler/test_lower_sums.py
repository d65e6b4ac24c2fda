"""Sums of products in a loop: one register each, from the LLVM text on."""

import re

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.compiler.lowered import TARGETS, compiled


@triton.jit
def products(a, b, out, n, SCALE: tl.constexpr):
    rows, columns = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for step in range(0, n):
        x = tl.load(a + step * 2048 + rows[:, None] * 32 + columns[None, :])
        y = tl.load(b + step * 2048 + columns[:, None] * 64 + rows[None, :])
        if SCALE:
            acc = acc * 2
        acc = tl.dot(x, y, acc)
    tl.store(out + rows[:, None] * 64 + rows[None, :], acc)


def text_of(target: str, scale: bool) -> str:
    a, b, out = np.zeros((3, 64, 32), np.float16), np.zeros((3, 32, 64), np.float16), np.zeros(4096)
    return compiled(products, (a, b, out.astype(np.float32), 3, scale), target).module.text


@pytest.mark.parametrize("target", TARGETS)
def test_sums_go_round_a_loop_in_registers_of_their_own(target: str) -> None:
    text = text_of(target, False)
    assert len(re.findall(r"= phi float ", text)) == 2 * 64 * 64 // 128
    assert "phi <32 x float>" not in text


@pytest.mark.parametrize("target", TARGETS)
def test_a_vector_is_joined_only_where_one_is_used(target: str) -> None:
    joins = r"= insertelement <32 x float>"
    alone, scaled = (len(re.findall(joins, text_of(target, scale))) for scale in (False, True))
    assert scaled == alone + 32


def test_results_of_assembly_have_a_type_with_a_name() -> None:
    text = text_of("sm_90a", False)
    assert re.search(r"^%results\d+ = type \{float(, float){31}\}$", text, re.M)
    assert "{float, float" not in text.split("define", 1)[1]
