"""NaN as an operand, wherever in an array it stands."""

from __future__ import annotations

import pytest

from tests.ptx.instructions import run


@pytest.mark.parametrize("name", ["max.f32", "min.f32", "max.f16", "cvt.sat.f32.f32"])
def test_a_signalling_nan_is_a_nan_like_any_other_wherever_it_stands(name: str) -> None:
    signalling, one = (0x7C01, 0x3C00) if "16" in name else (0x7F800001, 0x3F800000)
    for length in range(1, 40):  # NumPy has one way for whole vectors and one for what is left
        if name.startswith("cvt"):
            assert run(name, [signalling] * length) == [0] * length
            continue
        assert run(name, [signalling] * length, [one] * length) == [one] * length
        assert run(name, [one] * length, [signalling] * length) == [one] * length
