"""Kernels made by `exec` from a string: their text is found with a caller, and nothing else is taken."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.errors import CompilationError

TEXT = """
@blockstep.jit
def kernel(x_ptr, n):
    i = 0
    while i < n and i < 4:
        if i % 2 == 0:
            tl.store(x_ptr + i, i * 10)
        i += 1
"""


def made(text: str) -> Any:
    space: dict[str, Any] = {"blockstep": blockstep, "tl": tl}
    exec(text, space)
    return space["kernel"]


def test_a_kernel_from_a_string_has_the_compiled_meaning() -> None:
    x = np.full(4, -1, np.int32)
    made(TEXT)[(1,)](x, 4)
    np.testing.assert_array_equal(x, [0, -1, 20, -1])


def test_its_lines_are_known_to_linecache() -> None:
    kernel = made(TEXT)
    file = kernel.fn.__code__.co_filename
    assert linecache.getline(file, 6) == "        if i % 2 == 0:\n"
    assert made(TEXT).fn.__code__.co_filename == file


def test_two_texts_with_one_name_do_not_mix() -> None:
    first, second = made(TEXT), made(TEXT.replace("i * 10", "i * 20"))
    x, y = np.zeros(4, np.int32), np.zeros(4, np.int32)
    first[(1,)](x, 4)
    second[(1,)](y, 4)
    assert (x[2], y[2]) == (20, 40)


def test_a_similar_text_is_not_taken_for_the_kernel() -> None:
    decoy = TEXT.replace("i * 10", "i * 99")
    space: dict[str, Any] = {"blockstep": blockstep, "tl": tl}
    exec(compile("".join([*TEXT]), "<string>", "exec"), space)
    x = np.zeros(4, np.int32)
    assert decoy != TEXT
    space["kernel"][(1,)](x, 4)
    assert x[2] == 20


def test_errors_point_into_the_string() -> None:
    kernel = made(TEXT.replace("tl.store(x_ptr + i, i * 10)", "tl.arange(0, 3)"))
    with pytest.raises(CompilationError, match="tl.arange"):
        kernel[(1,)](np.zeros(4, np.int32), 4)
