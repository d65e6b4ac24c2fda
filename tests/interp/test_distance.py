"""The loop in machine code says what its definition in NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from blockstep.interp.shadows.distance import measured, plain, ulps, where_worst
from blockstep.language.numerics import format_of

ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, 2.0**-126, 65504.0, 1.0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32), size=st.integers(256, 3000), odd=st.integers(0, 40),
    name=st.sampled_from(["float16", "bfloat16", "float32", "float64", "float8e5"]),
    single=st.booleans(),
)  # fmt: skip
def test_one_pass_says_what_numpy_says(
    seed: int, size: int, odd: int, name: str, single: bool
) -> None:
    rng = np.random.default_rng(seed)
    shadow = rng.standard_normal(size) * 10.0 ** rng.integers(-12, 12, size)
    value = shadow * (1 + rng.standard_normal(size) * 1e-4)
    for array in (value, shadow):
        array[rng.integers(0, size, odd)] = rng.choice(ODD, odd)
    value = value.astype(np.float32) if single else value
    ours, right = measured(value, shadow, format_of(name)), plain(value, shadow, format_of(name))
    assert (ours.special, ours.lost, ours.subnormal) == (
        right.special, right.lost, right.subnormal,
    )  # fmt: skip
    assert ours.worst == right.worst
    for field in ("total", "squares", "error_squares"):
        assert_allclose(getattr(ours, field), getattr(right, field), rtol=1e-9)
    if ours.worst:
        wide = value.astype(np.float64)
        at = where_worst(value, shadow, format_of(name), ours)
        assert at == int(np.argmax(ulps(wide, shadow, format_of(name))))


@pytest.mark.parametrize(
    ("value", "shadow", "name", "expected"),
    [
        (2048.0, 2051.6, "float16", 1.8), (1.0, 1.0, "float32", 0.0),
        (0.0, 2.0**-25, "float16", 0.5), (np.inf, 7e4, "float16", 0.0),
        (1.0, 1.0 + 2.0**-24, "float32", 0.5), (4.0, 2.0, "float32", 2.0**23),
    ],
)  # fmt: skip
def test_units_in_the_last_place(value: float, shadow: float, name: str, expected: float) -> None:
    found = ulps(np.float64(value), np.float64(shadow), format_of(name))
    assert_allclose(found, expected, rtol=1e-12)
