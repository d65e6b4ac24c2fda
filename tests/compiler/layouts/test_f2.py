"""Algebra over F2 against sets of all vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockstep.compiler.layouts import f2
from tests.compiler.layouts.random_layouts import images

VECTORS = st.lists(st.integers(0, 63), max_size=7)


def span(vectors: list[int]) -> set[int]:
    return set(images(tuple(vectors)).tolist())


@given(VECTORS)
def test_rank_is_the_log_of_the_size_of_the_span(vectors: list[int]) -> None:
    assert 1 << f2.rank(vectors) == len(span(vectors))


@given(VECTORS, VECTORS)
def test_compose_is_one_map_after_the_other(inner: list[int], more: list[int]) -> None:
    outer = (more * 7 + [0] * 6)[:6]
    both = images(f2.compose(outer, inner))
    assert (both == images(tuple(outer))[images(tuple(inner))]).all()


@given(VECTORS, st.integers(0, 63))
def test_a_vector_is_solved_by_the_earliest_vectors(vectors: list[int], vector: int) -> None:
    solver = f2.Span(vectors)
    mask = solver.solve(vector)
    assert (mask is not None) == (vector in span(vectors)) == (vector in solver)
    if mask is not None:
        assert f2.xor(vectors, mask) == vector
        assert all(mask >> position & 1 == 0 or position in solver.chosen for position in range(7))


@given(VECTORS, VECTORS)
def test_intersection_is_that_of_the_sets(a: list[int], b: list[int]) -> None:
    found = f2.intersection(a, b)
    assert span(found) == span(a) & span(b)
    assert len(found) == f2.rank(found)


@given(VECTORS, VECTORS)
def test_extend_adds_what_is_missing(a: list[int], b: list[int]) -> None:
    added = f2.extend(a, b)
    assert span([*a, *added]) == span([*a, *b])
    assert len(added) == f2.rank([*a, *b]) - f2.rank(a)


@given(VECTORS, VECTORS, VECTORS)
def test_a_complement_meets_the_other_span_as_little_as_it_can(
    a: list[int], b: list[int], more: list[int]
) -> None:
    space = [*a, *b, *more]
    found = f2.complement(a, b, space)
    assert span([*a, *found]) == span(space)
    assert span(a) & span(found) == {0}
    least = max(0, f2.rank(b) - f2.rank(a))
    assert len(span(found) & span(b)) == 1 << least


@given(st.lists(st.integers(0, 15), min_size=4, max_size=7))
def test_an_inverse_undoes_a_map_that_is_onto(vectors: list[int]) -> None:
    if f2.rank(vectors) < 4:
        with pytest.raises(ValueError, match="not onto"):
            f2.inverse(vectors, 4)
        return
    assert f2.compose(vectors, f2.inverse(vectors, 4)) == (1, 2, 4, 8)


@given(VECTORS, VECTORS)
def test_a_product_is_divided_into_its_factors(low: list[int], high: list[int]) -> None:
    whole = f2.product(low, high, 6)
    assert f2.divide(whole, low, 6) == tuple(high)
    numbers = images(whole).reshape(1 << len(high), 1 << len(low))
    assert (numbers & 63 == images(tuple(low))[None]).all()
    assert (numbers >> 6 == images(tuple(high))[:, None]).all()


def test_what_is_no_product_is_not_divided() -> None:
    assert f2.divide((1, 2, 4), (1, 4), 2) is None
    assert f2.divide((1, 2, 5), (1, 2), 2) is None
    assert f2.divide((1,), (1, 2), 2) is None
