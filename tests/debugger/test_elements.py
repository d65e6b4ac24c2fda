"""An element of an argument as a person writes it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import pytest

from blockstep.debugger.commands.elements import element_text, parse_element
from blockstep.debugger.commands.reply import Refused


@dataclass
class Array:
    name: str
    shape: tuple[int, ...]


ARRAYS = [Array("x_ptr", (20,)), Array("out", (4, 8)), Array("count", (1,)), Array("t[0]", (3,))]


def evaluate(node: ast.expr) -> Any:
    return eval(ast.unparse(node), {"row": 2})


@pytest.mark.parametrize(
    ("text", "name", "index"),
    [
        ("x_ptr[3]", "x_ptr", (3,)),
        ("out[2, 5]", "out", (2, 5)),
        (" out[ 2 ][5] ", "out", (2, 5)),
        ("out[row, row + 1]", "out", (2, 3)),
        ("x_ptr[-1]", "x_ptr", (19,)),
        ("count", "count", (0,)),
    ],
)
def test_an_element_is_read_as_it_is_written(text: str, name: str, index: Any) -> None:
    assert parse_element(text, ARRAYS, evaluate) == (name, index)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y[3]", "no argument is an array called `y`; there are x_ptr, out, count, t[0]"),
        ("x_ptr[20]", "`x_ptr` has 20 elements: there is no 20"),
        ("out[4, 0]", "`out` has 4 elements along axis 0: there is no 4"),
        ("out[3]", "1 index does not name an element, out[0, 0] does"),
        ("out", "which element of `out`[4, 8]? for example out[0, 0]"),
        ("x_ptr[1.5]", "the index 1.5 is not an integer"),
        ("x_ptr[True]", "the index True is not an integer"),
        ("x_ptr[1:2]", "one element at a time: no slices"),
        ("x_ptr[", "an element is written ARG[i, j], not x_ptr["),
        ("", "an element is written ARG[i, j], not nothing"),
    ],
)
def test_what_is_no_element_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_element(text, ARRAYS, evaluate)
    assert message in str(refused.value)


def test_an_element_is_shown_as_it_is_written() -> None:
    assert element_text("out", (2, 5)) == "out[2, 5]"
