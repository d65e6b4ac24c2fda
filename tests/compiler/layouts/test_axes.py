"""The bits of axes, against NumPy's indices."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given

from blockstep.compiler.layouts import axes
from tests.compiler.layouts.random_layouts import shapes


@given(shapes())
def test_coordinates_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    for element in range(prod(shape)):
        position = axes.coordinates(shape, element)
        assert position == tuple(map(int, np.unravel_index(element, shape) if shape else ()))
        assert axes.flat(shape, position) == element


@given(shapes().filter(bool))
def test_an_axis_has_the_bits_of_its_steps(shape: tuple[int, ...]) -> None:
    for axis, length in enumerate(shape):
        steps = [axes.along(shape, axis, coordinate) for coordinate in range(length)]
        others = [0] * len(shape)
        for coordinate, step in enumerate(steps):
            others[axis] = coordinate
            assert step == axes.flat(shape, others)
        assert axes.mask(shape, axis) == max(steps)
        assert axes.along(shape, axis, length) == 0


def test_lengths_are_powers_of_two() -> None:
    assert [axes.bits_of(n) for n in (1, 2, 64)] == [0, 1, 6]
    for wrong in (0, 3, -2):
        with pytest.raises(ValueError, match="is no power of two"):
            axes.bits_of(wrong)
